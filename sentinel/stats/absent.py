"""`absent`: whether a metric has not been logged for a while."""

from __future__ import annotations

from collections.abc import Callable

from sentinel.stats.function import Probe, Result
from sentinel.stats.series import Series
from sentinel.stats.window import Axis


class Absent(Probe):
    """True when the run has gone on for the window and the metric was not logged in it, finite or not.

    Before its first value the count begins at the start of the attempt.
    """

    name = "absent"
    signature = "absent(metric, window)"
    summary = "the metric has not been logged within the window"
    result = Result.TRUTH
    needs_values = False
    axes = (Axis.STEPS, Axis.TIME)
    every_event = True

    @staticmethod
    def read(series: Series, step: int, time: float, origin: float, size: float) -> bool:
        """In steps."""
        return step - series.step >= size

    @staticmethod
    def read_time(series: Series, step: int, time: float, origin: float, size: float) -> bool | None:
        """In seconds; None when the recording has no times."""
        # The same sum as the engine schedules by, so that it holds at that moment to the last bit.
        due = (series.time if series.time == series.time else origin) + size
        return time >= due if due == due and time == time else None

    @classmethod
    def reader(cls, axis: Axis | None) -> Callable[..., bool | None]:
        return cls.read_time if axis is Axis.TIME else cls.read
