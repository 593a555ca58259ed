"""A division whose divisor can be zero."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Arithmetic, walk
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject


def may_divide_by_zero(subject: Subject) -> Iterator[Finding]:
    for key, expression in subject.expressions():
        for node in walk(expression):
            if isinstance(node, Arithmetic) and node.op == "/" and subject.ranges.of(node.right).holds(0.0):
                message = f"where {node.right} is 0 this is unknown, and the rule says nothing"
                hint = f"multiply instead: {node.left} > c * {node.right}"
                yield Finding("may-divide-by-zero", (key,), message, hint, node.right.span)
