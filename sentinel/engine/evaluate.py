"""The value of an expression now, read from a run's slots. Nothing changes but that windows move on to now.

The compiled kernel decides; this reads the same objects when someone asks *what* the numbers were: the value and
threshold of a transition, rules on silence that fall due between events, and explanations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

from sentinel.engine.bind import Instance
from sentinel.engine.context import PHASE_STEP, PROGRESS
from sentinel.engine.lifecycle import Record
from sentinel.engine.phases import Phases
from sentinel.engine.plan import STEP_TIME, part_key, running_key, scale_extent, series_key, standing, window_key
from sentinel.rules.expression.nodes import (
    Alert,
    Arithmetic,
    Call,
    Compare,
    Context,
    Duration,
    InPhase,
    Logic,
    Metric,
    Negative,
    Node,
    Not,
    Number,
    is_condition,
    walk,
)
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
from sentinel.stats.parts import Moments
from sentinel.stats.reference import Recorded
from sentinel.stats.series import Series
from sentinel.stats.step_time import StepTime
from sentinel.stats.window import Window


class Reader:
    """Evaluates over `slots`, as of `rel` (steps since the attempt's first), `step` and `time`.

    `records`: those of `instances`, which rules ask about one another. `recorded`: the run that this one is held
    against.
    """

    def __init__(
        self,
        slots: Mapping[str, Any],
        bad: Set[str],
        constants: Mapping[str, float],
        phases: Phases,
        *,
        records: Sequence[Record | None],
        instances: Sequence[Instance],
        recorded: Recorded,
        rel: int,
        step: int,
        time: float,
        origin: float,
    ) -> None:
        self.slots = slots
        self.bad = bad
        self.constants = constants
        self.phases = phases
        self.records = records
        self.instances = instances
        self.recorded = recorded
        self.rel = rel
        self.step = step
        self.time = time
        self.origin = origin

    @property
    def phase(self) -> str | None:
        """The run's phase; None when nobody can tell. Needs the planned steps among `constants`."""
        return self.phases.at(self.step, self.constants.get(PROGRESS, math.nan))

    def truth(self, node: Node) -> bool | None:
        match node:
            case InPhase(name=name, other=other):
                phase = self.phase
                return None if phase is None else (phase == name) is not other
            case Compare(op=op, left=left, right=right):
                a, b = self.number(left), self.number(right)
                if math.isnan(a) or math.isnan(b):
                    return None
                return {
                    "<": a < b,
                    "<=": a <= b,
                    ">": a > b,
                    ">=": a >= b,
                    "==": a == b,
                    "!=": a != b,
                }[op]
            case Logic(op=op, parts=parts):
                truths = [self.truth(part) for part in parts]
                stop = op == "or"
                if stop in truths:
                    return stop
                return None if None in truths else not stop
            case Not(operand=operand):
                inner = self.truth(operand)
                return None if inner is None else not inner
            case Call():
                return self._fact(node)
            case _:
                raise AssertionError(f"not a condition: {node}")

    def _fact(self, call: Call) -> bool | None:
        """The truth of a condition that is a function."""
        function, window = FUNCTIONS[call.function], call.window
        if isinstance(call.argument, Alert):
            assert issubclass(function, Standing)
            found = standing(call.argument, self.instances)
            return any(function.read(self.records[index], level) for index, level in found)
        if issubclass(function, WindowFunction):
            x = self._call(call)
            return None if math.isnan(x) else x != 0.0
        assert isinstance(call.argument, Metric)
        if issubclass(function, Nonfinite):
            return call.argument.name in self.bad
        assert issubclass(function, Probe)
        read: Callable[..., bool | None] = function.reader(None if window is None else window.axis)
        series: Series = self.slots[series_key(call.argument)]
        return read(series, self.rel, self.time, self.origin, 0.0 if window is None else window.size)

    def number(self, node: Node) -> float:
        """NaN when it is unknown."""
        match node:
            case Number(value=value):
                return value
            case Duration(seconds=seconds):
                return seconds
            case Context(name=name):
                return self._context(name)
            case Metric():
                series: Series | None = self.slots.get(series_key(node))
                return math.nan if series is None else series.last
            case Negative(operand=operand):
                return -self.number(operand)
            case Arithmetic(op=op, left=left, right=right):
                a, b = self.number(left), self.number(right)
                if op == "/":
                    return a / b if b else math.nan
                return a + b if op == "+" else a - b if op == "-" else a * b
            case Call():
                return self._call(node)
            case _:
                raise AssertionError(f"not a number: {node}")

    def _context(self, name: str) -> float:
        if name == "step":
            return float(self.step)
        if name == STEP_TIME:
            usual: StepTime = self.slots[STEP_TIME]
            return usual.value
        if name == PHASE_STEP:
            return self.phases.since(self.step)
        constant = self.constants.get(name, math.nan)
        return self.step / constant if name == PROGRESS else constant

    def _call(self, call: Call) -> float:
        function, extent = FUNCTIONS[call.function], call.window
        if issubclass(function, Pointwise):
            return function.read(self.number(call.argument))
        if issubclass(function, RunningFunction):
            running: RunningFunction = self.slots[running_key(call)]
            return running.read()
        if issubclass(function, Reference):
            assert isinstance(call.argument, Metric)
            return function.read(self.recorded, call.argument.name, self.step)
        if issubclass(function, Probe):
            return float(function.read(self.slots[series_key(call.argument)], self.rel, self.time, self.origin, 0.0))
        assert issubclass(function, WindowFunction) and extent is not None
        key = window_key(call.argument, extent, reach=function.reach)
        window: Window = self.slots[key]
        window.advance(self.rel, self.time)
        if window.count < function.least or (function.covered and not window.covered(self.rel, self.time)):
            return math.nan
        arguments: list[Any] = [self.slots[part_key(key, part)] for part in function.parts]
        if function.scaled:
            scale = window_key(call.argument, scale_extent(extent), reach=True)
            self.slots[scale].advance(self.rel, self.time)
            arguments += [self.slots[part_key(scale, Moments)], self.slots[scale].count]
        named: dict[str, Any] = {}
        if call.literal is not None:
            named["literal"] = call.literal.value
        if function.placed:
            named["places"] = window.places
        return function.read(window.series.values, window.start, *arguments, **named)


def deciding(node: Node, reader: Reader) -> tuple[Node, float, float] | None:
    """The comparison that a person should be shown: its left side, its value, and the threshold.

    The first comparison that holds now, in reading order; the first one at all when none does. One of the run's
    configuration alone (`config.beta > 0`) only when there is no other. None for conditions without a comparison, such
    as `nonfinite(*)`.
    """
    comparisons = _comparisons(node)
    comparisons = [one for one in comparisons if not (_is_literal(one.left) and _is_literal(one.right))] or comparisons
    if not comparisons:
        return None
    chosen = next((found for found in comparisons if reader.truth(found)), comparisons[0])
    left, right = chosen.left, chosen.right
    if _is_literal(left) and not _is_literal(right):
        left, right = right, left
    return left, reader.number(left), reader.number(right)


def _is_literal(node: Node) -> bool:
    """Whether no series stands in an expression: it is what others are compared with."""
    return not any(isinstance(found, Metric | Call) for found in walk(node))


def _comparisons(node: Node) -> list[Compare]:
    match node:
        case Compare():
            return [node]
        case Logic(parts=parts):
            return [found for part in parts for found in _comparisons(part)]
        case Not(operand=operand):
            return _comparisons(operand)
        case Call(argument=argument) if is_condition(argument):
            return _comparisons(argument)
        case _:
            return []
