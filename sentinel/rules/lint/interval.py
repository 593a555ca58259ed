"""The values that a quantity can have, as one interval of the real line.

All arithmetic errs on the wide side: a value outside the result cannot occur, one inside may.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`; an open end is not part of it. Infinite ends are never reached.

    >>> Interval(0, 1).meet(Interval(1, 3, low_open=True)).empty
    True
    """

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False

    @classmethod
    def point(cls, value: float) -> Interval:
        return cls(value, value)

    @property
    def empty(self) -> bool:
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    @property
    def bounded(self) -> bool:
        """Whether anything is known of it."""
        return math.isfinite(self.low) or math.isfinite(self.high)

    def meet(self, other: Interval) -> Interval:
        """The values in both."""
        low, low_open = max((self.low, self.low_open), (other.low, other.low_open))
        high, closed = min((self.high, not self.high_open), (other.high, not other.high_open))
        return Interval(low, high, low_open, not closed)

    def holds(self, value: float) -> bool:
        return not self.meet(Interval.point(value)).empty

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low, self.high_open, self.low_open)

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.high + other.high)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        ends = [_times(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(ends), max(ends))

    def __truediv__(self, other: Interval) -> Interval:
        if other.low < 0.0 < other.high:
            return ALL
        low = 1.0 / other.high if other.high else -math.inf
        high = 1.0 / other.low if other.low else math.inf
        return self * Interval(low, high)

    def __abs__(self) -> Interval:
        if self.low >= 0.0:
            return self
        return -self if self.high <= 0.0 else Interval(0.0, max(-self.low, self.high))

    def __str__(self) -> str:
        """In words, for messages."""
        if not self.bounded:
            return "has any value"
        if self.low == self.high:
            return f"is always {self.low:g}"
        if math.isinf(self.high):
            return f"is {'above' if self.low_open else 'never below'} {self.low:g}"
        if math.isinf(self.low):
            return f"is {'below' if self.high_open else 'never above'} {self.high:g}"
        return f"goes from {self.low:g} to {self.high:g}"


ALL = Interval()


def _times(a: float, b: float) -> float:
    """An infinite end times 0 is 0: the end is never reached."""
    return 0.0 if a == 0.0 or b == 0.0 else a * b
