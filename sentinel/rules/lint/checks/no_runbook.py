"""A rule that wakes somebody and does not say what to do."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject


def no_runbook(subject: Subject) -> Iterator[Finding]:
    book = subject.rule.runbook
    if subject.wakes and not (book.causes or book.look_at or book.do):
        message = "the alert will not say what to do"
        hint = "add runbook: {causes: [...], look_at: [...], do: [...]}"
        yield Finding("no-runbook", ("alert",), message, hint)
