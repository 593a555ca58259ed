"""A condition that waits by itself, under a `for` that waits again."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Call, Compare, Node, Number
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject
from sentinel.stats.window import Axis


def waits_twice(subject: Subject) -> Iterator[Finding]:
    hold = subject.rule.hold
    if hold is None:
        return
    for key, condition in subject.conditions():
        call = _waiting(condition)
        if call is not None and call.window is not None and (call.window.axis is Axis.TIME) == (hold.axis is Axis.TIME):
            message = f"{call} waits for {call.window} already, and `for` waits for another {hold}"
            hint = "one of the two is enough: leave out `for`, or look at the newest value"
            yield Finding("waits-twice", (key,), message, hint, call.span)


def _waiting(node: Node) -> Call | None:
    """The call when it is the whole condition and every value of its window must fulfil it."""
    if isinstance(node, Call) and node.function == "held":
        return node
    if isinstance(node, Compare) and isinstance(node.left, Call) and isinstance(node.right, Number):
        call = node.left
        if (call.function, node.op[0]) in (("max", "<"), ("min", ">")):
            return call
    return None
