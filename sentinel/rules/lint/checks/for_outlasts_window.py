"""A `for` that is longer than the window in which a change can be seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sentinel.rules.expression.nodes import Arithmetic, Call, Compare, Extent, Logic, Negative, Node, Not, Number
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject
from sentinel.stats.window import Axis

CHANGES = frozenset({"change", "delta", "drop", "rise", "zscore"})
"""Functions that see a step to a new level for as long as their window reaches back before it, and no longer."""

MIRRORED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}
OPPOSITE = {">": "<=", "<": ">=", ">=": "<", "<=": ">"}


def for_outlasts_window(subject: Subject) -> Iterator[Finding]:
    hold = subject.rule.hold
    if hold is None:
        return
    for key, condition in subject.conditions():
        too_short = _needed(condition, hold)
        if too_short:
            call = too_short[0]
            message = f"a lasting change is seen by {call} for {call.window}, and must last for {hold}"
            hint = "make the window longer or `for` shorter, or hold the level against best() or initial()"
            yield Finding("for-outlasts-window", (key,), message, hint, call.span)


def _needed(node: Node, hold: Extent) -> list[Call]:
    """The calls that see too short, when the condition cannot hold without one of them."""
    match node:
        case Not(operand=Compare(op=op, left=left, right=right)) if op in OPPOSITE:
            return _needed(Compare(OPPOSITE[op], left, right), hold)
        case Compare(op=op, left=Number() as bound, right=right) if op in MIRRORED:
            return _needed(Compare(MIRRORED[op], right, bound), hold)
        case Compare(op=op, left=left, right=Number(value=bound)) if op in MIRRORED:
            seen = _scaled_change(left)
            # Of a small change it is no news that it lasts.
            if seen is None or seen.call.window is None or not _is_change(seen, op, bound):
                return []
            return [seen.call] if longer(hold, seen.call.window) else []
        case Logic(op="and", parts=parts):
            return [call for part in parts for call in _needed(part, hold)]
        case Logic(parts=parts):
            found = [_needed(part, hold) for part in parts]
            return [call for calls in found for call in calls] if all(found) else []
        case _:
            return []


@dataclass(frozen=True, slots=True)
class _Seen:
    """A change that a side of a comparison is about, times a number; `size`: its absolute value is."""

    call: Call
    factor: float = 1.0
    size: bool = False


def _scaled_change(node: Node) -> _Seen | None:
    """The change behind signs, `abs()`, and numbers that it is multiplied with or divided by."""
    match node:
        case Call(function=function) if function in CHANGES:
            return _Seen(node)
        case Call(function="abs", argument=inner):
            seen = _scaled_change(inner)
            return seen and replace(seen, factor=abs(seen.factor), size=True)
        case Negative(operand=inner):
            seen = _scaled_change(inner)
            return seen and replace(seen, factor=-seen.factor)
        case (
            Arithmetic(op="*", left=Number(value=by), right=inner)
            | Arithmetic(op="*", left=inner, right=Number(value=by))
        ):
            seen = _scaled_change(inner)
            return seen and replace(seen, factor=seen.factor * by)
        case Arithmetic(op="/", left=inner, right=Number(value=by)) if by:
            seen = _scaled_change(inner)
            return seen and replace(seen, factor=seen.factor / by)
    return None


def _is_change(seen: _Seen, op: str, bound: float) -> bool:
    """Whether the comparison asks for a change of some size, rather than for the lack of one."""
    if seen.factor < 0.0:
        op, bound = MIRRORED[op], -bound
    upwards = op[0] == ">" and bound > 0.0
    return upwards if seen.size else upwards or (op[0] == "<" and bound < 0.0)


def longer(one: Extent, two: Extent) -> bool:
    """Whether one extent is longer than another of its kind. A `for` in steps counts evaluations, as samples do."""
    return (one.axis is Axis.TIME) == (two.axis is Axis.TIME) and one.size > two.size
