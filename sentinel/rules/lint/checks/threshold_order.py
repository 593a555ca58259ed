"""A severity that is passed before a milder one, so that the milder is never seen."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject


def threshold_order(subject: Subject) -> Iterator[Finding]:
    truth = subject.truth
    for (milder, first), (severer, second) in pairwise(subject.rule.conditions):
        if truth.can_hold(first) and truth.can_fail(second) and truth.implies([first], second):
            message = f"{severer} is reached before {milder}: {second} is the wider condition, or the same"
            hint = f"{milder} will never be seen: exchange the thresholds"
            yield Finding("threshold-order", (severer,), message, hint)
