"""The course of one recorded run: the steps that it logged, and the episodes of its alerts."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from sentinel.engine.transition import Transition
from sentinel.severity import AlertState, Severity, rank


@dataclass(frozen=True, slots=True)
class Moment:
    """An alert fired, or rose, at `severity`. `row`: how many logged rows came before the one at which it did."""

    severity: Severity
    step: int
    row: int


@dataclass(frozen=True, slots=True)
class Ending:
    """An episode ended; `state` says how."""

    state: AlertState
    step: int
    row: int


@dataclass(frozen=True, slots=True)
class Episode:
    """An alert from its onset to its end.

    `moments` rise in severity and are never empty; `ending` None: it still fires. `source`: the rule's `file:line`.
    """

    run: str
    attempt: int
    alert: str
    symptom: str
    labels: tuple[tuple[str, str], ...]
    source: str
    onset_step: int
    moments: tuple[Moment, ...]
    ending: Ending | None = None

    @property
    def severity(self) -> Severity:
        """The highest that it reached."""
        return self.moments[-1].severity

    @property
    def step(self) -> int:
        """Where it first fired."""
        return self.moments[0].step

    def reached(self, least: Severity, *, from_row: int = 0) -> Moment | None:
        """The first moment at `from_row` or later with at least this severity."""
        wanted = rank(least)
        return next((one for one in self.moments if one.row >= from_row and rank(one.severity) >= wanted), None)


@dataclass(frozen=True, slots=True)
class Course:
    """What a replay of one recording showed.

    `steps`: the step of each logged row, in order; several rows of one step count once. `runs`: the ids that logged
    them. `rejected`: how many lines were not understood, `fault` the first of them. `not_evaluable`: the rules that
    could say nothing.
    """

    file: str
    steps: tuple[int, ...]
    episodes: tuple[Episode, ...]
    runs: tuple[str, ...] = ()
    rejected: int = 0
    fault: str = ""
    not_evaluable: tuple[str, ...] = ()

    def row_of(self, step: int) -> int:
        """The first row at `step` or later; the number of rows when there is none."""
        return next((row for row, at in enumerate(self.steps) if at >= step), len(self.steps))


def steps_covered(steps: tuple[int, ...]) -> int:
    """Training steps from the first to the last of these rows: a run logged every fifth step trains in between, too.

    Where a run went back, what it trained again counts again.
    """
    if not steps:
        return 0
    return 1 + sum(max(after - before, 1) for before, after in pairwise(steps))


@dataclass(slots=True)
class CourseRecorder:
    """Takes rows and transitions as a replay gives them."""

    file: str
    steps: list[int] = field(default_factory=list)
    runs: dict[str, None] = field(default_factory=dict)
    _episodes: dict[str, Episode] = field(default_factory=dict)

    def row(self, run: str, step: int) -> None:
        """A row was logged. Call it before the transitions that it brings."""
        if not self.steps or self.steps[-1] != step:
            self.steps.append(step)
        if run not in self.runs:
            self.runs[run] = None

    def take(self, transition: Transition) -> None:
        """A transition happened at the newest row. Pending ones say nothing yet."""
        row, known = max(len(self.steps) - 1, 0), self._episodes.get(transition.id)
        if transition.state == "firing":
            moment = Moment(transition.severity, transition.step, row)
            before = known.moments if known is not None else ()
            self._episodes[transition.id] = _episode(transition, (*before, moment), None)
        elif known is not None and transition.state != "pending":
            ending = Ending(transition.state, transition.step, row)
            self._episodes[transition.id] = _episode(transition, known.moments, ending)

    def episodes(self) -> tuple[Episode, ...]:
        """In the order in which they first fired."""
        return tuple(self._episodes.values())


def _episode(transition: Transition, moments: tuple[Moment, ...], ending: Ending | None) -> Episode:
    return Episode(
        run=transition.run,
        attempt=transition.attempt,
        alert=transition.alert,
        symptom=transition.symptom,
        labels=tuple(sorted(transition.labels.items())),
        source=transition.rule.source,
        onset_step=transition.onset_step,
        moments=moments,
        ending=ending,
    )
