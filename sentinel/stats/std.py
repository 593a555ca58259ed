"""`std`: the sample standard deviation of the window"""

from __future__ import annotations

import math
import statistics
from array import array
from collections.abc import Sequence

from sentinel.stats.function import WindowFunction
from sentinel.stats.parts import Moments


class Std(WindowFunction):
    """With n - 1 in the denominator; unknown for fewer than two values."""

    name = "std"
    signature = "std(x, window)"
    summary = "the sample standard deviation of the window"
    parts = (Moments,)
    least = 2

    @staticmethod
    def read(values: array[float], start: int, moments: Moments) -> float:
        return moments.std(len(values) - start)

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        return statistics.stdev(window) if len(window) > 1 else math.nan
