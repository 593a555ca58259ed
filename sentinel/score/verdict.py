"""The verdict on one labelled run: was its trouble told in time, and was anything told that should not have been?

A run that broke is *detected* when an alert fires whose symptom fits, with the severity that is asked for, from the
onset on and up to the deadline. *late*: only after the deadline. *early*: only before the onset, and still firing at
it. *missed*: not at all. A healthy run is *silent* or *alarmed*. Alarms are alerts of warning or worse; an episode is
one, however often it rises.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sentinel.score.course import Course, Episode, Moment, steps_covered
from sentinel.score.index import Labelled
from sentinel.severity import Severity

ALARM: Severity = "warning"
"""From this severity on, an alert on a healthy stretch is a false alarm."""

Outcome = Literal["missed", "late", "early", "detected", "alarmed", "silent", "unjudged"]

Sort = Literal["detected", "late", "early", "false", "benign", "other", "unjudged"]
"""What an alert was, on this run.

detected, late: it fits. early: an alarm before the onset. false: an alarm on a healthy run. benign: an alarm on a run
that is healthy in spite of another label. other: an alarm after the onset that does not fit, a consequence perhaps.
unjudged: an alarm on a run that nobody judged.
"""


@dataclass(frozen=True, slots=True)
class Terms:
    """How strictly to judge.

    `tolerance`: logged rows before the onset at which an alert is in time already, since a person saw the onset by eye.
    `within`: logged rows after the onset up to which an alert is in time, for runs without a deadline of their own.
    """

    tolerance: int = 0
    within: int | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """One episode and what it was.

    `delay_steps`, `delay_rows`: from the onset, when it fits; at least 0. `stood`: it came early, would fit, and still
    fired at the onset.
    """

    episode: Episode
    moment: Moment
    sort: Sort
    delay_steps: int | None = None
    delay_rows: int | None = None
    stood: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """One run, judged. `healthy_steps`, `healthy_rows`: of a healthy run all, of one that broke those before the onset.

    `before_onset`: whether these are the latter.
    """

    run: Labelled
    outcome: Outcome
    findings: tuple[Finding, ...]
    healthy_steps: int = 0
    healthy_rows: int = 0

    @property
    def before_onset(self) -> bool:
        return self.run.kind == "broken"

    @property
    def first(self) -> Finding | None:
        """The first alert that fits, in time or late."""
        fitting = [found for found in self.findings if found.sort in ("detected", "late")]
        return min(fitting, key=lambda found: found.moment.row, default=None)

    @property
    def false_alarms(self) -> list[Finding]:
        """Alarms where the run was healthy: on a healthy run, or before the onset."""
        return [found for found in self.findings if found.sort in ("false", "early")]


def judge(run: Labelled, course: Course, terms: Terms = Terms()) -> Verdict:
    """The verdict on a run, from what a replay of it showed.

    The onset of a run that broke must lie within what it logged; see `misplaced_onset`.
    """
    if run.kind == "broken":
        return _judge_broken(run, course, terms)
    sort: Sort = {"healthy": "false", "benign": "benign", "unjudged": "unjudged"}[run.kind]  # type: ignore[assignment]
    findings = tuple(
        Finding(episode, moment, sort) for episode in course.episodes if (moment := episode.reached(ALARM)) is not None
    )
    if run.kind == "unjudged":
        return Verdict(run, "unjudged", findings)
    outcome: Outcome = "alarmed" if findings else "silent"
    if run.kind == "benign":
        return Verdict(run, outcome, findings)
    return Verdict(run, outcome, findings, steps_covered(course.steps), len(course.steps))


def misplaced_onset(run: Labelled, course: Course) -> str | None:
    """Why a run cannot be judged: its onset lies after all that it logged."""
    if run.onset is None or not course.steps or course.row_of(run.onset) < len(course.steps):
        return None
    return f"the onset {run.onset} is after the last step that {run.file} logs, {max(course.steps)}"


def _judge_broken(run: Labelled, course: Course, terms: Terms) -> Verdict:
    assert run.onset is not None
    onset_row = course.row_of(run.onset)
    start = max(onset_row - terms.tolerance, 0)
    findings: list[Finding] = []
    for episode in course.episodes:
        needed = run.fitting.get(episode.symptom)
        alarm = episode.reached(ALARM)
        moment = None if needed is None else episode.reached(needed, from_row=start)
        if alarm is not None and alarm.row < start:
            stood = moment is None and needed is not None and episode.reached(needed) is not None
            stood = stood and (episode.ending is None or episode.ending.row >= onset_row)
            findings.append(Finding(episode, alarm, "early", stood=stood))
        if moment is not None:
            sort: Sort = "detected" if _in_time(run, moment, onset_row, terms) else "late"
            delays = max(moment.step - run.onset, 0), max(moment.row - onset_row, 0)
            findings.append(Finding(episode, moment, sort, *delays))
        elif alarm is not None and alarm.row >= start:
            findings.append(Finding(episode, alarm, "other"))
    healthy = course.steps[:start]
    return Verdict(run, outcome_of(findings), tuple(findings), steps_covered(healthy), len(healthy))


def outcome_of(findings: Sequence[Finding]) -> Outcome:
    """What became of a run that broke, as far as these findings tell."""
    sorts = {found.sort for found in findings}
    if "detected" in sorts:
        return "detected"
    if "late" in sorts:
        return "late"
    return "early" if any(found.stood for found in findings) else "missed"


def _in_time(run: Labelled, moment: Moment, onset_row: int, terms: Terms) -> bool:
    if run.deadline is not None:
        return moment.step <= run.deadline
    return terms.within is None or moment.row <= onset_row + terms.within
