"""The `sentinel` command as a whole: its words, its errors, its exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from sentinel.cli.main import COMMANDS, exit_code, guarded, main
from sentinel.errors import BusUnavailable, ConfigError, Problem, RuleError, SentinelError, SnapshotError, UsageError


def test_the_help_names_every_word_without_importing_it() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    for word, (_, line) in COMMANDS.items():
        assert word in result.output
        assert line.split(".")[0][:20] in result.output


def test_the_version_is_told() -> None:
    assert CliRunner().invoke(main, ["--version"]).output.startswith("sentinel 0.")


def test_an_unknown_word_gets_a_suggestion_and_exit_2() -> None:
    result = CliRunner().invoke(main, ["ruls"])
    assert result.exit_code == 2
    assert "did you mean 'rules'?" in result.output


@pytest.mark.parametrize(
    ("error", "word", "code"),
    [
        (UsageError("x"), None, 2),
        (ConfigError("x"), "run", 78),
        (BusUnavailable("x"), "run", 75),
        (RuleError([Problem("a", 1, 1, "c", "m")]), "run", 78),
        (RuleError([Problem("a", 1, 1, "c", "m")]), "replay", 2),
        (SnapshotError("x"), None, 1),
    ],
)
def test_each_error_has_its_exit_code(error: SentinelError, word: str | None, code: int) -> None:
    assert exit_code(error, word) == code

    def fail() -> None:
        raise error

    with pytest.raises(click.exceptions.Exit) as caught:
        guarded(fail, lambda: word)
    assert caught.value.exit_code == code


def test_an_expected_error_is_a_line_and_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise ConfigError(
            "the configuration cannot be used", [Problem("c.yaml", 2, 3, "unknown-key", "no", "", "  x: 1")]
        )

    with pytest.raises(click.exceptions.Exit):
        guarded(fail)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == (
        "c.yaml:2:3: error[unknown-key]: no\n 2 |   x: 1\n   |   ^\nsentinel: the configuration cannot be used\n"
    )


def test_rules_that_the_daemon_cannot_use_exit_78(monkeypatch: pytest.MonkeyPatch) -> None:
    @click.command()
    def run() -> None:
        raise RuleError([Problem("a", 1, 1, "c", "m")])

    monkeypatch.setattr(main, "get_command", lambda ctx, name: run)
    assert CliRunner().invoke(main, ["run"]).exit_code == 78
    assert CliRunner().invoke(main, ["replay"]).exit_code == 2


def test_an_interrupt_exits_130() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(click.exceptions.Exit) as caught:
        guarded(interrupt)
    assert caught.value.exit_code == 130


def test_a_reader_that_leaves_early_causes_no_traceback() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "sentinel", "metrics"],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "sentinel", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("sentinel ")


def test_a_metric_is_found_by_its_name_and_by_a_trainers_key() -> None:
    by_name = json.loads(CliRunner().invoke(main, ["metrics", "kl.ref", "--output", "json"]).stdout)
    by_key = json.loads(CliRunner().invoke(main, ["metrics", "actor/kl_loss", "--output", "json"]).stdout)
    assert by_name["metrics"] == by_key["metrics"]
    (metric,) = by_name["metrics"]
    assert (metric["name"], metric["unit"], metric["better"]) == ("kl.ref", "nats/token", "lower")
    assert {"framework": "verl", "key": "actor/kl_loss"} in metric["keys"]
    text = CliRunner().invoke(main, ["metrics", "kl"]).output
    assert text.startswith("kl.ref: ")
    assert "actor/kl_loss" in text


def test_a_metric_that_nobody_knows_exits_2_with_a_suggestion() -> None:
    result = CliRunner().invoke(main, ["metrics", "kl.rf"])
    assert result.exit_code == 2
    assert "did you mean 'kl.ref'?" in result.stderr


def test_all_metrics_are_listed() -> None:
    lines = CliRunner().invoke(main, ["metrics"]).stdout.splitlines()
    assert lines[0].split()[:2] == ["METRIC", "UNIT"]
    assert any(line.startswith("reward.mean ") for line in lines)
