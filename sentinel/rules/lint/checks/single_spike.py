"""A condition that one value can fulfil, and that wakes a person."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from sentinel.rules.expression.nodes import (
    Arithmetic,
    Call,
    Compare,
    Extent,
    InPhase,
    Logic,
    Metric,
    Negative,
    Node,
    Not,
)
from sentinel.rules.lint.checks.for_outlasts_window import longer
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject
from sentinel.stats.window import Axis

EVENT_UNITS = frozenset({"count", "0 or 1", "code", "unix s"})
"""Of these one value is an event, not noise."""

EVENT_LAYERS = frozenset({"infra", "timing"})

PASSES_ON = frozenset({"abs", "first", "last", "delta", "change", "drop", "rise", "zscore"})
"""One value in, one answer out."""

REMEMBERS = frozenset({"drop", "rise"})
"""Like `max` and `min`, they see a single value for as long as it is in the window."""


class _Kind(Enum):
    """What one value of a series does to a quantity or a condition."""

    NEUTRAL = 0  # it speaks of no series
    STEADY = 1  # one value moves it little
    SPIKY = 2  # one value is enough


def single_spike(subject: Subject) -> Iterator[Finding]:
    hold = subject.rule.hold
    for severity, condition in subject.conditions():
        if severity == "info" or _Reader(subject, hold).condition(condition, True) is not _Kind.SPIKY:
            continue
        if hold is None:
            message = f"one odd value is enough for a {severity}"
            hint = "add `for: 3 samples`, or smooth: median(x, 5 samples)"
        else:
            message = f"one odd value stays in this window for longer than {hold}: `for` does not filter it"
            hint = "look at the newest value or at a median, or make `for` longer than the window"
        yield Finding("single-spike", (severity,), message, hint, condition.span)


class _Reader:
    """With `hold`, only what holds for that long after one value counts as spiky."""

    def __init__(self, subject: Subject, hold: Extent | None) -> None:
        self.subject = subject
        self.hold = hold

    def condition(self, node: Node, holds: bool) -> _Kind:
        match node:
            case Not(operand=operand):
                return self.condition(operand, not holds)
            case Logic(op=op, parts=parts):
                kinds = {self.condition(part, holds) for part in parts}
                if (op == "and") is holds and _Kind.STEADY in kinds:
                    return _Kind.STEADY
                return max(kinds, key=lambda kind: kind.value)
            case Compare(op=op, left=left, right=right):
                if op[0] not in "<>":
                    return _Kind.STEADY
                above = (op[0] == ">") is holds
                kinds = {self.quantity(left, above), self.quantity(right, not above)}
                return max(kinds, key=lambda kind: kind.value)
            case InPhase():
                return _Kind.NEUTRAL
            case _:
                return _Kind.STEADY

    def quantity(self, node: Node, above: bool) -> _Kind:
        """What one value does to a number that must lie `above` the other side, or below it."""
        match node:
            case Metric():
                return _Kind.SPIKY if self.hold is None and self._noisy(node) else _Kind.STEADY
            case Negative(operand=operand):
                return self.quantity(operand, not above)
            case Arithmetic(op=op, left=left, right=right):
                kinds = {self.quantity(left, above), self.quantity(right, above is not (op in "-/"))}
                return max(kinds, key=lambda kind: kind.value)
            case Call(function="max" | "min" as function, argument=argument, window=window):
                # It must be the extreme on the side that the condition asks for, and outlive the `for`.
                return self._remembered(argument, window, above) if (function == "max") is above else _Kind.STEADY
            case Call(function=function, argument=argument, window=window) if function in REMEMBERS and self.hold:
                return self._remembered(argument, window, above) if above else _Kind.STEADY
            case Call(function=function, argument=argument) if function in PASSES_ON:
                return self.quantity(argument, above)
            case Call():
                return _Kind.STEADY
            case _:
                return _Kind.NEUTRAL

    def _remembered(self, argument: Node, window: Extent | None, above: bool) -> _Kind:
        if self.hold is None:
            return self.quantity(argument, above)
        if window is None or longer(self.hold, window) or (self.hold.axis is Axis.TIME) != (window.axis is Axis.TIME):
            return _Kind.STEADY
        return _Reader(self.subject, None).quantity(argument, above)

    def _noisy(self, metric: Metric) -> bool:
        if metric.raw or metric.wild:
            return True
        info = self.subject.dictionary.describe(metric.name)
        if info is None or metric.name.startswith("eval."):
            return info is None
        return info.unit not in EVENT_UNITS and info.layer not in EVENT_LAYERS
