"""What an alert did around the places where a test and the engine disagree: the test played once more, and watched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sentinel.ruletest.compare import Difference
from sentinel.ruletest.document import TimelineDocument
from sentinel.ruletest.expected import When
from sentinel.ruletest.performance import Performance, perform
from sentinel.ruletest.result import Moment, Strip
from sentinel.ruletest.script import RUN, START
from sentinel.ruletest.stage import Stage
from sentinel.ruletest.watch import Identity, Sight, look

MAX_STRIPS = 5
"""Alerts of one test that are shown."""

MAX_MOMENTS = 30
"""Rows of one strip."""

BEFORE, AFTER = 2, 1
"""Rows that are shown beside each one of interest."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One moment of the run: after a step, a sample, or a while. `said`: transitions before it."""

    step: int
    seconds: float | None
    said: int


@dataclass(slots=True)
class _Rows:
    """A watcher that numbers the moments of a test."""

    rows: list[_Row] = field(default_factory=list)
    sequence: int = 0
    before: int = 0

    def __call__(self, played: Performance, now: float | None) -> None:
        run = played.engine.runs[RUN]
        # A checkpoint comes with its step; time that passes without a change is the moment before.
        if run.sequence and (run.sequence != self.sequence or len(played.said) != self.before):
            self.rows.append(_Row(run.step, None if now is None else now - START, self.before))
            self.sequence = run.sequence
        self.before = len(played.said)


@dataclass(slots=True)
class _Sights:
    """A watcher that looks at alerts at some of the moments."""

    wanted: dict[Identity, set[int]]
    rows: _Rows = field(default_factory=_Rows)
    seen: dict[tuple[Identity, int], Sight] = field(default_factory=dict)

    def __call__(self, played: Performance, now: float | None) -> None:
        known = len(self.rows.rows)
        self.rows(played, now)
        at = len(self.rows.rows) - 1
        if at < known:
            return
        for identity, wanted in self.wanted.items():
            if at in wanted:
                name, labels = identity
                self.seen[identity, at] = look(played.engine, name, dict(labels), played.resolved, now=now)


def strips(test: TimelineDocument, stage: Stage, differences: Sequence[Difference]) -> tuple[Strip, ...]:
    """One strip for each alert that some difference is about, at most `MAX_STRIPS`."""
    by_alert: dict[Identity, list[Difference]] = {}
    for difference in differences:
        by_alert.setdefault(difference.alert, []).append(difference)
    shown = dict(list(by_alert.items())[:MAX_STRIPS])
    counter = _Rows()
    played = perform(test, stage, [counter])
    rows = counter.rows
    if not rows:
        return ()
    expected = {identity: _expected(found, rows) for identity, found in shown.items()}
    happened = {identity: _happened(identity, rows, played) for identity in shown}
    wanted = {
        identity: _wanted([*expected[identity], *_places(found, rows), *happened[identity]], len(rows))
        for identity, found in shown.items()
    }
    watcher = _Sights(wanted)
    perform(test, stage, [watcher])
    return tuple(_strip(identity, rows, watcher, expected[identity], happened[identity]) for identity in shown)


def _strip(
    identity: Identity, rows: Sequence[_Row], watcher: _Sights, expected: dict[int, str], happened: dict[int, str]
) -> Strip:
    places = sorted(watcher.wanted[identity])[:MAX_MOMENTS]
    moments = []
    for at in places:
        row, sight = rows[at], watcher.seen[identity, at]
        moments.append(
            Moment(
                step=row.step if row.step >= 0 else None,
                seconds=row.seconds,
                state=sight.state,
                severity=sight.severity,
                value=sight.value,
                threshold=sight.threshold,
                metric=sight.metric,
                happened=happened.get(at, ""),
                expected=expected.get(at, ""),
            )
        )
    gaps = frozenset(number for number, at in enumerate(places) if at and (not number or places[number - 1] != at - 1))
    name, labels = identity
    inside = ",".join(f"{key}={value}" for key, value in labels)
    return Strip(f"{name}{{{inside}}}" if labels else name, tuple(moments), gaps)


def _expected(differences: Sequence[Difference], rows: Sequence[_Row]) -> dict[int, str]:
    """Row → what should have been there."""
    found: dict[int, list[str]] = {}
    for difference in differences:
        for when, what in difference.expected:
            words = found.setdefault(_row(when, rows), [])
            if what not in words:
                words.append(what)
    return {at: ", ".join(words) for at, words in found.items()}


def _places(differences: Sequence[Difference], rows: Sequence[_Row]) -> list[int]:
    return [_row(when, rows) for difference in differences for when in difference.where]


def _happened(identity: Identity, rows: Sequence[_Row], played: Performance) -> dict[int, str]:
    """Row → how the alert changed there."""
    name, labels = identity
    found: dict[int, list[str]] = {}
    ends = [*(row.said for row in rows[1:]), len(played.said)]
    at = 0
    for number, transition in enumerate(played.said):
        while number >= ends[at]:
            at += 1
        if transition.alert == name and set(labels) <= set(transition.labels.items()):
            verb = {"firing": "fires", "resolved": "resolves"}.get(transition.state, transition.state)
            found.setdefault(at, []).append(f"{verb} {transition.severity}" if verb != "resolves" else verb)
    return {at: ", ".join(dict.fromkeys(words)) for at, words in list(found.items())[:8]}


def _row(when: When, rows: Sequence[_Row]) -> int:
    """The row of a moment: the last one that is not after it; where a run goes back, the last of its step."""
    if when.seconds is not None and rows[0].seconds is not None:
        before = [at for at, row in enumerate(rows) if row.seconds is not None and row.seconds <= when.seconds + 1e-6]
        return before[-1] if before else 0
    if when.step is None:
        return len(rows) - 1
    exact = [at for at, row in enumerate(rows) if row.step == when.step]
    before = exact or [at for at, row in enumerate(rows) if row.step < when.step]
    return before[-1] if before else 0


def _wanted(places: Sequence[int], count: int) -> set[int]:
    """The rows to show. Where nothing points anywhere, the last ones."""
    around = {near for at in places or [count - 1] for near in range(at - BEFORE, at + AFTER + 1)}
    return {at for at in around if 0 <= at < count}
