"""`spikes`: how many values of the window stand far above the usual one."""

from __future__ import annotations

import math
import statistics
from array import array
from collections.abc import Sequence

from sentinel.stats.function import Result, WindowFunction
from sentinel.stats.parts import Order

TIMES = 5.0
"""A value this many times the window's median is a spike. The guides to KL call 5 to 10 times the usual value an
overshooting update; the lower end, since the count says how seriously to take it."""


class Spikes(WindowFunction):
    """Values above five times the window's median. Unknown where the median is not above zero: a multiple of nothing
    means nothing, and most rows of some runs log a gradient norm of 0."""

    name = "spikes"
    signature = "spikes(x, window)"
    summary = "how many values of the window lie above 5 times its median"
    parts = (Order,)
    least = 3
    result = Result.PLAIN

    @staticmethod
    def read(values: array[float], start: int, order: Order) -> float:
        return order.above(TIMES * order.median()) if order.median() > 0.0 else math.nan

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        usual = statistics.median(window)
        return float(sum(x > TIMES * usual for x in window)) if usual > 0.0 else math.nan
