"""`drop`: how far the newest value lies below the highest one of the window, relative to it"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sentinel.stats.function import Result, WindowFunction, defined_relative, relative
from sentinel.stats.parts import Maximum, Moments


class Drop(WindowFunction):
    """`(highest - x) / max(|highest|, noise)`, never negative. It speaks from the second value on: a fall *within*
    100 steps need not wait for 100 steps."""

    name = "drop"
    signature = "drop(x, window)"
    summary = "how far the newest value lies below the highest one of the window, relative to it"
    parts = (Maximum,)
    reach = True
    covered = False
    least = 2
    scaled = True
    result = Result.RATIO

    @staticmethod
    def read(values: array[float], start: int, maximum: Maximum, moments: Moments, count: int) -> float:
        return relative(maximum.value - values[-1], maximum.value, values, moments, count)

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        return defined_relative(max(window) - window[-1], max(window), scale)
