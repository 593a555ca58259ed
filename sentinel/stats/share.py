"""`share`: how often a condition has held in the window."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

from sentinel.stats.function import Result, WindowFunction
from sentinel.stats.parts import Total


class Share(WindowFunction):
    """Of the times that the condition was known, the part at which it held: `share(kl.ref > 0.1, 5 samples) >= 60%`.
    Unknown until the window is covered."""

    name = "share"
    signature = "share(condition, window)"
    summary = "the share of times at which the condition held, of those at which it was known in the window"
    parts = (Total,)
    conditional = True
    result = Result.SHARE

    @staticmethod
    def read(values: array[float], start: int, total: Total) -> float:
        return total.total / (len(values) - start)

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        return math.fsum(window) / len(window)
