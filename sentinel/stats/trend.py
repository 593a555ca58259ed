"""Does a window go anywhere? What `rising`, `falling` and `flat` ask of its straight line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sentinel.stats.parts import Line

BEYOND_SCATTER = 2.0
"""A trend moves over the window by more than this many standard deviations of the values about the line."""

BEYOND_CHANCE = 3.0
"""And its slope is more than this many standard errors from zero: few values lie on some line by chance."""

ROUNDING = 1e-9
"""A move smaller than this beside the values' own size is rounding."""

TIE = 1.0 + 1e-9
"""What moves exactly as far as it must is no trend, whichever way that was rounded."""

LEAST = 5
"""Values below which nothing is called a trend."""


def trend(values: Sequence[float], start: int, line: Line, places: Sequence[float]) -> float:
    """How far the line through `values[start:]` moves over the window, in units of what it must move by to be a trend.

    Signed: above 1 the window rises, below -1 it falls, between it is flat. NaN when all values stand at one place.
    """
    span = places[-1] - places[start]
    if not span > 0.0:
        return math.nan
    n = len(values) - start
    mean, xx, pp, xp = line.centered(n)
    return _strength(n, span, mean, xx, pp, xp)


def defined_trend(window: Sequence[float], places: Sequence[float]) -> float:
    """`trend` by definition."""
    if not places[-1] > places[0]:
        return math.nan
    n, xs, ps = len(window), [Fraction(x) for x in window], [Fraction(place) for place in places]
    x, p = sum(xs) / n, sum(ps) / n
    xx = sum((a - x) ** 2 for a in xs)
    pp = sum((b - p) ** 2 for b in ps)
    xp = sum((a - x) * (b - p) for a, b in zip(xs, ps, strict=True))
    return _strength(n, places[-1] - places[0], float(x), float(xx), float(pp), float(xp))


def _strength(n: int, span: float, mean: float, xx: float, pp: float, xp: float) -> float:
    """From the mean, and the sums of squares and products about the means."""
    slope = xp / pp
    moved = slope * span
    # Rounding can leave a hair below zero for values that lie on a line.
    scatter = math.sqrt(max(xx - slope * xp, 0.0) / (n - 2))
    bar = max(
        scatter * max(BEYOND_SCATTER, BEYOND_CHANCE * span / math.sqrt(pp)),
        ROUNDING * math.sqrt(mean * mean + xx / n),
    )
    return moved / (bar * TIE) if bar > 0.0 else 0.0
