"""What is printed on a terminal of 80 columns fits it; what goes to a pipe keeps its lines whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from sentinel.cli import width
from sentinel.cli.main import main
from sentinel.resources import recording_path

DATA = Path(__file__).parents[1] / "data"

COMMANDS = [
    ["metrics"],
    ["metrics", "--find", "kl"],
    ["metrics", "kl.ref"],
    ["metrics", "reward.group_std"],
    ["metrics", "--from", str(recording_path("grpo-collapse.jsonl"))],
    ["replay", "--score", str(DATA / "score" / "INDEX.tsv"), "--rules", "classic"],
    ["replay", "--score", str(DATA / "score" / "INDEX.tsv")],
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_line_is_wider_than_the_terminal(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = CliRunner().invoke(main, command).stdout
    monkeypatch.setattr(width, "columns", lambda: 80)
    fitted = CliRunner().invoke(main, command).stdout
    assert len(whole.splitlines()) <= len(fitted.splitlines())
    assert [line for line in fitted.splitlines() if len(line) > 80] == []


TEXTS = st.text("abc -/", max_size=90)


@given(st.lists(st.lists(TEXTS, min_size=3, max_size=3), min_size=1, max_size=5), st.integers(width.NARROWEST, 200))
def test_a_table_loses_no_word_at_any_width(rows: list[list[str]], room: int) -> None:
    heading = ["ONE", "TWO", "THREE"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(width, "columns", lambda: room)
        fitted = width.table([heading, *rows])
    assert all(len(line) <= room for line in fitted.splitlines())
    kept = "".join(cell for row in rows for cell in row)
    for letter in "abc/":
        assert fitted.count(letter) == kept.count(letter)
