"""`falling`: whether the window falls, by more than its own noise."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sentinel.stats.function import Result, WindowFunction
from sentinel.stats.parts import Line
from sentinel.stats.trend import LEAST, defined_trend, trend


def falling(t: float) -> float:
    """1.0 or 0.0 for a strength of trend; NaN stays NaN."""
    return float(t < -1.0) if t == t else t


class Falling(WindowFunction):
    """As `rising`, the other way."""

    name = "falling"
    signature = "falling(x, window)"
    summary = "the window falls, by more than its own noise"
    parts = (Line,)
    least = LEAST
    placed = True
    result = Result.TRUTH

    @staticmethod
    def read(values: array[float], start: int, line: Line, places: Sequence[float]) -> float:
        return falling(trend(values, start, line, places))

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float], *, places: Sequence[float]) -> float:
        return falling(defined_trend(window, places))
