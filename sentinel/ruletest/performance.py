"""A test's events, played through the engine, and all that is kept of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from sentinel.alerts.incident import IncidentBook
from sentinel.alerts.notification import Rollback
from sentinel.engine.engine import Engine
from sentinel.engine.transition import Transition
from sentinel.events import StepMetrics
from sentinel.ruletest.document import TimelineDocument
from sentinel.ruletest.expected import When
from sentinel.ruletest.result import Change
from sentinel.ruletest.script import RUN, START, events
from sentinel.ruletest.stage import Stage
from sentinel.ruletest.watch import Identity, Sight, look

Watcher = Callable[["Performance", float | None], None]
"""Called after each event and each passage of time with the moment in seconds since the epoch, None without times."""


@dataclass(slots=True)
class Firing:
    """One time that an alert fired, with what was advised then and where it ended."""

    transition: Transition
    advice: Rollback | None
    resolved_at: int | None = None


@dataclass(slots=True)
class Performance:
    """What happened in a test, up to the newest event.

    `said`: every transition. `resolved`: alerts whose newest episode ended by recovery. `sights`: (moment, rule) →
    where the alert stood, for what the test asks about in `at`.
    """

    engine: Engine
    book: IncidentBook = field(default_factory=IncidentBook)
    said: list[Transition] = field(default_factory=list)
    firings: list[Firing] = field(default_factory=list)
    pending: dict[str, Transition] = field(default_factory=dict)
    resolved: set[Identity] = field(default_factory=set)
    sights: dict[tuple[When, str], Sight] = field(default_factory=dict)

    def note(self, said: Sequence[Transition]) -> None:
        for transition in said:
            self.said.append(transition)
            told = next(iter(self.book.apply([transition], self.engine.runs[RUN])), None)
            identity: Identity = transition.alert, tuple(transition.labels.items())
            match transition.state:
                case "firing":
                    self.firings.append(Firing(transition, told.rollback if told is not None else None))
                case "pending":
                    self.pending.setdefault(transition.alert, transition)
                case "resolved":
                    self.resolved.add(identity)
                    for firing in self.firings:
                        if firing.transition.id == transition.id:
                            firing.resolved_at = transition.step
                case _:
                    pass
            if transition.state != "resolved":
                self.resolved.discard(identity)

    def changes(self) -> tuple[Change, ...]:
        """All that happened, for people."""
        return tuple(_change(transition) for transition in self.said)

    def missing(self) -> dict[str, tuple[str, ...]]:
        """The rules that could not be evaluated, and what they lack. Keys only expected do not count."""
        run, program = self.engine.runs[RUN], self.engine.program
        logged = tuple(series for key, series in run.names.items() if key in run.numeric or series.full in run.bad)
        derived = (one.series for one in program.derived(logged))
        compiled = program.compiled((*logged, *derived), run.facts())
        found = compiled.not_evaluable(run.constants, run.recorded, phased=bool(run.phases.begun))
        return {entry.rule: entry.missing for entry in found}


def _change(transition: Transition) -> Change:
    labels = ",".join(f"{key}={value}" for key, value in transition.labels.items())
    return Change(
        alert=f"{transition.alert}{{{labels}}}" if labels else transition.alert,
        state=transition.state,
        severity=transition.severity,
        step=transition.step,
        seconds=None if transition.time is None else transition.time - START,
        summary=transition.summary,
    )


def perform(test: TimelineDocument, stage: Stage, watchers: Sequence[Watcher] = ()) -> Performance:
    """Play a test. Each watcher looks on after each event."""
    played = Performance(stage.engine(test))
    engine, steps = played.engine, {when.step for when in test.at if when.step is not None}
    waiting = _moments(test)
    soonest = next(waiting, None)
    last = START
    for event in events(test):
        if event.time is not None:
            while soonest is not None and START + soonest < event.time:
                _pass(played, soonest, test, watchers)
                soonest = next(waiting, None)
            last = event.time
        if said := engine.handle(event):
            played.note(said)
        if steps and type(event) is StepMetrics and event.step in steps:
            _look(played, test, When(step=event.step), event.time)
        for watcher in watchers:
            watcher(played, event.time)
    rest = [(START + seconds, seconds) for seconds in (soonest, *waiting) if seconds is not None]
    quiet = None if test.quiet is None else last + test.quiet
    for now, seconds in sorted([*rest, *([] if quiet is None else [(quiet, None)])], key=lambda passage: passage[0]):
        if seconds is not None:
            _pass(played, seconds, test, watchers)
            continue
        played.note(engine.tick(now))
        for watcher in watchers:
            watcher(played, now)
    if When() in test.at:
        _look(played, test, When(), quiet)
    return played


def _moments(test: TimelineDocument) -> Iterator[float]:
    """The times that the test asks about, in seconds from its beginning."""
    return iter(sorted({when.seconds for when in test.at if when.seconds is not None}))


def _pass(played: Performance, seconds: float, test: TimelineDocument, watchers: Sequence[Watcher]) -> None:
    """Let time pass to a moment that the test asks about, that moment included."""
    now = math.nextafter(START + seconds, math.inf)
    played.note(played.engine.tick(now))
    _look(played, test, When(seconds=seconds), now)
    for watcher in watchers:
        watcher(played, now)


def _look(played: Performance, test: TimelineDocument, when: When, now: float | None) -> None:
    for alert, entry in test.at[when].items():
        played.sights[when, alert] = look(played.engine, alert, entry.labels, played.resolved, entry.severity, now=now)
