"""A moving window over one series: where it begins, and the running parts it keeps up to date.

There are three axes (steps, samples, time) and two shapes:

- a *level* window of N steps holds the values of the last N steps, `step > now - N`. It is `covered` once the
  series reaches back to its beginning: before, a mean "over 5 minutes" after 20 seconds would be a lie.
- a *reach* window of N steps holds what was true N steps ago and everything since: the newest value at or before
  `now - N`, and all later ones. A change over N steps is measured between its two ends.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, cast

from sentinel.stats.parts import Line

if TYPE_CHECKING:
    from sentinel.stats.parts.part import Part, PlacedPart
    from sentinel.stats.series import Series


class Axis(Enum):
    """What a window is measured in."""

    STEPS = "steps"
    SAMPLES = "samples"
    TIME = "time"


class Window:
    """`size` steps, samples or seconds of one series; `start` is the index of its oldest value.

    `parts` are running quantities over exactly the window's values, in the order in which they were attached; `placed`
    are those that also ask where the values stand.
    """

    __slots__ = ("axis", "parts", "placed", "reach", "series", "size", "start")

    def __init__(self, series: Series, axis: Axis, size: float, *, reach: bool) -> None:
        self.series = series
        self.axis = axis
        self.size = size
        self.reach = reach
        self.start = 0
        # Tuples: most series have no window, most windows one part, and an empty tuple takes no memory.
        self.parts: tuple[Part, ...] = ()
        self.placed: tuple[PlacedPart, ...] = ()
        series.windows += (self,)

    def __repr__(self) -> str:
        return f"Window({self.size:g} {self.axis.value}, n={self.count}, reach={self.reach})"

    @property
    def count(self) -> int:
        return len(self.series.values) - self.start

    @property
    def values(self) -> array[float]:
        """A copy of the window's values, oldest first."""
        return self.series.values[self.start :]

    @property
    def places(self) -> Sequence[float]:
        """Where the series' values stand: seconds for a window of time, steps for the others."""
        if self.axis is Axis.TIME:
            assert self.series.times is not None
            return self.series.times
        return self.series.steps

    def attach(self, part: Part | PlacedPart) -> None:
        """Keep `part` up to date from now on, beginning with what the window holds."""
        self.keep(part)
        self.renew_part(part)

    def keep(self, part: Part | PlacedPart) -> None:
        """As `attach`, for a part that holds what the window holds already."""
        if isinstance(part, Line):
            self.placed += (part,)
        else:
            self.parts += (cast("Part", part),)

    def renew_part(self, part: Part | PlacedPart) -> None:
        if isinstance(part, Line):
            part.renew(self.series.values, self.start, self.places)
        else:
            cast("Part", part).renew(self.series.values, self.start)

    def detach_all(self) -> None:
        self.parts = ()
        self.placed = ()

    def add(self, x: float, step: int, time: float) -> None:
        for part in self.parts:
            part.add(x)
        for placed in self.placed:
            placed.add(x, time if self.axis is Axis.TIME else step)

    def advance(self, step: int, time: float) -> None:
        """Let go of the values that lie before the window, seen from `step` and `time`."""
        series, start = self.series, self.start
        values = series.values
        while start < len(values) and self._leaves(start, step, time):
            out = values[start]
            start += 1
            for part in self.parts:
                part.remove(out, values, start)
            for placed in self.placed:
                placed.remove(out, values, start, self.places)
        self.start = start

    def _leaves(self, index: int, step: int, time: float) -> bool:
        """Whether the value at `index` lies before the window."""
        series = self.series
        held = len(series.values)
        if self.reach:
            # It leaves when the next one can speak for the window's beginning.
            index += 1
            if index >= held:
                return False
            if self.axis is Axis.SAMPLES:
                return held - index > self.size
        elif self.axis is Axis.SAMPLES:
            return held - index > self.size
        if self.axis is Axis.STEPS:
            return series.steps[index] <= step - self.size
        assert series.times is not None
        return series.times[index] <= time - self.size

    def covered(self, step: int, time: float) -> bool:
        """Whether the series reaches back to the window's beginning."""
        series = self.series
        if self.axis is Axis.SAMPLES:
            return series.seen >= self.size + self.reach
        if series.first_step < 0:
            return False
        if self.axis is Axis.STEPS:
            return series.first_step <= step - self.size + (0 if self.reach else 1)
        return series.first_time <= time - self.size

    def renew(self) -> None:
        for part in self.parts:
            self.renew_part(part)
        for placed in self.placed:
            self.renew_part(placed)

    def clear(self) -> None:
        self.start = 0
        self.renew()
