"""Where a rule stands with a run: the state of its alert, its counters, and why it is quiet."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sentinel.engine.bind import Instance, Labels
from sentinel.engine.engine import Engine
from sentinel.engine.lifecycle import Clock, Record
from sentinel.engine.plan import series_key
from sentinel.engine.run_state import RunState
from sentinel.explain.finding import Finding, Inspector, blame
from sentinel.explain.lack import why_not_evaluable
from sentinel.explain.outlook import Prospect, outlook
from sentinel.explain.words import Words, spelled
from sentinel.rules.expression.nodes import Call, Extent, Node, alerts_of, metrics_of, walk
from sentinel.rules.model import Rule, carries
from sentinel.severity import Severity
from sentinel.stats import FUNCTIONS
from sentinel.stats.series import Series
from sentinel.stats.window import Axis

State = Literal["inactive", "pending", "firing"]

Reason = Literal[
    "firing",
    "pending",
    "false",
    "unknown",
    "not-asked",
    "not-evaluable",
    "no-series",
    "where",
    "after",
    "phase",
    "ended",
]
"""Why an alert is in its state, as a word. `not-asked`: it holds now and none of its metrics came since."""

MOST_BLAMED = 3


@dataclass(frozen=True, slots=True)
class Counter:
    """How far a `for` has come: `count` of `size` steps, samples or seconds. `since_step`: where it began, or None."""

    severity: Severity
    count: float
    extent: Extent | None
    since_step: int | None = None

    @property
    def words(self) -> str:
        """`2 of 3 steps`."""
        if self.extent is None:
            return "no for: fires at once"
        if self.extent.axis is Axis.TIME:
            return f"{self.count:.0f} s of {spelled(self.extent)}"
        return f"{self.count:.0f} of {spelled(self.extent)}"


@dataclass(frozen=True, slots=True)
class Standing:
    """One rule, or one of its alerts when it makes several (`labels`), at one moment of one run.

    - `state`, `severity`: of the alert; while pending the severity whose clock runs furthest up.
    - `since_step`: the onset; `fired_step`: when it fired. `alert_id`: of the episode, None when inactive.
    - `reason`, `why`: a word and a sentence for the state it is in. `missing`: metrics that the run never logs.
    - `asked_step`: the step of the newest value that made the engine ask; None when none has in this attempt.
    - `conditions`: (severity, its parts as they stand); `until`: the same of the reset condition.
    - `counters`: of `for`, by severity; `over`: of `keep_firing_for` while firing.
    - `prospects`: what would make it fire, rise or resolve; empty until `look_ahead` has looked for it.
    """

    rule: Rule
    labels: Labels
    state: State
    reason: Reason
    why: str
    severity: Severity | None = None
    since_step: int | None = None
    since_time: float | None = None
    fired_step: int | None = None
    alert_id: str | None = None
    asked_step: int | None = None
    missing: tuple[str, ...] = ()
    conditions: tuple[tuple[Severity, Finding], ...] = ()
    until: Finding | None = None
    counters: tuple[Counter, ...] = ()
    over: Counter | None = None
    prospects: tuple[Prospect, ...] = ()
    index: int | None = None
    """Of its instance among those of the run; None for a rule without one."""


def look_ahead(engine: Engine, run: RunState, standing: Standing) -> Standing:
    """The same, with what would make it fire, rise or resolve. Takes from milliseconds to a second."""
    if standing.index is None or standing.missing:
        return standing
    return replace(standing, prospects=tuple(outlook(engine, run, standing.index, Words(engine.dictionary))))


def standings(engine: Engine, run: RunState, rules: Sequence[Rule], *, now: float | None = None) -> Iterator[Standing]:
    """Where `rules` stand with `run`, in their order; several for a rule that makes several alerts.

    `now`: seconds since the epoch by the clock of the events, for rules on silence; without it, the run's newest
    event.
    """
    words = Words(engine.dictionary)
    compiled = run.compiled
    for rule in rules:
        own = (
            [] if compiled is None else [at for at, one in enumerate(compiled.instances) if one.rule.name == rule.name]
        )
        if not own:
            yield _without_instance(engine, run, rule)
        for index in own:
            yield _standing(engine, run, index, words, now)


def _without_instance(engine: Engine, run: RunState, rule: Rule) -> Standing:
    facts = run.facts()
    off = next((one for one in rule.overrides if one.rule is None and carries(facts, one.where)), None)
    if off is not None and carries(facts, rule.where):
        given = " and ".join(f"{key} is {value}" for key, value in off.where.items())
        return Standing(rule, (), "inactive", "where", f"an override switches it off where {given}")
    if not carries(facts, rule.where):
        asked = ", ".join(f"{key} to be {value}" for key, value in rule.where.items())
        given = ", ".join(
            f"{key} is {facts[key]}" if key in facts else f"the run has no {key}"
            for key, value in rule.where.items()
            if facts.get(key) != value
        )
        return Standing(rule, (), "inactive", "where", f"the rule asks for {asked}; {given}")
    if run.compiled is None:
        return Standing(rule, (), "inactive", "unknown", "the run has not logged a metric yet")
    missing = _missing(engine, run, rule)
    names = ", ".join(missing) or "the rule's metrics"
    return Standing(rule, (), "inactive", "no-series", f"no series of the run matches {names}", missing=missing)


def _missing(engine: Engine, run: RunState, rule: Rule) -> tuple[str, ...]:
    return next((found.missing for found in engine.not_evaluable(run.id) if found.rule == rule.name), ())


def _standing(engine: Engine, run: RunState, index: int, words: Words, now: float | None) -> Standing:
    assert run.compiled is not None
    instance, record = run.compiled.instances[index], run.records[index]
    rule = instance.rule
    rel, time, asked = _asked(run, instance, now, timed=any(index == at for at, _ in run.compiled.timed))
    reader = engine.reader_at(run, time, rel=rel)
    inspector = Inspector(run, reader, words)
    conditions = tuple((severity, inspector.find(node)) for severity, node in instance.conditions)
    until = None if instance.until is None else inspector.find(instance.until)
    missing = _missing(engine, run, rule)
    state: State = "inactive" if record is None else "firing" if record.level >= 0 else "pending"
    counters = _counters(rule, instance, record, time)
    reason, why = _reason(run, instance, record, conditions, counters, missing, reader.phase)
    severity = None
    if record is not None:
        level = record.level if record.level >= 0 else max(at for at, clock in enumerate(record.clocks) if clock.count)
        severity = instance.conditions[level][0]
    over = None
    if record is not None and record.level >= 0 and rule.keep_firing is not None:
        over = _counter(severity or conditions[0][0], record.over, rule.keep_firing, time)
    return Standing(
        rule=rule,
        labels=instance.labels,
        state=state,
        reason=reason,
        why=why,
        severity=severity,
        since_step=None if record is None else record.onset_step,
        since_time=None if record is None else record.onset_time,
        fired_step=None if record is None or record.level < 0 else record.fired_step,
        alert_id=None if record is None else record.id,
        asked_step=run.first_step + rel if asked and run.first_step >= 0 else None,
        missing=missing,
        conditions=conditions,
        until=until,
        counters=counters,
        over=over,
        index=index,
    )


def _asked(run: RunState, instance: Instance, now: float | None, *, timed: bool) -> tuple[int, float, bool]:
    """From where an instance was last looked at: steps after the attempt's first, and the time; whether it was at all.

    A rule is asked when one of its metrics comes; one that time can change is asked up to now.
    """
    time = run.time if run.timed else math.nan
    if timed:
        # A hair past the moment, as the engine does it.
        return run.rel, math.nextafter(max(time, now if now is not None else time), math.inf), True
    nodes = instance.expressions()
    if any(_always(node) for node in nodes):
        return run.rel, time, True
    series: list[Series | None] = [run.slots.get(series_key(one)) for node in nodes for one in metrics_of(node)]
    # A value that is not a number makes nobody ask.
    logged = [one for one in series if one is not None and len(one.values)]
    if not logged:
        return run.rel, time, not series
    newest = max(logged, key=lambda one: one.steps[-1])
    asked = newest.steps[-1]
    return asked, newest.time if newest.step == asked and newest.time == newest.time else time, True


def _always(node: Node) -> bool:
    """Whether its answer can change at an event that logs none of its metrics."""
    functions = (FUNCTIONS[found.function] for found in walk(node) if isinstance(found, Call))
    return any(getattr(function, "every_event", not function.needs_values) for function in functions)


def _counters(rule: Rule, instance: Instance, record: Record | None, time: float) -> tuple[Counter, ...]:
    if record is None:
        return tuple(Counter(severity, 0, rule.hold) for severity, _ in instance.conditions)
    return tuple(
        _counter(severity, clock, rule.hold, time)
        for (severity, _), clock in zip(instance.conditions, record.clocks, strict=True)
    )


def _counter(severity: Severity, clock: Clock, extent: Extent | None, time: float) -> Counter:
    if not clock.count:
        return Counter(severity, 0, extent)
    count: float = clock.count
    if extent is not None:
        held = time - clock.time if extent.axis is Axis.TIME else clock.count
        count = min(max(held, 0.0) if held == held else 0.0, extent.size)
    return Counter(severity, count, extent, clock.step)


def _reason(
    run: RunState,
    instance: Instance,
    record: Record | None,
    conditions: Sequence[tuple[Severity, Finding]],
    counters: Sequence[Counter],
    missing: Sequence[str],
    phase: str | None,
) -> tuple[Reason, str]:
    if record is not None:
        if record.level >= 0:
            return "firing", f"since step {record.fired_step}; the trouble began at step {record.onset_step}"
        counter = max((one for one in counters if one.count), key=lambda one: one.count, default=counters[0])
        return "pending", f"it holds since step {counter.since_step}: {counter.words}"
    if run.status != "running":
        return "ended", f"the run is over ({run.status})"
    if missing:
        return "not-evaluable", why_not_evaluable(missing)
    if run.rel < instance.rule.after:
        first = run.first_step + instance.rule.after
        return "after", f"the rule waits until step {first} of the attempt (after: {instance.rule.after} steps)"
    if instance.rule.phases and phase not in instance.rule.phases:
        now = "not known yet" if phase is None else phase
        return "phase", f"the rule is for the phase {' or '.join(instance.rule.phases)}, and the run's is {now}"
    truths = [finding.truth for _, finding in conditions]
    if True in truths:
        if any(map(alerts_of, instance.expressions())):
            return "not-asked", "the condition holds as things stand: the next event decides"
        return "not-asked", "the condition holds as things stand, and no metric of it has come since"
    clauses = list(dict.fromkeys(clause for _, finding in conditions[:1] for clause in blame(finding)))
    more = len(clauses) - MOST_BLAMED
    text = "; ".join(clauses[:MOST_BLAMED]) + (f"; and {more} more" if more > 0 else "")
    return ("unknown" if truths[0] is None else "false"), text
