"""A rule that sleeps while most runs break."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject

LONG = 50
"""Steps. Of 41 published runs that broke, 27 had done so by their 30th logged row."""


def long_after(subject: Subject) -> Iterator[Finding]:
    after = subject.rule.after
    if after > LONG and subject.wakes:
        message = f"the rule sleeps for {after} steps of each attempt, and most runs that break do so early"
        hint = "windows wait for their values by themselves: a shorter `after`, or none"
        yield Finding("long-after", ("after",), message, hint)
