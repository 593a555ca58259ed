"""A metric that the framework named in `where` does not log."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Metric, walk
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject


def never_sent(subject: Subject) -> Iterator[Finding]:
    framework = subject.rule.where.get("framework")
    if framework is None:
        return
    for key, expression in subject.expressions():
        for node in walk(expression):
            if not isinstance(node, Metric) or node.raw or node.wild:
                continue
            senders = subject.senders.of(node.name)
            if senders is not None and framework not in senders:
                message = f"no version of {framework} logs {node.name}"
                others = f"{', '.join(senders)} {'does' if len(senders) == 1 else 'do'}; " if senders else ""
                hint = f"{others}if you log it yourself, say so: allow: {{never-sent: ...}}"
                yield Finding("never-sent", (key,), message, hint, node.span)
