"""What a function remembers of a run at the moment: how full its window is, its best or its start, and since when."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sentinel.engine.plan import running_key, series_key, window_key
from sentinel.engine.run_state import RunState
from sentinel.explain.words import seconds_spelled, spelled
from sentinel.rules.expression.nodes import Call, Extent, Node
from sentinel.stats import FUNCTIONS, Pointwise, Probe, RunningFunction, WindowFunction
from sentinel.stats.best import Best
from sentinel.stats.ewma import Ewma
from sentinel.stats.initial import Initial
from sentinel.stats.series import Series
from sentinel.stats.window import Axis, Window


@dataclass(frozen=True, slots=True)
class Fill:
    """A window: `held` values are in it; it reaches back over `reached` of the `size` steps, samples or seconds that
    it must cover. `needed`: values without which it says nothing."""

    axis: Axis
    held: int
    needed: int
    reached: float
    size: float
    covered: bool

    @property
    def full(self) -> bool:
        return self.covered and self.held >= self.needed

    def __str__(self) -> str:
        values = f"{self.held} {'value' if self.held == 1 else 'values'}"
        if self.axis is Axis.SAMPLES:
            return f"{min(self.reached, self.size):.0f} of {self.size:.0f} values"
        size = spelled(Extent(self.axis, self.size))
        if not self.covered:
            if self.axis is Axis.TIME:
                return f"reaches back {seconds_spelled(round(self.reached))} of {size}"
            return f"reaches back {self.reached:.0f} of {size}"
        return f"{values}, needs {self.needed}" if self.held < self.needed else f"{values} in {size}"


@dataclass(frozen=True, slots=True)
class Memory:
    """`fill` of a window function, None for others. `note`: the same, or what else it remembers, in words."""

    note: str = ""
    fill: Fill | None = None
    since_step: int | None = None


NOTHING = Memory()


def remembered(call: Call, run: RunState, rel: int, time: float) -> Memory:
    """What `call` remembers of `run`, seen from `rel` steps after the attempt's first and from `time`."""
    function, extent = FUNCTIONS[call.function], call.window
    if issubclass(function, Pointwise):
        return NOTHING
    if issubclass(function, RunningFunction):
        return _running(run.slots.get(running_key(call)))
    if issubclass(function, Probe):
        return _probe(run, call.argument)
    if issubclass(function, WindowFunction) and extent is not None:
        return _window(run, call, function, extent, rel, time)
    return NOTHING


def _window(run: RunState, call: Call, function: type[WindowFunction], extent: Extent, rel: int, time: float) -> Memory:
    window: Window | None = run.slots.get(window_key(call.argument, extent, reach=function.reach))
    if window is None:
        return NOTHING
    window.advance(rel, time)
    series = window.series
    covered = not function.covered or window.covered(rel, time)
    # A reach window of N samples looks at N + 1; one of N steps at the step N ago.
    size = extent.size + (function.reach and extent.axis is Axis.SAMPLES)
    if series.first_step < 0:
        reached = 0.0
    elif extent.axis is Axis.SAMPLES:
        reached = series.seen
    elif extent.axis is Axis.STEPS:
        reached = rel - series.first_step + (not function.reach)
    else:
        reached = time - series.first_time if time == time else 0.0
    fill = Fill(extent.axis, window.count, max(function.least, 1), min(max(reached, 0.0), size), size, covered)
    if extent.axis is Axis.TIME and series.first_step >= 0 and math.isnan(time):
        return Memory("the recording has no times", fill)
    return Memory(str(fill), fill)


def _running(slot: Any) -> Memory:
    match slot:
        case Initial():
            held = len(slot.first)
            if held >= slot.size:
                return Memory(f"median of its first {slot.size} values, fixed since step {slot.at}", None, slot.at)
            return Memory(f"{held} of its first {slot.size} values so far")
        case Best() if slot.steps:
            return Memory(f"since step {slot.steps[-1]}", None, slot.steps[-1])
        case Ewma() if slot.seen < slot.size:
            return Memory(f"{slot.seen} of {slot.size} values")
        case _:
            return NOTHING


def _probe(run: RunState, argument: Node) -> Memory:
    series: Series | None = run.slots.get(series_key(argument))
    if series is None:
        return NOTHING
    if series.step < 0:
        return Memory("never logged in this attempt")
    return Memory(f"last logged at step {run.first_step + series.step}")
