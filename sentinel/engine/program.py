"""A rule set made ready: compiled once for each kind of run, shared by all runs of that kind.

The kind of a run is what it logs, what its labels select, and its framework's keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sentinel.engine.bind import Instance, SeriesName, bind
from sentinel.engine.compile import Kernel, compile_plan
from sentinel.engine.plan import Plan, make_plan, only_nonfinite, series_key
from sentinel.metrics import Dictionary
from sentinel.rules.expression.nodes import Call, Compare, Duration, Metric, Node, metrics_of, walk
from sentinel.rules.model import Rule, RuleSet
from sentinel.stats import FUNCTIONS
from sentinel.stats.window import Axis

MAX_COMPILED = 256
"""Kinds of runs kept compiled. A cluster has a handful; past this the oldest is compiled again when it returns."""


Silences = tuple[tuple[str, float | Node], ...]


@dataclass(frozen=True, slots=True)
class NotEvaluable:
    """A rule that can say nothing of a run, and the metrics that it would need."""

    rule: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """What runs of one kind share. `dormant`: instances that sleep until a value is not a number.

    `timed`: instances whose answer changes while nothing is logged, each with (series slot key, seconds) pairs: so long
    after that series' newest value they must be looked at. Seconds that hang on `step_time` are a tree.
    """

    plan: Plan
    kernel: Kernel
    source: str
    dormant: tuple[int, ...]
    timed: tuple[tuple[int, Silences], ...]
    not_evaluable: tuple[NotEvaluable, ...]
    index: Mapping[str, int] = field(default_factory=dict)

    @property
    def instances(self) -> tuple[Instance, ...]:
        return self.plan.instances


class Program:
    """The rules in force, compiled on demand."""

    def __init__(self, rules: RuleSet, dictionary: Dictionary) -> None:
        self.rules = rules
        self.dictionary = dictionary
        self._compiled: dict[object, Compiled] = {}

    def compiled(self, series: Sequence[SeriesName], facts: Mapping[str, str]) -> Compiled:
        """The compiled rules for runs that log these series and carry these labels."""
        selected = self.rules.selected(facts)
        # Rules in force live as long as this object, so the identity of each variant tells it from the others.
        kind = (tuple(series), tuple(map(id, selected)))
        found = self._compiled.get(kind)
        if found is None:
            if len(self._compiled) >= MAX_COMPILED:
                del self._compiled[next(iter(self._compiled))]
            found = self._compiled[kind] = _compile(selected, series, self.dictionary)
        return found


def not_evaluable(
    rules: Iterable[Rule], series: Sequence[SeriesName], dictionary: Dictionary
) -> tuple[NotEvaluable, ...]:
    """The rules that can say nothing of a run that logs these series."""
    keys = {found.full: found.raw for found in series}
    instances = [instance for rule in rules for instance in bind(rule, series, dictionary)]
    return tuple(_not_evaluable(list(rules), instances, keys))


def _compile(rules: Sequence[Rule], series: Sequence[SeriesName], dictionary: Dictionary) -> Compiled:
    instances = [instance for rule in rules for instance in bind(rule, series, dictionary)]
    plan = make_plan(instances, dictionary)
    dormant = tuple(index for index, instance in enumerate(instances) if only_nonfinite(instance))
    keys = {found.full: found.raw for found in series}
    kernel, source = compile_plan(plan, keys, frozenset(dormant))
    timed = tuple(
        (index, watched) for index, instance in enumerate(instances) if (watched := _watched(instance)) is not None
    )
    return Compiled(
        plan=plan,
        kernel=kernel,
        source=source,
        dormant=dormant,
        timed=timed,
        not_evaluable=tuple(_not_evaluable(rules, instances, keys)),
        index={instance.key: index for index, instance in enumerate(instances)},
    )


def _watched(instance: Instance) -> Silences | None:
    """The silences that an instance waits for; None when it waits for none."""
    found: list[tuple[str, float | Node]] = []
    for expression in instance.expressions():
        for node in walk(expression):
            if isinstance(node, Call) and node.function == "absent":
                assert node.window is not None
                if node.window.axis is Axis.TIME:
                    found.append((series_key(node.argument), node.window.size))
            elif isinstance(node, Compare):
                found.extend(_ages(node))
    return tuple(found) or None


def _ages(node: Compare) -> list[tuple[str, float | Node]]:
    """The silence that a comparison with `age` waits for. What it is compared with changes at events only."""
    for side, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(side, Call) and side.function == "age":
            return [(series_key(side.argument), other.seconds if isinstance(other, Duration) else other)]
    return []


def _not_evaluable(rules: Sequence[Rule], instances: Sequence[Instance], keys: Mapping[str, str]) -> list[NotEvaluable]:
    """Rules whose every instance lacks a metric that it must have."""
    result = []
    for rule in rules:
        own = [instance for instance in instances if instance.rule is rule]
        if not own:
            result.append(NotEvaluable(rule.name, tuple(str(metric) for metric in rule.metrics() if metric.wild)))
            continue
        lacking = [_lacking(instance, keys) for instance in own]
        if all(lacking):
            result.append(NotEvaluable(rule.name, tuple(dict.fromkeys(name for names in lacking for name in names))))
    return result


def _lacking(instance: Instance, keys: Mapping[str, str]) -> tuple[str, ...]:
    """Metrics without which no severity of the instance can ever be decided."""
    per_severity = [
        [metric.name for metric in _needed(condition) if metric.name not in keys]
        for _, condition in instance.conditions
    ]
    if all(per_severity):
        return tuple(dict.fromkeys(name for names in per_severity for name in names))
    return ()


def _needed(node: Node) -> list[Metric]:
    """The metrics of an expression but those it only asks about (`absent`, `seen`, `nonfinite`)."""
    asked = {
        call.argument for call in walk(node) if isinstance(call, Call) and not FUNCTIONS[call.function].needs_values
    }
    return [metric for metric in metrics_of(node) if metric not in asked]
