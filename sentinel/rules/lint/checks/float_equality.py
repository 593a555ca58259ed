"""Equality with a number that a measured value will hardly ever hit."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Call, Compare, Context, Metric, Node, Number, walk
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject

WHOLE_UNITS = frozenset({"count", "steps", "0 or 1", "code", "turns", "calls", "versions"})
SHOWS_VALUES = frozenset({"max", "min", "first", "last", "best", "worst", "abs"})
"""Functions whose result is a value that was logged."""


def float_equality(subject: Subject) -> Iterator[Finding]:
    for key, expression in subject.expressions():
        for node in walk(expression):
            if not isinstance(node, Compare) or node.op not in ("==", "!="):
                continue
            for side, bound in ((node.left, node.right), (node.right, node.left)):
                if isinstance(bound, Number) and not _exact(side, bound.value, subject):
                    verb = "will hardly ever be" if node.op == "==" else "will nearly always differ from"
                    message = f"a measured number {verb} {bound} to the last digit"
                    hint = f"compare with a margin: abs({side} - {bound}) < 0.01, or use < and >"
                    yield Finding("float-equality", (key,), message, hint, node.span)


def _exact(side: Node, bound: float, subject: Subject) -> bool:
    """Whether the side takes exactly such values: whole numbers, and the ends of a range."""
    if isinstance(side, Call) and side.function in ("count", "spikes"):
        return True
    if isinstance(side, Context):
        return side.name == "step" or side.name.startswith("config.")
    possible = subject.ranges.of(side)
    while isinstance(side, Call) and side.function in SHOWS_VALUES:
        side = side.argument
    if bound in (0.0, possible.low, possible.high):
        return True
    info = subject.dictionary.describe(side.name) if isinstance(side, Metric) and not side.raw else None
    return info is not None and info.unit in WHOLE_UNITS
