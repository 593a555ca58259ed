"""`held`: whether a condition has held throughout the window."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sentinel.stats.function import Result, WindowFunction
from sentinel.stats.parts import Minimum


class Held(WindowFunction):
    """True when each time that the condition was known, it held. Unlike a rule's `for`, it stands inside a condition:
    `held(kl.ref > 0.1, 5 steps) and entropy < 0.3`. Unknown until the window is covered."""

    name = "held"
    signature = "held(condition, window)"
    summary = "the condition held each time that it was known in the window"
    parts = (Minimum,)
    conditional = True
    result = Result.TRUTH

    @staticmethod
    def read(values: array[float], start: int, minimum: Minimum) -> float:
        return minimum.value

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        return min(window)
