"""`delta`: the newest value minus the value one window ago"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sentinel.stats.function import WindowFunction


class Delta(WindowFunction):
    """In the metric's own unit, signed. Unknown until there is a value that old."""

    name = "delta"
    signature = "delta(x, window)"
    summary = "the newest value minus the value one window ago"
    reach = True
    least = 2

    @staticmethod
    def read(values: array[float], start: int) -> float:
        return values[-1] - values[start]

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        return window[-1] - window[0]
