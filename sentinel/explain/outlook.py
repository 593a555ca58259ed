"""What would make a rule fire, or a firing alert resolve: found by trying, on copies of the run.

One metric of the condition is moved while everything else stays as it is; where that is not enough, several together.
First as far as it can go, then back towards where it is now, to the least that still does it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from sentinel.engine.bind import Instance
from sentinel.engine.engine import Engine
from sentinel.engine.plan import metric_key, standing
from sentinel.engine.run_state import RunState
from sentinel.engine.transition import Transition
from sentinel.events import MetricValue
from sentinel.explain.trial import Goal, Trial
from sentinel.explain.warmup import earliest
from sentinel.explain.words import Words, literals, seconds_spelled
from sentinel.metrics import Dictionary
from sentinel.rules.expression.nodes import Call, Extent, Metric, Node, alerts_of, metrics_of, walk
from sentinel.severity import SEVERITIES, Severity
from sentinel.stats import FUNCTIONS, Nonfinite, Probe
from sentinel.stats.series import Series
from sentinel.stats.window import Axis

MOST_ROWS = 400
"""Rows ahead that are tried."""

LONGEST_SILENCE = 86_400.0
"""Seconds without any event that are tried."""

MOST_METRICS = 3
"""Metrics that are moved together."""

BUDGET = 40_000
"""Rows that one rule may cost in all."""

FAR = (1000.0, 10.0, 2.0, 0.5)
"""How far a metric is moved first, in units of its own size; conditions that look for a band want less."""

SLOPES = (4.0, 0.5, 0.1, 0.02)
"""How steeply a metric is made to move, in units of its own value a row."""

CLOSE = 1e-6
"""A bound is found this closely, beside the distance from where the metric is now."""

MOST_HALVINGS = 64
"""Of the stretch that a bound is in; by then it is as narrow as numbers are."""

Aim = Literal["fire", "rise", "resolve"]

Want = Literal["above", "at least", "below", "at most", "rising", "falling", "not a number", "not logged"]


@dataclass(frozen=True, slots=True)
class Change:
    """One metric: `want` what of it, held against `bound`. `tried` is the value with which it was found.

    Of one that is to be rising or falling, `bound` and `tried` are by how much from each value to the next.
    """

    metric: str
    key: str
    want: Want
    bound: float | None = None
    tried: MetricValue = None
    unit: str = ""

    @property
    def words(self) -> str:
        if self.bound is None:
            return f"{self.metric} {self.want}"
        unit = self.unit if self.unit == "%" else f" {self.unit}" if self.unit else ""
        if self.want in ("rising", "falling"):
            return f"{self.metric} {self.want} by at least {abs(self.bound):.6g}{unit} a value"
        return f"{self.metric} {self.want} {_exact(self.bound)}{unit}"


@dataclass(frozen=True, slots=True)
class Prospect:
    """With `changes` in each of the next `rows` rows the alert does what `aim` says, with `severity`, at `step`.

    `row` is what was logged in the trial, by the trainer's own keys. `seconds`: how long it takes, None without times.
    With no rows it is silence that does it, of so many seconds.
    """

    aim: Aim
    severity: Severity
    changes: tuple[Change, ...]
    rows: int
    step: int
    seconds: float | None
    row: Mapping[str, MetricValue]

    @property
    def words(self) -> str:
        """`kl.ref above 0.1 at the next 3 values`."""
        values = "value" if self.rows == 1 else f"{self.rows} values"
        if not self.rows:
            return f"nothing logged for {seconds_spelled(math.ceil(self.seconds or 0.0))}"
        if not self.changes:
            return f"if all stays as it is, after {f'one more {values}' if self.rows == 1 else values}"
        return f"{' and '.join(change.words for change in self.changes)} at the next {values}"


def outlook(engine: Engine, run: RunState, index: int, words: Words) -> list[Prospect]:
    """What would make an instance fire, or, when it does, rise or resolve. Empty when nothing that was tried did."""
    assert run.compiled is not None
    if run.status != "running" or run.step < 0:
        return []
    search = _Search(engine, run, index, words)
    record = run.records[index]
    if record is None or record.level < 0:
        return search.ways("fire", "firing", run.compiled.instances[index].conditions[0][0])
    fired = run.compiled.instances[index].conditions[record.level][0]
    found = search.ways("resolve", "resolved", fired)
    if record.level + 1 < len(record.clocks):
        rising = run.compiled.instances[index].conditions[record.level + 1][0]
        found += search.ways("rise", "firing", rising)
    return found


class _Search:
    def __init__(self, engine: Engine, run: RunState, index: int, words: Words) -> None:
        assert run.compiled is not None
        self.run = run
        self.instance: Instance = run.compiled.instances[index]
        self.words = words
        self.dictionary: Dictionary = words.dictionary
        self.trial = Trial(engine, run, self.instance.rule)
        self.keys = {series.full: key for key, series in run.names.items()}
        self.nodes = list(_expressions(self.instance, run.compiled.instances))
        named = dict.fromkeys(found for node in self.nodes for found in metrics_of(node))
        self.metrics = list(dict.fromkeys(one for metric in named for one in _logged(metric, run)))
        """What is logged and decides: of a derived metric its parts, of another rule's alert what that looks at."""
        self.timed = any(index == at for at, _ in run.compiled.timed)
        self.most = _horizon(self.instance, self.nodes, run, self.trial)
        self.severity: Severity = self.instance.conditions[0][0]
        """Of the transition that met a goal last."""

    def ways(self, aim: Aim, state: str, severity: Severity) -> list[Prospect]:
        least = SEVERITIES.index(severity)
        rule, labels = self.instance.rule.name, dict(self.instance.labels)

        def goal(said: Transition) -> bool:
            reached = (
                said.alert == rule
                and said.labels == labels
                and said.state == state
                and (aim == "resolve" or SEVERITIES.index(said.severity) >= least)
            )
            if reached:
                self.severity = said.severity
            return reached

        row = dict(self.trial.usual)
        if self.trial.until(goal, row, self.most) is not None:
            stay = self._prospect(aim, goal, (), row)
            return [self._staying(goal, stay) or stay]
        for find in (self._special, self._single, self._climbing, self._joint):
            found = find(aim, goal)
            if found:
                return found
        return []

    def _prospect(self, aim: Aim, goal: Goal, changes: tuple[Change, ...], row: Mapping[str, MetricValue]) -> Prospect:
        """Tried once more, as it will be told."""
        moving = ("rising", "falling")
        drift = {one.key: one.tried for one in changes if one.want in moving and one.tried is not None}
        rows = self.trial.until(goal, row, self.most, drift=drift)
        assert rows is not None
        pace = self.trial.pace
        seconds = None if pace.seconds is None else pace.seconds * rows
        return Prospect(aim, self.severity, changes, rows, self.run.step + rows * pace.stride, seconds, dict(row))

    # --- ways -----------------------------------------------------------------------------------------------

    def _staying(self, goal: Goal, stay: Prospect) -> Prospect | None:
        """The same, with the bound that the metric must keep: where there is one metric, and a side on which it
        would not happen."""
        if len(self.metrics) != 1:
            return None
        (metric,) = self.metrics
        key = self.keys[metric.name]
        here = stay.row.get(key)
        if here is None:
            return None
        for sign in (-1.0, 1.0):
            for away in self._targets(metric, here, sign):
                if self.trial.until(goal, {**stay.row, key: away}, stay.rows) is None:
                    change = self._bound(goal, metric, stay.row, away, here, stay.rows)
                    row = {**stay.row, key: change.tried}
                    return self._prospect(stay.aim, goal, (change,), row)
        return None

    def _special(self, aim: Aim, goal: Goal) -> list[Prospect]:
        """A value that is none, and silence: of rules that ask for them."""
        if aim != "resolve" and self.timed:
            seconds = self.trial.silent(goal, LONGEST_SILENCE)
            if seconds is not None:
                return [Prospect(aim, self.severity, (), 0, self.run.step, seconds, {})]
        for metric, want in _asked(self.instance, aim):
            key = self.keys.get(metric.name)
            if key is None:
                continue
            row = dict(self.trial.usual)
            if want == "not a number":
                row[key] = math.nan
            else:
                row.pop(key, None)
            if self.trial.until(goal, row, self.most) is not None:
                return [self._prospect(aim, goal, (Change(metric.name, key, want),), row)]
        return []

    def _single(self, aim: Aim, goal: Goal) -> list[Prospect]:
        """One metric moved: the soonest way, and the smallest move that does it at all."""
        found: list[Prospect] = []
        for metric in self.metrics:
            key = self.keys[metric.name]
            here = self.trial.usual.get(key)
            if here is None:
                continue
            for sign in (1.0, -1.0):
                if self.trial.rows > BUDGET:
                    return found
                hit = self._first_hit(goal, metric, self.trial.usual, here, sign)
                if hit is None:
                    continue
                there, rows = hit
                least = self._bound(goal, metric, self.trial.usual, here, there, self.most)
                row = {**self.trial.usual, key: least.tried}
                mild = self._prospect(aim, goal, (least,), row)
                if mild.rows > rows:
                    quick = self._bound(goal, metric, self.trial.usual, here, there, rows)
                    soon = {**self.trial.usual, key: quick.tried}
                    found.append(self._prospect(aim, goal, (quick,), soon))
                found.append(mild)
            if found:
                return found
        return found

    def _climbing(self, aim: Aim, goal: Goal) -> list[Prospect]:
        """One metric that moves on from value to value: what asks for a change each step is met by no level."""
        for metric in self.metrics:
            key = self.keys[metric.name]
            here = self.trial.usual.get(key)
            if here is None:
                continue
            for sign in (1.0, -1.0):
                if self.trial.rows > BUDGET:
                    return []
                own, large = abs(here) or 1.0, self._size(metric, here)
                for steep in (*(own * share for share in SLOPES), large):
                    slope = float(f"{sign * steep:.4g}")
                    rows = self.trial.until(goal, self.trial.usual, self.most, drift={key: slope})
                    if rows is None or not self._within(metric, here + rows * slope):
                        continue
                    unit = self.words.unit(metric)
                    slope = self._least_slope(goal, key, slope, rows)
                    change = Change(metric.name, key, "rising" if sign > 0 else "falling", slope, slope, unit)
                    return [self._prospect(aim, goal, (change,), self.trial.usual)]
        return []

    def _least_slope(self, goal: Goal, key: str, slope: float, rows: int) -> float:
        """A slope of few digits, no more than a fiftieth too steep, with which it still happens."""
        no, yes = 0.0, slope
        while abs(yes - no) > abs(yes) / 50:
            middle = float(f"{(no + yes) / 2.0:.4g}")
            if self.trial.until(goal, self.trial.usual, rows, drift={key: middle}) is not None:
                yes = middle
            else:
                no = middle
        return yes

    def _within(self, metric: Metric, x: float) -> bool:
        low, high = self._range(metric)
        return low <= x <= high

    def _joint(self, aim: Aim, goal: Goal) -> list[Prospect]:
        """Several metrics moved together, each then taken back as far as it goes."""
        metrics = [one for one in self.metrics if self.trial.usual.get(self.keys[one.name]) is not None][:MOST_METRICS]
        if len(metrics) < 2:
            return []
        for signs in product((1.0, -1.0), repeat=len(metrics)):
            if self.trial.rows > BUDGET:
                return []
            row = dict(self.trial.usual)
            here = {metric: row[self.keys[metric.name]] for metric in metrics}
            for metric, sign in zip(metrics, signs, strict=True):
                start = here[metric]
                assert start is not None
                # At the end of its range it stays where it is.
                row[self.keys[metric.name]] = next(iter(self._targets(metric, start, sign)), start)
            rows = self.trial.until(goal, row, self.most)
            if rows is None:
                continue
            changes = []
            for metric in metrics:
                key, start = self.keys[metric.name], here[metric]
                there = row[key]
                assert start is not None
                assert there is not None
                if self.trial.until(goal, {**row, key: start}, rows) is not None:
                    row[key] = start
                    continue
                change = self._bound(goal, metric, row, start, there, rows)
                row[key] = change.tried
                changes.append(change)
            return [self._prospect(aim, goal, tuple(changes), row)]
        return []

    # --- bounds ---------------------------------------------------------------------------------------------

    def _first_hit(
        self, goal: Goal, metric: Metric, base: Mapping[str, MetricValue], here: float, sign: float
    ) -> tuple[float, int] | None:
        key = self.keys[metric.name]
        for there in self._targets(metric, here, sign):
            rows = self.trial.until(goal, {**base, key: there}, self.most)
            if rows is not None:
                return there, rows
        return None

    def _targets(self, metric: Metric, here: float, sign: float) -> list[float]:
        """Values to try in one direction, the farthest first, within the metric's own range."""
        size = self._size(metric, here)
        low, high = self._range(metric)
        found = [min(max(here + sign * size * far, low), high) for far in FAR]
        return list(dict.fromkeys(x for x in found if x != here))

    def _size(self, metric: Metric, here: float) -> float:
        """What is large for a metric: its own values of late, and the numbers that the rule states."""
        series: Series | None = self.run.slots.get(metric_key(metric.name))
        values = series.values[-50:] if series is not None else []
        stated = (abs(x) for node in self.nodes for x in literals(node))
        return max([abs(here), *(abs(x) for x in values), *stated]) or 1.0

    def _range(self, metric: Metric) -> tuple[float, float]:
        info = self.dictionary.describe(metric.name.partition("{")[0])
        text = "" if info is None else info.range
        bounds = {"0..1": (0.0, 1.0), "0..100": (0.0, 100.0), "-1..1": (-1.0, 1.0), ">=0": (0.0, math.inf)}
        return bounds.get(text, (0.0 if text == ">0" else -math.inf, math.inf))

    def _bound(
        self, goal: Goal, metric: Metric, base: Mapping[str, MetricValue], no: float, yes: float, rows: int
    ) -> Change:
        """The value nearest to `no` (with which it does not happen within `rows`) with which it does, as with `yes`."""
        key = self.keys[metric.name]

        def does(x: float) -> bool:
            return self.trial.until(goal, {**base, key: x}, rows) is not None

        start, far = no, yes
        # Doubling first: the bound is mostly near, and the far end a thousand times as far away.
        stride = abs(yes - no)
        while stride > CLOSE and does(no + math.copysign(stride / 8.0, yes - no)):
            stride /= 8.0
            yes = no + math.copysign(stride, yes - no)
        for _ in range(MOST_HALVINGS):
            # One of the two ends is where the metric is now; the other may be a thousand times as far away.
            if abs(yes - no) <= CLOSE * max(min(abs(yes - start), abs(yes - far)), abs(yes) * 1e-3):
                break
            middle = (yes + no) / 2.0
            if middle in (yes, no):
                break
            if does(middle):
                yes = middle
            else:
                no = middle
        up = yes > no
        unit = self.words.unit(metric)
        plain = next((x for x in _short(no, yes) if min(no, yes) <= x <= max(no, yes)), None)
        if plain is not None:
            if does(plain):
                return Change(metric.name, key, "at least" if up else "at most", plain, plain, unit)
            # Every value beyond what is told must do. Within a billionth a sum may still be rounded to the other side.
            beyond = plain + math.copysign(max(abs(plain) * 1e-9, 1e-12), yes - plain)
            if does(beyond):
                return Change(metric.name, key, "above" if up else "below", plain, yes, unit)
        for digits in range(3, 17):
            rounded = _away(yes, digits, up=up)
            if does(rounded):
                return Change(metric.name, key, "at least" if up else "at most", rounded, rounded, unit)
        return Change(metric.name, key, "at least" if up else "at most", yes, yes, unit)


def _exact(x: float) -> str:
    """Six digits, or all of them where a rounded number would lie on the other side of the bound."""
    text = f"{x:.6g}"
    return text if float(text) == x else repr(x)


def _short(no: float, yes: float) -> Iterator[float]:
    """Numbers of few digits that may lie between."""
    if min(no, yes) <= 0.0 <= max(no, yes):
        yield 0.0
    for digits in range(1, 6):
        yield float(f"{yes:.{digits}g}")
        yield float(f"{no:.{digits}g}")


def _away(x: float, digits: int, *, up: bool) -> float:
    """`x` rounded to so many digits, upwards or downwards."""
    if x == 0.0:
        return x
    unit = 10.0 ** (math.floor(math.log10(abs(x))) - digits + 1)
    return float(f"{(math.ceil(x / unit) if up else math.floor(x / unit)) * unit:.{digits}g}")


def _asked(instance: Instance, aim: Aim) -> Iterator[tuple[Metric, Want]]:
    """Metrics that the condition asks about otherwise than by their values."""
    if aim == "resolve":
        return
    for _, condition in instance.conditions:
        for node in walk(condition):
            if isinstance(node, Call) and isinstance(node.argument, Metric):
                function = FUNCTIONS[node.function]
                if issubclass(function, Nonfinite):
                    yield node.argument, "not a number"
                elif issubclass(function, Probe):
                    yield node.argument, "not logged"


def _horizon(instance: Instance, roots: Sequence[Node], run: RunState, trial: Trial) -> int:
    """Rows in which whatever can happen to an instance should have happened: all its windows filled anew, and held."""
    rows = 10.0 + max(0, instance.rule.after - run.rel)
    extents: list[Extent | None] = [
        *(node.window for node in _nodes(roots) if isinstance(node, Call)),
        instance.rule.hold,
        instance.rule.keep_firing,
    ]
    if any(map(alerts_of, instance.expressions())):
        assert run.compiled is not None
        for other in asked_about(instance.expressions(), run.compiled.instances):
            extents += [other.rule.hold, other.rule.keep_firing]
    stride, seconds = trial.pace.stride, trial.pace.seconds
    for extent in extents:
        if extent is None:
            continue
        if extent.axis is Axis.TIME:
            rows += extent.size / seconds + 1 if seconds else 0
        else:
            rows += extent.size / (stride if extent.axis is Axis.STEPS else 1)
    rows += max((earliest(condition, True).steps for _, condition in instance.conditions), default=0)
    return int(min(rows, MOST_ROWS))


def _nodes(roots: Sequence[Node]) -> list[Node]:
    # One window that stands in several places is filled once.
    return list(dict.fromkeys(found for node in roots for found in walk(node)))


def _expressions(instance: Instance, instances: Sequence[Instance]) -> Iterator[Node]:
    """Those that decide about an instance: its own, and those of the rules that it asks about."""
    yield from instance.expressions()
    for other in asked_about(instance.expressions(), instances):
        if other is not instance:
            yield from other.expressions()


def asked_about(expressions: Sequence[Node], instances: Sequence[Instance]) -> list[Instance]:
    """The instances about whose alerts expressions ask, and those about which these ask in turn."""
    found: dict[int, Instance] = {}
    pending = list(expressions)
    while pending:
        for alert in alerts_of(pending.pop()):
            for index, _ in standing(alert, instances):
                if index not in found:
                    found[index] = instances[index]
                    pending += instances[index].expressions()
    return list(found.values())


def _logged(metric: Metric, run: RunState) -> Iterator[Metric]:
    """The metric itself when the run logs it, else what it is derived from."""
    keys = [key for key, series in run.series.items() if series.full == metric.name]
    while keys:
        key = keys.pop(0)
        if key in run.names:
            yield replace(metric, name=run.names[key].full)
        else:
            keys += [need for one in run.derived if one.series.raw == key for _, need in one.needs]
