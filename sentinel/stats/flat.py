"""`flat`: whether the window neither rises nor falls, by more than its own noise."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sentinel.stats.function import Result, WindowFunction
from sentinel.stats.parts import Line
from sentinel.stats.trend import LEAST, defined_trend, trend


def flat(t: float) -> float:
    """1.0 or 0.0 for a strength of trend; NaN stays NaN."""
    return float(-1.0 <= t <= 1.0) if t == t else t


class Flat(WindowFunction):
    """Known, and neither `rising` nor `falling`: what it moves by is within its own scatter."""

    name = "flat"
    signature = "flat(x, window)"
    summary = "the window neither rises nor falls, by more than its own noise"
    parts = (Line,)
    least = LEAST
    placed = True
    result = Result.TRUTH

    @staticmethod
    def read(values: array[float], start: int, line: Line, places: Sequence[float]) -> float:
        return flat(trend(values, start, line, places))

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float], *, places: Sequence[float]) -> float:
        return flat(defined_trend(window, places))
