"""`initial`: the level the run started from."""

from __future__ import annotations

import math
import statistics
from array import array
from collections.abc import Sequence

from sentinel.stats.function import RunningFunction

WARM_UP = 10
"""Values that the starting level is taken from when the rule does not say."""

LEAST = 3
"""Values from which on it is known: of 41 real runs that broke, 27 did so by their 30th row, some by their 8th."""


class Initial(RunningFunction):
    """The median of the first values (10, or as many as the window says), known from the third on.

    It is learned once per run: a later attempt keeps it, unless it was learned after the step gone back to.
    """

    name = "initial"
    signature = "initial(x) or initial(x, N samples)"
    summary = "the median of the run's first values"
    optional_window = True
    __slots__ = ("at", "first", "size", "value")

    def __init__(self, *, higher_is_better: bool, samples: int | None) -> None:
        self.size = samples or WARM_UP
        self.first = array("d")
        self.at = -1
        self.value = math.nan

    def update(self, x: float, step: int) -> None:
        if len(self.first) < self.size:
            self.first.append(x)
            self.at = step
            if len(self.first) >= min(LEAST, self.size):
                self.value = statistics.median(self.first)

    def read(self) -> float:
        return self.value

    def rewind(self, step: int) -> None:
        if self.at >= step:
            del self.first[:]
            self.at = -1
            self.value = math.nan

    @staticmethod
    def define(history: Sequence[float], *, higher_is_better: bool, samples: int | None) -> float:
        size = samples or WARM_UP
        if len(history) < min(LEAST, size):
            return math.nan
        return statistics.median(history[:size])
