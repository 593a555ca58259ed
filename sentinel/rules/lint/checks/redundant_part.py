"""A part of `and` or `or` that changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Compare, Logic, Node, walk
from sentinel.rules.lint.checks.never_fires import bounds
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject


def redundant_part(subject: Subject) -> Iterator[Finding]:
    for key, condition in subject.expressions():
        if not subject.truth.can_hold(condition) or not subject.truth.can_fail(condition):
            continue  # told by a louder check
        for node in walk(condition):
            if isinstance(node, Logic):
                yield from _parts(key, node, subject)


def _parts(key: str, node: Logic, subject: Subject) -> Iterator[Finding]:
    truth = subject.truth
    for part in node.parts:
        if node.op == "or" and not truth.can_hold(part):
            yield _useless(key, part, subject, "this part never holds", "take it out, or mend it")
        elif node.op == "and" and not truth.can_fail(part):
            yield _useless(key, part, subject, "this part always holds", "take it out, or mend it")
        else:
            other = _covering(node, part, subject)
            if other is not None:
                message = f"this changes nothing: '{other}' says it already"
                yield Finding("redundant-part", (key,), message, "take it out, or mend the threshold", part.span)


def _covering(node: Logic, part: Node, subject: Subject) -> Node | None:
    """The sibling beside which `part` has nothing to add; of two that are alike the first counts."""
    if isinstance(part, Logic):
        return None
    seen = False
    for other in node.parts:
        if other is part:
            seen = True
            continue
        if isinstance(other, Logic):
            continue  # `x > 0 and (x == 3 or x == 5)` repeats itself, and reads well
        strong, weak = (other, part) if node.op == "and" else (part, other)
        if subject.truth.implies([strong], weak) and (not seen or not subject.truth.implies([weak], strong)):
            return other
    return None


def _useless(key: str, part: Node, subject: Subject, message: str, hint: str) -> Finding:
    told = bounds(part, subject) if isinstance(part, Compare) else ""
    return Finding("redundant-part", (key,), f"{message}: {told}" if told else message, hint, part.span)
