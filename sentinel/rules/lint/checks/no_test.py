"""A rule that no test has seen fire."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject


def no_test(subject: Subject) -> Iterator[Finding]:
    if not subject.tests_known:
        return
    name = subject.rule.name
    beside = PurePath(subject.path).stem + ".test.yaml"
    if subject.tested is None:
        if subject.first:
            message = "the rules of this file have no tests"
            hint = f"write a time-line that fires each of them into {beside}"
            yield Finding("no-test", ("alert",), message, hint)
    elif name not in subject.tested:
        message = "no test has seen this rule fire"
        hint = f"add to {beside} a time-line with expect: [{{alert: {name}}}]"
        yield Finding("no-test", ("alert",), message, hint)
