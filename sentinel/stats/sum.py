"""`sum`: the sum of the window"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

from sentinel.stats.function import Result, WindowFunction
from sentinel.stats.parts import Total


class Sum(WindowFunction):
    """Of the values that were logged: a gap adds nothing."""

    name = "sum"
    signature = "sum(x, window)"
    summary = "the sum of the window's values"
    parts = (Total,)
    result = Result.TOTAL

    @staticmethod
    def read(values: array[float], start: int, total: Total) -> float:
        return total.total

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        return math.fsum(window)
