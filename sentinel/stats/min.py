"""`min`: the smallest value of the window"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sentinel.stats.function import WindowFunction
from sentinel.stats.parts import Minimum


class Min(WindowFunction):
    """Unknown until the window is covered."""

    name = "min"
    signature = "min(x, window)"
    summary = "the smallest value of the window"
    parts = (Minimum,)

    @staticmethod
    def read(values: array[float], start: int, minimum: Minimum) -> float:
        return minimum.value

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        return min(window)
