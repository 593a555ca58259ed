"""What a function remembers of a run at the moment: how full its window is, its best or its start, and since when."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from sentinel.engine.plan import running_key, series_key, standing, window_key
from sentinel.engine.recorded import LABEL
from sentinel.engine.recorded import NOTHING as NO_REFERENCE
from sentinel.engine.run_state import RunState
from sentinel.explain.words import seconds_spelled, spelled
from sentinel.rules.expression.nodes import Alert, Call, Extent, Metric, Node
from sentinel.stats import FUNCTIONS, Pointwise, Probe, Reference, RunningFunction, WindowFunction
from sentinel.stats.baseline import Baseline
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
    """`fill` of a window function, None for others. `note`: the same, or what else it remembers, in words.
    `since_step`: when a best or a start was fixed, or a baseline frozen."""

    note: str = ""
    fill: Fill | None = None
    since_step: int | None = None


NOTHING = Memory()


def remembered(call: Call, run: RunState, rel: int, time: float) -> Memory:
    """What `call` remembers of `run`, seen from `rel` steps after the attempt's first and from `time`."""
    function, extent = FUNCTIONS[call.function], call.window
    if issubclass(function, Pointwise):
        return NOTHING
    if isinstance(call.argument, Alert):
        return Memory(_alert(run, call.argument))
    if issubclass(function, Reference):
        assert isinstance(call.argument, Metric)
        return Memory(_reference(run, call.argument.name, run.first_step + rel))
    if issubclass(function, RunningFunction) and function.owned:
        return _baseline(run, call)
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


def _baseline(run: RunState, call: Call) -> Memory:
    """It stands still while the alert that it belongs to is pending or firing."""
    slot: Baseline | None = run.slots.get(running_key(call))
    if slot is None or run.compiled is None:
        return NOTHING
    held = min(len(slot.values), slot.size)
    said = f"median of the last {held} values" if held >= slot.least else f"{held} of at least {slot.least} values"
    index = run.compiled.index.get(call.owner)
    record = None if index is None else run.records[index]
    if record is None:
        return Memory(said)
    return Memory(f"{said}, frozen since step {record.onset_step}", None, record.onset_step)


def _reference(run: RunState, series: str, step: int) -> str:
    """At which of its steps the reference run logged what it is asked for, or why it has nothing to say."""
    recorded = run.recorded
    if recorded is NO_REFERENCE:
        named = run.labels.get(LABEL)
        return "the run has no reference run" if named is None else f"there is no reference run {named}"
    column = recorded.series.get(series)
    if column is None:
        return "the reference run has never logged it"
    if step > recorded.last:
        return f"the reference run ends at step {recorded.last}"
    at = bisect_right(column.steps, step)
    if not at:
        return f"the reference run logs it from step {column.steps[0]} on"
    return f"of its step {column.steps[at - 1]}"


def _alert(run: RunState, alert: Alert) -> str:
    """How another rule stands, as the next event will see it."""
    assert run.compiled is not None
    found = [run.records[index] for index, _ in standing(alert, run.compiled.instances)]
    if not found:
        return f"{alert.name} has no such alert in this run"
    open_ones = [record for record in found if record is not None]
    if not open_ones:
        return f"{alert.name} is quiet"
    worst = max(open_ones, key=lambda record: (record.level, -record.onset_step))
    others = len(found) - 1
    among = "" if not others else f" ({len(open_ones)} of its {len(found)} alerts are open)"
    if worst.level < 0:
        return f"{alert.name} is pending since step {worst.onset_step}{among}"
    instance = next(one for one, record in zip(run.compiled.instances, run.records, strict=True) if record is worst)
    return f"{alert.name} is firing ({instance.conditions[worst.level][0]}) since step {worst.fired_step}{among}"
