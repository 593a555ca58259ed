"""A metric that no trainer is known to log."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Metric, walk
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject


def sent_by_none(subject: Subject) -> Iterator[Finding]:
    if "framework" in subject.rule.where:
        return  # never-sent asks more sharply
    for key, expression in subject.expressions():
        for node in walk(expression):
            if isinstance(node, Metric) and not node.raw and not node.wild and subject.senders.of(node.name) == []:
                message = f"no known trainer logs {node.name}: the rule waits for one that does"
                hint = f"log it under this name, or look for another: sentinel metrics {node.name}"
                yield Finding("sent-by-none", (key,), message, hint, node.span)
