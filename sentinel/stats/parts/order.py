"""The values of a window in order: any quantile in O(1), an update in O(log n) comparisons."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort


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

    def quantile(self, share: float) -> float:
        """The value that `share` (0 to 1) of the window lies below, interpolated; NaN for none."""
        n = len(self.ordered)
        if not n:
            return float("nan")
        at = share * (n - 1)
        low = int(at)
        value = self.ordered[low]
        return value + (self.ordered[low + 1] - value) * (at - low) if at > low else value

    def above(self, bound: float) -> int:
        """How many values are larger than `bound`."""
        return len(self.ordered) - bisect_right(self.ordered, bound)

    def spread_without(self, x: float) -> tuple[float, float]:
        """Median, and median absolute deviation from it, of the values but one `x`, of which there must be two more.

        Deviations ascend on both sides of the median, so the one in the middle is found in O(log n) by halving.
        """
        ordered = self.ordered
        hole = bisect_left(ordered, x)
        n = len(ordered) - 1
        half = n >> 1

        def value(at: int) -> float:
            return ordered[at if at < hole else at + 1]

        middle = value(half) if n & 1 else (value(half - 1) + value(half)) / 2.0
        # `half` values lie below index `half`, the rest from there on; at or below and at or above the median.
        upper = n - half

        def smallest(k: int) -> tuple[float, float]:
            """The deviation of rank `k` (from 0) and the one after it."""
            low, high = max(0, k - upper), min(k, half)
            while low < high:
                below = (low + high) >> 1  # taken from below the median; the other k - below from above
                if middle - value(half - 1 - below) < value(half + k - below - 1) - middle:
                    low = below + 1
                else:
                    high = below
            rest = [middle - value(half - 1 - at) for at in range(low, min(low + 2, half))]
            rest += [value(half + at) - middle for at in range(k - low, min(k - low + 2, upper))]
            rest.sort()
            return rest[0], rest[1] if len(rest) > 1 else rest[0]

        if n & 1:
            return middle, smallest(half)[0]
        before, after = smallest(half - 1)
        return middle, (before + after) / 2.0
