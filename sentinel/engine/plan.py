"""What a set of rules needs to remember of a run, and in which order it is updated.

A plan lists *slots*: series, windows, running parts, running functions. Each has a key made of canonical text, so two
rules that say `mean(kl.ref, 10 steps)` share one object, and a reload keeps what both rule sets need.

Plans hold no state. Runs with the same keys share one plan; the objects in the slots are each run's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sentinel.engine.bind import Instance
from sentinel.engine.context import PROGRESS, constants_of
from sentinel.metrics import Dictionary
from sentinel.rules.expression.nodes import (
    Alert,
    Call,
    Context,
    Duration,
    Extent,
    InPhase,
    Metric,
    Node,
    Not,
    Number,
    children,
    identity,
    metrics_of,
    walk,
)
from sentinel.severity import rank
from sentinel.stats import (
    FUNCTIONS,
    Nonfinite,
    Pointwise,
    Probe,
    Reference,
    RunningFunction,
    Standing,
    WindowFunction,
)
from sentinel.stats.function import SCALE_SAMPLES
from sentinel.stats.parts import Moments, Part, PlacedPart
from sentinel.stats.series import HISTORY, Series
from sentinel.stats.step_time import StepTime
from sentinel.stats.window import Axis, Window

STEP_TIME = "step_time"
"""The slot of the run's usual time per step."""


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """A window over the series in slot `series`; `parts` are the slots of what runs over it."""

    key: str
    series: str
    extent: Extent
    reach: bool


@dataclass(slots=True)
class SeriesSpec:
    """A series: a metric (`source` is a `Metric`) or the value of a nested expression."""

    key: str
    source: Node
    timed: bool = False
    keep: int = HISTORY
    windows: list[WindowSpec] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RunningSpec:
    """A running function of an expression. `owner`: the key of the instance that it belongs to; empty when shared."""

    key: str
    function: type[RunningFunction]
    argument: Node
    higher_is_better: bool
    samples: int | None
    owner: str = ""


@dataclass(slots=True)
class Plan:
    """Slots in the order in which an event updates them: metrics, then nested values, inner before outer."""

    instances: tuple[Instance, ...]
    series: dict[str, SeriesSpec] = field(default_factory=dict)
    windows: dict[str, WindowSpec] = field(default_factory=dict)
    parts: dict[str, tuple[str, type[Part] | type[PlacedPart]]] = field(default_factory=dict)
    running: dict[str, RunningSpec] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    """Keys of nested series and running functions, in evaluation order."""
    step_time: bool = False
    """Whether a rule asks for `step_time`, which has a slot of its own."""
    constants: tuple[str, ...] = ()
    """Names that a run's configuration answers."""
    phase: bool = False
    """Whether a rule asks for the run's phase."""
    owned: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """Index of an instance → the keys of the running functions that are its own."""
    places: dict[str, int] = field(default_factory=dict)
    """Where each key's object stands in a run's state; set when the plan is complete."""

    @property
    def keys(self) -> list[str]:
        own = [STEP_TIME] if self.step_time else []
        return [*self.series, *self.windows, *self.parts, *self.running, *own]


class Slots(Mapping[str, Any]):
    """A run's objects by their plan's keys. What runs have in common, the keys, they share."""

    __slots__ = ("_objects", "_places")

    def __init__(self, places: Mapping[str, int], objects: tuple[Any, ...]) -> None:
        self._places = places
        self._objects = objects

    def __getitem__(self, key: str) -> Any:
        return self._objects[self._places[key]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def series_key(node: Node) -> str:
    # A trainer's key may read like an expression: the two kinds of series have names of their own.
    return metric_key(node.name) if isinstance(node, Metric) else f"nested {identity(node)}"


def metric_key(name: str) -> str:
    """The slot of the series of one metric, by its full name."""
    return f"series {name}"


def window_key(node: Node, extent: Extent, *, reach: bool) -> str:
    return f"window {identity(node)}, {extent}{' reach' if reach else ''}"


def part_key(window: str, part: type[Part] | type[PlacedPart]) -> str:
    return f"{part.__name__} of {window}"


def running_key(call: Call) -> str:
    return f"running {identity(call)}"


def scale_extent(extent: Extent) -> Extent:
    """The window that a relative change takes its noise from: its own, or 20 samples when its own is shorter."""
    if extent.axis is Axis.TIME or extent.size >= SCALE_SAMPLES:
        return extent
    return Extent(Axis.SAMPLES, SCALE_SAMPLES)


def standing(alert: Alert, instances: Sequence[Instance]) -> Iterator[tuple[int, int]]:
    """The instances of another rule, each with the index of the lowest of its severities that counts."""
    least = 0 if alert.severity is None else rank(alert.severity)
    for index, instance in enumerate(instances):
        if instance.rule.name == alert.name:
            levels = (at for at, (severity, _) in enumerate(instance.conditions) if rank(severity) >= least)
            level = next(levels, None)
            if level is not None:
                yield index, level


def looks_every_event(node: Node) -> bool:
    """Whether its answer can change at an event that logs none of its metrics."""
    for found in walk(node):
        if isinstance(found, Call):
            function = FUNCTIONS[found.function]
            # A value that is not a number does not come through `get`, so it cannot open a gate either.
            if issubclass(function, Nonfinite | Standing) or (issubclass(function, Probe) and function.every_event):
                return True
    return False


def only_nonfinite(instance: Instance) -> bool:
    """Whether nothing but `nonfinite` decides: such an instance sleeps until a value is not a number."""
    for expression in instance.expressions():
        for node in walk(expression):
            if isinstance(node, Call) and not issubclass(FUNCTIONS[node.function], Nonfinite):
                return False
            if isinstance(node, Number | Duration | Context | InPhase | Not):
                return False
    return all(_metrics_inside_nonfinite(expression) for expression in instance.expressions())


def _metrics_inside_nonfinite(node: Node) -> bool:
    inside = {
        id(call.argument)
        for call in walk(node)
        if isinstance(call, Call) and issubclass(FUNCTIONS[call.function], Nonfinite)
    }
    return all(id(found) in inside for found in walk(node) if isinstance(found, Metric))


def make_plan(instances: Iterable[Instance], dictionary: Dictionary) -> Plan:
    """The slots that the instances need."""
    plan = Plan(tuple(instances))
    for instance in plan.instances:
        if only_nonfinite(instance):
            continue
        for expression in instance.expressions():
            _visit(plan, expression, dictionary)
    owned: dict[str, list[str]] = {}
    for spec in plan.running.values():
        if spec.owner:
            owned.setdefault(spec.owner, []).append(spec.key)
    if owned:
        keys = [instance.key for instance in plan.instances]
        plan.owned = {index: tuple(owned[key]) for index, key in enumerate(keys) if key in owned}
    plan.constants = constants_of(node for instance in plan.instances for node in instance.expressions())
    plan.phase = any(
        instance.rule.phases or any(isinstance(node, InPhase) for root in instance.expressions() for node in walk(root))
        for instance in plan.instances
    )
    if plan.phase:
        plan.constants = tuple(dict.fromkeys([*plan.constants, PROGRESS]))
    plan.places = {key: place for place, key in enumerate(plan.keys)}
    return plan


def _visit(plan: Plan, node: Node, dictionary: Dictionary) -> None:
    match node:
        case Metric():
            _series(plan, node)
        case Context(name="step_time"):
            plan.step_time = True
        case Call(function=name, argument=argument, window=extent):
            function = FUNCTIONS[name]
            if issubclass(function, Nonfinite | Standing):
                return
            if issubclass(function, Probe | Reference):
                _series(plan, argument)
                return
            _visit(plan, argument, dictionary)
            if issubclass(function, Pointwise):
                return
            if issubclass(function, RunningFunction):
                _running(plan, node, function, dictionary)
                return
            assert issubclass(function, WindowFunction) and extent is not None
            spec = _series(plan, argument)
            window = _window(plan, spec, argument, extent, reach=function.reach)
            for part in function.parts:
                plan.parts.setdefault(part_key(window.key, part), (window.key, part))
            if function.scaled:
                scale = _window(plan, spec, argument, scale_extent(extent), reach=True)
                plan.parts.setdefault(part_key(scale.key, Moments), (scale.key, Moments))
        case _:
            for child in children(node):
                _visit(plan, child, dictionary)


def _series(plan: Plan, node: Node) -> SeriesSpec:
    key = series_key(node)
    if key not in plan.series:
        plan.series[key] = SeriesSpec(key, node)
        if not isinstance(node, Metric):
            plan.order.append(key)
    return plan.series[key]


def _window(plan: Plan, spec: SeriesSpec, node: Node, extent: Extent, *, reach: bool) -> WindowSpec:
    key = window_key(node, extent, reach=reach)
    if key not in plan.windows:
        window = WindowSpec(key, spec.key, extent, reach)
        plan.windows[key] = window
        spec.windows.append(window)
        spec.timed = spec.timed or extent.axis is Axis.TIME
    return plan.windows[key]


def higher_is_better(argument: Node, dictionary: Dictionary) -> bool:
    """Which way is better for the first metric of an expression; up where there is none."""
    metrics = metrics_of(argument)
    return dictionary.higher_is_better(metrics[0].name.split("{")[0]) if metrics else True


def _running(plan: Plan, call: Call, function: type[RunningFunction], dictionary: Dictionary) -> None:
    key = running_key(call)
    if key in plan.running:
        return
    higher = higher_is_better(call.argument, dictionary)
    samples = None if call.window is None else int(call.window.size)
    plan.running[key] = RunningSpec(key, function, call.argument, higher, samples, call.owner)
    plan.order.append(key)


def build(plan: Plan, held: Mapping[str, Any]) -> dict[str, Any]:
    """The objects of the plan's slots. Those in `held` are kept, with what they remember; the rest begin empty.

    A new window over a series that is already there begins with what the series still holds.
    """
    slots: dict[str, Any] = {}
    for key, spec in plan.series.items():
        kept: Series | None = held.get(key)
        if kept is None:
            kept = Series(timed=spec.timed, keep=spec.keep)
        else:
            kept.windows = ()
            kept.keep_times(timed=spec.timed)
        slots[key] = kept
    for key, window in plan.windows.items():
        series: Series = slots[window.series]
        old: Window | None = held.get(key)
        if old is not None and old.series is series:
            old.detach_all()
            series.windows += (old,)
            slots[key] = old
        else:
            slots[key] = Window(series, window.extent.axis, window.extent.size, reach=window.reach)
            if len(series.values):
                slots[key].advance(series.step, series.time)
    for key, (window_name, part) in plan.parts.items():
        owner: Window = slots[window_name]
        found = held.get(key)
        if found is not None and held.get(window_name) is owner:
            owner.keep(found)
            slots[key] = found
        else:
            slots[key] = part()
            owner.attach(slots[key])
    for key, running in plan.running.items():
        slots[key] = held.get(key) or running.function(
            higher_is_better=running.higher_is_better, samples=running.samples
        )
    if plan.step_time:
        slots[STEP_TIME] = held.get(STEP_TIME) or StepTime()
    return slots
