"""`sentinel metrics`: the dictionary on a terminal, and what a recorded run sends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sentinel.cli.main import main
from sentinel.metrics import default


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["metrics", *arguments])


def recording(folder: Path, *lines: dict[str, object], name: str = "run.jsonl") -> str:
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return str(path)


def run_of(*arguments: str) -> dict[str, object]:
    result = call(*arguments, "--output", "json")
    assert result.exit_code == 0, result.output
    (run,) = json.loads(result.stdout)["runs"]
    assert isinstance(run, dict)
    return run


def keys_of(run: dict[str, object]) -> dict[str, dict[str, object]]:
    keys = run["keys"]
    assert isinstance(keys, list)
    return {key["key"]: key for key in keys}


def test_a_metric_is_told_with_all_that_a_rule_writer_asks() -> None:
    text = call("kl.ref").stdout
    for word in ("unit: nats/token", "layer: constraint", "stage: update", "better: lower", "bad: up"):
        assert word in text
    assert "actor/kl_loss" in text
    assert "k3/ref" in text
    assert "else: kl.ref.seq_sum / length.mean" in text


def test_every_metric_can_be_looked_up_in_both_outputs() -> None:
    listed = json.loads(call("--output", "json").stdout)["metrics"]
    assert [entry["name"] for entry in listed] == list(default().metrics)
    for name in ("reward.component.<name>", "time.<name>_s", "gpu.util"):
        assert call(name).stdout.startswith(f"{name}: ")


def test_json_tells_each_row_with_its_terms() -> None:
    (metric,) = json.loads(call("reward.group_std", "--output", "json").stdout)["metrics"]
    rows = [row for row in metric["logged_as"] if (row["framework"], row["versions"]) == ("trl", "0.26 or earlier")]
    assert [(row["key"], row["aggregation"]) for row in rows] == [("reward_std", "group")]
    (shaped,) = json.loads(call("kl.old", "--output", "json").stdout)["metrics"]
    assert ["sample/staleness_mean"] in [row["when"] for row in shaped["logged_as"]]


def test_a_key_with_several_meanings_shows_each() -> None:
    text = call("reward_std").stdout
    assert text.count("  logged as:") == 3
    assert "0.27.0 or later" in text
    assert "0.26 or earlier" in text


def test_an_unknown_name_gets_a_suggestion_and_exit_2() -> None:
    result = call("reward.mena")
    assert result.exit_code == 2
    assert "did you mean 'reward.mean'?" in result.output


def test_a_refused_key_is_told_why() -> None:
    result = call("total_steps")
    assert result.exit_code == 2
    assert "on purpose" in result.output
    assert "a constant" in result.output


def test_a_recording_is_read_key_by_key(tmp_path: Path) -> None:
    file = recording(
        tmp_path,
        {"step": 1, "kl": 0.1, "reward": 0.5, "reward_std": 0.2, "my/own": 1.0, "completions/clipped_ratio": 0.25},
        {"step": 2, "kl": "NaN", "reward": 0.6},
    )
    run = run_of("--from", file)
    keys = keys_of(run)
    assert run["run"] == "run"
    assert (keys["reward"]["name"], keys["reward"]["rows"], keys["reward"]["last"]) == ("reward.mean", 2, 0.6)
    assert (keys["kl"]["name"], keys["kl"]["estimator"], keys["kl"]["last"]) == ("kl.ref", "k3/ref", None)
    assert keys["reward_std"]["name"] == "reward.spread"
    assert (keys["my/own"]["standing"], keys["my/own"]["name"]) == ("unknown", None)
    assert {"name": "length.eos_frac", "formula": "1 - length.clipped_frac", "last": 0.75} in run["derived"]
    assert run["guess"]["framework"] == "trl"
    assert any("keys are trl's" in reason for reason in run["guess"]["evidence"])


def test_what_the_run_says_of_itself_is_believed(tmp_path: Path) -> None:
    started = {"type": "run_started", "run": "r", "framework": "trl", "version": "0.26.1"}
    file = recording(tmp_path, started, {"type": "step", "run": "r", "step": 1, "metrics": {"reward_std": 0.2}})
    run = run_of("--from", file)
    assert (run["framework"], run["version"]) == ("trl", "0.26.1")
    assert keys_of(run)["reward_std"]["name"] == "reward.group_std"


def test_the_config_of_the_run_is_taken_into_account(tmp_path: Path) -> None:
    started = {"type": "run_started", "run": "r", "framework": "ms-swift", "config": {"kl_in_reward": True}}
    file = recording(tmp_path, started, {"type": "step", "run": "r", "step": 1, "metrics": {"kl": 9.0}})
    assert keys_of(run_of("--from", file))["kl"]["name"] == "kl.ref.seq_sum"


def test_the_user_can_name_the_framework(tmp_path: Path) -> None:
    file = recording(tmp_path, {"step": 1, "kl": 0.1, "reward_std": 0.2})
    run = run_of("--from", file, "--framework", "ms-swift")
    assert run["framework"] == "ms-swift"
    assert run["guess"]["framework"] == "trl"
    assert keys_of(run)["reward_std"]["name"] == "reward.group_std"


def test_rules_without_their_metrics_are_named(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        "rules:\n"
        "  - {alert: kl, symptom: kl-high, warning: kl.ref > 1, summary: s}\n"
        "  - {alert: idle, symptom: gpu-idle, warning: gpu.util < 30, summary: s}\n",
        "utf-8",
    )
    file = recording(tmp_path, {"step": 1, "kl": 0.1})
    run = run_of("--from", file, "--rules", str(rules))
    assert (run["rules"], run["not_evaluable"]) == (2, {"idle": ["gpu.util"]})
    text = call("--from", file, "--rules", str(rules)).stdout
    assert "1 of 2 rules can be evaluated" in text
    assert "idle needs gpu.util" in text


def test_an_unknown_key_gets_the_nearest_names(tmp_path: Path) -> None:
    file = recording(tmp_path, {"step": 1, "kl": 0.1, "reward": 0.1, "completions/mean_lenght": 3.0})
    key = keys_of(run_of("--from", file))["completions/mean_lenght"]
    assert key["standing"] == "unknown"
    assert "completions/mean_length" in str(key["nearest"])
    assert "near completions/mean_length" in call("--from", file).stdout


def test_labels_are_shown_with_the_name(tmp_path: Path) -> None:
    file = recording(tmp_path, {"step": 1, "reward": 0.1, "system.gpu.3.gpu": 90.0})
    assert keys_of(run_of("--from", file))["system.gpu.3.gpu"]["labels"] == {"gpu": "3"}
    assert "gpu.util{gpu=3}" in call("--from", file).stdout


def test_each_run_of_a_recording_is_told(tmp_path: Path) -> None:
    steps = [{"type": "step", "run": run, "step": 1, "metrics": {"kl": 0.1}} for run in ("a", "b")]
    runs = json.loads(call("--from", recording(tmp_path, *steps), "--output", "json").stdout)["runs"]
    assert [run["run"] for run in runs] == ["a", "b"]


def test_a_key_cannot_move_the_cursor(tmp_path: Path) -> None:
    file = recording(tmp_path, {"step": 1, "kl": 0.1, "\x1b[2Jevil": 1.0})
    assert "\x1b[2J" not in call("--from", file).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("--from", "nowhere.jsonl"),
        ("--from", "."),
        ("kl", "--from", "x.jsonl"),
        ("--framework", "trl"),
        ("--rules", "grpo"),
        ("--from", "x.jsonl", "--framework", "tlr"),
    ],
)
def test_wrong_usage_is_told_with_exit_2(arguments: tuple[str, ...]) -> None:
    assert call(*arguments).exit_code == 2


def test_a_file_without_events_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "empty.jsonl"
    file.write_text("not json\n", "utf-8")
    result = call("--from", str(file))
    assert result.exit_code == 2
    assert "1 lines rejected" in result.output


def test_a_rule_that_needs_a_reference_run_can_be_evaluated_with_one(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("rules: [{alert: a, symptom: kl-high, warning: kl.ref > reference(kl.ref)}]\n")
    (tmp_path / "good.jsonl").write_text('{"step": 1, "kl": 0.1}\n')
    given = ["metrics", "--from", str(tmp_path / "good.jsonl"), "--rules", str(tmp_path / "r.yaml")]
    assert "a needs a reference run" in CliRunner().invoke(main, given).output
    assert "1 of 1 rule can be evaluated" in CliRunner().invoke(main, [*given, "--reference", given[2]]).output


def test_metrics_are_found_by_a_word_of_their_meaning() -> None:
    listed = call("--find", "SPREAD").stdout
    assert "reward.spread" in listed
    assert all("spread" in line.lower() for line in listed.splitlines()[1:])
    found = json.loads(call("--find", "spread", "--output", "json").stdout)
    assert len(found["metrics"]) == len(listed.splitlines()) - 1
    nothing = call("--find", "no such word")
    assert (nothing.exit_code, "no metric has 'no such word'" in nothing.output) == (2, True)


def test_a_missing_metric_is_told_with_its_kin_that_the_run_sends(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [{alert: flat, symptom: zero-advantage, warning: reward.group_std < 0.1, summary: s}]")
    file = recording(tmp_path, {"step": 1, "reward.spread": 0.1, "kl": 0.1})
    assert run_of("--from", file, "--rules", str(rules))["kin"] == {"reward.group_std": ["reward.spread"]}
    assert "flat needs reward.group_std (it sends reward.spread)" in call("--from", file, "--rules", str(rules)).stdout
