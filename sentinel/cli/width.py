"""Text that fits the terminal: paragraphs and tables wrapped to its columns.

Output that goes to a file or a pipe is not wrapped, so that a line of it can be searched for.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Sequence

NARROWEST = 40
"""Columns that are used at least: in fewer, nothing can be read."""

LEAST = 10
"""Columns below which a column of a table is not narrowed."""


def columns() -> int | None:
    """How wide the terminal is; None where lines may be of any length."""
    if not sys.stdout.isatty():
        return None
    return max(shutil.get_terminal_size().columns, NARROWEST)


def paragraph(text: str, indent: str = "  ") -> str:
    """A line, wrapped; its continuations stand behind `indent`."""
    width = columns()
    if width is None or len(text) <= width:
        return text
    lines = textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)
    return "\n".join(lines)


def table(rows: Sequence[Sequence[str]], indent: str = "") -> str:
    """Columns, two spaces apart; the first row is the heading. The widest columns wrap where the terminal is narrow."""
    width = columns()
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    if width is not None and len(indent) + sum(widths) + 2 * (len(widths) - 1) > width:
        # A column without an entry is left out first.
        kept = [at for at in range(len(widths)) if any(row[at] not in ("", "-") for row in rows[1:])]
        rows = [[row[at] for at in kept] for row in rows]
        widths = [widths[at] for at in kept]
        words = [" ".join(column).split() for column in zip(*rows, strict=True)]
        least = [min(LEAST, max(map(len, each))) for each in words]
        _narrow(widths, least, width - len(indent) - 2 * (len(widths) - 1))
    return "\n".join(line for row in rows for line in _lines(row, widths, indent))


def _narrow(widths: list[int], least: Sequence[int], room: int) -> None:
    """Take from the widest column that can give until all fit, or none can."""
    while sum(widths) > room and (able := [at for at, width in enumerate(widths) if width > least[at]]):
        widths[max(able, key=widths.__getitem__)] -= 1


def _lines(row: Sequence[str], widths: Sequence[int], indent: str) -> list[str]:
    cells = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
    lines = []
    for at in range(max(map(len, cells))):
        parts = [cell[at] if at < len(cell) else "" for cell in cells]
        lines.append(indent + "  ".join(part.ljust(width) for part, width in zip(parts, widths, strict=True)).rstrip())
    return lines


def _wrapped(cell: str, width: int) -> list[str]:
    if len(cell) <= width:
        return [cell]
    # A name is cut at a hyphen only where it has no line to itself.
    return textwrap.wrap(cell, width, break_on_hyphens=any(len(word) > width for word in cell.split()))
