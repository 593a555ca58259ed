"""`ewma`: the exponentially weighted mean of the values so far."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sentinel.stats.function import RunningFunction


class Ewma(RunningFunction):
    """Each value weighs `1 - alpha` times as much as the one after it, with `alpha = 2 / (N + 1)`, and the weights are
    divided by their sum (pandas' `ewm(span=N).mean()`). Known from the N-th value on.

    It goes on through an attempt that begins after all that it has seen; one that goes back begins it anew, because an
    exponential mean cannot be taken apart again.
    """

    name = "ewma"
    signature = "ewma(x, N samples)"
    summary = "the exponentially weighted mean, alpha = 2 / (N + 1)"
    optional_window = True
    needs_window = True
    __slots__ = ("at", "keep", "seen", "size", "total", "value", "weight")

    def __init__(self, *, higher_is_better: bool, samples: int | None) -> None:
        self.size = samples or 1
        self.keep = 1.0 - 2.0 / (self.size + 1.0)
        self.total = 0.0
        self.weight = 0.0
        self.seen = 0
        self.at = -1
        self.value = math.nan

    def update(self, x: float, step: int) -> None:
        self.total = self.total * self.keep + x
        self.weight = self.weight * self.keep + 1.0
        self.at = step
        self.seen += 1
        if self.seen >= self.size:
            self.value = self.total / self.weight

    def read(self) -> float:
        return self.value

    def rewind(self, step: int) -> None:
        if self.at >= step:
            self.total = self.weight = 0.0
            self.seen = 0
            self.at = -1
            self.value = math.nan

    @staticmethod
    def define(history: Sequence[float], *, higher_is_better: bool, samples: int | None) -> float:
        size = samples or 1
        if len(history) < size:
            return math.nan
        keep = 1.0 - 2.0 / (size + 1.0)
        weights = [keep**age for age in range(len(history))]
        return math.fsum(w * x for w, x in zip(weights, reversed(history), strict=True)) / math.fsum(weights)
