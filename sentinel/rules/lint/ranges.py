"""Which values an expression can have, from what the dictionary says of its metrics and the functions of themselves."""

from __future__ import annotations

import math
import re

from sentinel.metrics import Dictionary
from sentinel.rules.expression.nodes import (
    Arithmetic,
    Call,
    Context,
    Duration,
    Extent,
    Metric,
    Negative,
    Node,
    Number,
)
from sentinel.rules.lint.interval import ALL, Interval
from sentinel.stats.window import Axis

NEVER_NEGATIVE = Interval(0.0)

KEEPS_RANGE = frozenset(
    {
        "mean",
        "median",
        "min",
        "max",
        "quantile",
        "first",
        "last",
        "best",
        "worst",
        "initial",
        "baseline",
        "reference",
        "ewma",
    }
)
"""What is a value of its argument, or lies between two."""

_BETWEEN = re.compile(r"(-?[0-9.]*[0-9])\.\.(-?[0-9][0-9.]*)")
_ONE_END = re.compile(r"(>=|<=|>|<)(-?[0-9][0-9.]*)")


def read_range(text: str) -> Interval:
    """The dictionary's words for a range: `0..1`, `>=0`, `<=1`. What hangs on more than the name has any value."""
    if text == "0..ln(vocab)":
        return NEVER_NEGATIVE
    if match := _BETWEEN.fullmatch(text):
        return Interval(float(match[1]), float(match[2]))
    if match := _ONE_END.fullmatch(text):
        end, is_open = float(match[2]), len(match[1]) == 1
        return Interval(end, low_open=is_open) if match[1][0] == ">" else Interval(high=end, high_open=is_open)
    return ALL


class Ranges:
    """Ranges of expressions by one dictionary; it remembers those it was asked for."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self._known: dict[Node, Interval] = {}
        self._metrics: dict[str, Interval] = {}

    def of(self, node: Node) -> Interval:
        """The values that an expression can have, NaN and infinities aside: those are *unknown* in every comparison."""
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = self._of(node)
        return found

    def _of(self, node: Node) -> Interval:
        match node:
            case Number(value=value):
                return Interval.point(value)
            case Duration(seconds=seconds):
                return Interval.point(seconds)
            case Context(name=name):
                return ALL if name.startswith("config.") or name == "phase" else NEVER_NEGATIVE
            case Metric():
                return self._metric(node)
            case Negative(operand=operand):
                return -self.of(operand)
            case Arithmetic(op=op, left=left, right=right):
                one, two = self.of(left), self.of(right)
                return one + two if op == "+" else one - two if op == "-" else one * two if op == "*" else one / two
            case Call():
                return self._call(node)
            case _:
                return ALL

    def _metric(self, metric: Metric) -> Interval:
        if metric.raw or metric.wild:
            return ALL
        found = self._metrics.get(metric.name)
        if found is None:
            info = self.dictionary.describe(metric.name)
            found = self._metrics[metric.name] = read_range(info.range) if info is not None else ALL
        return found

    def _call(self, node: Call) -> Interval:
        inner = self.of(node.argument)
        if node.function in KEEPS_RANGE:
            return inner
        most = _most_values(node.window)
        match node.function:
            case "count" | "spikes":
                return Interval(0.0, most)
            case "share":
                return Interval(0.0, 1.0)
            case "age":
                return NEVER_NEGATIVE
            case "abs":
                return abs(inner)
            case "std":
                # Two values at the two ends are the furthest apart that a sample can be.
                return Interval(0.0, (inner.high - inner.low) / math.sqrt(2.0))
            case "sum":
                return (inner * Interval(0.0, most)) if most else ALL
            case "delta":
                return inner - inner
            case "drop":
                # Of what is never negative no more than all can be lost.
                return Interval(0.0, 1.0) if inner.low >= 0.0 else NEVER_NEGATIVE
            case "rise":
                return NEVER_NEGATIVE
            case "change":
                return Interval(-1.0) if inner.low >= 0.0 else ALL
            case _:
                return ALL


def _most_values(window: Extent | None) -> float:
    """How many values a window can hold: a step has one at most."""
    return window.size if window is not None and window.axis is not Axis.TIME else math.inf
