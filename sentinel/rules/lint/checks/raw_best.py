"""The best of single values, which one lucky batch sets for good."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Call, Metric, walk
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject


def raw_best(subject: Subject) -> Iterator[Finding]:
    for key, expression in subject.expressions():
        for node in walk(expression):
            if isinstance(node, Call) and node.function in ("best", "worst") and isinstance(node.argument, Metric):
                message = f"one lucky batch is the {node.function} of a noisy series for good"
                hint = f"smooth first: {node.function}(median({node.argument}, 10 samples))"
                yield Finding("raw-best", (key,), message, hint, node.span)
