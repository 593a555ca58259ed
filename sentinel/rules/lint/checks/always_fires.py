"""A condition that every value fulfils."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Compare, walk
from sentinel.rules.lint.checks.never_fires import bounds
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject


def always_fires(subject: Subject) -> Iterator[Finding]:
    for key, condition in subject.conditions():
        if subject.truth.can_fail(condition):
            continue
        for node in walk(condition):
            if isinstance(node, Compare) and not subject.truth.can_fail(node) and (told := bounds(node, subject)):
                message, hint = f"this always holds: {told}", "compare with a value that it can pass"
                yield Finding("always-fires", (key,), message, hint, node.span)
                break
        else:
            message = "this holds at every value: one of its parts always does"
            yield Finding("always-fires", (key,), message, "write `and` where both must hold", condition.span)
