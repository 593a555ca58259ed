"""The shape of a running part: one quantity over a window's values, kept up to date in O(1) or O(log n).

`add` and `remove` are written so that the rule compiler can copy their bodies into generated code (see
`sentinel.engine.inline`): straight statements on `self` and the arguments, no `return`, no closure.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Protocol


class Part(Protocol):
    def add(self, x: float) -> None:
        """A finite value has entered the window."""
        ...

    def remove(self, out: float, values: array[float], start: int) -> None:
        """`out` has left; the window is now `values[start:]`."""
        ...

    def renew(self, values: array[float], start: int) -> None:
        """Take everything again from `values[start:]`, dropping what rounding has left behind."""
        ...


class PlacedPart(Protocol):
    """A part that asks where values stand: `place` is a step, or seconds in a window of time."""

    def add(self, x: float, place: float) -> None: ...

    def remove(self, out: float, values: array[float], start: int, places: Sequence[float]) -> None:
        """`places[i]` is where `values[i]` stands."""
        ...

    def renew(self, values: array[float], start: int, places: Sequence[float]) -> None: ...
