"""A sentence that shows in percent, times 100, what counts in percent already."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Call, Compare, Logic, Node, Not, children, metrics_of, walk
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject
from sentinel.rules.template import parse_template
from sentinel.stats import FUNCTIONS, Result

KEEPS_UNIT = frozenset({Result.SAME, Result.TOTAL, Result.RATE})


def percent_twice(subject: Subject) -> Iterator[Finding]:
    parts = parse_template(subject.rule.summary).parts
    formats = [part for part in parts if isinstance(part, tuple) and part[0] in ("value", "threshold")]
    wrong = next((part for part in formats if part[1].endswith("%")), None)
    if wrong is None:
        return
    for _, condition in subject.conditions():
        for node in _comparisons(condition):
            if metric := _percentage(node.left, subject):
                message = f"{metric} counts from 0 to 100, and this format multiplies by 100"
                hint = f"write {{{wrong[0]}:{wrong[1].replace('%', 'f')}}}%"
                yield Finding("percent-twice", ("summary",), message, hint)
                return


def _comparisons(node: Node) -> Iterator[Compare]:
    """Those whose sides a sentence can tell: what stands within `held` or `share` is only counted."""
    if isinstance(node, Compare):
        yield node
    elif isinstance(node, Logic | Not):
        for part in children(node):
            yield from _comparisons(part)


def _percentage(node: Node, subject: Subject) -> str:
    """The metric that counts in percent, where an expression is in its unit; empty for any other."""
    if any(isinstance(part, Call) and FUNCTIONS[part.function].result not in KEEPS_UNIT for part in walk(node)):
        return ""
    for metric in metrics_of(node):
        info = None if metric.raw else subject.dictionary.describe(metric.name)
        if info is not None and info.unit.startswith("percent"):
            return metric.name
    return ""
