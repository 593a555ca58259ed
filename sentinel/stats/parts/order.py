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

        The half that lies nearest to the median stands together, so its ends are found by halving, in O(log n).
        """
        others = self.ordered[:]
        del others[bisect_left(others, x)]
        n = len(others)
        half = n >> 1
        middle = others[half] if n & 1 else (others[half - 1] + others[half]) / 2.0
        low, high = 0, n - half - 1
        while low < high:
            at = (low + high) >> 1
            if middle - others[at] > others[at + half + 1] - middle:
                low = at + 1
            else:
                high = at
        high = low + half
        below, above = middle - others[low], others[high] - middle
        if n & 1:
            return middle, max(below, above)
        if below > above:
            return middle, (max(middle - others[low + 1], above) + below) / 2.0
        return middle, (max(below, others[high - 1] - middle) + above) / 2.0
