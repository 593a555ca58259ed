"""How a problem's line is shown where it is longer than the terminal is wide."""

from __future__ import annotations

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.cli.output import text_of_problem
from sentinel.errors import Problem


@given(st.integers(1, 190), st.integers(1, 60), st.integers(20, 200))
def test_the_carets_stand_under_the_same_text_however_wide_the_terminal(column: int, width: int, columns: int) -> None:
    line = "".join(chr(0x4E00 + index) for index in range(200))  # each character once
    width = min(width, 200 - column + 1)
    problem = Problem("a.yaml", 7, column, "syntax", "m", "", line, width)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sentinel.cli.output.columns", lambda: max(columns, 40))
        _, excerpt, carets, *_ = click.unstyle(text_of_problem(problem)).splitlines()
    assert len(excerpt) <= max(columns, 40) + 1
    assert len(carets) <= len(excerpt)
    marked = excerpt[carets.index("^") : carets.index("^") + carets.count("^")]
    assert marked in line[column - 1 : column - 1 + width]
    if width < 20:
        assert marked == line[column - 1 : column - 1 + width]


def test_a_line_that_fits_is_shown_whole() -> None:
    problem = Problem("a.yaml", 7, 3, "syntax", "m", "", "a line", 4)
    assert click.unstyle(text_of_problem(problem)).splitlines()[1:] == [" 7 | a line", "   |   ^^^^"]
