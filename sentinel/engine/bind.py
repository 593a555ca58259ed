"""From rules that name metrics to rule instances that name the series of one run.

`nonfinite(*)` becomes an instance for each series, `reward.component.*` for each component, `gpu.util` for each GPU's
series. Runs that log the same keys have the same instances, so the result is computed once and shared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from sentinel.metrics import Dictionary
from sentinel.rules.expression.nodes import (
    Arithmetic,
    Call,
    Compare,
    Logic,
    Metric,
    Negative,
    Node,
    Not,
    walk,
)
from sentinel.rules.model import Rule
from sentinel.severity import Severity
from sentinel.stats import FUNCTIONS, RunningFunction

Labels = tuple[tuple[str, str], ...]

_PLAIN = re.compile(r"[A-Za-z0-9_.@-]+(\{[^`(){}]*\})?")
"""Names of series that read as what they are in an expression's text."""


@dataclass(frozen=True, slots=True)
class SeriesName:
    """A series of a run: its name in the dictionary (or the trainer's own key), and its labels.

    `raw`: the key under which an event has its value. `derived`: it is not logged but calculated.
    """

    name: str
    labels: Labels
    raw: str
    derived: bool = False

    @property
    def full(self) -> str:
        return full_name(self.name, self.labels)


@dataclass(frozen=True, slots=True)
class Instance:
    """One rule over the series of one run. `labels` tell it from the rule's other instances."""

    rule: Rule
    labels: Labels
    conditions: tuple[tuple[Severity, Node], ...]
    until: Node | None

    @property
    def key(self) -> str:
        """State is kept under it: the rule's name, the hash of its condition, and the labels."""
        return _instance_key(self.rule, self.labels)

    def expressions(self) -> list[Node]:
        nodes = [condition for _, condition in self.conditions]
        return [*nodes, self.until] if self.until is not None else nodes


def _instance_key(rule: Rule, labels: Labels) -> str:
    return f"{rule.key}{dict(labels) or ''}"


def full_name(name: str, labels: Labels) -> str:
    if not labels:
        return name
    return f"{name}{{{','.join(f'{key}={value}' for key, value in labels)}}}"


@lru_cache(maxsize=20_000)
def name_series(name: str, labels: Labels, raw: str, *, derived: bool = False) -> SeriesName:
    """One and the same object for all runs that log the series."""
    return SeriesName(name, labels, raw, derived)


def bind(rule: Rule, series: Sequence[SeriesName], dictionary: Dictionary) -> list[Instance]:
    """The instances of a rule over a run's series; none when a wild metric matches nothing yet."""
    metrics = rule.metrics()
    bindings: dict[tuple[str, Labels], None] = {}
    for metric in metrics:
        for found in series:
            star = _match(metric, found, dictionary)
            if star is None:
                continue
            extra = tuple(label for label in found.labels if label not in metric.labels)
            if metric.wild or extra:
                bindings[star, extra] = None
    if not bindings:
        if any(metric.wild for metric in metrics):
            return []
        bindings["", ()] = None
    by_full = {found.full: found for found in series}
    owns = any(_is_owned(node) for expression in rule.expressions() for node in walk(expression))
    instances = []
    for star, extra in bindings:
        concrete = {metric: _resolve(metric, star, extra, series, by_full) for metric in metrics}
        labels = extra
        if star:
            first = next(metric for metric in metrics if metric.wild)
            labels = (*extra, ("metric", concrete[first].name))
        owner = _instance_key(rule, labels) if owns else ""
        instances.append(
            Instance(
                rule=rule,
                labels=labels,
                conditions=tuple((severity, _substitute(node, concrete, owner)) for severity, node in rule.conditions),
                until=None if rule.until is None else _substitute(rule.until, concrete, owner),
            )
        )
    return instances


def _match(metric: Metric, series: SeriesName, dictionary: Dictionary) -> str | None:
    """The text that `*` stands for (`""` without one), or None when the series is another."""
    if any(label not in series.labels for label in metric.labels):
        return None
    if metric.wild and series.derived:
        return None  # it stands for what is logged
    if metric.raw:
        return "" if metric.name in (series.raw, series.name) else None
    if not metric.wild:
        return "" if metric.name == series.name else None
    if metric.name == "*":
        return series.name
    pattern = re.escape(metric.name).replace(r"\*", "(.+)")
    match = re.fullmatch(pattern, series.name)
    if match is None:
        return None
    # `reward.component.*` means the components, not the standard deviation of each.
    kind = dictionary.describe(metric.name.replace("*", "x"))
    own = dictionary.describe(series.name)
    if kind is not None and own is not None and kind.name != own.name:
        return None
    return match.group(1)


def _resolve(
    metric: Metric, star: str, extra: Labels, series: Iterable[SeriesName], by_full: Mapping[str, SeriesName]
) -> Metric:
    """The concrete series that a metric means under one binding, whether the run logs it or not."""
    name = metric.name.replace("*", star) if metric.wild else metric.name
    if metric.raw:
        name = next((found.name for found in series if found.raw == metric.name), name)
    full = full_name(name, tuple(sorted((*metric.labels, *extra))))
    if full not in by_full:
        full = full_name(name, metric.labels)
    # Backticks, so that a key such as `a + b` cannot be taken for the sum of `a` and `b`.
    return Metric(full, raw=_PLAIN.fullmatch(full) is None)


def _is_owned(node: Node) -> bool:
    if not isinstance(node, Call):
        return False
    function = FUNCTIONS[node.function]
    return issubclass(function, RunningFunction) and function.owned


def _substitute(node: Node, concrete: Mapping[Metric, Metric], owner: str) -> Node:
    """The same over concrete series. What is not shared between rules is marked as the instance's own."""

    def inner(node: Node) -> Node:
        return _substitute(node, concrete, owner)

    match node:
        case Metric():
            return concrete[node]
        case Arithmetic(left=left, right=right) | Compare(left=left, right=right):
            return replace(node, left=inner(left), right=inner(right))
        case Logic(parts=parts):
            return replace(node, parts=tuple(inner(part) for part in parts))
        case Negative(operand=operand) | Not(operand=operand):
            return replace(node, operand=inner(operand))
        case Call(argument=argument):
            return replace(node, argument=inner(argument), owner=owner if _is_owned(node) else "")
        case _:
            return node
