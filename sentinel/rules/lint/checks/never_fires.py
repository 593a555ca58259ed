"""A condition that no value can fulfil."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from sentinel.rules.expression.nodes import Call, Compare, Logic, Node, Number, walk
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject


def never_fires(subject: Subject) -> Iterator[Finding]:
    for key, condition in subject.conditions():
        if not subject.truth.can_hold(condition):
            node, message, hint = _reason(condition, subject)
            yield Finding("never-fires", (key,), message, hint, node.span)


def _reason(condition: Node, subject: Subject) -> tuple[Node, str, str]:
    """The smallest part that explains it."""
    truth = subject.truth
    for node in walk(condition):
        if isinstance(node, Compare) and not truth.can_hold(node):
            told = bounds(node, subject)
            if told:
                return node, f"this can never hold: {told}", _mended(node)
    for node in walk(condition):
        if isinstance(node, Logic) and node.op == "and":
            for one, two in combinations(node.parts, 2):
                if not truth.can_hold(one, two):
                    hint = "one of them is turned around, or `or` is meant"
                    return two, f"the rule can never fire: this excludes '{one}'", hint
    return condition, "no value makes this hold: its parts exclude one another", "take out one part, or write `or`"


def _mended(node: Compare) -> str:
    """How a comparison is written that asks for a fall as something negative; or that it wants another value."""
    call, bound = (node.left, node.right) if isinstance(node.left, Call) else (node.right, node.left)
    if isinstance(call, Call) and call.function in ("drop", "rise") and isinstance(bound, Number) and bound.value < 0.0:
        return f"{call.function}() is never negative: write {call} > {replace(bound, value=-bound.value)}"
    return "compare with a value that it can have"


def bounds(node: Compare, subject: Subject) -> str:
    """What the dictionary knows of the side that is no literal: `clip_frac goes from 0 to 1`; or nothing."""
    sides = [side for side in (node.left, node.right) if not isinstance(side, Number)]
    if len(sides) != 1:
        return ""
    possible = subject.ranges.of(sides[0])
    return f"{sides[0]} {possible}" if possible.bounded else ""
