"""`slope`: how fast the window rises, by a straight line through it."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from fractions import Fraction

from sentinel.stats.function import Result, WindowFunction
from sentinel.stats.parts import Line


class Slope(WindowFunction):
    """Of the least-squares line, in the metric's unit per step; per second over a window of time. Unknown for fewer
    than three values, and where all stand at one place. One outlier tilts a line, so smooth first:
    `slope(median(x, 5 samples), 50 steps)`."""

    name = "slope"
    signature = "slope(x, window)"
    summary = "the slope of a straight line through the window, per step (per second over a window of time)"
    parts = (Line,)
    least = 3
    placed = True
    result = Result.RATE

    @staticmethod
    def read(values: array[float], start: int, line: Line, places: Sequence[float]) -> float:
        return line.slope(len(values) - start) if places[-1] > places[start] else math.nan

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float], *, places: Sequence[float]) -> float:
        if not places[-1] > places[0]:
            return math.nan
        # Exactly: the fast form is held to it.
        xs, ps = [Fraction(x) for x in window], [Fraction(place) for place in places]
        x, p = sum(xs) / len(xs), sum(ps) / len(ps)
        spread = sum((each - p) ** 2 for each in ps)
        return float(sum((a - x) * (b - p) for a, b in zip(xs, ps, strict=True)) / spread)
