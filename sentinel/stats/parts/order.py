"""The values of a window in order: any quantile in O(1), an update in O(log n) comparisons."""

from __future__ import annotations

from array import array
from bisect import bisect_left, insort


class Order:
    """`ordered`: the window's values, ascending.

    Insertion moves memory, but 8 bytes a value: for windows of up to some thousands that is cheaper than any tree.
    """

    __slots__ = ("ordered",)

    def __init__(self) -> None:
        self.ordered = array("d")

    def __repr__(self) -> str:
        return f"Order(n={len(self.ordered)})"

    def add(self, x: float) -> None:
        insort(self.ordered, x)

    def remove(self, out: float, values: array[float], start: int) -> None:
        del self.ordered[bisect_left(self.ordered, out)]

    def renew(self, values: array[float], start: int) -> None:
        # Nothing rounds in an ordered list: only a change of what the window holds makes it stale.
        if len(self.ordered) != len(values) - start:
            self.ordered = array("d", sorted(values[start:]))

    def median(self) -> float:
        """The middle value, the mean of the two middle ones for an even number; NaN for none."""
        n = len(self.ordered)
        if not n:
            return float("nan")
        half = n >> 1
        return self.ordered[half] if n & 1 else (self.ordered[half - 1] + self.ordered[half]) / 2.0
