"""`baseline`: the usual level, learned while the rule that asks for it is quiet."""

from __future__ import annotations

import math
import statistics
from array import array
from bisect import bisect_left, insort
from collections.abc import Sequence

from sentinel.stats.function import RunningFunction
from sentinel.stats.series import HISTORY

USUAL = 50
"""Values that the level is taken from when the rule does not say."""

LEAST = 10
"""Values from which on it is known: a median of ten stands firm with four outliers among them. `initial`, known from
the third value on, is for what must be judged earlier."""


class Baseline(RunningFunction):
    """The median of the last values before the newest (50, or as many as the window says), known from ten on.

    It belongs to one alert of one rule and stands still while that alert is pending or firing: a value that comes
    meanwhile never enters, nor does the one at which it begins. When it fires, what was learned from the onset on is
    taken back. So a bad stretch cannot become the usual level and end the alert by itself.

    `values`, `steps`: what has entered, oldest first: the last `size`, and more of the past to go back to. `ordered`:
    the last `size` of them, ascending. `least`: how many make it known. `newest`, `at`: a value that enters when the
    next one comes; NaN for none.
    """

    name = "baseline"
    signature = "baseline(x) or baseline(x, N samples)"
    summary = "the median of the last values before the newest, frozen while the rule is pending or firing"
    optional_window = True
    owned = True
    __slots__ = ("at", "least", "newest", "ordered", "size", "steps", "value", "values")

    def __init__(self, *, higher_is_better: bool, samples: int | None) -> None:
        self.size = samples or USUAL
        self.least = min(LEAST, self.size)
        self.values = array("d")
        self.steps = array("q")
        self.ordered = array("d")
        self.newest = math.nan
        self.at = -1
        self.value = math.nan

    def update(self, x: float, step: int) -> None:
        if self.newest == self.newest:
            self.admit(self.newest, self.at)
        self.newest = x
        self.at = step

    def admit(self, x: float, step: int) -> None:
        """Let a value enter; it is known by now that it began nothing."""
        self.values.append(x)
        self.steps.append(step)
        insort(self.ordered, x)
        if len(self.ordered) > self.size:
            del self.ordered[bisect_left(self.ordered, self.values[-1 - self.size])]
            if len(self.values) >= self.size + 2 * HISTORY:
                del self.values[:HISTORY]
                del self.steps[:HISTORY]
        self._settle()

    def read(self) -> float:
        return self.value

    def hold(self) -> None:
        """The alert begins: the value at which it does stays outside."""
        self.newest = math.nan

    def take_back(self, step: int) -> None:
        """The trouble began at `step`: unlearn what came from there on, but for the oldest values without which
        nothing would be known, and nothing could show that the trouble is over."""
        self._keep(max(bisect_left(self.steps, step), min(self.least, len(self.steps))))

    def rewind(self, step: int) -> None:
        if self.at >= step:
            self.newest = math.nan
        self._keep(bisect_left(self.steps, step))

    def _keep(self, count: int) -> None:
        if count < len(self.values):
            del self.values[count:]
            del self.steps[count:]
            self.ordered = array("d", sorted(self.values[-self.size :]))
            self._settle()

    def _settle(self) -> None:
        ordered = self.ordered
        n = len(ordered)
        half = n >> 1
        if n < self.least:
            self.value = math.nan
        else:
            self.value = ordered[half] if n & 1 else (ordered[half - 1] + ordered[half]) / 2.0

    @staticmethod
    def define(history: Sequence[float], *, higher_is_better: bool, samples: int | None) -> float:
        """Of a rule that was quiet all the time."""
        size = samples or USUAL
        before = history[:-1][-size:]
        return statistics.median(before) if len(before) >= min(LEAST, size) else math.nan
