"""The running maximum of a window."""

from __future__ import annotations

import math
from array import array
from itertools import accumulate


class Maximum:
    """`value`: the largest of the window's values; -inf when it is empty.

    The maximum is looked for again only when it leaves. Then the maxima of every tail of the window are noted at
    once (`tails`), so that a series that falls at every step costs O(1) a step on average and not a scan each time:
    the two-stack queue, built only when it is needed. `fresh` is the largest value that came after that.
    """

    __slots__ = ("at", "fresh", "tails", "value")

    def __init__(self) -> None:
        self.value = -math.inf
        self.fresh = -math.inf
        self.tails = array("d")
        self.at = 0

    def __repr__(self) -> str:
        return f"Maximum({self.value!r})"

    def add(self, x: float) -> None:
        if x >= self.fresh:
            # The maximum is one of the fresh values or is beyond them all.
            self.fresh = x
            if x >= self.value:
                self.value = x

    def remove(self, out: float, values: array[float], start: int) -> None:
        self.at += 1
        if out == self.value:
            self.refresh(values, start)

    def refresh(self, values: array[float], start: int) -> None:
        """Find the maximum again after it has left."""
        if self.at < len(self.tails):
            tail = self.tails[self.at]
            self.value = tail if tail >= self.fresh else self.fresh
            return
        held = values[start:]
        held.reverse()
        tails = array("d", accumulate(held, max))
        tails.reverse()
        self.tails = tails
        self.at = 0
        self.fresh = -math.inf
        self.value = tails[0] if tails else -math.inf

    def renew(self, values: array[float], start: int) -> None:
        # Comparisons do not round: only a window that was cut off from its past is taken again.
        held = values[start:]
        value = max(held) if held else -math.inf
        if value != self.value or not held:
            self.value = value
            self.fresh = value
            self.tails = array("d")
            self.at = 0
