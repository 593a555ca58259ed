"""Problems as GitHub shows them beside the lines of a change: workflow commands on stdout."""

from __future__ import annotations

from sentinel.errors import Problem

_COMMANDS = {"warning": "warning", "info": "notice"}


def github_of_problem(problem: Problem, page: str = "") -> str:
    """One workflow command. GitHub reads `%`, line ends, and in properties also `:` and `,` as its own signs."""
    facts = {"file": problem.path, "title": problem.code}
    if problem.line:
        last = problem.column + problem.width - 1
        facts |= {"line": str(problem.line), "endLine": str(problem.line)}
        facts |= {"col": str(problem.column), "endColumn": str(last)}
    inside = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in facts.items())
    text = f"{problem.message} ({problem.hint})" if problem.hint else problem.message
    text = f"{text} see: {page}" if page else text
    return f"::{_COMMANDS.get(problem.severity, 'error')} {inside}::{_escaped(text, '')}"


def _escaped(text: str, also: str) -> str:
    for character in "%\r\n" + also:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
