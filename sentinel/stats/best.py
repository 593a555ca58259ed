"""`best`: the best value so far."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

from sentinel.stats.function import RunningFunction

MOST = 64
"""Former bests kept, so that a run that goes back finds the best of the steps before. Of a series that rises all the
time some are left out, the more the longer ago: what is found then lies at most half as far back again."""


class Best(RunningFunction):
    """The best value so far; `values` and `steps` hold it and the bests before it, oldest first.

    Highest or lowest by the metric's entry in the dictionary (`bad_direction`); highest for keys that it does not
    know. It outlives an attempt, up to the step that the run went back to. One lucky batch is the best of a noisy
    series for good: smooth first, `best(median(reward.mean, 10 steps))`.
    """

    name = "best"
    signature = "best(x)"
    summary = "the best value so far: highest, or lowest where lower is better"
    __slots__ = ("sign", "steps", "value", "values")

    def __init__(self, *, higher_is_better: bool, samples: int | None) -> None:
        self.sign = 1.0 if higher_is_better else -1.0
        self.value = math.nan
        self.values = array("d")
        self.steps = array("q")

    def update(self, x: float, step: int) -> None:
        if not (x - self.value) * self.sign <= 0.0:
            self.value = x
            self.values.append(x)
            self.steps.append(step)
            if len(self.values) > MOST:
                self.thin()

    def thin(self) -> None:
        """Leave out former bests without which no gap is wider than half its age."""
        newest, kept = self.steps[-1], [0]
        for at in range(1, len(self.steps) - 1):
            after = self.steps[at + 1]
            if after - self.steps[kept[-1]] > (newest - after) / 2:
                kept.append(at)
        kept.append(len(self.steps) - 1)
        self.values = array("d", [self.values[at] for at in kept])
        self.steps = array("q", [self.steps[at] for at in kept])

    def read(self) -> float:
        return self.value

    def rewind(self, step: int) -> None:
        while self.steps and self.steps[-1] >= step:
            self.steps.pop()
            self.values.pop()
        self.value = self.values[-1] if self.values else math.nan

    @staticmethod
    def define(history: Sequence[float], *, higher_is_better: bool, samples: int | None) -> float:
        if not history:
            return math.nan
        return max(history) if higher_is_better else min(history)
