"""`change`: the signed change over the window, relative to the value one window ago"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sentinel.stats.function import Result, WindowFunction, defined_relative, relative
from sentinel.stats.parts import Moments


class Change(WindowFunction):
    """`(x - x_ago) / max(|x_ago|, noise)`; `sentinel.stats.function.relative` says what the noise is and why."""

    name = "change"
    signature = "change(x, window)"
    summary = "the signed change over the window, relative to the value one window ago"
    reach = True
    least = 2
    scaled = True
    result = Result.RATIO

    @staticmethod
    def read(values: array[float], start: int, moments: Moments, count: int) -> float:
        return relative(values[-1] - values[start], values[start], values, moments, count)

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        return defined_relative(window[-1] - window[0], window[0], scale)
