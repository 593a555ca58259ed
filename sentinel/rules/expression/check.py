"""Does an expression make sense: known names, fitting units, a truth at the top.

Units are few: a plain number in some metric's unit, a ratio (a percentage, a relative change), seconds, a truth. The
check also rewrites `30%` into 30 where it stands beside a metric that counts in percent, so that
`max(gpu.util, 5m) < 30%` means what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeGuard

from sentinel.metrics import Dictionary
from sentinel.rules.expression.elsewhere import meant_metric
from sentinel.rules.expression.nodes import (
    Alert,
    Arithmetic,
    Call,
    Compare,
    Context,
    Duration,
    InPhase,
    Logic,
    Metric,
    Negative,
    Node,
    Not,
    Number,
    Span,
    walk,
)
from sentinel.rules.expression.parse import NO_VARIABLES, ExpressionError, Fault, Literal, parse_expression
from sentinel.rules.expression.plain_keys import with_keys
from sentinel.stats import FUNCTIONS, Result, WindowFunction
from sentinel.suggestion import closest


class Kind(Enum):
    """What a value is."""

    NUMBER = "a number"
    PLAIN = "a plain number"  # a literal: fits beside anything but a duration
    PERCENT = "a percentage"  # a metric that counts 0 to 100
    RATIO = "a ratio"  # a literal percentage, a fraction, a relative change
    SECONDS = "a duration"
    TRUTH = "a condition"


@dataclass(frozen=True, slots=True)
class _Typed:
    node: Node
    kind: Kind


def compile_text(text: str, dictionary: Dictionary, variables: Mapping[str, Literal] = NO_VARIABLES) -> Node:
    """Parse and check a condition. Raises ExpressionError with all faults."""
    try:
        return _compiled(text, dictionary, variables)
    except ExpressionError as error:
        raise ExpressionError(with_keys(error.faults, text, dictionary)) from None


def _compiled(text: str, dictionary: Dictionary, variables: Mapping[str, Literal]) -> Node:
    try:
        node = parse_expression(text, variables)
    except ExpressionError as error:
        if error.node is None:
            raise
        # Stand-ins have no units to speak of, but a misspelled metric beside them is one all the same.
        checker = _Checker(dictionary)
        checker.visit(error.node)
        told = {fault.start for fault in error.faults}
        names = [fault for fault in checker.faults if fault.code == "unknown-metric" and fault.start not in told]
        raise ExpressionError(sorted([*error.faults, *names], key=lambda fault: fault.start)) from None
    return check_condition(node, dictionary)


def check_condition(node: Node, dictionary: Dictionary) -> Node:
    """The condition with percentages resolved. Raises ExpressionError with all faults, in reading order."""
    checker = _Checker(dictionary)
    typed = checker.visit(node)
    if not any(isinstance(found, Metric | Context | InPhase | Alert) for found in walk(node)):
        hint = "a condition speaks of a metric: kl.ref > 0.5"
        checker.fault(node.span, "no-metric", "this is the same at every step", hint)
    elif typed.kind is not Kind.TRUTH and not checker.faults:
        hint = "compare it with a threshold: kl.ref > 0.5"
        checker.fault(node.span, "not-a-condition", f"this is {typed.kind.value}, a rule needs a condition", hint)
    if checker.faults:
        raise ExpressionError(sorted(checker.faults, key=lambda fault: fault.start))
    return typed.node


class _Checker:
    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self.faults: list[Fault] = []

    def fault(self, span: Span, code: str, message: str, hint: str = "") -> None:
        self.faults.append(Fault(span.start, max(span.end, span.start + 1), code, message, hint))

    def visit(self, node: Node) -> _Typed:
        match node:
            case Number(percent=percent):
                return _Typed(node, Kind.RATIO if percent else Kind.PLAIN)
            case Duration():
                return _Typed(node, Kind.SECONDS)
            case InPhase():
                return _Typed(node, Kind.TRUTH)
            case Context(name="phase"):
                self.fault(node.span, "bad-phase", "a phase is a name, not a number", "write phase == late")
                return _Typed(node, Kind.PLAIN)
            case Context(name=name):
                kinds = {"progress": Kind.RATIO, "step_time": Kind.SECONDS}
                kinds |= dict.fromkeys(("step", "phase_step"), Kind.NUMBER)
                # A configured number may be anything, and fits beside anything but a duration.
                return _Typed(node, kinds.get(name, Kind.PLAIN))
            case Metric():
                return _Typed(node, self._metric(node))
            case Negative(operand=operand):
                inner = self._number(operand)
                return _Typed(replace(node, operand=inner.node), inner.kind)
            case Arithmetic():
                return self._arithmetic(node)
            case Compare():
                return self._compare(node)
            case Logic(parts=parts):
                return _Typed(replace(node, parts=tuple(self._truth(part) for part in parts)), Kind.TRUTH)
            case Not(operand=operand):
                return _Typed(replace(node, operand=self._truth(operand)), Kind.TRUTH)
            case Call(argument=Alert()):
                return _Typed(node, Kind.TRUTH)
            case Call():
                return self._call(node)
            case Alert():
                raise AssertionError(f"a name outside of a call: {node}")

    def _metric(self, metric: Metric) -> Kind:
        if metric.raw:
            if "*" in metric.name:
                hint = "only canonical names take *: reward.component.*"
                self.fault(metric.span, "raw-wildcard", "in backticks * is a plain character", hint)
            return Kind.NUMBER
        if metric.wild:
            if not any(_could_match(metric.name, name) for name in self.dictionary.metrics):
                self._unknown(metric)
            return Kind.NUMBER
        info = self.dictionary.describe(metric.name)
        if info is None:
            self._unknown(metric)
            return Kind.NUMBER
        if info.unit.startswith("percent"):
            return Kind.PERCENT
        if info.unit == "fraction":
            return Kind.RATIO
        return Kind.NUMBER

    def _unknown(self, metric: Metric) -> None:
        meant = self.dictionary.meanings(metric.name)
        known = self.dictionary.names()
        if other := meant_metric(metric.name, known):
            self.fault(metric.span, "unknown-metric", f"there is no metric '{metric.name}' in the dictionary", other)
            return
        hint = f"the dictionary calls it '{meant[0]}'." if meant else closest(metric.name, known)
        own = f"a trainer's own key goes in backticks: `{metric.name}`"
        self.fault(
            metric.span,
            "unknown-metric",
            f"there is no metric '{metric.name}' in the dictionary",
            f"{hint} {own[0].upper()}{own[1:]}" if hint else own,
        )

    def _number(self, node: Node) -> _Typed:
        typed = self.visit(node)
        if typed.kind is Kind.TRUTH:
            self.fault(node.span, "wrong-unit", "a condition cannot be calculated with")
            return _Typed(typed.node, Kind.NUMBER)
        return typed

    def _truth(self, node: Node) -> Node:
        typed = self.visit(node)
        if typed.kind is not Kind.TRUTH:
            self.fault(node.span, "not-a-condition", f"this is {typed.kind.value}, not a condition", "compare it")
        return typed.node

    def _arithmetic(self, node: Arithmetic) -> _Typed:
        left, right = self._number(node.left), self._number(node.right)
        kinds = {left.kind, right.kind}
        kind = Kind.NUMBER
        if Kind.SECONDS in kinds:
            if (node.op in "+-" and kinds == {Kind.SECONDS}) or (
                node.op == "*" and kinds <= {Kind.SECONDS, Kind.PLAIN} and len(kinds) == 2
            ):
                kind = Kind.SECONDS
            elif node.op == "/" and kinds == {Kind.SECONDS}:
                kind = Kind.PLAIN
            elif node.op == "/" and left.kind is Kind.SECONDS and right.kind is Kind.PLAIN:
                kind = Kind.SECONDS
            else:
                verb = {"+": "added to", "-": "subtracted from", "*": "multiplied with", "/": "divided by"}[node.op]
                first, second = (right, left) if node.op == "-" else (left, right)
                self.fault(node.span, "wrong-unit", f"{first.kind.value} cannot be {verb} {second.kind.value}")
        elif len(kinds) == 1:
            kind = left.kind
        elif kinds == {Kind.PLAIN, Kind.RATIO}:
            kind = Kind.RATIO
        elif node.op in "+-" and Kind.PERCENT in kinds and Kind.RATIO in kinds:
            left, right = _in_percent(left), _in_percent(right)
            kind = Kind.PERCENT
        elif Kind.PERCENT in kinds and Kind.PLAIN in kinds:
            kind = Kind.PERCENT
        for one, other in ((left.node, right.node), (right.node, left.node)):
            unit = self._unit(other)
            if node.op in "+-" and isinstance(one, Number) and one.percent and unit in _ABSOLUTE:
                factor = 1.0 + one.value if node.op == "+" else 1.0 - one.value
                hint = f"a share of it is {factor:g} * {_told(other)}; {one.value:g} {unit} are written {one.value:g}"
                verb = "added to" if node.op == "+" else "subtracted from"
                self.fault(node.span, "wrong-unit", f"a percentage cannot be {verb} {unit}", hint)
        if node.op == "/" and isinstance(right.node, Number) and right.node.value == 0.0:
            self.fault(right.node.span, "division-by-zero", "this divides by zero")
        return _Typed(replace(node, left=left.node, right=right.node), kind)

    def _compare(self, node: Compare) -> _Typed:
        for side, looked_at in ((node.left, node.right), (node.right, node.left)):
            if isinstance(side, Metric) and not side.raw and side.name.lower() in _NO_NUMBERS:
                asked = f"nonfinite({_told(looked_at)})" if isinstance(looked_at, Metric) else "nonfinite(x)"
                message = f"'{side.name}' is no number to compare with"
                self.fault(side.span, "unknown-metric", message, f"write {'not ' * (node.op == '!=')}{asked}")
                return _Typed(replace(node, left=self._number(looked_at).node, right=Number(0.0)), Kind.TRUTH)
        left, right = self._number(node.left), self._number(node.right)
        units = {self._unit(side.node) for side in (left, right)}
        if (left.kind is Kind.SECONDS) != (right.kind is Kind.SECONDS) and "s" not in units:
            message = f"{left.kind.value} cannot be compared with {right.kind.value}"
            self.fault(node.span, "wrong-unit", message, _duration_hint(left.node, right.node))
        elif units & _ABSOLUTE and (percent := next((s.node for s in (left, right) if _is_percent(s.node)), None)):
            unit = next(iter(units & _ABSOLUTE))
            hint = _percent_hint(node, left.node if percent is right.node else right.node, percent, unit)
            self.fault(node.span, "wrong-unit", f"a percentage cannot be compared with {unit}", hint)
        elif Kind.PERCENT in (left.kind, right.kind):
            left, right = _in_percent(left), _in_percent(right)
        for one, other in ((left, right), (right, left)):
            self._scale(one.node, other)
        if _has_age(node):
            self._silence(node, left.node, right.node)
        return _Typed(replace(node, left=left.node, right=right.node), Kind.TRUTH)

    def _silence(self, node: Compare, left: Node, right: Node) -> None:
        """`age(x)` grows between events, so the moment at which the answer changes must be known beforehand."""
        if not (_is_age(left) or _is_age(right)):
            self.fault(node.span, "wrong-unit", "age() stands alone on its side of a comparison", "age(x) > 5m")
        elif any(isinstance(found, Metric | Call) for found in walk(right if _is_age(left) else left)):
            message = "age() is compared with a duration, or with a multiple of step_time"
            self.fault(node.span, "wrong-unit", message, "age(x) > 5m, or age(x) > 10 * step_time")

    def _scale(self, literal: Node, other: _Typed) -> None:
        """A bare number beside a share or a percentage is on the wrong scale when no value could reach it."""
        if not isinstance(literal, Number) or literal.percent:
            return
        size = abs(literal.value)
        results = {FUNCTIONS[found.function].result for found in walk(other.node) if isinstance(found, Call)}
        if results & {Result.TOTAL, Result.RATE}:
            return  # they leave the range of what they look at
        relative = Result.RATIO in results
        if other.kind is Kind.RATIO and not isinstance(other.node, Number) and size > (10.0 if relative else 1.0):
            message = f"{size:g} is {size * 100:g} % of a share that goes from 0 to 1"
            hint = f"write {literal.value:g}%"
            if relative:
                message = f"{size:g} is a change of {size * 100:g} %"
                hint += f", or {literal.value * 100:g}% if you mean it"
            self.fault(literal.span, "wrong-scale", message, hint)
        elif other.kind is Kind.PERCENT and 0.0 < size < 1.0 and literal.value == size:
            message = f"this metric counts from 0 to 100, and {size:g} is under one percent"
            self.fault(literal.span, "wrong-scale", message, f"write {size * 100:g}%")

    def _unit(self, node: Node) -> str:
        """The dictionary's unit of a metric, or of what is made of metrics and keeps their unit; empty for the rest."""
        match node:
            case Call(function=function, argument=argument) if FUNCTIONS[function].result in _KEEPS_UNIT:
                return self._unit(argument)
            case Negative(operand=operand):
                return self._unit(operand)
            case Arithmetic(op="+" | "-", left=left, right=right):
                return self._unit(left) or self._unit(right)
            case Arithmetic(op="*", left=Number(), right=scaled) | Arithmetic(left=scaled, right=Number()):
                return self._unit(scaled)
            case Metric(raw=False, name=name):
                info = self.dictionary.describe(name)
                return info.unit if info is not None else ""
        return ""

    def _call(self, node: Call) -> _Typed:
        function = FUNCTIONS[node.function]
        result = function.result
        if issubclass(function, WindowFunction) and function.conditional:
            argument = _Typed(self._truth(node.argument), Kind.TRUTH)
        else:
            argument = self._number(node.argument)
        own = Kind.NUMBER if argument.kind is Kind.PLAIN else argument.kind
        kind = {
            Result.RATIO: Kind.RATIO,
            Result.SHARE: Kind.RATIO,
            Result.SECONDS: Kind.SECONDS,
            Result.TRUTH: Kind.TRUTH,
            Result.PLAIN: Kind.NUMBER,
            Result.SAME: own,
            Result.TOTAL: own,
            # Seconds per step are no longer a duration, and take any number.
            Result.RATE: Kind.NUMBER if own is Kind.SECONDS else own,
        }[result]
        return _Typed(replace(node, argument=argument.node), kind)


_KEEPS_UNIT = frozenset({Result.SAME, Result.TOTAL, Result.RATE})

_ABSOLUTE = frozenset(
    {"nats", "nats/token", "nats/sequence", "reward units", "loss units", "score units", "advantage units"}
    | {"logit units", "tokens", "tokens/s", "tokens/s/GPU", "s", "bytes", "MB", "MiB", "GB", "GiB", "Celsius", "W"}
    | {"steps", "count", "calls", "turns", "versions"}
)
"""Units in which a percentage means nothing: 20% of a reward unit is 0.2, and what is meant is a fall by a fifth.
Ratios are often fractions, so they are not among them."""

_NO_NUMBERS = frozenset({"nan", "inf", "infinity", "null", "none"})
"""What people compare with to find a value that is no number; none equals itself."""


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _is_percent(node: Node) -> TypeGuard[Number]:
    return isinstance(node, Number) and node.percent


def _told(node: Node) -> str:
    """An expression in a remedy; a long one is `x`, which stands for it in all remedies."""
    text = str(node)
    return text if len(text) <= 60 else "x"


def _percent_hint(node: Compare, looked_at: Node, percent: Number, unit: str) -> str:
    """Two things can be meant by a percentage of a plain unit."""
    op = _MIRRORED.get(node.op, node.op) if isinstance(node.left, Number) else node.op
    if isinstance(looked_at, Call) and looked_at.function in ("delta", "slope"):
        relative = str(replace(looked_at, function="change"))
    else:
        relative = f"change({_told(looked_at) if isinstance(looked_at, Metric) else 'x'}, 100 steps)"
    plain = f"{percent.value:g}"
    return f"a relative change is written {relative} {op} {percent}; {plain} {unit} are written {plain}"


def _duration_hint(left: Node, right: Node) -> str:
    for node in (left, right):
        if isinstance(node, Number) and not node.percent and node.value > 0.0:
            return f"write the unit: {node.value:g}s"
    return "durations compare with durations: age(reward.mean) > 5m"


def _in_percent(typed: _Typed) -> _Typed:
    """A literal percentage beside a metric that counts in percent: 30% is 30."""
    if isinstance(typed.node, Number) and typed.node.percent:
        return _Typed(Number(typed.node.value * 100.0, span=typed.node.span), Kind.PERCENT)
    return typed


def _is_age(node: Node) -> bool:
    return isinstance(node, Call) and node.function == "age"


def _has_age(node: Compare) -> bool:
    return any(_is_age(found) for found in walk(node))


def _could_match(pattern: str, name: str) -> bool:
    """Whether some series of the canonical `name` (free parts and all) could match a wild metric."""
    stem = pattern.split("*")[0].rstrip(".")
    fixed = name.split("<")[0].rstrip(".")
    return fixed.startswith(stem) or (stem.startswith(fixed) and "<" in name)
