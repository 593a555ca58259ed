"""Numbers given as options: none passes a gate by being no number."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from sentinel.cli.main import main


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "NaN"])
@pytest.mark.parametrize(
    "command",
    [
        ["replay", "--score", "labels.tsv", "--max-false-alarms-per-1000"],
        ["replay", "--score", "labels.tsv", "--min-detected"],
        ["rules", "validate", "--max-state"],
        ["rules", "test", "my.yaml", "--fail-under"],
    ],
)
def test_what_is_no_finite_number_is_no_limit(command: list[str], value: str) -> None:
    result = CliRunner().invoke(main, [*command, value])
    assert result.exit_code == 2
    assert "Invalid value" in result.stderr


def test_a_step_is_a_whole_number() -> None:
    result = CliRunner().invoke(main, ["explain", "--from", "r.jsonl", "--at", "abc"])
    assert (result.exit_code, "'abc' is no whole number" in result.stderr) == (2, True)
