"""The straight line through a window's values: sums over where they stand and what they are."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import fsum, isfinite, nan


class Line:
    """`x`, `p`, `xx`, `pp`, `xp`: sums over the values and their places, counted from `about` and `place`.

    As in `Moments`, sums about a point near the middle, because those about zero cancel; `peak` and `far` are the
    largest `xx` and `pp` since the sums were last taken again. `about` is NaN while the window is empty.

    >>> part = Line()
    >>> part.add(1e9, 10); part.add(1e9 + 3.0, 11); part.add(1e9 + 6.0, 12); part.slope(3)
    3.0
    """

    __slots__ = ("about", "far", "p", "peak", "place", "pp", "x", "xp", "xx")

    def __init__(self) -> None:
        self.about = nan
        self.place = 0.0
        self.x = self.p = self.xx = self.pp = self.xp = 0.0
        self.peak = self.far = 0.0

    def __repr__(self) -> str:
        return f"Line(about={self.about!r}, place={self.place!r}, x={self.x!r}, xp={self.xp!r}, pp={self.pp!r})"

    def add(self, x: float, place: float) -> None:
        d = x - self.about
        if d != d:
            self.about = x
            self.place = place
            d = 0.0
        e = place - self.place
        self.x += d
        self.p += e
        self.xx += d * d
        self.pp += e * e
        self.xp += d * e

    def remove(self, out: float, values: array[float], start: int, places: Sequence[float]) -> None:
        if self.xx > self.peak:
            self.peak = self.xx
        if self.pp > self.far:
            self.far = self.pp
        d = out - self.about
        e = places[start - 1] - self.place
        self.x -= d
        self.p -= e
        self.xx -= d * d
        self.pp -= e * e
        self.xp -= d * e
        # As in Moments: digits are gone when what has left was large beside what remains, or was what the reference was
        # near. And a place that was not known has made the sums NaN.
        left = len(values) - start
        if (
            not left
            or self.p != self.p
            or self.xx < 1e-4 * self.peak
            or self.pp < 1e-4 * self.far
            or self.x * self.x > 0.9999 * left * self.xx
            or self.p * self.p > 0.9999 * left * self.pp
        ):
            self.renew(values, start, places)

    def renew(self, values: array[float], start: int, places: Sequence[float]) -> None:
        held, at = values[start:], places[start : len(values)]
        if not held or not isfinite(at[0]):
            # No time was known at the beginning; once it is, it stays so.
            self.about, self.place = nan if not held else held[0], 0.0
            self.x = self.p = self.xx = self.pp = self.xp = 0.0 if not held else nan
            self.peak = self.far = 0.0
            return
        # The mean of equal values can round to something else than that value.
        self.about = held[0] if min(held) == max(held) else fsum(held) / len(held)
        self.place = at[len(at) >> 1]
        ds = [x - self.about for x in held]
        es = [place - self.place for place in at]
        self.x, self.p = fsum(ds), fsum(es)
        self.xx = self.peak = fsum([d * d for d in ds])
        self.pp = self.far = fsum([e * e for e in es])
        self.xp = fsum([d * e for d, e in zip(ds, es, strict=True)])

    def centered(self, n: int) -> tuple[float, float, float, float]:
        """The mean of the window's `n` values, then sums about the means: of squares of the values, of squares of the
        places, of products."""
        x, p = self.x / n, self.p / n
        return self.about + x, max(self.xx - x * self.x, 0.0), self.pp - p * self.p, self.xp - x * self.p

    def slope(self, n: int) -> float:
        """Of the least-squares line through `n` values, per unit of place. They must not stand all at one place."""
        return (self.xp - self.x * self.p / n) / (self.pp - self.p * self.p / n)
