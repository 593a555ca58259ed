"""A fixed threshold on a number whose healthy values differ from run to run."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Call, Compare, Metric, Node, Number, walk
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.ranges import KEEPS_RANGE
from sentinel.rules.lint.subject import Subject

RUN_SIZED = ("entropy", "grad_norm", "length.", "loss.")
RUN_SIZED_UNITS = ("reward units", "loss units", "score units", "task units")


def fixed_threshold(subject: Subject) -> Iterator[Finding]:
    for key, condition in subject.conditions():
        for node in walk(condition):
            if not isinstance(node, Compare):
                continue
            for side, bound in ((node.left, node.right), (node.right, node.left)):
                metric = _level(side)
                # Zero is the same for every run.
                if metric is None or not isinstance(bound, Number) or not bound.value or bound.percent:
                    continue
                if _run_sized(metric, subject):
                    message = f"healthy runs differ in {metric}: {bound} is much for one and little for another"
                    hint = f"judge it against the run's own: 0.5 * initial({metric})"
                    yield Finding("fixed-threshold", (key,), message, hint, bound.span)


def _level(node: Node) -> Metric | None:
    """The metric whose level this is."""
    while isinstance(node, Call) and node.function in KEEPS_RANGE:
        node = node.argument
    return node if isinstance(node, Metric) and not node.raw else None


def _run_sized(metric: Metric, subject: Subject) -> bool:
    info = subject.dictionary.describe(metric.name)
    if info is None or info.range in ("0..1", "0..100") or info.unit in ("fraction", "percent"):
        return False
    return info.unit in RUN_SIZED_UNITS or info.name.startswith(RUN_SIZED)
