"""`last`: the newest value of the window"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from sentinel.stats.function import WindowFunction


class Last(WindowFunction):
    """The newest number, also where the newest logged value is none and the bare metric unknown. It speaks from the
    first value on, and is unknown when the window holds none."""

    name = "last"
    signature = "last(x, window)"
    summary = "the newest number of the window"
    covered = False

    @staticmethod
    def read(values: array[float], start: int) -> float:
        return values[-1]

    @staticmethod
    def define(window: Sequence[float], scale: Sequence[float]) -> float:
        return window[-1]
