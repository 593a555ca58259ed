"""Where a rule's alert stands after an event: looked up in the engine that plays a test."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from sentinel.engine.bind import Instance
from sentinel.engine.engine import Engine
from sentinel.engine.evaluate import Reader, deciding
from sentinel.engine.lifecycle import Record
from sentinel.rules.expression.nodes import Node
from sentinel.ruletest.result import State
from sentinel.ruletest.script import RUN
from sentinel.severity import Severity

Identity = tuple[str, tuple[tuple[str, str], ...]]
"""Which alert: the rule's name, and the labels that tell its alerts apart."""


@dataclass(frozen=True, slots=True)
class Sight:
    """One alert at one moment. `known`: there is enough data to tell whether a condition holds.

    `metric`, `value`, `threshold`: the comparison that decides; the numbers are None where unknown.
    """

    state: State
    known: bool
    severity: Severity | None = None
    onset: int | None = None
    metric: str = ""
    value: float | None = None
    threshold: float | None = None

    def is_one_of(self, states: tuple[State, ...]) -> bool:
        """Whether it stands in one of these states. What has resolved is also inactive, or unknown."""
        plain: State = "inactive" if self.known else "unknown"
        return self.state in states or (self.state == "resolved" and plain in states)


_ORDER: tuple[State, ...] = ("firing", "pending", "resolved", "inactive", "unknown")


def look(
    engine: Engine,
    alert: str,
    labels: Mapping[str, str],
    resolved: set[Identity],
    severity: Severity | None = None,
    *,
    now: float | None = None,
) -> Sight:
    """The alert of a rule that carries `labels`; of several, the one in the most urgent state.

    `resolved`: alerts whose newest episode ended by recovery. `severity`: whose condition is read while nothing is
    open; without it, the first that is known. `now`: seconds since the epoch, the run's newest time without it.
    """
    run = engine.runs[RUN]
    if run.compiled is None:
        return Sight("unknown", False)
    reader = engine.reader(RUN)
    if now is not None:
        reader.time = now
    found = []
    for instance, record in zip(run.compiled.instances, run.records, strict=True):
        own = dict(instance.labels)
        if instance.rule.name == alert and labels.items() <= own.items():
            was = (alert, instance.labels) in resolved
            asleep = run.rel < instance.rule.after
            found.append(_sight(instance, record, reader, severity, was_resolved=was, asleep=asleep))
    return min(found, key=lambda sight: _ORDER.index(sight.state), default=Sight("unknown", False))


def _sight(
    instance: Instance,
    record: Record | None,
    reader: Reader,
    severity: Severity | None,
    *,
    was_resolved: bool,
    asleep: bool,
) -> Sight:
    if record is not None:
        level = record.level
        if level < 0:
            level = max((at for at, clock in enumerate(record.clocks) if clock.count), default=0)
        named, condition = instance.conditions[level]
        metric, value, threshold = _numbers(condition, reader)
        state: State = "firing" if record.level >= 0 else "pending"
        return Sight(state, True, named, record.onset_step, metric, value, threshold)
    asked = [condition for named, condition in instance.conditions if severity in (None, named)]
    if not asked:
        asked = [condition for _, condition in instance.conditions]
    decided = [condition for condition in asked if reader.truth(condition) is not None]
    known = bool(decided) and not asleep
    metric, value, threshold = _numbers((decided or asked)[0], reader)
    state = "resolved" if was_resolved else "inactive" if known else "unknown"
    return Sight(state, known, None, None, metric, value, threshold)


def _numbers(condition: Node, reader: Reader) -> tuple[str, float | None, float | None]:
    decided = deciding(condition, reader)
    if decided is None:
        return "", None, None
    node, value, threshold = decided
    return str(node), value if math.isfinite(value) else None, threshold if math.isfinite(threshold) else None
