"""How much of each run a set of rules may keep, worked out before any run is there.

What grows is values in windows: 8 bytes each, 4 for its step, 8 for its time where a window counts seconds, 8 more
where a window is kept in order. Over a window of time one value a second is assumed, and ten series behind a `*`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from sentinel.errors import Problem
from sentinel.rules.expression.nodes import Call, Extent, Metric, Node, children, metrics_of
from sentinel.rules.model import Rule, RuleSet
from sentinel.stats import FUNCTIONS, Nonfinite, RunningFunction, WindowFunction
from sentinel.stats.baseline import USUAL
from sentinel.stats.parts import Order
from sentinel.stats.series import HISTORY
from sentinel.stats.window import Axis

MIB = 1024 * 1024

MAX_STATE = 8.0
"""MiB of one run that rules may keep unless it is set otherwise: a thousand runs then fit into 8 GiB at the worst."""

PER_SECOND = 1.0
"""Values a second that a window of time is taken to hold."""

WILD = 10
"""Series that a name with a `*` is taken to stand for."""

OBJECT = 400
"""Bytes of a series, or of a window with what runs over it, that hold nothing yet."""


@dataclass(slots=True)
class _Kept:
    """Of one series: the windows over it, and which of them are kept in order."""

    windows: set[Extent] = field(default_factory=set)
    ordered: set[Extent] = field(default_factory=set)

    @property
    def size(self) -> float:
        """Bytes."""
        held = max([HISTORY, *map(_values, self.windows)])
        timed = any(extent.axis is Axis.TIME for extent in self.windows)
        each = OBJECT * (1 + len(self.windows)) + 8.0 * sum(map(_values, self.ordered))
        return each + held * (20 if timed else 12)


def footprint(rules: Iterable[Rule]) -> int:
    """Bytes that the rules may keep of one run, together: what they share counts once."""
    kept: dict[Node, _Kept] = {}
    for rule in rules:
        for expression in rule.expressions():
            for node in _keeping(expression):
                _count(node, rule, kept)
    sizes = ((WILD if any(metric.wild for metric in metrics_of(node)) else 1, found) for node, found in kept.items())
    return round(sum(series * found.size for series, found in sizes))


def state_problems(rules: RuleSet, limit: float = MAX_STATE) -> list[Problem]:
    """An error when the rules may keep more than `limit` MiB of one run; it names those that cost most.

    A rule with overrides counts as the costliest of what it can be.
    """
    costly = sorted((_costliest(rule) for rule in rules), key=lambda found: -found[1])
    total = footprint(rule for rule, _ in costly)
    if total <= limit * MIB:
        return []
    path, _, line = costly[0][0].source.rpartition(":")
    shares = ", ".join(f"{rule.name} {_mib(size)}" for rule, size in costly[:3])
    message = f"the rules may keep {_mib(total)} of each run, and {limit:g} MiB are allowed; the most: {shares}"
    hint = "shorten their windows, or allow more: --max-state, or max_state_mib among the settings"
    return [Problem(path, int(line or 0), 1, "too-much-state", message, hint)]


def _costliest(rule: Rule) -> tuple[Rule, int]:
    size, at = max((footprint([variant]), -at) for at, variant in enumerate(rule.variants))
    return rule.variants[-at], size


def _keeping(node: Node) -> Iterator[Node]:
    """The nodes of an expression for which something is kept: of what `nonfinite` looks at, nothing is."""
    if isinstance(node, Call) and issubclass(FUNCTIONS[node.function], Nonfinite):
        return
    yield node
    for child in children(node):
        yield from _keeping(child)


def _count(node: Node, rule: Rule, kept: dict[Node, _Kept]) -> None:
    if isinstance(node, Metric):
        kept.setdefault(node, _Kept())
    if not isinstance(node, Call):
        return
    function = FUNCTIONS[node.function]
    if issubclass(function, RunningFunction) and function.owned:
        # What is not shared with other rules counts once for each.
        extent = node.window or Extent(Axis.SAMPLES, USUAL)
        kept[replace(node, owner=rule.key)] = _Kept({extent}, {extent})
    if node.window is None:
        return
    if issubclass(function, WindowFunction):
        found = kept.setdefault(node.argument, _Kept())
        found.windows.add(node.window)
        if Order in function.parts:
            found.ordered.add(node.window)


def _values(extent: Extent) -> float:
    return extent.size * (PER_SECOND if extent.axis is Axis.TIME else 1.0)


def _mib(size: int) -> str:
    return f"{size / MIB:.3g} MiB"
