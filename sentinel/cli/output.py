"""Problems and results on a terminal, and for machines.

The JSON shapes carry `"version": 1`; a key may be added within a version, none changes its meaning.
"""

from __future__ import annotations

import json
from typing import Any

import click

from sentinel.cli.width import columns
from sentinel.errors import Problem

JSON_VERSION = 1

_COLORS = {"error": "red", "warning": "yellow", "info": "cyan"}


def text_of_problem(problem: Problem, page: str = "") -> str:
    """`file:line:column: error[code]: message`, the line, carets under the fault, the remedy, the address of a page."""
    color = _COLORS.get(problem.severity, "red")
    mark = click.style(f"{problem.severity}[{problem.code}]", fg=color, bold=True)
    lines = [f"{clean(problem.place)}: {mark}: {clean(problem.message)}"]
    if problem.line and problem.excerpt.strip():
        number = str(problem.line)
        gutter = " " * len(number)
        width = columns()
        excerpt, column, marks = _window(problem, None if width is None else width - len(number) - 4)
        before = "".join("\t" if character == "\t" else " " for character in excerpt[:column])
        lines.append(f" {number} | {clean(excerpt, tabs=True)}")
        lines.append(f" {gutter} | {before}{click.style('^' * marks, fg=color, bold=True)}")
    if problem.hint:
        lines.append(f"   = {clean(problem.hint)}")
    if page:
        lines.append(f"   = see: {page}")
    return "\n".join(lines)


def _window(problem: Problem, room: int | None) -> tuple[str, int, int]:
    """As much of a problem's line as fits into `room` characters (None: all): the text, the carets' offset and number.

    A line that a terminal folds would part the carets from what they mark. What is left out shows as `…`.
    """
    line, at, marks = problem.excerpt, problem.column - 1, problem.width
    if room is None or len(line) <= room:
        return line, at, marks
    start = 0 if at + marks < room else max(min(at - room // 4, len(line) - room + 1), 0)
    end = start + room - 1
    shown = ("…" + line[start + 1 : end] if start else line[:end]) + ("…" if end < len(line) else "")
    room = len(shown) - (end < len(line))
    return shown, at - start, max(min(marks, room - (at - start)), 1)


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
