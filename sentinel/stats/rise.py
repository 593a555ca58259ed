"""`rise`: how far the newest value lies above the lowest one of the window, relative to it"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sentinel.stats.function import Result, WindowFunction, defined_relative, relative
from sentinel.stats.parts import Minimum, Moments


class Rise(WindowFunction):
    """`(x - lowest) / max(|lowest|, noise)`, never negative. It speaks from the second value on, as `drop` does."""

    name = "rise"
    signature = "rise(x, window)"
    summary = "how far the newest value lies above the lowest one of the window, relative to it"
    parts = (Minimum,)
    reach = True
    covered = False
    least = 2
    scaled = True
    result = Result.RATIO

    @staticmethod
    def read(values: array[float], start: int, minimum: Minimum, moments: Moments, count: int) -> float:
        return relative(values[-1] - minimum.value, minimum.value, values, moments, count)

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        return defined_relative(window[-1] - min(window), min(window), scale)
