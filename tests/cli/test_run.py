"""`sentinel run` and `sentinel demo` as commands; what the daemon does is in tests/service."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from sentinel.cli.main import main


def test_the_help_of_run_names_its_exit_codes() -> None:
    result = CliRunner().invoke(main, ["run", "--help"])
    assert result.exit_code == 0
    for words in ("Exit codes: 0 after SIGTERM", "78", "75", "--config"):
        assert words in result.output


def test_a_configuration_that_is_not_there_exits_78() -> None:
    result = CliRunner().invoke(main, ["run", "--config", "/nowhere/sentinel.yaml"])
    assert result.exit_code == 78
    assert result.stderr == (
        "sentinel: cannot read the configuration /nowhere/sentinel.yaml: No such file or directory\n"
    )


@pytest.mark.process
def test_the_demo_ends_by_itself_with_an_alert_and_the_checkpoint_to_go_back_to(tmp_path: Path) -> None:
    page = tmp_path / "slack.html"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SENTINEL_")}
    done = subprocess.run(
        [sys.executable, "-m", "sentinel", "demo", "--fast", "--save-page", str(page)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment | {"COLUMNS": "200"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "● CRITICAL · grpo-math-7b" in done.stdout
    assert "--resume_from_checkpoint out/checkpoint-50" in done.stdout
    assert "1 Slack message" in done.stdout
    assert "checkpoint-50" in page.read_text()
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.process
def test_a_demo_page_that_cannot_be_written_exits_2(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sentinel", "demo", "--fast", "--save-page", str(tmp_path / "no" / "page.html")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "cannot write" in done.stderr
