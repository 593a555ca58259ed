"""`quantile`: the value that a share of the window lies below"""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

from sentinel.stats.function import WindowFunction
from sentinel.stats.parts import Order


class Quantile(WindowFunction):
    """Between two values it is interpolated in a straight line, as numpy does."""

    name = "quantile"
    signature = "quantile(x, 90%, window)"
    summary = "the value that the given share of the window lies below"
    parts = (Order,)
    literal = True

    @staticmethod
    def read(values: array[float], start: int, order: Order, literal: float) -> float:
        return order.quantile(literal)

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float], *, literal: float) -> float:
        ordered = sorted(window)
        at = literal * (len(ordered) - 1)
        low, high = ordered[math.floor(at)], ordered[math.ceil(at)]
        return low + (high - low) * (at - math.floor(at))
