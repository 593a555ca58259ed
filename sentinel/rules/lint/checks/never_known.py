"""A window that can never hold as many values as its function needs."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sentinel.rules.expression.nodes import Call, walk
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject
from sentinel.stats import FUNCTIONS, WindowFunction
from sentinel.stats.window import Axis


def never_known(subject: Subject) -> Iterator[Finding]:
    for key, expression in subject.expressions():
        for node in walk(expression):
            if isinstance(node, Call) and (least := too_few(node, 1)):
                message = f"{node} is never known: {node.function}() needs {least} values"
                hint = f"make the window longer: {10 * least} samples"
                yield Finding("never-known", (key,), message, hint, node.span)


def too_few(node: Call, every: int) -> int:
    """How many values the function needs when its window, logged at each `every`-th step, holds fewer; else 0."""
    function, window = FUNCTIONS[node.function], node.window
    if window is None or window.axis is Axis.TIME or not issubclass(function, WindowFunction):
        return 0
    # A rule is evaluated at a value, which is always in the window; a reach window holds one more from before it.
    held = (window.size if window.axis is Axis.SAMPLES else math.ceil(window.size / every)) + function.reach
    return function.least if held < function.least else 0
