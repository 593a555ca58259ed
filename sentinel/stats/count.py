"""`count`: how many values the window holds"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sentinel.stats.function import Result, WindowFunction


class Count(WindowFunction):
    """0 when it has become empty; unknown for a metric that has never been a number in this attempt."""

    name = "count"
    signature = "count(x, window)"
    summary = "how many numbers were logged in the window"
    least = 0
    result = Result.PLAIN

    @staticmethod
    def read(values: array[float], start: int) -> float:
        return len(values) - start

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        return float(len(window))
