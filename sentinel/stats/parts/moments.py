"""First and second moment of a window about a reference value near its mean."""

from __future__ import annotations

from array import array
from math import fsum, nan


class Moments:
    """`first`, `second`: sums of `x - about` and of its square.

    Taken about a value near the mean, because a variance from plain sums of squares cancels when the mean is large
    beside the spread (Chan, Golub, LeVeque 1983, "Algorithms for computing the sample variance", shifted data).
    `about` is NaN while the window is empty; `peak` is the largest `second` since the sums were last taken again: its
    rounding is what `second` carries.

    >>> part = Moments()
    >>> part.add(1e9); part.add(1e9 + 2.0); part.std(2) ** 2
    2.0000000000000004
    """

    __slots__ = ("about", "first", "peak", "second")

    def __init__(self) -> None:
        self.about = nan
        self.first = 0.0
        self.second = 0.0
        self.peak = 0.0

    def __repr__(self) -> str:
        return f"Moments(about={self.about!r}, first={self.first!r}, second={self.second!r})"

    def add(self, x: float) -> None:
        d = x - self.about
        if d != d:
            # The first value: a better reference than zero, which may be far from all of them.
            self.about = x
            d = 0.0
        self.first += d
        self.second += d * d

    def remove(self, out: float, values: array[float], start: int) -> None:
        second = self.second
        if second > self.peak:
            self.peak = second
        d = out - self.about
        first = self.first - d
        second -= d * d
        self.first = first
        self.second = second
        # As in Total: after a giant has left, what remains has lost its digits. And when those that the reference was
        # near have left, the second term of the variance would cancel the first.
        left = len(values) - start
        if not left or second < 1e-4 * self.peak or first * first > 0.9999 * left * second:
            self.renew(values, start)

    def renew(self, values: array[float], start: int) -> None:
        held = values[start:]
        if not held:
            self.about = nan
            self.first = self.second = self.peak = 0.0
            return
        # The mean of equal values can round to something else than that value.
        self.about = held[0] if min(held) == max(held) else fsum(held) / len(held)
        deviations = [x - self.about for x in held]
        self.first = fsum(deviations)
        self.second = self.peak = fsum([d * d for d in deviations])

    def std(self, n: int) -> float:
        """Sample standard deviation (n - 1) of the window's `n` values; NaN for fewer than two."""
        if n < 2:
            return nan
        variance = (self.second - self.first * self.first / n) / (n - 1)
        # Rounding can leave a hair below zero for a constant window.
        return float(variance**0.5) if variance > 0.0 else 0.0
