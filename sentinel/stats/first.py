"""`first`: the oldest value of the window"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sentinel.stats.function import WindowFunction


class First(WindowFunction):
    """Unknown until the window is covered: before, the oldest value is not that old."""

    name = "first"
    signature = "first(x, window)"
    summary = "the oldest value of the window"

    @staticmethod
    def read(values: array[float], start: int) -> float:
        return values[start]

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        return window[0]
