"""An alert that ends the moment its threshold is no longer passed."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject


def no_hysteresis(subject: Subject) -> Iterator[Finding]:
    rule = subject.rule
    if subject.wakes and rule.until is None and rule.keep_firing is None:
        message = "a value that wavers about the threshold ends the alert and raises it again"
        hint = "add keep_firing_for: 5 samples, or until: with a margin"
        yield Finding("no-hysteresis", ("alert",), message, hint)
