"""A window in minutes, whatever the length of the run's steps."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Call, Context, Extent, Metric, Node, walk
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject
from sentinel.stats.window import Axis


def wall_clock_window(subject: Subject) -> Iterator[Finding]:
    for key, condition in subject.conditions():
        nodes = list(walk(condition))
        if any(
            isinstance(node, Context | Metric) and node.name.startswith(("step_time", "time.step")) for node in nodes
        ):
            continue
        window = next((window for node in nodes if (window := _timed(node)) is not None), None)
        if window is not None:
            message = f"{window} is many steps of one run and less than a step of another"
            hint = "say how long a step takes in the condition: and step_time < 2m"
            yield Finding("wall-clock-window", (key,), message, hint, window.span)


def _timed(node: Node) -> Extent | None:
    window = node.window if isinstance(node, Call) else None
    return window if window is not None and window.axis is Axis.TIME else None
