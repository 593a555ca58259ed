"""`rising`: whether the window rises, by more than its own noise."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sentinel.stats.function import Result, WindowFunction
from sentinel.stats.parts import Line
from sentinel.stats.trend import LEAST, defined_trend, trend


def rising(t: float) -> float:
    """1.0 or 0.0 for a strength of trend; NaN stays NaN."""
    return float(t > 1.0) if t == t else t


class Rising(WindowFunction):
    """Over the window, the straight line through it rises by more than twice the scatter of the values about it, and
    its slope is more than three standard errors above zero (`sentinel.stats.trend`). So the run's own noise sets
    the bar, and a single outlier, which widens the scatter, is not a trend. Unknown for fewer than five values."""

    name = "rising"
    signature = "rising(x, window)"
    summary = "the window rises, by more than its own noise"
    parts = (Line,)
    least = LEAST
    placed = True
    result = Result.TRUTH

    @staticmethod
    def read(values: array[float], start: int, line: Line, places: Sequence[float]) -> float:
        return rising(trend(values, start, line, places))

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float], *, places: Sequence[float]) -> float:
        return rising(defined_trend(window, places))
