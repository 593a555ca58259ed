"""A recorded run that others are held against: what `reference(x)` reads."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

LABEL = "reference"
"""The label by which a run names the recorded run that it is held against."""


@dataclass(frozen=True, slots=True)
class Column:
    """The finite values of one series, and the step of each, ascending."""

    steps: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """What one run logged. `series`: a series' full name → its values. `last`: the run's last step, -1 for none."""

    series: Mapping[str, Column]
    last: int

    def at(self, series: str, step: int) -> float:
        """The newest value of a series at or before `step`; NaN before its first one and beyond the run's last step."""
        found = self.series.get(series)
        if found is None or step > self.last:
            return math.nan
        index = bisect_right(found.steps, step)
        return found.values[index - 1] if index else math.nan


NOTHING = RecordedRun({}, -1)
"""What a run is held against that has no reference run: everything is unknown."""


def chosen(references: Mapping[str, RecordedRun], labels: Mapping[str, str]) -> RecordedRun:
    """The one that a run's label names; without the label the only one there is; else NOTHING."""
    named = labels.get(LABEL)
    if named is not None:
        return references.get(named, NOTHING)
    return next(iter(references.values())) if len(references) == 1 else NOTHING
