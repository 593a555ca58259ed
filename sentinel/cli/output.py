"""Problems and results on a terminal, and for machines.

The JSON shapes carry `"version": 1`; a key may be added within a version, none changes its meaning.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from sentinel.errors import Problem

JSON_VERSION = 1

_COLORS = {"error": "red", "warning": "yellow"}


def text_of_problem(problem: Problem) -> str:
    """`file:line:column: error[code]: message`, the line, carets under the fault, the remedy."""
    color = _COLORS.get(problem.severity, "red")
    mark = click.style(f"{problem.severity}[{problem.code}]", fg=color, bold=True)
    lines = [f"{clean(problem.place)}: {mark}: {clean(problem.message)}"]
    if problem.line and problem.excerpt.strip():
        number = str(problem.line)
        gutter = " " * len(number)
        before = "".join("\t" if character == "\t" else " " for character in problem.excerpt[: problem.column - 1])
        lines.append(f" {number} | {clean(problem.excerpt, tabs=True)}")
        lines.append(f" {gutter} | {before}{click.style('^' * problem.width, fg=color, bold=True)}")
    if problem.hint:
        lines.append(f"   = {clean(problem.hint)}")
    return "\n".join(lines)


def json_of_problem(problem: Problem) -> dict[str, Any]:
    """All fields of a problem; `line` and `column` count from 1, 0 stands for the file as a whole."""
    return {
        "path": problem.path,
        "line": problem.line,
        "column": problem.column,
        "width": problem.width,
        "severity": problem.severity,
        "code": problem.code,
        "message": problem.message,
        "hint": problem.hint,
    }


def github_of_problem(problem: Problem) -> str:
    """One workflow command, which GitHub shows beside the line."""
    facts = {"file": problem.path, "title": problem.code}
    if problem.line:
        last = problem.column + problem.width - 1
        facts |= {"line": str(problem.line), "col": str(problem.column), "endColumn": str(last)}
    inside = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in facts.items())
    text = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
    return f"::{'warning' if problem.severity == 'warning' else 'error'} {inside}::{_escaped(text, '')}"


def sarif_of_problems(problems: Sequence[Problem], version: str) -> dict[str, Any]:
    """A SARIF 2.1.0 log with one run."""
    codes = sorted({problem.code for problem in problems})
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "sentinel", "version": version, "rules": [{"id": code} for code in codes]}},
                "columnKind": "unicodeCodePoints",
                "results": [_sarif_result(problem, codes.index(problem.code)) for problem in problems],
            }
        ],
    }


def _sarif_result(problem: Problem, index: int) -> dict[str, Any]:
    where: dict[str, Any] = {"artifactLocation": {"uri": _uri(problem.path)}}
    if problem.line:
        where["region"] = {
            "startLine": problem.line,
            "startColumn": problem.column,
            "endColumn": problem.column + problem.width,
        }
    text = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
    return {
        "ruleId": problem.code,
        "ruleIndex": index,
        "level": "warning" if problem.severity == "warning" else "error",
        "message": {"text": text},
        "locations": [{"physicalLocation": where}],
    }


def _uri(path: str) -> str:
    from urllib.parse import quote

    return f"file://{quote(path)}" if path.startswith("/") else quote(path)


def _escaped(text: str, also: str) -> str:
    """As workflow commands want it: percent, line ends, and in properties colon and comma."""
    for character in "%\r\n" + also:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def clean(text: str, *, tabs: bool = False, newlines: bool = False) -> str:
    """A text for a terminal: what could move the cursor or recolor it is shown escaped."""
    kept = ("\t" if tabs else "") + ("\n" if newlines else "")
    return "".join(c if c.isprintable() or c in kept else ascii(c)[1:-1] for c in text)


def print_json(value: object) -> None:
    """One JSON value on stdout. Non-finite numbers are null: JSON has no word for them."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def counted(amount: int, noun: str) -> str:
    """`1 rule`, `3 rules`."""
    return f"{amount} {noun}" if amount == 1 else f"{amount} {noun}s"


def table(rows: Sequence[Sequence[str]], indent: str = "") -> str:
    """Columns, two spaces apart; the first row is the heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
