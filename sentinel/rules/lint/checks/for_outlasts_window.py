"""A `for` that is longer than the window in which a change can be seen."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Call, Compare, Extent, Logic, Node, Number
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject
from sentinel.stats.window import Axis

CHANGES = frozenset({"change", "delta", "drop", "rise", "zscore"})
"""Functions that see a step to a new level for as long as their window reaches back before it, and no longer."""


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
        case Compare(op=op, left=left, right=right):
            if op[0] not in "<>" or not isinstance(right, Number):
                return []
            call = left
            # Of a small change it is no news that it lasts.
            if isinstance(call, Call) and call.function in CHANGES and _is_change(op, right.value):
                return [call] if call.window is not None and longer(hold, call.window) else []
            return []
        case Logic(op="and", parts=parts):
            return [call for part in parts for call in _needed(part, hold)]
        case Logic(parts=parts):
            found = [_needed(part, hold) for part in parts]
            return [call for calls in found for call in calls] if all(found) else []
        case _:
            return []


def _is_change(op: str, bound: float) -> bool:
    return (op[0] == ">" and bound > 0.0) or (op[0] == "<" and bound < 0.0)


def longer(one: Extent, two: Extent) -> bool:
    """Whether one extent is longer than another of its kind. A `for` in steps counts evaluations, as samples do."""
    return (one.axis is Axis.TIME) == (two.axis is Axis.TIME) and one.size > two.size
