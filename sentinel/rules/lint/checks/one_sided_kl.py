"""A KL rule that looks up only."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.rules.expression.nodes import Call, Compare, Metric, Node, Number, walk
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject


def one_sided_kl(subject: Subject) -> Iterator[Finding]:
    """Of an estimate that can be negative, whose rule has an upper bound and no lower one in any of its conditions."""
    upper: tuple[str, Compare, Metric] | None = None
    for key, condition in subject.conditions():
        for node in walk(condition):
            if not isinstance(node, Compare):
                continue
            for side, bound, above in ((node.left, node.right, ">"), (node.right, node.left, "<")):
                metric = _signed(side, subject)
                if metric is None or not isinstance(bound, Number):
                    continue
                if node.op[0] != above:
                    return  # the other side is looked at
                upper = upper or (key, node, metric)
    if upper is not None:
        key, node, metric = upper
        message = f"{metric} explodes downwards too, as a k1 estimate does, and nothing here would see it"
        hint = f"add: or {metric} < -0.2; or compare abs({metric})"
        yield Finding("one-sided-kl", (key,), message, hint, node.span)


def _signed(node: Node, subject: Subject) -> Metric | None:
    """The KL whose level this is, when it may be negative."""
    if subject.ranges.of(node).low >= 0.0:
        return None
    while isinstance(node, Call) and node.function != "abs":
        node = node.argument
    return node if isinstance(node, Metric) and not node.raw and node.name.startswith("kl.") else None
