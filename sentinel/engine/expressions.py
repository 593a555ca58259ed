"""Expressions of the rule language as expressions of Python, over the objects in a plan's slots.

Numbers that are unknown are NaN, and arithmetic carries it along. A condition becomes two plain expressions: one that
is true when it is known to hold, one that is true when it is known not to hold. A comparison with NaN is false, so each
says "unknown" by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

from sentinel.engine.context import PHASE_STEP, PROGRESS
from sentinel.engine.evaluable import Known, lacks_to_fail, lacks_to_hold
from sentinel.engine.inline import LENGTH, call_arguments, globals_of, inline_expression
from sentinel.engine.plan import (
    STEP_TIME,
    Plan,
    part_key,
    running_key,
    scale_extent,
    series_key,
    standing,
    window_key,
)
from sentinel.rules.expression.nodes import (
    Alert,
    Arithmetic,
    Call,
    Compare,
    Context,
    Duration,
    Extent,
    InPhase,
    Logic,
    Metric,
    Negative,
    Node,
    Not,
    Number,
    children,
    is_condition,
    walk,
)
from sentinel.stats import (
    FUNCTIONS,
    Function,
    Nonfinite,
    Pointwise,
    Probe,
    Reference,
    RunningFunction,
    Standing,
    WindowFunction,
)
from sentinel.stats.parts import Moments
from sentinel.stats.series import HISTORY
from sentinel.stats.window import Axis

_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}

NEVER = "False"
"""The expression for what cannot be."""

_BARELY = 1.0 - 1e-9
"""A bound that spares a division must never be the stricter one for its rounding."""


class _Anything:
    """Holds whatever it is asked for."""

    def __contains__(self, name: object) -> bool:
        return True


_ANYTHING: Container[str] = _Anything()


class Source:
    """The generated code as it grows, and what it refers to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self.namespace: dict[str, Any] = {"nan": math.nan}
        self._temporaries = 0

    def put(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def block(self, lines: list[str]) -> None:
        for line in lines:
            self.put(line)

    def temporary(self) -> str:
        self._temporaries += 1
        return f"t{self._temporaries}"

    def function(self, name: str, head: list[str]) -> tuple[Callable[..., Any], str]:
        """The function of that name whose first lines are `head`, and its whole text."""
        text = "\n".join([*head, *self.lines, ""])
        # The text is made from parsed trees and our own sources: no name from outside gets in but as a quoted string.
        exec(compile(text, "<rules>", "exec"), self.namespace)  # noqa: S102
        made: Callable[..., Any] = self.namespace[name]
        return made, text


class Expressions:
    """`home` is the metric in whose block the code stands: its series key, or None behind all updates.

    `shared`: numbers that stand in a variable already, by their trees. `sized`: whether the block's code asks how many
    values its series has had in the attempt.
    """

    def __init__(self, plan: Plan, keys: Mapping[str, str]) -> None:
        self.plan = plan
        self.keys = keys
        self.out = Source()
        self.home: str | None = None
        self.shared: dict[Node, str] = {}
        self.sized = False
        self.slot = {key: f"s{index}" for index, key in enumerate(plan.keys)}
        # The newest value of each series in this event, None when it is not in it.
        self.value = {key: f"x{index}" for index, key in enumerate(plan.series)}
        self.behind: dict[int, str] = {}
        # What a run's configuration states and what it is held against differ from run to run of one kind.
        self._nevers: dict[tuple[int, bool], tuple[bool, Node]] = {}
        self._known = Known(keys, _ANYTHING, _ANYTHING, phased=True)

    def never(self, node: Node, *, holds: bool) -> bool:
        """Whether a condition can never be known to hold (or else not to), for want of series never logged."""
        found = self._nevers.get((id(node), holds))
        if found is None:
            lacks = (lacks_to_hold if holds else lacks_to_fail)(node, self._known)
            # The node is kept, so that no other comes to have its id.
            found = self._nevers[id(node), holds] = (bool(lacks), node)
        return found[0]

    def steps_ago(self, steps: int) -> str:
        """The variable that holds the step so many before this one; all windows of one length share it."""
        return self.behind.setdefault(steps, f"behind_{steps}")

    def use(self, function: Callable[..., Any]) -> None:
        """Let the code find what a function's body refers to."""
        for name, value in globals_of(function).items():
            found = self.out.namespace.setdefault(name, value)
            assert found is value, f"two statistics mean different things by '{name}'"

    def truth(self, node: Node) -> str:
        """An expression for the truth of a condition: True, False or None."""
        fails = f"(False if {self.fails(node)} else None)"
        return fails if self.never(node, holds=True) else f"(True if {self.holds(node)} else {fails})"

    def chance(self, node: Node) -> str:
        """An expression for the truth of a condition as a number: 1, 0 or NaN."""
        return f"(1.0 if {self.holds(node)} else 0.0 if {self.fails(node)} else nan)"

    def holds(self, node: Node) -> str:
        """An expression that is true when a condition is known to hold."""
        if self.never(node, holds=True):
            return NEVER
        match node:
            case Compare(op=op, left=left, right=right):
                bound = self._bound(node)
                a, b = self.number(left), self.number(right)
                if op == "!=":
                    return f"({a} < {b} or {a} > {b})"
                return f"({bound} and {a} {op} {b})" if bound else f"{a} {op} {b}"
            case InPhase(name=name, other=other):
                return f"(phase is not None and phase != {name!a})" if other else f"(phase == {name!a})"
            case Logic(op=op):
                return self._joined(node, op, holds=True)
            case Not(operand=operand):
                return self.fails(operand)
            case Call():
                return self._fact(node, wanted=True)
            case _:
                raise AssertionError(f"not a condition: {node}")

    def fails(self, node: Node) -> str:
        """An expression that is true when a condition is known not to hold."""
        if self.never(node, holds=False):
            return NEVER
        match node:
            case Compare(op=op, left=left, right=right):
                a, b = self.number(left), self.number(right)
                if op == "==":
                    return f"({a} < {b} or {a} > {b})"
                return f"{a} == {b}" if op == "!=" else f"{a} {_OPPOSITE[op]} {b}"
            case InPhase():
                return self.holds(InPhase(node.name, not node.other))
            case Logic(op=op):
                return self._joined(node, "or" if op == "and" else "and", holds=False)
            case Not(operand=operand):
                return self.holds(operand)
            case Call():
                return self._fact(node, wanted=False)
            case _:
                raise AssertionError(f"not a condition: {node}")

    def _joined(self, node: Logic, op: str, *, holds: bool) -> str:
        """An expression that is true when the parts of a condition, joined by `op`, are known to hold (or else not to).

        Parts that can never be known to be so are left out.
        """
        parts = [part for part in in_turn(node.parts, op) if not self.never(part, holds=holds)]
        return f"({f' {op} '.join(self.holds(part) if holds else self.fails(part) for part in parts)})"

    def asked(self, node: Node, *, holds: bool = True) -> Iterator[Node]:
        """The numbers that `holds` (or else `fails`) asks for at every event of a quiet run: those of an `and` stop at
        its first part."""
        if self.never(node, holds=holds):
            return
        match node:
            case Logic(op=op, parts=parts):
                if (op == "and") == holds:
                    yield from self.asked(in_turn(parts, "and")[0], holds=holds)
                else:
                    for part in parts:
                        yield from self.asked(part, holds=holds)
            case Not(operand=operand):
                yield from self.asked(operand, holds=not holds)
            case Compare() if not (holds and self._bound(node)):
                yield from (node.left, node.right)
            case Call(argument=argument) if not isinstance(argument, Alert):
                if issubclass(FUNCTIONS[node.function], WindowFunction):
                    yield node

    def share(self, node: Node, uses: Mapping[Node, int]) -> None:
        """Put a number that is asked for more than once into a variable, and what it consists of first."""
        if node in self.shared or isinstance(node, Number | Duration) or self.is_at_hand(node):
            return
        if not isinstance(node, Call) or issubclass(FUNCTIONS[node.function], Pointwise):
            for child in children(node):
                self.share(child, uses)
        if uses.get(node, 0) > 1:
            name = self.out.temporary()
            self.out.put(f"{name} = {self.number(node)}")
            self.shared[node] = name

    def is_at_hand(self, node: Node) -> bool:
        """Whether a number stands in a variable of the block by itself."""
        return isinstance(node, Metric) and series_key(node) == self.home

    def _fact(self, call: Call, *, wanted: bool) -> str:
        """An expression for whether a condition that is a function is known to be `wanted`."""
        function, argument, window = FUNCTIONS[call.function], call.argument, call.window
        if isinstance(argument, Alert):
            return self._standing(function, argument, wanted=wanted)
        if issubclass(function, WindowFunction):
            return f"{self.number(call)} == {float(wanted)}"
        assert isinstance(argument, Metric)
        if issubclass(function, Nonfinite):
            return f"{argument.name!a} {'in' if wanted else 'not in'} bad"
        assert issubclass(function, Probe)
        read = function.reader(None if window is None else window.axis)
        return f"{self._probe(read, argument, 0.0 if window is None else window.size)} is {wanted}"

    def _standing(self, function: type[Function], alert: Alert, *, wanted: bool) -> str:
        """An expression for whether an alert of another rule stands so: no record changes while the kernel runs."""
        assert issubclass(function, Standing)
        found = []
        for index, level in standing(alert, self.plan.instances):
            arguments = {"record": f"records[{index}]", "level": str(level)}
            inline = inline_expression(function.read, arguments)
            if inline is None:
                self.out.namespace[f"is_{function.name}"] = function.read
                inline = f"is_{function.name}({', '.join(arguments.values())})"
            found.append(inline)
        holds = " or ".join(found) or "False"
        return f"({holds})" if wanted else f"(not ({holds}))"

    def _bound(self, node: Compare) -> str:
        """For `drop(x, w) > 20%` and the like, what must hold at the least; "" where there is no such thing.

        The scale of a relative change is never smaller than its reference, and the reference is at hand, while the
        noise costs a square root.
        """
        call, limit = node.left, node.right
        if not isinstance(call, Call) or not isinstance(limit, Number) or limit.value == 0.0:
            return ""
        function = FUNCTIONS[call.function]
        if not issubclass(function, WindowFunction) or not function.scaled:
            return ""
        if node.op not in ((">", ">=") if limit.value > 0.0 else ("<", "<=")):
            return ""
        arguments, known = self._reading(call, function)
        difference, reference, *_ = call_arguments(function.read, arguments)
        bound = f"{difference} {node.op[0]}= {limit.value * _BARELY!r} * abs({reference})"
        return f"{known} and {bound}" if known else bound

    def number(self, node: Node) -> str:
        """An expression for a number; NaN when it is unknown."""
        if self.shared and (found := self.shared.get(node)) is not None:
            return found
        match node:
            case Number(value=value):
                return f"({value!r})" if value < 0.0 else repr(value)
            case Duration(seconds=seconds):
                return repr(seconds)
            case Context(name="step"):
                return "float(step)"
            case Context(name="step_time"):
                return f"{self.slot[STEP_TIME]}.value"
            case Context(name=name) if name == PHASE_STEP:
                return "phases.since(step)"
            case Context(name=name):
                constant = f"constants.get({name!a}, nan)"
                return f"(step / {constant})" if name == PROGRESS else constant
            case Metric():
                key = series_key(node)
                return self.value[key] if key == self.home else f"{self.slot[key]}.last"
            case Negative(operand=operand):
                return f"(-{self.number(operand)})"
            case Arithmetic(op="/", left=left, right=right):
                divisor = self.out.temporary()
                return f"({self.number(left)} / {divisor} if ({divisor} := {self.number(right)}) else nan)"
            case Arithmetic(op=op, left=left, right=right):
                return f"({self.number(left)} {op} {self.number(right)})"
            case Call(function=name):
                function = FUNCTIONS[name]
                if issubclass(function, Pointwise):
                    inline = inline_expression(function.read, {"x": self.number(node.argument)})
                    assert inline is not None, f"{name}() is written as a single return"
                    return inline
                if issubclass(function, RunningFunction):
                    slot = self.slot[running_key(node)]
                    return inline_expression(function.read, {"self": slot}) or f"{slot}.read()"
                if issubclass(function, Reference):
                    assert isinstance(node.argument, Metric)
                    arguments = {"recorded": "recorded", "series": ascii(node.argument.name), "step": "step"}
                    inline = inline_expression(function.read, arguments)
                    assert inline is not None, f"{name}() is written as a single return"
                    return inline
                if issubclass(function, Probe):
                    assert isinstance(node.argument, Metric)
                    return self._probe(function.read, node.argument, 0.0)
                assert issubclass(function, WindowFunction)
                return self._window(node, function)
            case _:
                raise AssertionError(f"not a number: {node}")

    def _window(self, call: Call, function: type[WindowFunction]) -> str:
        arguments, known = self._reading(call, function)
        read = inline_expression(function.read, arguments)
        if read is None:
            name = f"read_{function.name}"
            self.out.namespace[name] = function.read
            read = f"{name}({', '.join(arguments[parameter] for parameter in _parameters(function.read))})"
        else:
            self.use(function.read)
        return f"({read} if {known} else nan)" if known else read

    def _reading(self, call: Call, function: type[WindowFunction]) -> tuple[dict[str, str], str]:
        """What `read` takes, by parameter, and an expression for whether the window has a value ("": it has)."""
        extent = call.window
        assert extent is not None
        key = window_key(call.argument, extent, reach=function.reach)
        name = series_key(call.argument)
        series, here = self.slot[name], name == self.home
        values, held = ("v", "n") if here else (f"{series}.values", f"len({series}.values)")
        known = []
        # In its own block the newest value is in the window, and where a reach window is covered an older one too.
        sure = 0 if not here else 2 if function.reach and function.covered else 1
        if function.covered and extent.axis is Axis.SAMPLES:
            # A window of samples that is covered holds as many, or what the series keeps at least.
            sure = max(sure, min(int(extent.size) + function.reach, HISTORY))
        start = self._begin(key, here=here)
        if function.least > sure:
            known.append(f"{held} - {start} >= {function.least}")
        if function.covered:
            if function.least == 0 and not here:
                known.append(f"{series}.first_step >= 0")
            known.append(self._covered(series, extent.axis, extent.size, reach=function.reach, here=here))
        arguments: dict[str, str] = {"values": values, "start": start}
        if here:
            arguments[f"{LENGTH} values"] = held
        if call.literal is not None:
            arguments["literal"] = repr(call.literal.value)
        if function.placed:
            timed = extent.axis is Axis.TIME
            arguments["places"] = ("c" if timed else "k") if here else f"{series}.{'times' if timed else 'steps'}"
        names = [name for name in _parameters(function.read) if name not in arguments]
        for parameter, part in zip(names, function.parts, strict=False):
            arguments[parameter] = self.slot[part_key(key, part)]
        if function.scaled:
            scale = window_key(call.argument, scale_extent(extent), reach=True)
            arguments["moments"] = self.slot[part_key(scale, Moments)]
            arguments["count"] = f"({held} - {self._begin(scale, here=here)})"
        return arguments, " and ".join(known)

    def _begin(self, window: str, *, here: bool) -> str:
        slot = self.slot[window]
        return start_of(slot) if here else f"{slot}.start"

    def _covered(self, series: str, axis: Axis, size: float, *, reach: bool, here: bool) -> str:
        """`Window.covered` in line, for a window that holds a value, so that the series has a first one."""
        if axis is Axis.SAMPLES:
            self.sized = self.sized or here
            seen = "seen" if here else f"{series}.dropped + len({series}.values)"
            return f"{seen} >= {int(size) + reach}"
        if axis is Axis.STEPS:
            return f"{series}.first_step <= {self.steps_ago(int(size) - (not reach))}"
        return f"{series}.first_time <= time - {size!r}"

    def _probe(self, read: Callable[..., Any], metric: Metric, size: float) -> str:
        slot = self.slot[series_key(metric)]
        arguments = {"series": slot, "step": "rel", "time": "time", "origin": "origin", "size": repr(size)}
        expression = inline_expression(read, arguments)
        if expression is not None:
            return expression
        name = f"probe_{read.__qualname__.replace('.', '_')}"
        self.out.namespace[name] = read
        return f"{name}({', '.join(arguments.values())})"


def start_of(window: str) -> str:
    """The variable for where the window in a slot begins."""
    return f"{window}_start"


def windows_of(node: Node) -> Iterator[Call]:
    """The calls of window functions that an expression reads itself; those inside others have had their turn."""
    if isinstance(node, Call):
        function = FUNCTIONS[node.function]
        if issubclass(function, Pointwise):
            yield from windows_of(node.argument)
        elif issubclass(function, WindowFunction):
            yield node
        return
    for child in children(node):
        yield from windows_of(child)


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def in_turn(parts: tuple[Node, ...], op: str) -> list[Node]:
    """The parts of a condition in the order in which to ask: of an `and`, what costs least comes first."""
    return sorted(parts, key=_cost) if op == "and" else list(parts)


def _cost(node: Node) -> int:
    """Roughly what it costs to ask, in loads of an attribute."""
    return sum(_own_cost(found) for found in walk(node))


def _own_cost(node: Node) -> int:
    match node:
        case Metric() | Context():
            return 1
        case Call(function=name):
            function = FUNCTIONS[name]
            if not issubclass(function, WindowFunction):
                return 2
            return 12 if function.scaled else 6
        case _:
            return 0


def numbers_of(node: Node) -> Iterator[Node]:
    """The numbers that an expression asks for itself, each as often as it does."""
    if not is_condition(node) or isinstance(node, Call):
        yield node
    if not isinstance(node, Call) or issubclass(FUNCTIONS[node.function], Pointwise):
        for child in children(node):
            yield from numbers_of(child)


def only_samples(node: Node) -> bool:
    """Whether none of its windows moves on without a value."""
    return not any(moves(call.window) for call in windows_of(node) if call.window is not None)


def moves(extent: Extent) -> bool:
    """Whether a window moves on without a value: one of samples waits for the next."""
    return extent.axis is not Axis.SAMPLES
