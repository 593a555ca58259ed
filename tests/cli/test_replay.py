"""`sentinel replay`: would these rules have fired on these runs, and when?"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sentinel.cli.main import main
from sentinel.resources import recording_path

RULES = """\
rules:
  - alert: kl-high
    symptom: kl-high
    warning: kl.ref > 0.3
    critical: kl.ref > 0.6
    for: 2 steps
    summary: "KL is {value:.3g}"
  - alert: clip-high
    symptom: clip-high
    info: clip_frac > 40%
"""

TRANSITION_KEYS = {
    "run", "attempt", "alert", "symptom", "severity", "state", "step", "time", "onset_step", "value", "labels",
    "summary", "rollback",
}  # fmt: skip
"""The contract's; there may be more."""

SUMMARY_KEYS = {"version", "files", "steps", "events", "transitions", "fired", "rejected", "not_evaluable"}


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return path


def recording(path: Path, kls: list[float], *extra: str) -> Path:
    rows = [json.dumps({"step": step, "kl": kl, "reward": 0.5, "entropy": 0.7}) for step, kl in enumerate(kls, 1)]
    rows.insert(1, json.dumps({"type": "checkpoint", "run": path.stem, "step": 1, "path": "out/checkpoint-1"}))
    path.write_text("\n".join([*rows, *extra]) + "\n")
    return path


def replay(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["replay", *map(str, arguments)])


def as_json(result: Result) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    *transitions, last = [json.loads(line) for line in result.stdout.splitlines()]
    return transitions, last["summary"]


def test_each_line_is_a_transition_in_the_shape_of_the_contract_and_the_last_a_summary(
    tmp_path: Path, rules: Path
) -> None:
    file = recording(tmp_path / "bad-run.jsonl", [0.01, 0.01, 0.5, 0.5, 0.9, 0.9, 0.01])
    result = replay(file, "--rules", rules, "--output", "json")
    assert result.exit_code == 0
    transitions, summary = as_json(result)
    assert [(one["severity"], one["state"], one["step"]) for one in transitions] == [
        ("warning", "firing", 4),
        ("critical", "firing", 6),
        ("critical", "resolved", 7),
    ]
    first = transitions[0]
    assert first.keys() >= TRANSITION_KEYS
    assert (first["run"], first["attempt"], first["alert"], first["symptom"]) == ("bad-run", 1, "kl-high", "kl-high")
    assert (first["onset_step"], first["value"], first["time"], first["labels"]) == (3, 0.5, None, {})
    assert first["summary"] == "KL is 0.5"
    assert first["rollback"].keys() == {"step", "path", "reason"}
    assert (first["rollback"]["step"], first["rollback"]["path"]) == (1, "out/checkpoint-1")
    assert transitions[2]["rollback"] is None
    assert summary.keys() >= SUMMARY_KEYS
    assert (summary["version"], summary["files"], summary["steps"], summary["transitions"]) == (1, 1, 7, 3)
    assert summary["fired"] == {"info": 0, "warning": 1, "critical": 1}
    assert summary["not_evaluable"] == {"bad-run": {"clip-high": ["clip_frac"]}}


def test_pending_alerts_are_shown_when_asked_for(tmp_path: Path, rules: Path) -> None:
    file = recording(tmp_path / "r.jsonl", [0.01, 0.5, 0.01])
    assert as_json(replay(file, "--rules", rules, "--output", "json"))[0] == []
    transitions, summary = as_json(replay(file, "--rules", rules, "--output", "json", "--pending"))
    assert [one["state"] for one in transitions] == ["pending"]
    assert summary["transitions"] == 1


@pytest.mark.parametrize(
    ("worst", "fail_on", "code"),
    [
        (0.5, "critical", 0),
        (0.5, "warning", 1),
        (0.5, "info", 1),
        (0.9, "critical", 1),
        (0.01, "info", 0),
        (0.9, None, 0),
    ],
)
def test_fail_on_exits_1_if_an_alert_of_at_least_that_severity_fired(
    tmp_path: Path, rules: Path, worst: float, fail_on: str | None, code: int
) -> None:
    file = recording(tmp_path / "r.jsonl", [0.01, worst, worst, worst])
    options = [] if fail_on is None else ["--fail-on", fail_on]
    assert replay(file, "--rules", rules, *options).exit_code == code


def test_an_alert_that_is_only_pending_does_not_fail(tmp_path: Path, rules: Path) -> None:
    file = recording(tmp_path / "r.jsonl", [0.01, 0.9])
    assert replay(file, "--rules", rules, "--fail-on", "info", "--pending").exit_code == 0


def test_a_line_that_cannot_be_understood_is_reported_with_its_place_and_the_rest_is_used(
    tmp_path: Path, rules: Path
) -> None:
    file = recording(tmp_path / "r.jsonl", [0.01, 0.9, 0.9], "{not json", '{"kl": 3}', "")
    result = replay(file, "--rules", rules, "--output", "json")
    transitions, summary = as_json(result)
    assert result.exit_code == 0
    assert [one["step"] for one in transitions] == [3]
    assert [line.split(": ")[0] for line in summary["rejected"]] == [f"{file}:5", f"{file}:6"]
    text = replay(file, "--rules", rules)
    assert f"rejected: {file}:5: " in text.stderr
    assert "rejected" not in text.stdout


def test_several_files_are_runs_of_their_own(tmp_path: Path, rules: Path) -> None:
    files = [recording(tmp_path / f"run-{number}.jsonl", [0.01, 0.9, 0.9]) for number in range(3)]
    transitions, summary = as_json(replay(*files, "--rules", rules, "--output", "json"))
    assert [one["run"] for one in transitions] == ["run-0", "run-1", "run-2"]
    assert (summary["files"], summary["steps"]) == (3, 9)
    told = replay(*files, "--rules", rules).stdout
    assert "3 recordings, 9 rows" in told
    assert " rules can say nothing of these 3 runs, for want of\n" in told
    assert "clip_frac (clip-high)" in told


def test_text_says_what_fired_and_where_to_go_back_to(tmp_path: Path, rules: Path) -> None:
    file = recording(tmp_path / "r.jsonl", [0.01, 0.9, 0.9])
    told = replay(file, "--rules", rules).stdout
    assert "CRITICAL firing     kl-high: KL is 0.9 (since step 2)" in told
    assert "roll back to step 1: out/checkpoint-1" in told
    assert "1 recording, 3 rows, steps 1 to 3, fired: 1 critical, 0 warning, 0 info" in told


@pytest.mark.parametrize("count", [1, 2, 28])
def test_a_summary_counts_by_rule_and_by_run_in_few_lines(tmp_path: Path, rules: Path, count: int) -> None:
    kls = [0.01, 0.9, 0.9, 0.01] * 50
    files = [recording(tmp_path / f"run-{number}.jsonl", kls) for number in range(count)]
    brief = replay(*files, "--rules", rules, "--summary").stdout
    heading, *lines = brief.splitlines()
    recordings = "1 recording, 200 rows, steps 1 to 200" if count == 1 else f"{count} recordings, {count * 200} rows"
    assert heading == f"{recordings}, fired: {50 * count} critical, 0 warning, 0 info"
    assert [line.split() for line in lines if line.startswith("kl-high")] == [
        ["kl-high", str(50 * count), "-", "-", str(count), "of", str(count)]
    ]
    assert len(lines) < 12 + count
    if count > 1:
        assert ["run-0", "50", "-", "-", "200", "1", "to", "200", "kl-high"] in [line.split() for line in lines]
    transitions, summary = as_json(replay(*files, "--rules", rules, "--output", "json", "--summary"))
    assert transitions == []
    assert summary["rules"] == {"kl-high": {"critical": 50 * count, "runs": count}}
    assert summary["runs"]["run-0"] == {"rows": 200, "first_step": 1, "last_step": 200}


def test_that_there_is_no_checkpoint_is_said_once_for_each_run(tmp_path: Path, rules: Path) -> None:
    for name in ("a", "b"):
        rows = [{"step": step, "kl": kl} for step, kl in enumerate([0.01, 0.9, 0.9, 0.01] * 5, 1)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    told = replay(tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--rules", rules).stdout
    assert told.count("CRITICAL firing") == 10
    assert told.count("no rollback") == 2


def test_the_frameworks_keys_are_used_when_it_is_named_and_guessed_when_not(tmp_path: Path, rules: Path) -> None:
    file = tmp_path / "r.jsonl"
    rows = [{"step": step, "actor/ppo_kl": 0.0, "actor/kl_loss": 0.9, "critic/score/mean": 0.5} for step in (1, 2)]
    file.write_text("\n".join(map(json.dumps, rows)))
    guessed = as_json(replay(file, "--rules", rules, "--output", "json"))[1]
    assert guessed["frameworks"] == {"r": "verl"}
    assert guessed["fired"]["critical"] == 1
    named = as_json(replay(file, "--rules", rules, "--output", "json", "--framework", "verl"))[1]
    assert named["frameworks"] == {"r": "verl"}
    wrong = as_json(replay(file, "--rules", rules, "--output", "json", "--framework", "trl"))[1]
    assert wrong["frameworks"] == {"r": "trl"}
    assert wrong["fired"]["critical"] == 0


def test_a_framework_that_is_named_stands_over_what_the_recording_says(tmp_path: Path, rules: Path) -> None:
    file = tmp_path / "r.jsonl"
    rows = [
        {"type": "run_started", "run": "r", "framework": "verl", "attempt": 1},
        {"step": 1, "kl": 0.9},
        {"type": "run_started", "run": "r", "framework": "verl", "attempt": 1},
        {"step": 2, "kl": 0.9},
    ]
    file.write_text("\n".join(map(json.dumps, rows)))
    _, summary = as_json(replay(file, "--rules", rules, "--output", "json", "--framework", "trl"))
    assert summary["frameworks"] == {"r": "trl"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.jsonl"], "there is no file none.jsonl"),
        (["."], ". is a directory: name the files in it, for example ./*.jsonl"),
        ([], "Missing argument"),
        (["{file}", "--framework", "trll"], "no framework 'trll' is known; there are: "),
        (["{file}", "--rules", "nowhere.yaml"], "no such file: nowhere.yaml"),
        (["{file}", "--fail-on", "loud"], "'loud' is not one of"),
    ],
)
def test_a_wrong_command_exits_2_and_says_why(tmp_path: Path, arguments: list[str], words: str) -> None:
    file = recording(tmp_path / "r.jsonl", [0.1])
    result = replay(*(argument.format(file=file) for argument in arguments))
    assert result.exit_code == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_bad_rules_exit_2_with_their_place(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("rules:\n  - alert: x\n    symptom: kl-high\n    warning: kl.ref >\n")
    result = replay(recording(tmp_path / "r.jsonl", [0.1]), "--rules", bad)
    assert result.exit_code == 2
    assert f"{bad}:4:" in result.stderr


def test_a_dash_reads_standard_input(tmp_path: Path, rules: Path) -> None:
    file = recording(tmp_path / "r.jsonl", [0.01, 0.9, 0.9])
    command = [sys.executable, "-m", "sentinel", "replay", "-", "--rules", str(rules), "--output", "json"]
    done = subprocess.run(command, input=file.read_bytes(), capture_output=True, check=True, timeout=60)
    *transitions, _ = map(json.loads, done.stdout.splitlines())
    # The rows name no run; the checkpoint does, and is another run's.
    assert [(one["run"], one["step"]) for one in transitions] == [("stdin", 3)]


def test_the_recording_of_the_demo_fires_with_the_checkpoint_before_its_onset() -> None:
    result = replay(recording_path("grpo-collapse.jsonl"), "--output", "json", "--fail-on", "critical")
    assert result.exit_code == 1
    transitions, summary = as_json(result)
    critical = next(one for one in transitions if one["severity"] == "critical" and one["state"] == "firing")
    assert critical["rollback"]["path"] == "out/checkpoint-50"
    assert summary["rejected"] == []


def test_a_recorded_run_is_what_reference_compares_with(tmp_path: Path) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(
        "rules:\n  - {alert: beyond, symptom: kl-high, warning: kl.ref > 2 * reference(kl.ref)}\n"
        "  - {alert: asks, symptom: kl-high, info: firing(beyond)}\n"
    )
    good, other = recording(tmp_path / "good.jsonl", [0.1] * 9), recording(tmp_path / "other.jsonl", [1.0] * 9)
    run = recording(tmp_path / "run.jsonl", [0.1] * 4 + [0.3] * 5)
    transitions, summary = as_json(replay(run, "--rules", path, "--reference", good, "--output", "json"))
    assert [(each["alert"], each["step"]) for each in transitions] == [("beyond", 5), ("asks", 6)]
    assert summary["not_evaluable"] == {"run": {}}
    transitions, summary = as_json(
        replay(run, "--rules", path, "--reference", good, "--reference", other, "--output", "json")
    )
    assert (transitions, summary["not_evaluable"]) == ([], {"run": {"beyond": ["a reference run"]}})
    assert "a reference run (beyond)" in " ".join(replay(run, "--rules", path).stdout.split())


def test_a_reference_that_is_not_there_exits_2(tmp_path: Path, rules: Path) -> None:
    result = replay(recording(tmp_path / "run.jsonl", [0.1]), "--rules", rules, "--reference", tmp_path / "no.jsonl")
    assert result.exit_code == 2
    assert "there is no reference file" in result.output


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_a_recording_without_any_event_exits_2(tmp_path: Path, rules: Path, text: str) -> None:
    file = tmp_path / "empty.jsonl"
    file.write_text(text)
    result = replay(file, "--rules", rules)
    assert result.exit_code == 2
    assert result.stderr.endswith("empty.jsonl holds no event\n")


def test_each_command_that_reads_a_recording_says_that_a_path_is_a_directory(tmp_path: Path) -> None:
    for command in (
        ["replay", str(tmp_path)],
        ["explain", "--from", str(tmp_path)],
        ["metrics", "--from", str(tmp_path)],
    ):
        result = CliRunner().invoke(main, command)
        assert (result.exit_code, "is a directory: name the files in it" in result.stderr) == (2, True)


@pytest.mark.parametrize(("back", "late"), [(1, 1), (2, 2), (4, 4), (5, 0)])
def test_rows_that_go_back_too_little_to_be_a_new_attempt_are_counted(
    tmp_path: Path, rules: Path, back: int, late: int
) -> None:
    rows = [*range(1, 21), *range(20 - back, 26)]
    file = tmp_path / "r.jsonl"
    file.write_text("".join(json.dumps({"step": step, "kl": 0.01}) + "\n" for step in rows))
    _, summary = as_json(replay(file, "--rules", rules, "--output", "json"))
    # The first 20 comes a second time.
    assert (summary["late"], summary["repeated"]) == (late, int(late > 0))
    text = replay(file, "--rules", rules).stdout
    assert ("of a step up to 4 before the newest" in text, "that repeated what was there" in text) == (late > 0,) * 2


@pytest.mark.parametrize("back", [1, 4])
def test_a_trainer_that_says_it_began_again_goes_back_by_any_step(tmp_path: Path, rules: Path, back: int) -> None:
    rows = [{"type": "step", "run": "r", "step": step, "metrics": {"kl": 0.01}} for step in range(1, 21)]
    again = [{"type": "step", "run": "r", "step": step, "metrics": {"kl": 0.9}} for step in range(21 - back, 23)]
    file = tmp_path / "r.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {"type": "run_started", "run": "r"}, *again]))
    transitions, summary = as_json(replay(file, "--rules", rules, "--output", "json"))
    assert (summary["late"], summary["repeated"]) == (0, 0)
    assert transitions[0]["attempt"] == 2
