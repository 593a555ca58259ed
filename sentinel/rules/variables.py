"""Numbers that the rules of one file share: `vars: {kl_limit: 0.5, patience: 3 steps}`, used as `vars.kl_limit`.

They are put in when the file is loaded: behind the loader a rule is as if the numbers stood in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sentinel.documents import Document, printable
from sentinel.errors import Problem
from sentinel.rules.expression.parse import ExpressionError, Fault, Literal, parse_literal

NAME_PATTERN = r"[a-z][a-z0-9_]{0,62}"

_USE = re.compile(r"(?<![A-Za-z0-9_.])vars\.([A-Za-z0-9_]+)(?![A-Za-z0-9_.])")


@dataclass(frozen=True, slots=True)
class Variable:
    """A shared value. `value` is None where it cannot be read, which is told once and not at each use."""

    value: Literal | None
    line: int


Variables = Mapping[str, Variable]


def read_variables(document: Document) -> dict[str, Variable]:
    """The variables of a file by name. What is wrong with their values is the schema's to tell."""
    given = document.value.get("vars") if isinstance(document.value, dict) else None
    found = {}
    for name, value in given.items() if isinstance(given, dict) else ():
        text = document.scalar(("vars", name)) if isinstance(value, str | int | float) else None
        try:
            literal = None if text is None else parse_literal(text)
        except ExpressionError:
            literal = None
        found[name] = Variable(literal, document.place(("vars", name), key=True).line)
    return found


def values(variables: Variables) -> dict[str, Literal]:
    """What can be put in."""
    return {name: variable.value for name, variable in variables.items() if variable.value is not None}


def with_lines(faults: Sequence[Fault], text: str, variables: Variables) -> list[Fault]:
    """The faults of a text, those at a variable's use with what it is and the line where it stands."""
    found = []
    for fault in faults:
        uses = [use for use in _USE.finditer(text) if use.start() < fault.end and fault.start < use.end()]
        named = {use[1]: variables[use[1]] for use in uses if use[1] in variables}
        if fault.code == "unknown-var" and named:
            continue
        told = [f"vars.{name} is {known.value} (line {known.line})" for name, known in named.items() if known.value]
        found.append(replace(fault, hint=". ".join([*([fault.hint] if fault.hint else []), *told])))
    return found


def variable_problems(document: Document, variables: Variables) -> list[Problem]:
    """Names that cannot be used, and variables that nothing uses (a warning)."""
    used = set(_uses(document.value.get("rules"))) if isinstance(document.value, dict) else set()
    found = []
    for name in variables:
        place = document.place(("vars", name), key=True)
        if not re.fullmatch(NAME_PATTERN, name):
            message = "a variable's name has up to 63 lower-case letters, digits and underscores"
            found.append(document.problem(place, "bad-name", message, "for example kl_limit"))
        elif name not in used:
            message = f"no rule of this file uses vars.{printable(name)}"
            hint = "variables are the file's own: use it or remove it"
            found.append(document.problem(place, "unused-var", message, hint, severity="warning"))
    return found


def _uses(value: Any) -> Iterator[str]:
    """Names of variables in the rules' texts, but for those that a person reads."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in ("summary", "runbook"):
                yield from _uses(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _uses(inner)
    elif isinstance(value, str):
        yield from (use[1] for use in _USE.finditer(value))
