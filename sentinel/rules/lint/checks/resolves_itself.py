"""A rule whose own trouble becomes its measure."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Arithmetic, Call, Compare, Metric, Node, Number, walk
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject

USUAL = frozenset({"mean", "median", "quantile", "min", "max", "first", "ewma"})
CHANGES = frozenset({"change", "delta", "drop", "rise", "zscore"})


def resolves_itself(subject: Subject) -> Iterator[Finding]:
    if subject.rule.until is not None or not subject.wakes:
        return
    for key, condition in subject.conditions():
        if key == "info":
            continue
        for node in walk(condition):
            call = _measure(node) if isinstance(node, Compare) else None
            if call is not None:
                message = (
                    f"when the trouble lasts longer than {call.window}, {call} takes it for usual: it ends by itself"
                )
                hint = "say when the run has recovered: until: ..."
                yield Finding("resolves-itself", (key,), message, hint, call.span)
                break


def _measure(node: Compare) -> Call | None:
    """The call over a sliding window that the metric's newer values are held against."""
    for side, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(side, Call) and side.function in CHANGES and isinstance(other, Number) and other.value:
            return side if side.window is not None else None
        usual = _usual(other)
        if usual is not None and usual.window is not None and _metric(side) == _metric(usual) is not None:
            window = side.window if isinstance(side, Call) else None
            if window is None or (window.axis is usual.window.axis and window.size < usual.window.size):
                return usual
    return None


def _usual(node: Node) -> Call | None:
    """`median(x, N)` or a multiple of it."""
    if isinstance(node, Arithmetic) and node.op == "*":
        left, right = node.left, node.right
        node = right if isinstance(left, Number) else left if isinstance(right, Number) else node
    return node if isinstance(node, Call) and node.function in USUAL and node.window is not None else None


def _metric(node: Node) -> Metric | None:
    if isinstance(node, Call) and node.function in USUAL:
        node = node.argument
    return node if isinstance(node, Metric) else None
