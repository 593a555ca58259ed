"""A metric that no key gives, calculated from some that are logged."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from sentinel.metrics.table import read_table

COLUMNS = ("name", "formula", "note")

_Term = Callable[[Mapping[str, float]], float]

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


@dataclass(frozen=True, slots=True)
class Derivation:
    """How to get the metric `name` from those in `needs`, which is logged or derived before it.

    `formula`: canonical names, numbers, `+ - * /` and brackets. `note`: what a reader must know, `-` for nothing.
    """

    name: str
    formula: str
    needs: tuple[str, ...]
    note: str

    def compute(self, values: Mapping[str, float | None]) -> float | None:
        """The value, from values by canonical name; None when one is missing or not finite, or on a division by 0."""
        known: dict[str, float] = {}
        for need in self.needs:
            value = values.get(need)
            if value is None or not math.isfinite(value):
                return None
            known[need] = float(value)
        try:
            result = _parse(self.formula)[0](known)
        except (ZeroDivisionError, OverflowError):
            return None
        return result if math.isfinite(result) else None


def derive(name: str, formula: str, note: str = "-") -> Derivation:
    """A derivation from its formula. Raises ValueError for a formula that is none."""
    return Derivation(name, formula, _parse(formula)[1], note)


def plan(logged: Iterable[str], derivations: Sequence[Derivation]) -> tuple[Derivation, ...]:
    """What can be derived from the metrics in `logged`, each after what it needs.

    A logged metric is never derived; of two ways to the same metric the first in the table that can be gone is taken.
    """
    known = set(logged)
    found: list[Derivation] = []
    while True:
        step = next((one for one in derivations if one.name not in known and known.issuperset(one.needs)), None)
        if step is None:
            return tuple(found)
        known.add(step.name)
        found.append(step)


def read_derivations() -> tuple[Derivation, ...]:
    """The shipped derivations, in the table's order."""
    return tuple(derive(name, formula, note) for name, formula, note in read_table("derived.tsv", COLUMNS))


@cache
def _parse(formula: str) -> tuple[_Term, tuple[str, ...]]:
    """A formula as a function of the values of its metrics, and their names, each once."""
    names: dict[str, None] = {}
    try:
        tree = ast.parse(formula, mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"not a formula: {formula!r}") from error
    term = _term(tree, formula, names)
    if not names:
        raise ValueError(f"a formula speaks of a metric: {formula!r}")
    return term, tuple(names)


def _term(node: ast.expr, formula: str, names: dict[str, None]) -> _Term:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            number = float(value)
            return lambda values: number
        case ast.Name() | ast.Attribute():
            name = ast.unparse(node)
            if not name.replace(".", "").replace("_", "").isalnum():
                raise ValueError(f"not a metric in a formula: {name!r}")
            names[name] = None
            return lambda values: values[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            apply = _OPERATORS[type(op)]
            first, second = _term(left, formula, names), _term(right, formula, names)
            return lambda values: apply(first(values), second(values))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _term(operand, formula, names)
            return lambda values: -inner(values)
        case _:
            raise ValueError(f"a formula has names, numbers, + - * / and brackets only: {formula!r}")
