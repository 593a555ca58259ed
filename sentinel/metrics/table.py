"""A data file of the dictionary: tab-separated, comments, one header line, rows."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources


def read_table(name: str, columns: Sequence[str]) -> list[list[str]]:
    """The rows of `data/NAME`, each with one cell per column, in order.

    Lines that begin with `#` and empty lines say nothing. Raises ValueError when the file is not as its format says.
    """
    text = resources.files(__package__).joinpath("data").joinpath(*name.split("/")).read_text("utf-8")
    return parse_table(text, name, columns)


def parse_table(text: str, name: str, columns: Sequence[str]) -> list[list[str]]:
    """The rows of a table's text. `name` is for the error alone."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line and line[0] != "#"]
    if not lines or lines[0][1].split("\t") != list(columns):
        raise ValueError(f"{name}: the header must be: {' '.join(columns)}")
    width = len(columns)
    rows = []
    for number, line in lines[1:]:
        row = line.split("\t")
        if len(row) != width or "" in row:
            raise ValueError(f"{name}:{number}: {width} cells with something in each are needed; `-` stands for none")
        rows.append(row)
    return rows
