"""`mean`: the arithmetic mean of the window"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

from sentinel.stats.function import WindowFunction
from sentinel.stats.parts import Total


class Mean(WindowFunction):
    """Sum over count; unknown until the window is covered."""

    name = "mean"
    signature = "mean(x, window)"
    summary = "the arithmetic mean of the window"
    parts = (Total,)

    @staticmethod
    def read(values: array[float], start: int, total: Total) -> float:
        return total.total / (len(values) - start)

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        return math.fsum(window) / len(window)
