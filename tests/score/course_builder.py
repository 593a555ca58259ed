"""Courses of runs, written down shortly."""

from __future__ import annotations

from collections.abc import Sequence

from sentinel.score.course import Course, Ending, Episode, Moment
from sentinel.severity import Severity


def episode(
    alert: str,
    *fired: tuple[Severity, int],
    steps: Sequence[int],
    symptom: str = "",
    ended: int | None = None,
    onset: int | None = None,
    source: str = "rules.yaml:1",
) -> Episode:
    """An episode that fires, and rises, at these steps, which must be among `steps`."""
    moments = tuple(Moment(severity, step, list(steps).index(step)) for severity, step in fired)
    ending = None if ended is None else Ending("resolved", ended, list(steps).index(ended))
    start = fired[0][1] if onset is None else onset
    return Episode("run", 1, alert, symptom or alert, (), source, start, moments, ending)


def course(steps: Sequence[int], *episodes: Episode, file: str = "run.jsonl") -> Course:
    return Course(file, tuple(steps), episodes, ("run",))
