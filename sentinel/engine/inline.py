"""Copy the body of a small method into generated code.

A statistic is written once, as a class with `add`, `remove` and `read`. Called thirty times an event, the calls cost
more than the arithmetic; so the rule compiler takes the method's own source, renames what it speaks of, and
puts it in line. There is no second version of a statistic that could differ from the first.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

_MARK = re.compile(r"len\(__argument_(\w+?)__\)|__(argument|local)_(\w+?)__")

LENGTH = "len"
"""An argument given as `len NAME` is what stands for `len(NAME)`, where its number is at hand."""


@dataclass(frozen=True, slots=True)
class _Body:
    """A method's body as text, in which its own names are marked.

    `value`: the body is one `return` of this expression. `passed`: that expression is a call with these arguments.
    """

    lines: tuple[str, ...]
    value: str | None
    passed: tuple[str, ...]


class _Mark(ast.NodeTransformer):
    """Parameters and local names get marks that no other name can hold."""

    def __init__(self, parameters: tuple[str, ...], local: frozenset[str]) -> None:
        self.parameters = parameters
        self.local = local

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.parameters:
            node.id = f"__argument_{node.id}__"
        elif node.id in self.local:
            node.id = f"__local_{node.id}__"
        return node


@cache
def _body(function: Callable[..., Any]) -> _Body:
    definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(definition, ast.FunctionDef)
    statements = definition.body
    if ast.get_docstring(definition) is not None:
        statements = statements[1:]
    parameters = tuple(argument.arg for argument in definition.args.args)
    assigned = {
        node.id for node in ast.walk(definition) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    mark = _Mark(parameters, frozenset(assigned) - set(parameters))
    marked = [mark.visit(statement) for statement in statements]
    lines = tuple("\n".join(ast.unparse(statement) for statement in marked).splitlines())
    only = marked[0] if len(marked) == 1 else None
    returned = only.value if isinstance(only, ast.Return) else None
    call = returned if isinstance(returned, ast.Call) else None
    return _Body(
        lines=lines,
        value=None if returned is None else ast.unparse(returned),
        passed=() if call is None else tuple(ast.unparse(argument) for argument in call.args),
    )


def _filled(text: str, arguments: Mapping[str, str], prefix: str) -> str:
    def name(match: re.Match[str]) -> str:
        measured, kind, own = match.groups()
        if measured is not None:
            at_hand = arguments.get(f"{LENGTH} {measured}")
            return at_hand if at_hand is not None else f"len({arguments[measured]})"
        if kind == "local":
            return prefix + own
        given = arguments[own]
        return given if given.isidentifier() else f"({given})"

    return _MARK.sub(name, text)


def inline_statements(function: Callable[..., Any], arguments: Mapping[str, str], *, prefix: str) -> list[str]:
    """The lines of a method without a `return`, for its arguments' texts (`self` among them)."""
    return [_filled(line, arguments, prefix) for line in _body(function).lines]


def inline_expression(function: Callable[..., Any], arguments: Mapping[str, str]) -> str | None:
    """The text of a method whose body is a single `return`; None for any other, which must be called."""
    value = _body(function).value
    return None if value is None else f"({_filled(value, arguments, '')})"


def call_arguments(function: Callable[..., Any], arguments: Mapping[str, str]) -> list[str]:
    """The texts of what a method whose body is `return f(...)` passes on to `f`."""
    return [f"({_filled(argument, arguments, '')})" for argument in _body(function).passed]


@cache
def globals_of(function: Callable[..., Any]) -> dict[str, Any]:
    """The module names that a method's code refers to, for the generated code's namespace."""
    scope: dict[str, Any] = function.__globals__
    return {name: scope[name] for name in function.__code__.co_names if name in scope}
