"""Can a condition hold, can it fail, does one imply another: decided over intervals, never guessed.

A condition becomes a formula of *constraints*: each says that one quantity lies in an interval. Quantities are told
apart by their text, brought into one form first: `2 * kl.ref > 1` and `0.5 < kl.ref` are about the same one, and
`x > 5 * m` is about `x / m` where m is never negative. Two different quantities are taken to be independent. So
"cannot hold" is certain, and "can hold" means that nothing here speaks against it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sentinel.rules.expression.nodes import (
    Arithmetic,
    Call,
    Compare,
    Duration,
    InPhase,
    Logic,
    Negative,
    Node,
    Not,
    Number,
)
from sentinel.rules.lint.interval import ALL, Interval
from sentinel.rules.lint.ranges import NEVER_NEGATIVE, Ranges

MAX_BRANCHES = 2000
"""Alternatives that are tried; a condition with more of them is taken to be able to hold."""

_MIRRORED = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "==": "==", "!=": "!="}
_OPPOSITE = {">": "<=", "<": ">=", ">=": "<", "<=": ">", "==": "!=", "!=": "=="}
_TRENDS = {
    "rising": Interval(1.0, low_open=True),
    "falling": Interval(high=-1.0, high_open=True),
    "flat": Interval(-1.0, 1.0),
}


@dataclass(frozen=True, slots=True)
class Constraint:
    """The quantity `key`, whose values lie in `possible`, lies in `allowed`; with `other`, anywhere but there."""

    key: str
    allowed: Interval
    possible: Interval
    other: bool = False


@dataclass(frozen=True, slots=True)
class Every:
    """All of `parts` hold; without parts, always."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """One of `parts` holds; without parts, never."""

    parts: tuple[Formula, ...]


Formula = Constraint | Every | Some

ALWAYS, NEVER = Every(()), Some(())


class Truth:
    """Answers by the ranges of one dictionary."""

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges
        self._formulas: dict[tuple[Node, bool], Formula] = {}

    def can_hold(self, *conditions: Node) -> bool:
        """Whether all of them can hold at once."""
        return _satisfiable(self.formula(condition) for condition in conditions)

    def can_fail(self, condition: Node) -> bool:
        return _satisfiable([self.formula(condition, holds=False)])

    def implies(self, given: Iterable[Node], condition: Node) -> bool:
        """Whether `condition` holds wherever all of `given` do."""
        return not _satisfiable([*(self.formula(node) for node in given), self.formula(condition, holds=False)])

    def formula(self, node: Node, *, holds: bool = True) -> Formula:
        """That the condition holds, or that it is known not to."""
        found = self._formulas.get((node, holds))
        if found is None:
            found = self._formulas[node, holds] = self._formula(node, holds)
        return found

    def _formula(self, node: Node, holds: bool) -> Formula:
        match node:
            case Not(operand=operand):
                return self.formula(operand, holds=not holds)
            case Logic(op=op, parts=parts):
                inner = tuple(self.formula(part, holds=holds) for part in parts)
                return Every(inner) if (op == "and") is holds else Some(inner)
            case Compare(op=op, left=left, right=right):
                return self.comparison(left, op if holds else _OPPOSITE[op], right)
            case Call(function=function, argument=argument, window=window) if function in _TRENDS:
                key = f"trend({argument}, {window})"
                return Constraint(key, _TRENDS[function], ALL, other=not holds)
            case Call(function="held", argument=argument) if holds and not self.can_hold(argument):
                return NEVER
            case InPhase(name=name, other=other):
                return Constraint(f"phase == {name}", Interval.point(float(holds is not other)), Interval(0.0, 1.0))
            case _:
                # Of what is only asked for its answer, either answer is possible.
                return Constraint(str(node), Interval.point(float(holds)), Interval(0.0, 1.0))

    def comparison(self, left: Node, op: str, right: Node) -> Formula:
        """`left op right` as a constraint of one quantity."""
        one, two = _affine(left), _affine(right)
        if one.core is not None and two.core is not None and one.core == two.core:
            one, two = _Affine(one.factor - two.factor, one.core, one.offset - two.offset), _Affine(0.0, None, 0.0)
        if two.core is None:
            return self._against(one, op, two.offset)
        if one.core is None:
            return self._against(two, _MIRRORED[op], one.offset)
        if one.offset == two.offset == 0.0 and one.factor > 0.0 and two.factor > 0.0:
            ranges = self.ranges.of(one.core), self.ranges.of(two.core)
            # Both could be the divisor: the later in the alphabet is, so that either way of writing gives one key.
            if ranges[1].low >= 0.0 and (ranges[0].low < 0.0 or str(two.core) > str(one.core)):
                return self._ratio(one, op, two)
            if ranges[0].low >= 0.0:
                return self._ratio(two, _MIRRORED[op], one)
        if str(two.core) < str(one.core):
            one, two, op = two, one, _MIRRORED[op]
        assert one.core is not None
        assert two.core is not None
        weight = two.factor / one.factor
        possible = self.ranges.of(one.core) - Interval.point(weight) * self.ranges.of(two.core)
        key = f"{one.core} - {weight:.12g} * ({two.core})"
        return _constraint(key, op, (two.offset - one.offset) / one.factor, one.factor < 0.0, possible)

    def _against(self, side: _Affine, op: str, bound: float) -> Formula:
        """A side with one quantity at most, against a number."""
        if side.core is None or side.factor == 0.0:
            return ALWAYS if _within(op, bound).holds(side.offset) is not (op == "!=") else NEVER
        bound = (bound - side.offset) / side.factor
        return _constraint(str(side.core), op, bound, side.factor < 0.0, self.ranges.of(side.core))

    def _ratio(self, one: _Affine, op: str, divisor: _Affine) -> Formula:
        assert one.core is not None
        possible = NEVER_NEGATIVE if self.ranges.of(one.core).low >= 0.0 else ALL
        return _constraint(f"({one.core}) / ({divisor.core})", op, divisor.factor / one.factor, False, possible)


@dataclass(frozen=True, slots=True)
class _Affine:
    """`factor * core + offset`; without a core, `offset` alone."""

    factor: float
    core: Node | None
    offset: float


def _affine(node: Node) -> _Affine:
    found = _read_affine(node)
    return found if found.factor else _Affine(0.0, None, found.offset)


def _read_affine(node: Node) -> _Affine:
    match node:
        case Number(value=value):
            return _Affine(0.0, None, value)
        case Duration(seconds=seconds):
            return _Affine(0.0, None, seconds)
        case Negative(operand=operand):
            inner = _affine(operand)
            return _Affine(-inner.factor, inner.core, -inner.offset)
        case Arithmetic(op="+" | "-" as op, left=left, right=right):
            one, two = _affine(left), _affine(right)
            sign = 1.0 if op == "+" else -1.0
            if two.core is None:
                return _Affine(one.factor, one.core, one.offset + sign * two.offset)
            if one.core is None:
                return _Affine(sign * two.factor, two.core, one.offset + sign * two.offset)
        case Arithmetic(op="*", left=left, right=right):
            one, two = _affine(left), _affine(right)
            if one.core is None:
                one, two = two, one
            if two.core is None:
                return _Affine(one.factor * two.offset, one.core, one.offset * two.offset)
        case Arithmetic(op="/", left=left, right=right):
            one, two = _affine(left), _affine(right)
            if two.core is None and two.offset != 0.0:
                return _Affine(one.factor / two.offset, one.core, one.offset / two.offset)
        case _:
            pass
    return _Affine(1.0, node, 0.0)


def _within(op: str, bound: float) -> Interval:
    """The values that stand in relation `op` to `bound`; for `!=` the one that does not."""
    match op[0]:
        case ">":
            return Interval(bound, low_open=op == ">")
        case "<":
            return Interval(high=bound, high_open=op == "<")
        case _:
            return Interval.point(bound)


def _constraint(key: str, op: str, bound: float, mirrored: bool, possible: Interval) -> Constraint:
    return Constraint(key, _within(_MIRRORED[op] if mirrored else op, bound), possible, other=op == "!=")


class _TooMany(Exception):
    """More alternatives than are worth trying."""


def _satisfiable(formulas: Iterable[Formula]) -> bool:
    try:
        return _search(list(formulas), {}, [0])
    except _TooMany:
        return True


def _search(pending: list[Formula], domains: dict[str, Interval], tried: list[int]) -> bool:
    """Whether some choice of alternatives leaves each quantity a value. `domains` and `pending` are used up."""
    choices: list[Some] = []
    while pending:
        formula = pending.pop()
        match formula:
            case Every(parts=parts):
                pending.extend(parts)
            case Some():
                choices.append(formula)
            case Constraint(other=True):
                choices.append(Some(tuple(_around(formula))))
            case Constraint():
                domain = domains.get(formula.key, formula.possible).meet(formula.allowed)
                if domain.empty:
                    return False
                domains[formula.key] = domain
    if not choices:
        return True
    choices.sort(key=lambda choice: -len(choice.parts))
    first = choices.pop()
    for part in first.parts:
        tried[0] += 1
        if tried[0] > MAX_BRANCHES:
            raise _TooMany
        if _search([*choices, part], dict(domains), tried):
            return True
    return False


def _around(constraint: Constraint) -> Iterable[Constraint]:
    """Below the interval or above it."""
    allowed = constraint.allowed
    if allowed.low > float("-inf"):
        below = Interval(high=allowed.low, high_open=not allowed.low_open)
        yield Constraint(constraint.key, below, constraint.possible)
    if allowed.high < float("inf"):
        above = Interval(allowed.high, low_open=not allowed.high_open)
        yield Constraint(constraint.key, above, constraint.possible)
