"""`max`: the largest value of the window"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sentinel.stats.function import WindowFunction
from sentinel.stats.parts import Maximum


class Max(WindowFunction):
    """Unknown until the window is covered."""

    name = "max"
    signature = "max(x, window)"
    summary = "the largest value of the window"
    parts = (Maximum,)

    @staticmethod
    def read(values: array[float], start: int, maximum: Maximum) -> float:
        return maximum.value

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        return max(window)
