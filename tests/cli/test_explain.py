"""`sentinel explain` and `sentinel rules explain`: on the page, as JSON, and when something is not there."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import redis
from click.testing import CliRunner, Result
from daemon import DaemonProcess, settled

from sentinel import wire
from sentinel.cli.main import main
from sentinel.resources import recording_path

ROOT = Path(__file__).resolve().parents[2]

PAGE = (ROOT / "docs" / "explain.md").read_text("utf-8")

EXAMPLES = re.findall(r"^```console\n\$ sentinel (.*?)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

(WRITTEN,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)

COLLAPSE = str(recording_path("grpo-collapse.jsonl"))

RULES = """\
rules:
  - alert: kl-high
    symptom: kl-high
    warning: kl.ref > 0.3
    critical: kl.ref > 0.6
    for: 3 steps
    summary: "KL is {value:.3g}"
"""


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def explained(*arguments: str) -> dict[str, Any]:
    result = call("explain", *arguments, "--output", "json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


@pytest.fixture
def rules(tmp_path: Path) -> str:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES)
    return str(path)


# --- the page -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_the_page_shows_what_the_command_prints(
    command: str, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "reward.yaml").write_text(WRITTEN)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    assert call(*shlex.split(command)).stdout == output


def test_the_page_names_each_key_of_the_output() -> None:
    assert len(EXAMPLES) == 4
    story = json.loads(call("rules", "explain", "kl-high", "--output", "json").stdout)
    found = explained("reward-drop", "--from", COLLAPSE, "--at", "120")
    (alert,) = found["rules"]
    for key in [*found, *found["seen"], *alert, *alert["prospects"][0], *alert["for"][0], *story]:
        assert f"`{key}`" in PAGE, key


# --- a recording --------------------------------------------------------------------------------------------------


def test_a_rule_is_told_with_its_values_and_counters(tmp_path: Path, rules: str) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(
        "".join(json.dumps({"step": n, "kl": 0.1 if n < 5 else 0.4, "reward": 1}) + "\n" for n in range(1, 9))
    )
    found = explained("run", "kl-high", "--from", str(path), "--at", "6", "--rules", rules)
    (alert,) = found["rules"]
    assert (found["run"], found["step"], found["seen"]["live"]) == ("run", 6, False)
    assert (alert["state"], alert["severity"], alert["onset_step"]) == ("pending", "warning", 5)
    assert [(one["severity"], one["count"], one["of"]) for one in alert["for"]] == [
        ("warning", 2, 3),
        ("critical", 0, 3),
    ]
    assert alert["conditions"]["warning"] | {"parts": []} == {
        "kind": "comparison", "text": "kl.ref > 0.3", "truth": True, "op": ">", "left": 0.4, "right": 0.3,
        "unit": "nats/token", "note": "", "parts": [],
    }  # fmt: skip
    assert alert["prospects"][0]["words"] == "kl.ref above 0.3 nats/token at the next value"
    assert explained("kl-high", "--from", str(path), "--at", "7", "--rules", rules)["rules"][0]["state"] == "firing"


def test_all_rules_are_told_in_a_table_the_firing_ones_first() -> None:
    lines = call("explain", "--from", COLLAPSE, "--at", "120").stdout.splitlines()
    assert lines[2].split() == ["RULE", "STATE", "SINCE", "WHY"]
    assert lines[3].startswith("reward-drop")
    assert "firing critical" in lines[3]
    assert re.search(r"[\d.]+%? [<>] [\d.]+", lines[3])
    assert any(line.split()[:4] == ["nonfinite", "(29", "series)", "quiet"] for line in lines)


def test_output_to_a_file_has_neither_colors_nor_lines() -> None:
    for arguments in (["--at", "120", "reward-drop"], ["--at", "120"]):
        text = call("explain", "--from", COLLAPSE, *arguments).stdout
        assert text.isascii()
        assert "\x1b" not in text
    assert call("rules", "explain", "reward-drop").stdout.isascii()


def test_a_rule_with_many_alerts_tells_the_quiet_ones_in_a_line_each() -> None:
    text = call("explain", "--from", COLLAPSE, "nonfinite").stdout
    assert "29 alerts" in text
    assert "metric=entropy" in text
    one = call("explain", "--from", COLLAPSE, "nonfinite", "--labels", "metric=entropy").stdout
    assert "to fire  entropy not a number at the next value" in one


def test_the_framework_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"step": 1, "kl": 0.1, "reward": 0.2}\n')
    assert explained("--from", str(path), "--framework", "ms-swift")["framework"] == "ms-swift"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--from", "nowhere.jsonl"], "there is no file nowhere.jsonl"),
        (["--from", COLLAPSE, "--at", "2"], "the run begins at step 5, after step 2"),
        (["grpo-colapse", "reward-drop", "--from", COLLAPSE], "did you mean 'grpo-collapse'?"),
        (["grpo-collapse", "reward-drpo", "--from", COLLAPSE], "did you mean 'reward-drop'?"),
        (["reward-drpo", "--from", COLLAPSE], "did you mean 'reward-drop'?"),
        (["--from", COLLAPSE, "--at", "9999"], "the run ends at step 200, before step 9999"),
        (["reward-drop", "--from", COLLAPSE, "--at", "201"], "the run ends at step 200"),
        (["nonfinite", "--from", COLLAPSE, "--labels", "metric=x"], "metric=entropy"),
        (["nonfinite", "--from", COLLAPSE, "--labels", "entropy"], "NAME=VALUE"),
        (["--from", COLLAPSE, "--framework", "tlr"], "did you mean 'trl'?"),
        (["run", "--at", "5"], "--at and --framework go with --from FILE"),
        (["--from", COLLAPSE, "--url", "redis://x"], "leave it out beside --from"),
        ([], "name a run, or a recording with --from FILE"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(arguments: list[str], says: str) -> None:
    result = call("explain", *arguments)
    assert result.exit_code == 2
    assert says in result.output


def test_a_file_without_events_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("not json\n")
    result = call("explain", "--from", str(path))
    assert result.exit_code == 2
    assert "1 lines rejected" in result.output


def test_a_name_cannot_move_the_cursor(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    event = {"type": "step", "run": "r", "step": 1, "metrics": {"\x1b[2Jevil": 1.0, "reward": 1.0}}
    path.write_text(json.dumps(event) + "\n")
    assert "\x1b" not in call("explain", "--from", str(path), "nonfinite").stdout


# --- what a rule means --------------------------------------------------------------------------------------------


def test_a_rule_is_told_with_its_place_needs_and_tests() -> None:
    text = call("rules", "explain", "kl-high", "--rules", "classic").stdout
    for words in (
        "rules/classic.yaml:",
        "critical when kl.ref is above 0.5 nats/token, for 3 steps in a row.",
        "from the 3rd logged value on",
        "actor/kl_loss",
        "fires critical at step 53",
        "learning rate too high",
    ):
        assert words in text


def test_a_rule_of_a_file_without_tests_says_so(rules: str) -> None:
    text = call("rules", "explain", "kl-high", "--rules", rules).stdout
    assert "no test" in text
    story = json.loads(call("rules", "explain", "kl-high", "--rules", rules, "--output", "json").stdout)
    assert (story["fires"], story["fastest_rows"], story["tests"]) == ({"steps": 3, "seconds": 0.0}, 3, [])


def test_an_unknown_rule_gets_a_suggestion() -> None:
    result = call("rules", "explain", "kl-hihg")
    assert result.exit_code == 2
    assert "did you mean 'kl-high'?" in result.output


# --- a live run ---------------------------------------------------------------------------------------------------


def add(client: redis.Redis, run: str, step: int, **metrics: float) -> None:
    client.xadd(wire.events_key(0), {"run": run, "step": step, **metrics})


def state_of(client: redis.Redis) -> dict[bytes, bytes]:
    """All that is in Redis, to see that reading changes nothing."""
    return {key: client.dump(key) for key in sorted(client.keys("*"))}


@pytest.mark.process
async def test_a_live_run_is_seen_as_the_daemon_has_it(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path, rules: str
) -> None:
    async with DaemonProcess(valkey_url, None, tmp_path / "log", SENTINEL_RULES=rules) as daemon:
        for step, kl in enumerate([0.1, 0.1, 0.4, 0.4], 1):
            add(valkey, "live", step, kl=kl)
        add(valkey, "other", 1, kl=0.1)
        await settled(valkey_url, valkey)
        while not valkey.exists(wire.snapshot_key(0)):
            await asyncio.sleep(0.05)
        assert await daemon.stop() == 0
    # What came after the snapshot is played on.
    add(valkey, "live", 5, kl=0.4)
    before = state_of(valkey)
    place = ["--url", valkey_url, "--rules", rules]
    found = await asyncio.to_thread(explained, "live", "kl-high", *place)
    (alert,) = found["rules"]
    assert (alert["state"], alert["onset_step"], alert["fired_step"]) == ("firing", 3, 5)
    assert (found["seen"]["live"], found["seen"]["events"]) == (True, 1)
    assert found["seen"]["snapshot_age"] >= 0.0
    listed = await asyncio.to_thread(call, "explain", "live", *place)
    assert "firing warning" in listed.stdout
    unknown = await asyncio.to_thread(call, "explain", "lvie", *place)
    assert unknown.exit_code == 2
    assert "did you mean 'live'? There are: live, other" in unknown.output
    sent = await asyncio.to_thread(call, "metrics", "--run", "live", *place)
    assert "kl   kl.ref  0.4   -     k3/ref" in sent.stdout
    assert "1 of 1 rule can be evaluated" in sent.stdout
    assert state_of(valkey) == before


@pytest.mark.process
async def test_without_a_snapshot_the_stream_is_read_from_its_beginning(
    valkey: redis.Redis, valkey_url: str, rules: str
) -> None:
    valkey.xadd(wire.events_key(0), {"event": "{not json"})
    add(valkey, "live", 1, kl=0.9)
    found = await asyncio.to_thread(explained, "live", "--url", valkey_url, "--rules", rules)
    assert found["rules"][0]["state"] == "pending"
    assert found["seen"]["rejected"] == 1
    assert "there is no snapshot yet" in found["seen"]["notes"][0]


@pytest.mark.process
async def test_a_snapshot_that_cannot_be_used_is_left_where_it_is(
    valkey: redis.Redis, valkey_url: str, rules: str
) -> None:
    add(valkey, "live", 1, kl=0.1)
    valkey.hset(wire.snapshot_key(0), mapping={"position": "1-0", "data": "rubbish"})
    before = state_of(valkey)
    found = await asyncio.to_thread(explained, "live", "--url", valkey_url, "--rules", rules)
    assert any("cannot be used" in note for note in found["seen"]["notes"])
    assert state_of(valkey) == before


@pytest.mark.process
async def test_an_alert_of_a_rule_that_is_not_among_ours_is_said(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path, rules: str
) -> None:
    async with DaemonProcess(valkey_url, None, tmp_path / "log", SENTINEL_RULES=rules) as daemon:
        for step in range(1, 5):
            add(valkey, "live", step, kl=0.9)
        await settled(valkey_url, valkey)
        assert await daemon.stop() == 0
    found = await asyncio.to_thread(explained, "live", "--url", valkey_url, "--rules", "classic")
    assert any("'kl-high' that is not among these" in note for note in found["seen"]["notes"])


@pytest.mark.process
async def test_a_run_that_nobody_has_heard_of_is_told_so(valkey_url: str, rules: str) -> None:
    result = await asyncio.to_thread(call, "explain", "live", "--url", valkey_url, "--rules", rules)
    assert result.exit_code == 2
    assert "no run has been published" in result.output


def test_a_redis_that_is_away_is_exit_75(free_port: int, rules: str) -> None:
    result = call("explain", "live", "--url", f"redis://127.0.0.1:{free_port}/0", "--rules", rules)
    assert result.exit_code == 75
    assert "Redis" in result.output


# --- a reference run ----------------------------------------------------------------------------------------------


def test_a_recording_is_held_against_the_reference_run_that_is_named(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text(
        "rules: [{alert: beyond, symptom: reward-drop, warning: reward.mean < reference(reward.mean)}]\n"
    )
    given = ["--from", COLLAPSE, "--at", "80", "--rules", str(tmp_path / "r.yaml")]
    (alone,) = explained("beyond", *given)["rules"]
    assert (alone["reason"], alone["missing"]) == ("not-evaluable", ["a reference run"])
    (beside,) = explained("beyond", *given, "--reference", COLLAPSE)["rules"]
    assert (beside["reason"], beside["missing"]) == ("false", [])
    (tmp_path / "sentinel.yaml").write_text(f"rules: [{tmp_path / 'r.yaml'}]\nreferences: [{COLLAPSE}]\n")
    (set_so,) = explained("--from", COLLAPSE, "--config", str(tmp_path / "sentinel.yaml"))["rules"]
    assert (set_so["reason"], set_so["missing"]) == ("false", [])


def test_a_reference_that_is_not_there_is_said() -> None:
    result = call("explain", "--from", COLLAPSE, "--reference", "nowhere.jsonl")
    assert result.exit_code == 2
    assert "there is no reference file nowhere.jsonl" in result.stderr
