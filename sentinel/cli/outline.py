"""Nested facts on a terminal: a tree with its guides and colors; without a terminal, plain indented lines.

Only words tell what is so. Colors and lines help the eye, and are left out where the output goes to a file.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from sentinel.cli.output import clean

WIDEST = 110
"""Columns used at most: a value that stands far from its name is hard to find."""

REDIRECTED = 110
"""Columns where there is no terminal."""

NARROWEST = 40

MARGIN = 9
"""Columns for what stands before the tree."""

ROOM = 24
"""Columns that a text keeps beside a value; with less, the value gets a line of its own."""


@dataclass(slots=True)
class Branch:
    """One line of an outline. `mark` stands in the margin, `value` on the right."""

    text: Text
    mark: Text = field(default_factory=Text)
    value: Text = field(default_factory=Text)
    parts: list[Branch] = field(default_factory=list)


class Page:
    """Prints to stdout, for a person."""

    def __init__(self) -> None:
        self.decorated = sys.stdout.isatty()
        self.console = Console(
            highlight=False,
            soft_wrap=False,
            emoji=False,
            markup=False,
            width=None if self.decorated else REDIRECTED,
            no_color=None if self.decorated else True,
        )
        self.width = max(min(self.console.width, WIDEST), NARROWEST)

    def line(self, *parts: Text | str) -> None:
        """One paragraph, wrapped."""
        text = Text()
        for part in parts:
            text.append_text(part) if isinstance(part, Text) else text.append(clean(part))
        self._put(list(text.wrap(self.console, self.width)))

    def gap(self) -> None:
        self.console.print()

    def facts(self, rows: Sequence[tuple[str, Text | str]], *, indent: int = 2) -> None:
        """Labels and what they stand for, the latter wrapped in a column of its own."""
        rows = [row for row in rows if len(row[1])]
        if not rows:
            return
        column = max(len(label) for label, _ in rows) + 2
        for label, told in rows:
            text = told if isinstance(told, Text) else Text(clean(told))
            lines = text.wrap(self.console, max(self.width - indent - column, 20))
            head = Text(" " * indent).append(label.ljust(column), "dim")
            for at, line in enumerate(lines):
                line.rstrip()
                self._print((head if at == 0 else Text(" " * (indent + column))) + line)

    def tree(self, branch: Branch, *, margin: int = MARGIN) -> None:
        for line in self._lines(branch, "", "", margin):
            self._print(line)

    def branches(self, branches: Sequence[Branch], *, margin: int = MARGIN) -> None:
        """Several beside one another, below a line that was printed before."""
        for at, branch in enumerate(branches):
            last = at == len(branches) - 1
            for line in self._lines(branch, "└ " if last else "├ ", "  " if last else "│ ", margin):
                self._print(line)

    def _lines(self, branch: Branch, first: str, rest: str, margin: int) -> list[Text]:
        """`first` and `rest`: what stands before the branch's first line, and before its others."""
        guide = "dim"
        if not self.decorated:
            first = rest = " " * len(first)
        room = self.width - margin - len(first)
        value = branch.value
        beside = len(value) and room - len(value) - 2 >= min(ROOM, len(branch.text))
        wrapped = branch.text.wrap(self.console, max(room - (len(value) + 2 if beside else 0), 16))
        lines = []
        for at, text in enumerate(wrapped):
            text.rstrip()
            # Pieces are appended to an empty text, so that the style of none is that of the line.
            line = Text()
            if at == 0:
                line.append_text(branch.mark)
            line.append(" " * (margin - len(line)))
            lines.append(line.append(first if at == 0 else rest, guide).append_text(text))
        if len(value):
            if beside:
                gap = self.width - len(lines[0]) - len(value) if self.decorated else 2
                lines[0].append(" " * max(gap, 2)).append_text(value)
            else:
                for text in value.wrap(self.console, max(room - 2, 16)):
                    text.rstrip()
                    lines.append(Text(" " * margin).append(rest, guide).append("  ").append_text(text))
        for at, part in enumerate(branch.parts):
            last = at == len(branch.parts) - 1
            lines += self._lines(part, rest + ("└ " if last else "├ "), rest + ("  " if last else "│ "), margin)
        return lines

    def table(self, rows: Sequence[Sequence[Text]]) -> None:
        """Columns; the first row is the heading, the last column takes what room is left, and wraps on a terminal."""
        # A column without an entry is left out.
        kept = [at for at in range(len(rows[0])) if any(len(row[at]) for row in rows[1:])]
        rows = [[row[at] for at in kept] for row in rows]
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
        indent = sum(widths) + 2 * len(widths)
        for row in rows:
            head = Text()
            for cell, width in zip(row[:-1], widths, strict=True):
                padded = cell.copy()
                padded.pad_right(width - len(cell) + 2)
                head.append_text(padded)
            room = self.width - indent
            if not self.decorated:
                self._print(head + row[-1], whole=True)
                continue
            for at, text in enumerate(row[-1].wrap(self.console, max(room, 20))):
                text.rstrip()
                self._print((head if at == 0 else Text(" " * indent)) + text)

    def _put(self, lines: Sequence[Text]) -> None:
        for line in lines:
            line.rstrip()
            self._print(line)

    def _print(self, text: Text, *, whole: bool = False) -> None:
        text.rstrip()
        self.console.print(text, soft_wrap=True, no_wrap=whole or None)
