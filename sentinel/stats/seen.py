"""`seen`: whether the run has logged a metric as a number."""

from __future__ import annotations

from sentinel.stats.function import Probe, Result
from sentinel.stats.series import Series


class Seen(Probe):
    """True from the attempt's first finite value on, for as long as the attempt lasts. Never unknown."""

    name = "seen"
    signature = "seen(metric)"
    summary = "the metric has been logged as a number in this attempt"
    result = Result.TRUTH
    needs_values = False
    every_event = True

    @staticmethod
    def read(series: Series, step: int, time: float, origin: float, size: float) -> bool:
        return series.first_step >= 0
