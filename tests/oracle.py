"""A plain interpreter of the rules: what the compiled engine is held to.

It keeps the whole history of a run's attempt in lists and works everything out anew at each event, by each function's
own definition. Nothing is shared with the compiler, the reader or the lifecycle; only the rule's tree, the binding of
names to series and `define` are.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from sentinel.engine.bind import Instance, SeriesName, bind
from sentinel.engine.onset import find_onset
from sentinel.engine.recorded import RecordedRun
from sentinel.events import Event, Phase, RunFinished, RunStarted, Sample, StepMetrics
from sentinel.metrics import Derivation, default
from sentinel.rules.expression.nodes import (
    Alert,
    Arithmetic,
    Call,
    Compare,
    Context,
    Duration,
    Extent,
    InPhase,
    Logic,
    Metric,
    Negative,
    Node,
    Not,
    Number,
    is_condition,
    metrics_of,
    walk,
)
from sentinel.rules.model import RuleSet
from sentinel.stats import FUNCTIONS, Pointwise, Probe, Result, RunningFunction, Standing, WindowFunction
from sentinel.stats.function import SCALE_SAMPLES
from sentinel.stats.window import Axis

STALE_AFTER = 3600.0
REORDER_BOUND = 5


class Told(NamedTuple):
    """What a transition says, as far as the oracle knows."""

    run: str
    attempt: int
    alert: str
    severity: str
    state: str
    step: int
    time: float | None
    labels: tuple[tuple[str, str], ...]


class Value(NamedTuple):
    """A finite value of a series: its step counted from the attempt's first, and its time."""

    x: float
    rel: int
    time: float


class Judged(NamedTuple):
    """One evaluation of an instance."""

    sequence: int
    step: int
    time: float
    truths: tuple[bool | None, ...]
    until: bool | None


@dataclass
class Episode:
    """All evaluations since the first breach, and the severity told."""

    judged: list[Judged] = field(default_factory=list)
    level: int = -1
    risen: int = 0
    """Evaluations before the newest rise of severity: being over counts from there."""


@dataclass
class Attempt:
    """All that was logged since it began. `logged`: series → (rel, time) of its newest value, finite or not."""

    first_step: int | None = None
    step: int = -1
    origin: float = math.nan
    values: dict[str, list[Value]] = field(default_factory=dict)
    logged: dict[str, tuple[int, float]] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)
    row: dict[str, float | None] = field(default_factory=dict)
    stepped: list[tuple[int, float]] = field(default_factory=list)


@dataclass
class Learned:
    """A value that a `baseline` was shown while no alert was open; it enters when the next one is, if it began none."""

    step: int
    x: float
    began: bool = False
    entered: bool = False


class OracleRun:
    def __init__(self, run: str, rules: RuleSet, references: Mapping[str, RecordedRun]) -> None:
        self.id = run
        self.phases: list[tuple[int | None, str]] = []
        """What was said, in order. An attempt's first step settles those without a step."""
        self.unsettled = 0
        """How many of them were said before an attempt's first step."""
        self.rules = rules
        self.references = references
        self.labels: dict[str, str] = {}
        self.config: dict[str, Any] = {}
        self.number = 1
        self.status = "running"
        self.time = -math.inf
        self.judged_to = -math.inf
        self.sequence = 0
        self.series: dict[str, SeriesName] = {}
        self.numeric: set[str] = set()
        self.bad: set[str] = set()
        self.attempt = Attempt()
        self.learned: dict[Call, list[tuple[int, float]]] = {}
        self.baselines: dict[Call, list[Learned]] = {}
        self.instances: list[Instance] = []
        self.bound = False
        self.episodes: dict[str, Episode] = {}

    # --- events ---------------------------------------------------------------------------------------------

    def handle(self, event: Event) -> list[Told]:
        said: list[Told] = []
        now = math.nan if self.time == -math.inf else self.time
        if event.time is not None:
            now = max(event.time, self.time)
            said += self.wait(now)
            self.time = now
        match event:
            case StepMetrics():
                said += self.step_row(event.step, event.metrics, now)
            case Sample() if self.status == "running":
                suffix = ",".join(f"{key}={value}" for key, value in sorted(event.labels.items()))
                metrics = {f"{key}{{{suffix}}}" if suffix else key: x for key, x in event.metrics.items()}
                if math.isnan(self.attempt.origin):
                    self.attempt.origin = now
                self.sequence += 1
                said += self.row(metrics, {}, now)
            case Phase(name=name, step=step):
                self.phases.append((self.attempt.step if step is None and self.attempt.step >= 0 else step, name))
                if self.attempt.step < 0:
                    self.unsettled += 1
            case RunStarted():
                if self.attempt.step >= 0:
                    said += self.restart(now)
                self.labels = event.labels
                self.config = event.config
                if self.series:
                    self.bind()
            case RunFinished():
                said += self.end("ended", now)
                self.status = event.status
        return said

    def step_row(self, step: int, metrics: Mapping[str, float | None], now: float) -> list[Told]:
        said: list[Told] = []
        newest, earlier = self.attempt.step, {}
        if self.status != "running" or newest - step >= REORDER_BOUND or (step <= 1 and newest - step > 1):
            said += self.restart(now)
        elif step < newest:
            return []
        if step == self.attempt.step:
            metrics = {key: x for key, x in metrics.items() if key not in self.attempt.row}
            if not metrics:
                return []
            earlier = dict(self.attempt.row)
            self.attempt.row |= metrics
        else:
            if self.attempt.first_step is None:
                self.attempt.first_step = step
                self.attempt.origin = now
                self.settle_phases(step)
                self.learned = {call: rewound(call, history, step) for call, history in self.learned.items()}
                for call, shown in self.baselines.items():
                    self.baselines[call] = [value for value in shown if value.step < step]
            self.sequence += 1
            self.attempt.step = step
            self.attempt.stepped.append((step, now))
            self.attempt.row = dict(metrics)
        return said + self.row(metrics, earlier, now)

    def restart(self, now: float) -> list[Told]:
        said = self.end("superseded", now)
        self.attempt = Attempt()
        self.bad.clear()
        self.number += 1
        self.status = "running"
        return said

    def settle_phases(self, step: int) -> None:
        """An attempt goes on from `step`: what lay after it is gone, what was said since counts."""
        before = len(self.phases) - self.unsettled
        said = self.phases[before:]
        self.phases = [(begun, name) for begun, name in self.phases[:before] if begun <= step]
        for begun, name in said:
            if begun is not None or self.phase_at(step) is None or self.phase_at(step)[1] != name:
                self.phases.append((step if begun is None else begun, name))
        self.unsettled = 0

    def phase_at(self, step: int) -> tuple[int, str] | None:
        """The newest word about `step` and what comes after it: of those that begin by then, the one said last,
        unless one said before it begins later and no later word took that back."""
        settled = self.phases[: len(self.phases) - self.unsettled]
        valid = [
            (begun, name)
            for at, (begun, name) in enumerate(settled)
            if begun <= step and not any(later <= begun for later, _ in settled[at + 1 :])
        ]
        return max(valid, default=None, key=lambda entry: entry[0])

    def phase(self) -> str | None:
        step, planned = self.attempt.step, self.config.get("max_steps")
        if (said := self.phase_at(step)) is not None:
            return said[1]
        if planned is None or step < 0:
            return None
        return "early" if step / planned < 1 / 3 else "middle" if step / planned < 2 / 3 else "late"

    def bind(self) -> None:
        self.bound = True
        series = [*self.series.values(), *self.derivable()]
        self.instances = [found for rule in self.rules.selected(self.labels) for found in bind(rule, series, default())]
        kept = {instance.key for instance in self.instances}
        gone = [key for key in self.episodes if key not in kept]
        assert not gone, "no rule set of these tests loses an instance"

    def derivable(self) -> dict[SeriesName, Derivation]:
        """Series that rules call by name and that what is logged, with the same labels, gives; and how."""
        named = {metric.name for rule in self.rules for metric in rule.metrics() if not metric.raw}
        found = {}
        for labels in {series.labels for series in self.series.values()}:
            logged = {series.name for series in self.series.values() if series.labels == labels}
            possible = {one.name: one for one in default().derivations(logged)}
            asked, wanted = list(named & possible.keys()), set()
            while asked:
                name = asked.pop()
                wanted.add(name)
                asked += [need for need in possible[name].needs if need in possible]
            for name, one in possible.items():
                if name in wanted:
                    found[SeriesName(name, labels, f"derived {name}", derived=True)] = one
        return found

    def derived(self, row: Mapping[str, float | None], earlier: Mapping[str, float | None]) -> dict[str, float | None]:
        """Full name → value of what a row gives, together with the earlier rows of its step."""
        whole = {self.series[key].full: x for key, x in [*earlier.items(), *row.items()]}
        new, found = {self.series[key].full for key in row}, {}
        for series, one in self.derivable().items():
            needs = {need: SeriesName(need, series.labels, "").full for need in one.needs}
            if not whole.keys() >= set(needs.values()):
                continue
            values = {need: whole[full] for need, full in needs.items()}
            x = one.compute(values)
            if x is None and None not in values.values():
                if all(map(math.isfinite, values.values())):
                    continue
                x = math.nan
            whole[series.full] = x
            if new & set(needs.values()):
                new.add(series.full)
                found[series.full] = x
        return found

    def row(self, metrics: Mapping[str, float | None], earlier: Mapping[str, float | None], now: float) -> list[Told]:
        """One evaluation: what was logged becomes history, then every instance that it touches is judged."""
        new = [key for key in metrics if key not in self.series]
        for key in new:
            name, brace, labels = key.partition("{")
            pairs = tuple(tuple(part.split("=")) for part in labels.rstrip("}").split(",")) if brace else ()
            self.series[key] = SeriesName(name, pairs, key)
        if new or not self.bound:
            self.bind()
        attempt, rel, finite = self.attempt, self.rel, set()
        values = {self.series[key].full: x for key, x in metrics.items()} | self.derived(metrics, earlier)
        for name, x in values.items():
            attempt.logged[name] = (rel, now)
            if x is not None and math.isfinite(x):
                attempt.last[name] = x
                attempt.values.setdefault(name, []).append(Value(x, rel, now))
                finite.add(name)
                self.numeric.add(name)
                self.bad.discard(name)
            else:
                attempt.last[name] = math.nan
                if x is not None or name in self.numeric:
                    self.bad.add(name)
        moment = Moment(self, now)
        for node, running in self.remembered():
            names = {metric.name for metric in metrics_of(node)}
            if names & finite or not names or "nonfinite(" in str(node):
                moment.learn(node, running=running)
        said: list[Told] = []
        for instance in self.instances:
            names = {metric.name for node in instance.expressions() for metric in metrics_of(node)}
            if (names & finite or not names or asks_about_silence(instance)) and rel >= instance.rule.after:
                said += self.judge(instance, moment)
        return said

    @property
    def rel(self) -> int:
        return self.attempt.step - self.attempt.first_step if self.attempt.first_step is not None else 0

    def remembered(self) -> list[tuple[Node, bool]]:
        """What has a history of its own, inner before outer, each once: running calls, and what windows lie over."""
        found: list[tuple[Node, bool]] = []
        for instance in self.instances:
            for expression in instance.expressions():
                for node in reversed(list(walk(expression))):
                    if isinstance(node, Call) and issubclass(FUNCTIONS[node.function], RunningFunction):
                        found.append((node, True))
                    elif isinstance(node, Call) and not isinstance(node.argument, Metric | Alert):
                        found.append((node.argument, False))
        return list(dict.fromkeys(found))

    # --- the lifecycle --------------------------------------------------------------------------------------

    def judge(self, instance: Instance, moment: Moment) -> list[Told]:
        truths = tuple(moment.truth(condition) for _, condition in instance.conditions)
        episode = self.episodes.get(instance.key)
        rule, said = instance.rule, []
        if rule.phases and self.phase() not in rule.phases and (episode is None or episode.level < 0):
            self.episodes.pop(instance.key, None)
            return []
        if episode is None:
            if True not in truths:
                return []
            episode = self.episodes[instance.key] = Episode()
            for call in owned_by(instance):
                for value in self.baselines.get(call, []):
                    value.began = not value.entered
        until = over(truths)
        if instance.until is not None:
            until = moment.truth(instance.until)
            if until and True in truths:
                until = False
        episode.judged.append(Judged(self.sequence, self.attempt.step, moment.stamp, truths, until))
        clocks = [self.clock([judged.truths[at] for judged in episode.judged], episode) for at in range(len(truths))]
        held = [
            at
            for at, truth in enumerate(truths)
            if truth and long_enough(clocks[at], rule.hold, moment.stamp) and at > episode.level
        ]
        if held:
            if episode.level < 0:
                self.take_back(instance, held[-1], episode)
            episode.level = held[-1]
            episode.risen = len(episode.judged)
            return [self.told(instance, episode.level, "firing", moment.stamp)]
        if episode.level < 0:
            if not any(count for count, _ in clocks):
                del self.episodes[instance.key]
            elif len(episode.judged) == 1:
                highest = max(at for at, (count, _) in enumerate(clocks) if count)
                said = [self.told(instance, highest, "pending", moment.stamp)]
            return said
        since = episode.judged[episode.risen :]
        clock = self.clock([judged.until for judged in since], episode, episode.risen)
        if until and long_enough(clock, rule.keep_firing, moment.stamp):
            del self.episodes[instance.key]
            said = [self.told(instance, episode.level, "resolved", moment.stamp)]
        return said

    def take_back(self, instance: Instance, level: int, episode: Episode) -> None:
        """Unlearn what came from the onset on, as far as something is left to be known."""
        if not owned_by(instance):
            return
        breach = min(
            judged.step
            for at in range(len(instance.conditions))
            for judged in self.running([judged.truths[at] for judged in episode.judged], episode)[:1]
        )
        onset = breach
        for metric in metrics_of(instance.conditions[level][1])[:1]:
            history = self.attempt.values.get(metric.name, [])
            if history and self.has_windows(metric):
                steps = [self.attempt.first_step + value.rel for value in history]
                onset = min(onset, find_onset(steps, [value.x for value in history], breach))
        for call in owned_by(instance):
            least = min(10, int(call.window.size) if call.window else 50)
            entered = [value for value in self.baselines.get(call, []) if value.entered]
            for value in entered[least:]:
                value.entered = value.step < max(onset, 0)
                value.began = not value.entered

    def has_windows(self, metric: Metric) -> bool:
        """Whether its past is kept: some rule asks more of it than whether it is a number."""
        asked = [
            node.argument if isinstance(node, Call) and node.function == "nonfinite" else None
            for instance in self.instances
            for expression in instance.expressions()
            for node in walk(expression)
        ]
        named = [
            node
            for instance in self.instances
            for expression in instance.expressions()
            for node in walk(expression)
            if node == metric
        ]
        return len(named) > asked.count(metric)

    @classmethod
    def clock(cls, truths: list[bool | None], episode: Episode, skip: int = 0) -> tuple[int, float]:
        """Evaluations (rows of one step are one) since the last False that held, and when the first did."""
        held = cls.running(truths, episode, skip)
        return len({judged.sequence for judged in held}), held[0].time if held else math.nan

    @staticmethod
    def running(truths: list[bool | None], episode: Episode, skip: int = 0) -> list[Judged]:
        """Evaluations since the last False that held."""
        held: list[Judged] = []
        for truth, judged in zip(truths, episode.judged[skip:], strict=True):
            if truth is False:
                held = []
            elif truth:
                held.append(judged)
        return held

    def told(self, instance: Instance, level: int, state: str, time: float) -> Told:
        return Told(
            self.id,
            self.number,
            instance.rule.name,
            instance.conditions[level][0],
            state,
            max(self.attempt.step, 0),
            None if math.isnan(time) else time,
            tuple(sorted(instance.labels)),
        )

    def end(self, state: str, time: float) -> list[Told]:
        said = [
            self.told(instance, episode.level, state, time)
            for instance in self.instances
            if (episode := self.episodes.get(instance.key)) is not None and episode.level >= 0
        ]
        self.episodes.clear()
        return said

    # --- time -----------------------------------------------------------------------------------------------

    def wait(self, now: float) -> list[Told]:
        """Let everything happen that falls due before `now`."""
        said: list[Told] = []
        while self.status == "running" and self.time > -math.inf:
            waiting = [(due, instance) for instance in self.instances for due in self.dues(instance)]
            stale = self.time + STALE_AFTER if self.episodes else math.inf
            due = min([stale, *(due for due, _ in waiting)])
            if due >= now:
                break
            if due == stale:
                said += self.end("stale", due)
            else:
                asked = [found for found in self.instances if any(found is i and d == due for d, i in waiting)]
                followed: list[Instance] = []
                while asked:
                    moment, said_before = Moment(self, due, after=True), self.standing()
                    for instance in asked:
                        if self.rel >= instance.rule.after:
                            said += self.judge(instance, moment)
                    now_said = self.standing()
                    changed = {i.rule.name for i in asked if said_before.get(i.key) != now_said.get(i.key)}
                    asked = [
                        found
                        for found in self.instances
                        if found not in followed and any(alert.name in changed for alert in asks_about(found))
                    ]
                    followed += asked
            self.judged_to = due
        return said

    def dues(self, instance: Instance) -> Iterator[float]:
        """When the answer of an instance that waits for silence changes by itself."""
        waits = list(waits_of(instance))
        waiting = instance in self.waiting()
        for name, wait in waits:
            seconds = wait if isinstance(wait, float) else Moment(self, self.time).number(wait)
            since = self.attempt.logged[name][1] if name in self.attempt.logged else self.attempt.origin
            yield from self.ahead(since + seconds)
        episode, rule = self.episodes.get(instance.key), instance.rule
        if waiting and episode is not None:
            for at in range(len(instance.conditions)):
                count, since = self.clock([judged.truths[at] for judged in episode.judged], episode)
                if count and rule.hold is not None and rule.hold.axis is Axis.TIME:
                    yield from self.ahead(since + rule.hold.size)
            if episode.level >= 0 and rule.keep_firing is not None and rule.keep_firing.axis is Axis.TIME:
                since_rise = [judged.until for judged in episode.judged[episode.risen :]]
                count, since = self.clock(since_rise, episode, episode.risen)
                if count:
                    yield from self.ahead(since + rule.keep_firing.size)

    def waiting(self) -> list[Instance]:
        """Instances whose answer changes by itself, or by the alert of such a one."""
        found = [instance for instance in self.instances if list(waits_of(instance))]
        while True:
            names = {instance.rule.name for instance in found}
            more = [
                instance
                for instance in self.instances
                if instance not in found and any(alert.name in names for alert in asks_about(instance))
            ]
            if not more:
                return found
            found += more

    def standing(self) -> dict[str, tuple[str, int, list[bool]]]:
        """Open alerts by their instances' keys: rule, level, and which severities have begun."""
        return {
            instance.key: (
                instance.rule.name,
                episode.level,
                [
                    bool(self.running([judged.truths[at] for judged in episode.judged], episode))
                    for at in range(len(instance.conditions))
                ],
            )
            for instance in self.instances
            if (episode := self.episodes.get(instance.key)) is not None
        }

    def ahead(self, due: float) -> Iterator[float]:
        if due > self.judged_to:
            yield max(due, self.time)


class Moment:
    """A run as of now. `stamp`: when it is told to have happened; what fell due is looked at a hair later."""

    def __init__(self, run: OracleRun, time: float, *, after: bool = False) -> None:
        self.run = run
        self.stamp = time
        self.time = math.nextafter(time, math.inf) if after else time
        self.standing = run.standing()

    def learn(self, node: Node, *, running: bool) -> None:
        """The newest value of what has a history becomes part of it, if it is a number."""
        run = self.run
        if running:
            assert isinstance(node, Call)
            x = self.number(node.argument)
            if -1e100 < x < 1e100 and node.function == "baseline":
                if node.owner not in run.episodes:
                    shown = run.baselines.setdefault(node, [])
                    for value in shown:
                        value.entered = not value.began
                    shown.append(Learned(run.attempt.step, x))
            elif -1e100 < x < 1e100:
                run.learned.setdefault(node, []).append((run.attempt.step, x))
            return
        x = {True: 1.0, False: 0.0, None: math.nan}[self.truth(node)] if is_condition(node) else self.number(node)
        if -1e100 < x < 1e100:
            run.attempt.values.setdefault(own_text(node), []).append(Value(x, run.rel, self.time))

    def truth(self, node: Node) -> bool | None:
        match node:
            case Compare(op=op, left=left, right=right):
                a, b = self.number(left), self.number(right)
                if math.isnan(a) or math.isnan(b):
                    return None
                return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}[op]
            case Not(operand=operand):
                return {True: False, False: True, None: None}[self.truth(operand)]
            case Logic(op="and", parts=parts):
                found = [self.truth(part) for part in parts]
                return False if False in found else None if None in found else True
            case Logic(op="or", parts=parts):
                found = [self.truth(part) for part in parts]
                return True if True in found else None if None in found else False
            case InPhase(name=name, other=other):
                phase = self.run.phase()
                return None if phase is None else phase != name if other else phase == name
            case Call(argument=Alert(name=name, severity=severity)):
                return any(
                    self.asked(node.function, severity, *found) for found in self.standing.values() if found[0] == name
                )
            case Call(function="nonfinite", argument=Metric(name=name)):
                return name in self.run.bad
            case Call(function="absent", argument=Metric(name=name), window=Extent(axis=Axis.TIME, size=size)):
                logged = self.run.attempt.logged.get(name, (-1, self.run.attempt.origin))
                gone = self.time >= logged[1] + size
                return None if math.isnan(self.time) or math.isnan(logged[1]) else gone
            case Call(function="absent", argument=Metric(name=name), window=Extent(size=size)):
                return self.run.rel - self.run.attempt.logged.get(name, (-1, 0.0))[0] >= size
            case Call(function="seen", argument=Metric(name=name)):
                return bool(self.run.attempt.values.get(name))
            case Call() if FUNCTIONS[node.function].result is Result.TRUTH:
                x = self.call(node)
                return None if math.isnan(x) else x == 1.0
        raise AssertionError(node)

    def asked(self, word: str, severity: str | None, name: str, level: int, begun: list[bool]) -> bool:
        """Whether an open alert is firing, or pending, with at least a severity."""
        severities = [known for known, _ in self.run.rules.named(name).conditions]
        order = ["info", "warning", "critical"]
        counting = [
            at for at, known in enumerate(severities) if severity is None or order.index(known) >= order.index(severity)
        ]
        if word == "firing":
            return level in counting
        return bool(counting) and level < counting[0] and any(begun[at] for at in counting)

    def number(self, node: Node) -> float:
        match node:
            case Number(value=value) | Duration(seconds=value):
                return value
            case Context(name="step"):
                return float(self.run.attempt.step)
            case Context(name="phase_step"):
                said = self.run.phase_at(self.run.attempt.step)
                return math.nan if said is None else float(self.run.attempt.step - said[0])
            case Context(name="progress"):
                return self.run.attempt.step / self.run.config["max_steps"] if self.run.config else math.nan
            case Context(name="config.beta"):
                return float(self.run.config.get("beta", math.nan))
            case Context(name="step_time"):
                return self.step_time()
            case Metric(name=name):
                return self.run.attempt.last.get(name, math.nan)
            case Negative(operand=operand):
                return -self.number(operand)
            case Arithmetic(op=op, left=left, right=right):
                a, b = self.number(left), self.number(right)
                if op == "/":
                    return a / b if b else math.nan
                return {"+": a + b, "-": a - b, "*": a * b}[op]
            case Call(function="reference", argument=Metric(name=name)):
                return self.recorded(name)
            case Call(function="age", argument=Metric(name=name)):
                return self.time - self.run.attempt.logged[name][1] if name in self.run.attempt.logged else math.nan
            case Call():
                return self.call(node)
        raise AssertionError(node)

    def recorded(self, name: str) -> float:
        label, step = self.run.labels.get("reference"), self.run.attempt.step
        found = list(self.run.references.values()) if len(self.run.references) == 1 else []
        if label is not None:
            found = [self.run.references[label]] if label in self.run.references else []
        if not found or step > found[0].last or name not in found[0].series:
            return math.nan
        column = found[0].series[name]
        return next(
            (x for s, x in reversed(list(zip(column.steps, column.values, strict=True))) if s <= step), math.nan
        )

    def step_time(self) -> float:
        logged = [value.x for value in self.run.attempt.values.get("time.step_s", []) if value.x > 0][-20:]
        stepped = self.run.attempt.stepped
        gaps = [(t - s) / (b - a) for (a, s), (b, t) in pairwise(stepped)]
        between = [gap for gap in gaps if gap > 0][-20:]
        times = logged if len(logged) >= 3 else between
        return statistics.median(times) if len(times) >= 3 else math.nan

    def call(self, call: Call) -> float:
        function = FUNCTIONS[call.function]
        if issubclass(function, Pointwise):
            assert call.function == "abs"
            return abs(self.number(call.argument))
        if call.function == "baseline":
            size = int(call.window.size) if call.window else 50
            before = [value.x for value in self.run.baselines.get(call, []) if value.entered][-size:]
            return statistics.median(before) if len(before) >= min(10, size) else math.nan
        if issubclass(function, RunningFunction):
            history = [x for _, x in self.run.learned.get(call, [])]
            metrics = metrics_of(call.argument)
            higher = default().higher_is_better(metrics[0].name) if metrics else True
            return function.define(
                history, higher_is_better=higher, samples=int(call.window.size) if call.window else None
            )
        assert issubclass(function, WindowFunction) and call.window is not None
        key = call.argument.name if isinstance(call.argument, Metric) else own_text(call.argument)
        history = self.run.attempt.values.get(key, [])
        window = self.window(history, call.window, reach=function.reach)
        if len(window) < function.least or (
            function.covered and not self.covered(history, call.window, reach=function.reach)
        ):
            return math.nan
        scale = call.window
        if scale.axis is not Axis.TIME and scale.size < SCALE_SAMPLES:
            scale = Extent(Axis.SAMPLES, SCALE_SAMPLES)
        named: dict[str, Any] = {} if call.literal is None else {"literal": call.literal.value}
        if function.placed:
            named["places"] = [value.time if call.window.axis is Axis.TIME else value.rel for value in window]
        noisy = self.window(history, scale, reach=True)
        return function.define([value.x for value in window], [value.x for value in noisy], **named)

    def window(self, history: list[Value], extent: Extent, *, reach: bool) -> list[Value]:
        if extent.axis is Axis.SAMPLES:
            return history[-(int(extent.size) + reach) :]
        if extent.axis is Axis.STEPS:
            inside = [value.rel > self.run.rel - extent.size for value in history]
        else:
            inside = [not value.time <= self.time - extent.size for value in history]
        begin = inside.index(True) if True in inside else len(history)
        return history[max(begin - reach, 0) :]

    def covered(self, history: list[Value], extent: Extent, *, reach: bool) -> bool:
        if extent.axis is Axis.SAMPLES:
            return len(history) >= extent.size + reach
        if not history:
            return False
        if extent.axis is Axis.STEPS:
            return history[0].rel <= self.run.rel - extent.size + (not reach)
        return history[0].time <= self.time - extent.size


def rewound(call: Call, history: list[tuple[int, float]], step: int) -> list[tuple[int, float]]:
    """What was learned before a run went back to `step`. `initial` is learned from the first values, or anew;
    `ewma` goes on, or begins anew."""
    if call.function == "ewma":
        return [] if history and history[-1][0] >= step else history
    if call.function == "initial":
        first = history[: int(call.window.size) if call.window else 10]
        return [] if first and first[-1][0] >= step else history
    return [learned for learned in history if learned[0] < step]


class Oracle:
    """`handle` as the engine's, for any number of runs."""

    def __init__(self, rules: RuleSet, references: Mapping[str, RecordedRun] | None = None) -> None:
        self.rules = rules
        self.references = references or {}
        self.runs: dict[str, OracleRun] = {}

    def handle(self, event: Event) -> list[Told]:
        return self.runs.setdefault(event.run, OracleRun(event.run, self.rules, self.references)).handle(event)

    def tick(self, now: float) -> list[Told]:
        return [told for run in self.runs.values() for told in run.wait(now)]


def over(truths: tuple[bool | None, ...]) -> bool | None:
    """Without a reset condition, an alert is over when all its conditions are known to be false."""
    if True in truths:
        return False
    return None if None in truths else True


def long_enough(clock: tuple[int, float], extent: Extent | None, now: float) -> bool:
    count, since = clock
    if extent is None or not count:
        return count > 0
    return now >= since + extent.size if extent.axis is Axis.TIME else count >= extent.size


def asks_about_silence(instance: Instance) -> bool:
    """Whether its answer may change at an event that logs none of its metrics as a number."""
    calls = [node for expression in instance.expressions() for node in walk(expression) if isinstance(node, Call)]
    kinds = (Probe, Standing)
    return any(call.function == "nonfinite" or issubclass(FUNCTIONS[call.function], kinds) for call in calls)


def asks_about(instance: Instance) -> list[Alert]:
    return [node for expression in instance.expressions() for node in walk(expression) if isinstance(node, Alert)]


def owned_by(instance: Instance) -> list[Call]:
    """What an instance has for itself."""
    nodes = [node for expression in instance.expressions() for node in walk(expression)]
    return list(dict.fromkeys(node for node in nodes if isinstance(node, Call) and node.function == "baseline"))


def own_text(node: Node) -> str:
    owners = [found.owner for found in walk(node) if isinstance(found, Call) and found.owner]
    return f"({node}) {owners[:1]}"


def waits_of(instance: Instance) -> Iterator[tuple[str, float | Node]]:
    """(series, seconds) of each silence that an instance waits for; the seconds may hang on the time of a step."""
    for expression in instance.expressions():
        for node in walk(expression):
            match node:
                case Call(function="absent", argument=Metric(name=name), window=Extent(axis=Axis.TIME, size=size)):
                    yield name, size
                case Compare(left=Call(function="age", argument=Metric(name=name)), right=Duration(seconds=size)):
                    yield name, size
                case Compare(left=Duration(seconds=size), right=Call(function="age", argument=Metric(name=name))):
                    yield name, size
                case Compare(left=Call(function="age", argument=Metric(name=name)), right=size):
                    yield name, size
