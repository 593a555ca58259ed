"""A reset condition that can never hold, so that the alert never ends."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject


def until_unreachable(subject: Subject) -> Iterator[Finding]:
    until = subject.rule.until
    if until is not None and not subject.truth.can_hold(until):
        message = "this can never hold, so the alert never resolves"
        hint = "say what a recovered run looks like, or leave `until` out"
        yield Finding("until-unreachable", ("until",), message, hint, until.span)
