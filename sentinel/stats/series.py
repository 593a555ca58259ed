"""The recent past of one series: finite values and where they stand on the axes.

Values live in `array` objects of doubles that are appended to and compacted now and then, so that a window is one
contiguous slice: no wrap-around arithmetic on the hot path, and `max`, `fsum` or a copy of a window run at C speed.
Non-finite values never get in.
"""

from __future__ import annotations

import math
from array import array

from sentinel.stats.window import Window

HISTORY = 100
"""Values kept at least, beyond what windows need: the onset search looks back over them."""

SLACK = 10
"""Values that may pile up before the arrays are compacted; a sixteenth of them when more are held, so that moving the
rest costs O(1) a value."""


class Series:
    """Finite values of one metric (or of one nested expression) in the run's current attempt.

    - `values`: doubles, oldest first. `steps`: the step of each, counted from the attempt's first step (uint32); the
      array may be shared with series that come at the same steps (`sentinel.stats.shared_steps`).
    - `times`: seconds of each, or None when no window needs them.
    - `last`: the newest value, NaN when the newest *logged* one was not finite or none has come.
    - `step`, `time`: where the newest logged value stands, finite or not; -1 and NaN before the first.
    - `first_step`, `first_time`: of the first finite value; windows use them to know whether they are covered.
    - `dropped`: values that have left the arrays; `seen`: finite values so far in this attempt.
    - `limit`: how many values may be held before the arrays are settled; 0 before the first value.
    """

    __slots__ = (
        "dropped",
        "first_step",
        "first_time",
        "keep",
        "last",
        "limit",
        "renewal",
        "step",
        "steps",
        "time",
        "times",
        "values",
        "windows",
    )

    def __init__(self, *, timed: bool = False, keep: int = HISTORY) -> None:
        self.values = array("d")
        self.steps = array("I")
        self.times: array[float] | None = array("d") if timed else None
        self.windows: tuple[Window, ...] = ()
        self.keep = keep
        self.limit = 0
        self.renewal = 0
        self.dropped = 0
        self.last = math.nan
        self.step = -1
        self.time = math.nan
        self.first_step = -1
        self.first_time = math.nan

    def __repr__(self) -> str:
        return f"Series(last={self.last!r}, step={self.step}, held={len(self.values)}, windows={self.windows})"

    @property
    def seen(self) -> int:
        return self.dropped + len(self.values)

    def push(self, x: float, step: int, time: float) -> None:
        """Add a finite value to a series with steps of its own. The compiled kernel does the same in line."""
        if len(self.values) >= self.limit or self.first_step < 0:
            self.settle(step, time)
        self.values.append(x)
        self.steps.append(step)
        if self.times is not None:
            self.times.append(time)
        self.last = x
        self.step = step
        self.time = time
        for window in self.windows:
            window.add(x, step, time)
            window.advance(step, time)

    def miss(self, step: int, time: float) -> None:
        """The metric was logged, but not as a finite number: nothing enters a window."""
        self.last = math.nan
        self.step = step
        self.time = time

    def settle(self, step: int, time: float) -> None:
        """Make room for the value that comes at `step` and `time`: drop what no window and no onset search needs."""
        if self.first_step < 0:
            self.first_step = step
            self.first_time = time
        cut = self.spare
        if cut > 0:
            del self.steps[:cut]
            self.drop(cut)
        self.renew()
        held = len(self.values)
        self.limit = held + max(SLACK, held >> 4)

    @property
    def spare(self) -> int:
        """How many of the oldest values nobody needs; may be negative."""
        spare = len(self.values) - self.keep
        for window in self.windows:
            if window.start < spare:
                spare = window.start
        return spare

    def drop(self, count: int) -> None:
        """Let go of the oldest values. Their steps are dropped by whoever holds the array."""
        del self.values[:count]
        if self.times is not None:
            del self.times[:count]
        self.dropped += count
        for window in self.windows:
            window.start -= count

    def renew(self) -> None:
        """Take the sums again from the values if it is time to: a running sum keeps its rounding error for good.

        Once a turn of the arrays, which costs an addition a step.
        """
        held = len(self.values)
        seen = self.dropped + held
        if seen >= self.renewal:
            self.renewal = seen + max(SLACK, held)
            for window in self.windows:
                window.renew()

    def keep_times(self, *, timed: bool) -> None:
        """Begin or cease to keep the times of values, when other rules come into force.

        The values that are there have none: to a window of time they lie before its beginning, and it is covered once
        its length has gone by from now.
        """
        if not timed:
            self.times = None
        elif self.times is None:
            self.times = array("d", [-math.inf]) * len(self.values)
            if self.values:
                self.first_time = self.time

    def clear(self) -> None:
        """Forget everything, as a new attempt does; windows stay attached and are empty again."""
        del self.values[:]
        del self.steps[:]
        if self.times is not None:
            del self.times[:]
        self.last = math.nan
        self.step = -1
        self.time = math.nan
        self.first_step = -1
        self.first_time = math.nan
        self.limit = 0
        self.renewal = 0
        self.dropped = 0
        for window in self.windows:
            window.clear()
