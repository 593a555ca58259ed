"""What docs/score.md shows is what the commands print."""

import re

import pytest
from click.testing import CliRunner

from sentinel.cli.main import main
from sentinel.rules.symptoms import symptoms
from sentinel.score.index import COLUMNS
from sentinel.score.labels import labels
from tests.scenarios.recordings import DATA, ROOT

PAGE = (ROOT / "docs" / "score.md").read_text()
SHOWN = re.findall(r"^```console\n\$ sentinel (.*)\n((?:.|\n)*?)^```$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_a_command_prints_what_the_page_shows(command, output, monkeypatch):
    monkeypatch.chdir(DATA / "score")
    result = CliRunner().invoke(main, command.split())
    assert result.output.rstrip("\n") == output.rstrip("\n")


def test_the_page_shows_a_score_and_a_difference():
    assert [command.split()[0] for command, _ in SHOWN] == ["replay", "rules"]


def test_the_page_lists_every_label_of_the_table_with_its_symptoms():
    for label in labels().values():
        if label.name not in symptoms():
            fitting = " ".join(f"`{symptom}`" for symptom in label.fitting) or "-"
            assert f"| `{label.name}` | {fitting} |" in PAGE


def test_the_page_explains_every_column():
    assert not [column for column in COLUMNS if f"`{column}`" not in PAGE]
