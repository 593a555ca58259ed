"""Which rules can say nothing of a run, and what they would need.

A rule can speak if one of its conditions can become true by the three-valued logic: `a > 1 or b > 2` needs one of the
two, `a > 1 and b > 2` both, and `not (a > 1 and b > 2)` one again. Where several ways are closed, the one that lacks
least is named, the first one written of those that lack as much.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass

from sentinel.engine.bind import Instance
from sentinel.engine.context import CONFIG, PHASE, PHASE_STEP, PROGRESS
from sentinel.engine.plan import looks_every_event
from sentinel.rules.expression.nodes import (
    Alert,
    Call,
    Compare,
    Context,
    InPhase,
    Logic,
    Metric,
    Node,
    Not,
    children,
    metrics_of,
)
from sentinel.rules.model import Rule
from sentinel.stats import FUNCTIONS, Reference, Result, WindowFunction

IN_CONFIGURATION = " in the configuration"

IN_REFERENCE = " in the reference run"

A_REFERENCE = "a reference run"

Lack = tuple[str, ...]
"""What is missing, each once; empty for nothing."""


@dataclass(frozen=True, slots=True)
class NotEvaluable:
    """A rule that can say nothing of a run, and the least that it would need: `kl.ref`, `beta in the configuration`,
    `kl.ref in the reference run`, `a reference run`."""

    rule: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Known:
    """What there is of a run: the series it logs or that are derived, what its configuration states of what rules ask
    for, and the series of its reference run; None when it has none. `phased`: whether it has phases."""

    series: Container[str]
    constants: Container[str] = ()
    recorded: Container[str] | None = None
    phased: bool = False


def not_evaluable(rules: Iterable[Rule], instances: Sequence[Instance], known: Known) -> tuple[NotEvaluable, ...]:
    """The rules of which no instance can speak, in their order."""
    lacks: dict[str, list[Lack]] = {rule.name: [] for rule in rules}
    for instance in instances:
        lacks[instance.rule.name].append(_of_instance(instance, known))
    found = []
    for rule in rules:
        own = lacks[rule.name] or [tuple(str(metric) for metric in rule.metrics() if metric.wild)]
        if all(own):
            found.append(NotEvaluable(rule.name, _least(own)))
    return tuple(found)


def _of_instance(instance: Instance, known: Known) -> Lack:
    lack = _least(lacks_to_hold(condition, known) for _, condition in instance.conditions)
    if instance.rule.phases:
        lack = _all((lack, _of_phase(known)))
    if lack:
        return lack
    # It is asked when one of its metrics comes.
    nodes = instance.expressions()
    names = [metric.name for node in nodes for metric in metrics_of(node)]
    if not names or any(map(looks_every_event, nodes)) or any(name in known.series for name in names):
        return ()
    return (names[0],)


def lacks_to_hold(node: Node, known: Known) -> Lack:
    """What is missing for a condition to become known to hold."""
    match node:
        case Logic(op="and", parts=parts):
            return _all(lacks_to_hold(part, known) for part in parts)
        case Logic(parts=parts):
            return _least(lacks_to_hold(part, known) for part in parts)
        case Not(operand=operand):
            return lacks_to_fail(operand, known)
        case _:
            return _to_know(node, known, lacks_to_hold)


def lacks_to_fail(node: Node, known: Known) -> Lack:
    """What is missing for a condition to become known not to hold."""
    match node:
        case Logic(op="and", parts=parts):
            return _least(lacks_to_fail(part, known) for part in parts)
        case Logic(parts=parts):
            return _all(lacks_to_fail(part, known) for part in parts)
        case Not(operand=operand):
            return lacks_to_hold(operand, known)
        case _:
            return _to_know(node, known, lacks_to_fail)


def _to_know(node: Node, known: Known, inside: Callable[[Node, Known], Lack]) -> Lack:
    """What is missing for a comparison, a fact or a number. `inside`: what a condition that lasts asks of the one that
    it looks back on."""
    match node:
        case Metric(name=name):
            return () if name in known.series else (name,)
        case Context(name=name):
            return _of_context(name, known)
        case InPhase():
            return _of_phase(known)
        case Call(argument=Alert()):
            return ()
        case Call(function=name, argument=argument):
            function = FUNCTIONS[name]
            if not function.needs_values:
                return ()
            if issubclass(function, Reference):
                return _of_reference(argument, known)
            if issubclass(function, WindowFunction) and function.conditional:
                if function.result is Result.TRUTH:
                    return inside(argument, known)
                return _least((lacks_to_hold(argument, known), lacks_to_fail(argument, known)))
            return _to_know(argument, known, inside)
        case Compare(left=left, right=right):
            return _all(_to_know(side, known, inside) for side in (left, right))
        case _:
            return _all(_to_know(child, known, inside) for child in children(node))


def _of_context(name: str, known: Known) -> Lack:
    if name == PHASE_STEP:
        return _of_phase(known)
    if name in known.constants or not (name == PROGRESS or name.startswith(CONFIG)):
        return ()
    if name == PROGRESS:
        return (f"the planned steps{IN_CONFIGURATION}",)
    return (f"{name.removeprefix(CONFIG)}{IN_CONFIGURATION}",)


def _of_phase(known: Known) -> Lack:
    return () if known.phased else (PHASE,)


def _of_reference(argument: Node, known: Known) -> Lack:
    assert isinstance(argument, Metric)
    if known.recorded is None:
        return (A_REFERENCE,)
    return () if argument.name in known.recorded else (f"{argument.name}{IN_REFERENCE}",)


def _all(lacks: Iterable[Lack]) -> Lack:
    return tuple(dict.fromkeys(name for lack in lacks for name in lack))


def _least(lacks: Iterable[Lack]) -> Lack:
    return min(lacks, key=len)
