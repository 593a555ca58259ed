"""`age`: how long ago a metric was last logged."""

from __future__ import annotations

from sentinel.stats.function import Probe, Result
from sentinel.stats.series import Series


class Age(Probe):
    """Seconds since the metric was last logged, finite or not; unknown before its first value.

    It grows between events, so it can only be compared with a duration: the engine must know when the answer changes.
    """

    name = "age"
    signature = "age(metric)"
    summary = "seconds since the metric was last logged"
    result = Result.SECONDS
    every_event = True

    @staticmethod
    def read(series: Series, step: int, time: float, origin: float, size: float) -> float:
        return time - series.time
