"""The running sum of a window."""

from __future__ import annotations

from array import array
from math import fsum


class Total:
    """`total`: the sum of the window's values. `gone`: the largest square that left since it was last added up.

    >>> part = Total()
    >>> part.add(1.0); part.add(2.0); part.total
    3.0
    """

    __slots__ = ("gone", "total")

    def __init__(self) -> None:
        self.total = 0.0
        self.gone = 0.0

    def __repr__(self) -> str:
        return f"Total({self.total!r})"

    def add(self, x: float) -> None:
        self.total += x

    def remove(self, out: float, values: array[float], start: int) -> None:
        total = self.total - out
        self.total = total
        # Squares, because a product costs a third of a call of abs().
        size = out * out
        if size > self.gone:
            self.gone = size
        # What is left is small beside what went: its digits are gone (1e14 + 0.05 - 1e14), so add again.
        if total * total < 1e-10 * self.gone:
            self.renew(values, start)

    def renew(self, values: array[float], start: int) -> None:
        self.total = fsum(values[start:])
        self.gone = 0.0
