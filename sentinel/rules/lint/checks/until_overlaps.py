"""A reset condition that holds while the alert's own condition does."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Compare, Node, Number
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject


def until_overlaps(subject: Subject) -> Iterator[Finding]:
    until, truth = subject.rule.until, subject.truth
    if until is None or not truth.can_hold(until):
        return
    for severity, condition in subject.conditions():
        if not truth.can_hold(condition):
            continue
        if truth.implies([condition], until):
            message = f"this holds whenever {severity} does: the alert is over as soon as it fires"
        elif _same_quantity(condition, until) and truth.can_hold(condition, until):
            message = f"this can hold while {severity} does: '{condition}' and '{until}' overlap"
        else:
            continue
        hint = "until is the far side of the threshold, with a margin: warning kl.ref > 0.1, until kl.ref < 0.08"
        yield Finding("until-overlaps", ("until",), message, hint, until.span)
        return


def _same_quantity(one: Node, two: Node) -> bool:
    """Two thresholds on one number. Of different numbers it is no fault that both can be so at a time."""
    return isinstance(one, Compare) and isinstance(two, Compare) and _quantity(one) == _quantity(two) is not None


def _quantity(node: Compare) -> Node | None:
    sides = [side for side in (node.left, node.right) if not isinstance(side, Number)]
    return sides[0] if len(sides) == 1 else None
