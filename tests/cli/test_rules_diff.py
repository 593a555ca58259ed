"""`sentinel rules diff`, as a person and as CI call it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sentinel.cli.main import main

DATA = Path(__file__).parents[1] / "data" / "score"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(DATA, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def diff(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["rules", "diff", *arguments])


def test_json_tells_before_and_after_of_every_alert_that_changed() -> None:
    result = diff("old.yaml", "new.yaml", "--on", "creep.jsonl", "jump.jsonl", "spiky.jsonl", "--output", "json")
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert (found["version"], found["files"], found["score"]) == (1, 3, None)
    assert found["counts"] == {"added": 0, "removed": 1, "moved": 1, "kept": 1}
    moved, removed = found["alerts"]
    assert (moved["file"], moved["change"], moved["alert"]) == ("creep.jsonl", "moved", "kl-high")
    assert (moved["before"]["step"], moved["after"]["step"]) == (85, 90)
    assert moved["after"]["fired"] == [{"severity": "warning", "step": 90}]
    assert (removed["file"], removed["change"], removed["after"]) == ("spiky.jsonl", "removed", None)
    assert removed["before"]["ended"] == {"state": "resolved", "step": 9}
    assert {rule["name"]: rule["change"] for rule in found["rules"]} == {
        "kl-high": "changed",
        "nonfinite": "unchanged",
        "length-collapse": "added",
    }
    assert found["rules"][0]["edits"][0] == {"key": "warning", "before": "kl.ref > 0.3", "after": "kl.ref > 0.4"}


def test_a_folder_stands_for_its_recordings_and_on_takes_words_up_to_the_next_option() -> None:
    by_folder = diff("old.yaml", "new.yaml", "--on", ".", "--output", "json")
    files = sorted(path.name for path in Path().glob("*.jsonl"))
    by_name = diff("old.yaml", "new.yaml", "--on", *files, "--output", "json")
    repeated = diff("--output", "json", "old.yaml", "new.yaml", *(word for file in files for word in ("--on", file)))
    equals = diff("old.yaml", "new.yaml", f"--on={files[0]}", *files[1:], "--output", "json")
    assert by_folder.stdout == by_name.stdout == repeated.stdout == equals.stdout
    assert json.loads(by_folder.stdout)["files"] == 7


def test_the_number_of_processes_changes_nothing() -> None:
    alone = diff("old.yaml", "new.yaml", "--on", ".", "--jobs", "1")
    assert diff("old.yaml", "new.yaml", "--on", ".", "--jobs", "2").stdout == alone.stdout


def test_fail_on_change_exits_1_when_an_alert_changes_and_0_when_words_do() -> None:
    assert diff("old.yaml", "new.yaml", "--on", ".", "--fail-on-change").exit_code == 1
    assert diff("old.yaml", "new.yaml", "--on", ".").exit_code == 0
    Path("words.yaml").write_text(Path("old.yaml").read_text().replace("KL is", "It is"))
    same = diff("old.yaml", "words.yaml", "--on", ".", "--fail-on-change")
    assert same.exit_code == 0
    assert "~ rule kl-high: reworded\n    summary: other words\n" in same.stdout
    assert "alerts on 7 recordings: 0 added, 0 removed, 0 moved, 4 kept" in same.stdout


def test_both_are_scored_by_an_index_and_the_json_has_the_totals() -> None:
    found = json.loads(diff("old.yaml", "new.yaml", "--score", "INDEX.tsv", "--output", "json").stdout)
    before, after = found["score"]["before"], found["score"]["after"]
    assert (before["false_alarms"], after["false_alarms"]) == (1, 0)
    assert (before["delay_rows"]["max"], after["delay_rows"]["max"]) == (5, 6)


def test_markdown_shows_counts_scores_alerts_and_rules_and_escapes_what_markdown_reads() -> None:
    shutil.copy("spiky.jsonl", "spi|ky_@x.jsonl")
    told = diff("old.yaml", "new.yaml", "--on", "spi|ky_@x.jsonl", "--output", "markdown").stdout
    assert told.startswith("### Alerts on 1 recording: **0** added, **1** removed, **0** moved, 0 kept\n")
    assert "| removed | spi\\|ky\\_&#64;x.jsonl | kl-high: warning at 8, onset 7, resolved at 9 |" in told
    assert "| kl-high | warning | <code>kl.ref &gt; 0.3</code> | <code>kl.ref &gt; 0.4</code> |" in told
    scored = diff("old.yaml", "new.yaml", "--score", "INDEX.tsv", "--output", "markdown").stdout
    assert "| healthy runs alarmed | 1 of 2 | 0 of 2 |" in scored


def test_rules_of_a_revision_are_compared_with_those_of_the_working_folder() -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *identity, *words], check=True, capture_output=True)

    Path("rules").mkdir()
    shutil.move("old.yaml", "rules/mine.yaml")
    Path("rules/mine.test.yaml").write_text("tests: []\n")
    Path("notes").mkdir()
    Path("notes/rules.txt").write_text("none here\n")
    git("init", "-b", "main")
    git("add", ".")
    git("commit", "-m", "first")
    shutil.copy("new.yaml", "rules/mine.yaml")
    for old in ("git:main:rules/mine.yaml", "git:HEAD:rules", "git:main:./rules/"):
        told = diff(old, "rules", "--on", ".").stdout
        assert "alerts on 7 recordings: 1 added, 1 removed, 1 moved, 2 kept" in told
    for wrong, words in (
        ("git:nowhere:rules", "git cannot read nowhere:rules"),
        ("git:main:none.yaml", "git cannot read main:none.yaml"),
        ("git:main", "'git:main' is no revision's file: write git:main:rules/grpo.yaml"),
        ("git:--help:x", "'--help' is no revision of git"),
        ("git:main:notes", "no rule files (*.yaml) in git:main:notes"),
    ):
        result = diff(wrong, "rules", "--on", "jump.jsonl")
        assert result.exit_code == 2
        assert words in result.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["old.yaml", "new.yaml"], "Missing option '--on'"),
        (["old.yaml", "--on", "a.jsonl"], "Missing argument 'NEW'"),
        (["old.yaml", "none.yaml", "--on", "jump.jsonl"], "no such file: none.yaml"),
        (["old.yaml", "new.yaml", "--on", "none.jsonl"], "there is no file none.jsonl"),
        (["old.yaml", "new.yaml", "--on", "-"], "there is no file -"),
        (["old.yaml", "new.yaml", "--on", "void"], "there is no recording (*.jsonl) in void"),
        (["old.yaml", "new.yaml", "--on", "old.yaml"], "old.yaml holds no event that can be understood"),
        (["old.yaml", "bad.yaml", "--on", "jump.jsonl"], "bad.yaml:4:"),
        (["old.yaml", "new.yaml", "--on", "jump.jsonl", "--framework", "x"], "no framework 'x' is known"),
    ],
)
def test_a_wrong_command_exits_2_and_says_why(arguments: list[str], words: str) -> None:
    Path("void").mkdir()
    Path("bad.yaml").write_text("rules:\n  - alert: x\n    symptom: kl-high\n    warning: kl.ref >\n")
    result = diff(*arguments)
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_a_folder_of_files_that_stand_in_for_one_another_is_refused_with_the_remedy(folder: Path) -> None:
    (folder / "packs").mkdir()
    for name in ("old.yaml", "new.yaml"):
        shutil.copy(name, folder / "packs" / name)
    result = diff("old.yaml", "packs", "--on", "creep.jsonl")
    assert result.exit_code == 2
    assert "2 rules of packs/old.yaml have the name of one in another file" in result.stderr
    assert "Compare one file or pack at a time" in result.stderr


@pytest.mark.parametrize(("old", "new"), [("old", "new"), ("new", "old"), ("old", "none"), ("none", "old")])
def test_each_change_on_labelled_runs_says_what_it_is_worth(old: str, new: str) -> None:
    Path("none.yaml").write_text("rules: [{alert: other, symptom: gpu-idle, warning: gpu.util < 1%}]")
    found = json.loads(diff(f"{old}.yaml", f"{new}.yaml", "--score", "INDEX.tsv", "--output", "json").stdout)
    text = diff(f"{old}.yaml", f"{new}.yaml", "--score", "INDEX.tsv").stdout
    assert found["alerts"]
    for alert in found["alerts"]:
        sorts = [one["sort"] for side in ("before", "after") if alert[side] for one in alert[side]["judged"]]
        assert sorts
        before, after = alert["outcomes"]["before"], alert["outcomes"]["after"]
        assert f"{alert['file']}: {before}" + (f" → {after}" if before != after else "") in text
    lines = [line for line in text.splitlines() if line.startswith(("  + ", "  - ", "  ~ "))]
    assert len(lines) == len(found["alerts"])
    assert all(line.endswith("]") for line in lines)
    if new == "none":
        assert "[was detected after 1 row]" in text
        assert "jump.jsonl: detected → missed" in text
        assert "[was a false alarm]" in text
    for tally in (found["score"]["before"], found["score"]["after"]):
        assert tally["detected"] + tally["late"] + tally["early"] + len(tally["missed"]) == tally["broken"]
    for rule in found["score"]["rules"]:
        assert rule["before"] != rule["after"]
        assert rule["name"] in text.partition("RULE ")[2]
