"""What docs/ci.md tells a workflow to do with recorded runs can be done."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from sentinel.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
SECTION = (
    (ROOT / "docs" / "ci.md").read_text("utf-8").partition("## Coverage, and recorded runs")[2].partition("\n## ")[0]
)
COMMANDS = [line.partition(" > ")[0] for line in re.findall(r"- run: sentinel (.*)", SECTION)]


def test_each_command_on_recorded_runs_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "tests" / "data" / "score", "runs")
    Path("rules").mkdir()
    shutil.copy(Path("runs/new.yaml"), Path("rules/mine.yaml"))
    tests = "tests: [{name: jump, series: {kl.ref: 0.1x5 0.9x30}, expect: [{alert: kl-high}]}]"
    Path("rules/mine.test.yaml").write_text(tests)
    assert [command.split()[:2] for command in COMMANDS] == [
        ["rules", "test"],
        ["replay", "--score"],
        ["rules", "diff"],
    ]
    for command in COMMANDS:
        words = re.sub(r"git:.*?}}:rules", "rules", command.replace("95%", "50%").replace("--fail-under 90", ""))
        result = CliRunner().invoke(main, words.split())
        assert result.exit_code == 0, result.output
