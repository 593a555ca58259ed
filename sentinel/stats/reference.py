"""`reference`: what a recorded run logged at the same step."""

from __future__ import annotations

from typing import Protocol

from sentinel.stats.function import Function


class Recorded(Protocol):
    """A recorded run."""

    def at(self, series: str, step: int) -> float:
        """The newest value of a series at or before `step`; NaN before its first one and beyond the run's last step."""
        ...


class Reference(Function):
    """The newest value at or before the run's step, in the run that it is held against. Unknown beyond that run's last
    step, and without such a run.
    """

    name = "reference"
    signature = "reference(metric)"
    summary = "what the reference run logged at the same step"

    @staticmethod
    def read(recorded: Recorded, series: str, step: int) -> float:
        return recorded.at(series, step)
