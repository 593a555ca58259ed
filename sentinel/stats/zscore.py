"""`zscore`: how far the newest value stands from the others of the window, in their own robust spread."""

from __future__ import annotations

import math
import statistics
from array import array
from collections.abc import Sequence

from sentinel.stats.function import Result, WindowFunction
from sentinel.stats.parts import Order

NORMAL = 1.4826
"""Standard deviations of a normal distribution per median absolute deviation (Hampel 1974)."""


def robust_score(x: float, order: Order) -> float:
    """`(x - median) / (1.4826 * MAD)` over the values of `order` without `x`, which is one of them."""
    middle, spread = order.spread_without(x)
    if x == middle:
        return 0.0
    return (x - middle) / (NORMAL * spread) if spread > 0.0 else math.nan


class Zscore(WindowFunction):
    """`(x - median) / (1.4826 * MAD)` of the values before the newest: of normal noise it is the number of standard
    deviations, and outliers among them move it little. Signed. Where more than half of the others are equal (a MAD of
    0) it is 0 for a value equal to their median and unknown for any other. Unknown for fewer than four values."""

    name = "zscore"
    signature = "zscore(x, window)"
    summary = "how far the newest value lies from the median of the window's others, in their robust deviations"
    parts = (Order,)
    least = 4
    result = Result.PLAIN

    @staticmethod
    def read(values: array[float], start: int, order: Order) -> float:
        return robust_score(values[-1], order)

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        before = list(window[:-1])
        middle = statistics.median(before)
        if window[-1] == middle:
            return 0.0
        spread = statistics.median([abs(x - middle) for x in before])
        return (window[-1] - middle) / (NORMAL * spread) if spread > 0.0 else math.nan
