"""`sentinel replay --score`, as a person and as CI call it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sentinel.cli.main import main

DATA = Path(__file__).parents[1] / "data" / "score"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(DATA, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def score(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["replay", "--score", "INDEX.tsv", "--rules", "old.yaml", *arguments])


def scored(*arguments: str) -> dict[str, Any]:
    result = score("--output", "json", *arguments)
    found: dict[str, Any] = json.loads(result.stdout)
    assert found["version"] == 1
    return found


def test_json_has_the_figures_that_the_text_has() -> None:
    found = scored()["score"]
    total = found["total"]
    assert (total["broken"], total["detected"], total["missed"]) == (4, 3, ["constant.jsonl"])
    assert total["delay_rows"] == {"median": 1.0, "p90": 5, "max": 5}
    assert total["delay_steps"] == {"median": 1.0, "p90": 25, "max": 25}
    assert (total["false_alarms"], total["early_alarms"], total["alarmed_healthy_runs"]) == (1, 0, 1)
    assert (total["healthy_steps"], total["healthy_rows"]) == (115, 75)
    assert found["runs_by_kind"] == {"broken": 4, "healthy": 2, "benign": 1, "unjudged": 0}
    assert found["healthy_runs"]["alarms_per_1000_steps"] == 25.0
    assert [(rule["name"], rule["detected"], rule["source"]) for rule in found["rules"]] == [
        ("kl-high", 2, "old.yaml:2"),
        ("nonfinite", 1, "old.yaml:8"),
    ]
    creep = next(run for run in found["runs"] if run["file"] == "creep.jsonl")
    assert (creep["outcome"], creep["delay_rows"], creep["delay_steps"]) == ("detected", 5, 25)
    (alert,) = creep["alerts"]
    assert (alert["alert"], alert["severity"], alert["step"], alert["row"], alert["sort"]) == (
        "kl-high", "warning", 85, 16, "detected",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("gates", "code", "words"),
    [
        (["--min-detected", "75%"], 0, ""),
        (["--min-detected", "0.75", "--max-false-alarms-per-1000", "8.7"], 0, ""),
        (["--min-detected", "76%"], 1, "failed: 75.0% of the broken runs are detected, at least 76.0% are asked for"),
        (["--max-false-alarms-per-1000", "8"], 1, "failed: 8.70 false alarms for each 1,000 healthy steps, at most 8"),
        (["spiky.jsonl", "--min-detected", "0%"], 1, "failed: no run of the index broke"),
        (["constant.jsonl", "--max-false-alarms-per-1000", "9"], 1, "failed: no step of the recordings is healthy"),
    ],
)
def test_a_gate_that_is_not_passed_exits_1_and_says_why(gates: list[str], code: int, words: str) -> None:
    result = score(*gates)
    assert result.exit_code == code
    assert words in result.stderr
    assert "failed" not in result.stdout


def test_what_is_late_for_within_is_not_detected() -> None:
    assert scored("--within", "4")["score"]["total"]["late"] == 1
    assert scored("--within", "5")["score"]["total"]["late"] == 0


def test_an_index_with_expectations_stands_for_one_with_labels() -> None:
    Path("INDEX.tsv").write_text(
        "file\tframework\tkind\tonset\tdeadline\taccepted\tleast_severity\n"
        "jump.jsonl\ttrl\tmust-fire\t11\t15\tkl-high\twarning\n"
        "nan.jsonl\ttrl\tmust-fire\t15\t16\tnonfinite\tcritical\n"
        "creep.jsonl\ttrl\tmust-fire\t60\t80\tkl-high kl-drift\twarning\n"
        "quiet.jsonl\ttrl\tmust-stay-silent\t-\t-\t-\twarning\n"
    )
    outcomes = {run["file"]: run["outcome"] for run in scored()["score"]["runs"]}
    assert outcomes == {
        "jump.jsonl": "detected",
        "nan.jsonl": "detected",
        "creep.jsonl": "late",
        "quiet.jsonl": "silent",
    }


def test_the_order_of_the_index_and_the_number_of_processes_change_nothing() -> None:
    lines = Path("INDEX.tsv").read_text().splitlines()
    Path("INDEX.tsv").write_text("\n".join([lines[1], *reversed(lines[2:])]) + "\n")
    assert scored("--jobs", "2") == scored("--jobs", "1")
    turned = scored()
    Path("INDEX.tsv").write_text("\n".join(lines))
    assert scored() == turned


def test_only_the_named_files_of_the_index_are_judged() -> None:
    assert [run["file"] for run in scored("jump.jsonl", "./quiet.jsonl")["score"]["runs"]] == [
        "jump.jsonl",
        "quiet.jsonl",
    ]
    stranger = score("jump.jsonl", "old.yaml")
    assert stranger.exit_code == 2
    assert "INDEX.tsv does not name old.yaml: add a row for each, or leave it out" in stranger.stderr


def test_lines_that_are_not_understood_are_counted_on_standard_error() -> None:
    with Path("quiet.jsonl").open("a") as lines:
        lines.write("{not json\n")
    result = score()
    assert "rejected: 1 line of quiet.jsonl, the first: " in result.stderr
    assert "rejected" not in result.stdout


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("gone.jsonl\thealthy\t", "INDEX.tsv:10:1: error[missing-file]: there is no file 'gone.jsonl'"),
        ("gone.jsonl\thelthy\t", "INDEX.tsv:10:12: error[unknown-label]: there is no label 'helthy'"),
        ("two.jsonl\thealthy\t", "INDEX.tsv:10:1: error[several-runs]: two.jsonl holds 2 runs: a, b"),
        ("empty.jsonl\thealthy\t", "INDEX.tsv:10:1: error[no-steps]: empty.jsonl holds no step with metrics"),
        ("ends.jsonl\tnan\t40", "INDEX.tsv:10:1: error[misplaced-onset]: the onset 40 is after the last step that"),
    ],
)
def test_what_cannot_be_judged_exits_2_with_the_row_of_the_index(row: str, message: str) -> None:
    events = [{"type": "step", "run": run, "step": 1, "metrics": {"kl": 0.1}} for run in ("a", "b")]
    Path("two.jsonl").write_text("\n".join(map(json.dumps, events)))
    Path("empty.jsonl").write_text("")
    shutil.copy("quiet.jsonl", "ends.jsonl")
    with Path("INDEX.tsv").open("a") as lines:
        lines.write(row + "\n")
    result = score()
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["replay", "--score", "none.tsv"], "cannot read none.tsv: No such file or directory"),
        (["replay", "--score", "."], "cannot read ."),
        (["replay", "jump.jsonl", "--min-detected", "9%"], "--min-detected goes with --score INDEX"),
        (["replay", "jump.jsonl", "--jobs", "2"], "--jobs goes with --score INDEX"),
        (["replay", "jump.jsonl", "--within", "9", "--tolerance", "1"], "--tolerance, --within go with --score INDEX"),
        (["replay", "--score", "INDEX.tsv", "--fail-on", "info"], "--summary and --fail-on do not go with --score"),
        (["replay", "--score", "INDEX.tsv", "--min-detected", "95"], "'95' is no share: write 95% or 0.95"),
        (["replay"], "Missing argument"),
    ],
)
def test_a_wrong_command_exits_2_and_says_why(arguments: list[str], words: str) -> None:
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert words in result.stderr


def test_an_index_that_is_no_text_exits_2() -> None:
    Path("INDEX.tsv").write_bytes(b"file\tlabels\n\xff\thealthy\n")
    result = score()
    assert result.exit_code == 2
    assert "INDEX.tsv is not UTF-8 at byte 12" in result.stderr
