"""A sentence that does not tell the number it is about."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Compare, walk
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject
from sentinel.rules.template import parse_template


def valueless_summary(subject: Subject) -> Iterator[Finding]:
    parts = parse_template(subject.rule.summary).parts
    said = {part[0] for part in parts if isinstance(part, tuple)}
    measured = any(isinstance(node, Compare) for _, condition in subject.conditions() for node in walk(condition))
    if measured and "value" not in said:
        message = "the sentence does not say the value"
        yield Finding("valueless-summary", ("summary",), message, "write {value:.3g} where it belongs")
