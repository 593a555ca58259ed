"""A window in steps that is nearly empty for a run that logs every tenth step."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Call, Extent, walk
from sentinel.rules.lint.checks.never_known import too_few
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject
from sentinel.stats.window import Axis

EVERY = 10
"""Steps between two logged rows that are common: TRL's default for GRPO."""

LOST = {
    **dict.fromkeys(("mean", "median", "quantile", "max", "min"), "nothing is smoothed"),
    **dict.fromkeys(("held", "share"), "one answer decides"),
    **dict.fromkeys(("sum", "count"), "it is about that one"),
    "first": "the first is the newest",
}
"""What becomes of a function whose window holds one value."""


def sparse_window(subject: Subject) -> Iterator[Finding]:
    for key, expression in subject.expressions():
        for node in walk(expression):
            if not isinstance(node, Call) or node.window is None or node.window.axis is not Axis.STEPS:
                continue
            if too_few(node, 1):
                continue  # never-known says so
            if least := too_few(node, EVERY):
                message = f"a run that logs every {EVERY}th step has too few values for {node}, which needs {least}"
            elif node.function in LOST and 1 < node.window.size <= EVERY:
                lost = LOST[node.function]
                message = f"a run that logs every {EVERY}th step has one value in {node.window}: {lost}"
            else:
                continue
            hint = f"count logged values: {Extent(Axis.SAMPLES, node.window.size)}"
            yield Finding("sparse-window", (key,), message, hint, node.window.span)
