"""An expression as a person would write it: no more brackets than its meaning needs.

State is kept under the canonical text, `str(node)`, which must not change; this one is for reading alone.
"""

from __future__ import annotations

from sentinel.rules.expression.nodes import Arithmetic, Call, Compare, InPhase, Logic, Negative, Node, Not, Number

_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _UNARY, _ATOM = range(8)
"""How strongly the parts of an expression hold together, weakest first: the grammar's levels."""


def readable(node: Node) -> str:
    """The text with the fewest brackets that is read as the same expression.

    >>> from sentinel.rules.expression.parse import parse_expression
    >>> readable(parse_expression("((kl.ref) > (2.0 * 0.5)) and (step > 3)"))
    'kl.ref > 2 * 0.5 and step > 3'
    """
    match node:
        case Number(percent=False, value=value):
            short = f"{value:.12g}"
            return short if float(short) == value else str(node)
        case Negative(operand=operand):
            return f"-{_within(operand, _UNARY)}"
        case Arithmetic(op=op, left=left, right=right):
            level = _level(node)
            return f"{_within(left, level)} {op} {_within(right, level + 1)}"
        case Compare(op=op, left=left, right=right):
            return f"{_within(left, _SUM)} {op} {_within(right, _SUM)}"
        case Logic(op=op, parts=parts):
            return f" {op} ".join(_within(part, _level(node) + 1) for part in parts)
        case Not(operand=operand):
            return f"not {_within(operand, _NOT)}"
        case Call(function=function, argument=argument, literal=literal, window=window):
            given = [readable(argument), *(str(part) for part in (literal, window) if part is not None)]
            return f"{function}({', '.join(given)})"
        case _:
            return str(node)


def _within(node: Node, least: int) -> str:
    """The text of a part that must hold together at least as strongly as `least`."""
    text = readable(node)
    return text if _level(node) >= least else f"({text})"


def _level(node: Node) -> int:
    match node:
        case Logic(op=op):
            return _OR if op == "or" else _AND
        case Not():
            return _NOT
        case Compare() | InPhase():
            return _COMPARE
        case Arithmetic(op=op):
            return _SUM if op in "+-" else _PRODUCT
        case Negative():
            return _UNARY
        case _:
            return _ATOM
