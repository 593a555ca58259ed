"""Two rules that ask the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject


def duplicate_condition(subjects: Sequence[Subject]) -> Iterator[tuple[Subject, Finding]]:
    """Unlike the others it looks at all rules in force; the later one of two is at fault."""
    seen: dict[tuple[object, ...], Subject] = {}
    for subject in subjects:
        rule = subject.rule
        for severity, condition in rule.conditions:
            asked = (str(condition), str(rule.hold), rule.after, rule.phases, tuple(sorted(rule.where.items())))
            first = seen.setdefault(asked, subject)
            if first.rule.name != rule.name:
                message = f"the rule '{first.rule.name}' has the same condition: one cause makes two alerts"
                hint = f"it stands at {first.rule.source}: keep one of them, with a severity for each threshold"
                yield subject, Finding("duplicate-condition", (severity,), message, hint, condition.span)
                break
