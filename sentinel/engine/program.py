"""A rule set made ready: compiled once for each kind of run, shared by all runs of that kind.

The kind of a run is what it logs, what its labels select, and its framework's keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sentinel.engine.bind import Instance, SeriesName, bind
from sentinel.engine.compile import Kernel, compile_plan
from sentinel.engine.context import PROGRESS
from sentinel.engine.derived import DerivedSeries, derived_series, names_wanted
from sentinel.engine.evaluable import Known, NotEvaluable, not_evaluable
from sentinel.engine.plan import Plan, make_plan, only_nonfinite, series_key, standing
from sentinel.engine.recorded import NOTHING, RecordedRun
from sentinel.engine.silence import Silence, Soonest, compile_silences
from sentinel.metrics import Dictionary
from sentinel.rules.expression.nodes import Call, Compare, Duration, Node, alerts_of, walk
from sentinel.rules.model import Rule, RuleSet
from sentinel.stats.window import Axis

MAX_COMPILED = 256
"""Kinds of runs kept compiled. A cluster has a handful; past this the oldest is compiled again when it returns."""


Silences = tuple[Silence, ...]


@dataclass(frozen=True, slots=True)
class Compiled:
    """What runs of one kind share. `dormant`: instances that sleep until a value is not a number.

    `timed`: instances whose answer changes while nothing is logged, each with (series slot key, seconds) pairs: so long
    after that series' newest value they must be looked at; seconds that hang on `step_time` are a tree. `followers`: a
    timed instance → those that ask about its alert. `logged`: the full names of the series.
    """

    plan: Plan
    kernel: Kernel
    source: str
    dormant: tuple[int, ...]
    timed: tuple[tuple[int, Silences], ...]
    soonest: Soonest | None
    followers: Mapping[int, tuple[int, ...]]
    rules: tuple[Rule, ...]
    logged: frozenset[str]
    index: Mapping[str, int] = field(default_factory=dict)
    _lacks: dict[object, tuple[NotEvaluable, ...]] = field(default_factory=dict)

    @property
    def instances(self) -> tuple[Instance, ...]:
        return self.plan.instances

    def not_evaluable(
        self, constants: Mapping[str, float], recorded: RecordedRun, *, phased: bool = False
    ) -> tuple[NotEvaluable, ...]:
        """The rules that can say nothing of a run whose configuration states `constants`.

        `phased`: whether the trainer has said a phase.
        """
        there = None if recorded is NOTHING else frozenset(recorded.series)
        kind = (frozenset(constants), there, phased)
        found = self._lacks.get(kind)
        if found is None:
            known = Known(self.logged, kind[0], there, phased=phased or PROGRESS in constants)
            found = self._lacks[kind] = not_evaluable(self.rules, self.instances, known)
        return found


class Program:
    """The rules in force, compiled on demand."""

    def __init__(self, rules: RuleSet, dictionary: Dictionary) -> None:
        self.rules = rules
        self.dictionary = dictionary
        self._compiled: dict[object, Compiled] = {}
        self._derived: dict[tuple[SeriesName, ...], tuple[DerivedSeries, ...]] = {}
        self._wanted = names_wanted(rules)

    def derived(self, series: tuple[SeriesName, ...]) -> tuple[DerivedSeries, ...]:
        """What is to be calculated for runs that log these series."""
        found = self._derived.get(series)
        if found is None:
            if len(self._derived) >= MAX_COMPILED:
                del self._derived[next(iter(self._derived))]
            found = self._derived[series] = derived_series(series, self._wanted, self.dictionary)
        return found

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


def _compile(rules: Sequence[Rule], series: Sequence[SeriesName], dictionary: Dictionary) -> Compiled:
    instances = [instance for rule in rules for instance in bind(rule, series, dictionary)]
    plan = make_plan(instances, dictionary)
    dormant = tuple(index for index, instance in enumerate(instances) if only_nonfinite(instance))
    keys = {found.full: found.raw for found in series}
    kernel, source = compile_plan(plan, keys, frozenset(dormant))
    timed: dict[int, Silences] = {
        index: watched for index, instance in enumerate(instances) if (watched := _watched(instance)) is not None
    }
    followers = _followers(instances)
    spreading = list(timed)
    while spreading:
        for follower in followers.get(spreading.pop(), ()):
            if follower not in timed:
                timed[follower] = ()
                spreading.append(follower)
    return Compiled(
        plan=plan,
        kernel=kernel,
        source=source,
        dormant=dormant,
        timed=tuple(sorted(timed.items())),
        soonest=compile_silences(plan, keys, (silence for watched in timed.values() for silence in watched)),
        followers={index: followers[index] for index in sorted(timed) if index in followers},
        rules=tuple(rules),
        logged=frozenset(keys),
        index={instance.key: index for index, instance in enumerate(instances)},
    )


def _watched(instance: Instance) -> Silences | None:
    """The silences that an instance waits for; None when it waits for none."""
    found: list[Silence] = []
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


def _followers(instances: Sequence[Instance]) -> dict[int, tuple[int, ...]]:
    """Index of an instance → those of the instances that ask about its alert."""
    found: dict[int, dict[int, None]] = {}
    for index, instance in enumerate(instances):
        for alert in (alert for expression in instance.expressions() for alert in alerts_of(expression)):
            for asked, _ in standing(alert, instances):
                found.setdefault(asked, {})[index] = None
    return {asked: tuple(asking) for asked, asking in found.items()}
