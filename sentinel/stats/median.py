"""`median`: the middle value of the window"""

from __future__ import annotations

import statistics
from array import array
from collections.abc import Sequence

from sentinel.stats.function import WindowFunction
from sentinel.stats.parts import Order


class Median(WindowFunction):
    """The mean of the two middle ones for an even number of values."""

    name = "median"
    signature = "median(x, window)"
    summary = "the middle value of the window"
    parts = (Order,)

    @staticmethod
    def read(values: array[float], start: int, order: Order) -> float:
        # The two middle ones are one for an odd number. In a single expression it is copied where it is asked for.
        return (order.ordered[(len(order.ordered) - 1) >> 1] + order.ordered[len(order.ordered) >> 1]) / 2.0

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        return statistics.median(window)
