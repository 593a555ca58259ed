"""How much a run must have logged before a condition can be known: no rule speaks before its windows are filled."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sentinel.rules.expression.nodes import (
    Alert,
    Call,
    Compare,
    Context,
    Extent,
    Logic,
    Node,
    Not,
    Number,
    children,
    is_condition,
)
from sentinel.rules.model import Rule
from sentinel.stats import FUNCTIONS, Pointwise, Probe, RunningFunction, WindowFunction
from sentinel.stats import baseline as usual_level
from sentinel.stats import initial as starting_level
from sentinel.stats import step_time as usual
from sentinel.stats.window import Axis


@dataclass(frozen=True, slots=True, order=True)
class Wait:
    """`seconds` that must pass and `steps` that must be logged, in a run that logs every step; the first step is 1."""

    seconds: float = 0.0
    steps: int = 1

    def both(self, other: Wait) -> Wait:
        return Wait(max(self.seconds, other.seconds), max(self.steps, other.steps))

    def then(self, steps: int = 0, seconds: float = 0.0) -> Wait:
        return Wait(self.seconds + seconds, self.steps + steps)


Asked = Mapping[str, tuple[Wait, Wait]]
"""A rule's name → the least before its alert can begin, and before it can fire."""

NOBODY: Asked = {}


def speaks(rule: Rule, asked: Asked = NOBODY) -> Wait:
    """The least before one of the rule's conditions can hold. `asked`: those that it asks about."""
    first = min(earliest(condition, True, asked) for _, condition in rule.conditions)
    return first.both(Wait(0.0, rule.after + 1))


def waits_of(rules: Sequence[Rule]) -> Asked:
    """The same for rules that ask about one another. One round for each rule: then all have heard of all, and a circle
    in which everyone waits for the others goes no further."""
    found: dict[str, tuple[Wait, Wait]] = {}
    for _ in rules:
        before, found = found, {rule.name: (speaks(rule, found), fires(rule, found)) for rule in rules}
        if found == before:
            break
    return found


def fires(rule: Rule, asked: Asked = NOBODY) -> Wait:
    """The least before the rule can fire: it can speak, and has held for its `for`."""
    first = speaks(rule, asked)
    hold = rule.hold
    if hold is None:
        return first
    return first.then(seconds=hold.size) if hold.axis is Axis.TIME else first.then(steps=int(hold.size) - 1)


def earliest(node: Node, truth: bool, asked: Asked = NOBODY) -> Wait:
    """The least before a condition can be known to be `truth`."""
    match node:
        case Logic(op=op, parts=parts):
            waits = [earliest(part, truth, asked) for part in parts]
            # One true part decides an `or`, one false part an `and`.
            if (op == "or") is truth:
                return min(waits)
            return _all(waits)
        case Not(operand=operand):
            return earliest(operand, not truth, asked)
        case Call(function=function, argument=Alert(name=name)) if truth and name in asked:
            begins, fired = asked[name]
            # An alert is seen as it stood before the event.
            return (begins if function == "pending" else fired).then(steps=1)
        case Compare(op=op, left=Context(name="step"), right=Number(value=value)) if truth:
            return Wait(0.0, max(_from_step(op, value), 1))
        case _:
            return known(node)


def _from_step(op: str, value: float) -> int:
    """The first step, from 1 on, at which `step op value` holds. 1 for conditions that hold from the beginning."""
    if op == ">":
        return math.floor(value) + 1
    return math.ceil(value) if op in (">=", "==") else 1


def known(node: Node) -> Wait:
    """The least before a value is known."""
    match node:
        case Context(name="step_time"):
            return Wait(0.0, usual.LEAST)
        case Logic() | Not():
            return min(earliest(node, True), earliest(node, False))
        case Call():
            return _known_call(node)
        case _:
            return _all([known(child) for child in children(node)])


def _known_call(call: Call) -> Wait:
    function, extent = FUNCTIONS[call.function], call.window
    argument = _argument(call)
    if issubclass(function, Pointwise):
        return argument
    if issubclass(function, Probe):
        return _probe(extent)
    if issubclass(function, RunningFunction):
        if function.needs_window and extent is not None:
            return argument.then(steps=int(extent.size) - 1)
        if function.owned:
            # The newest value has not entered it yet.
            size = usual_level.USUAL if extent is None else int(extent.size)
            return argument.then(steps=min(usual_level.LEAST, size))
        if call.function == "initial":
            size = starting_level.WARM_UP if extent is None else int(extent.size)
            return argument.then(steps=min(starting_level.LEAST, size) - 1)
        return argument
    if not issubclass(function, WindowFunction) or extent is None:
        return argument
    least = max(function.least, 1) - 1
    if not function.covered:
        return argument.then(steps=least)
    if extent.axis is Axis.TIME:
        # A window is covered once its beginning lies after the first value.
        return argument.then(steps=least, seconds=extent.size)
    return argument.then(steps=max(int(extent.size) - 1 + function.reach, least))


def _argument(call: Call) -> Wait:
    nodes = children(call)
    if not nodes:
        return Wait()
    inner = nodes[0]
    return min(earliest(inner, True), earliest(inner, False)) if is_condition(inner) else known(inner)


def _probe(extent: Extent | None) -> Wait:
    if extent is None:
        return Wait()
    return Wait(extent.size, 1) if extent.axis is Axis.TIME else Wait(0.0, int(extent.size) + 1)


def _all(waits: list[Wait]) -> Wait:
    found = Wait()
    for wait in waits:
        found = found.both(wait)
    return found
