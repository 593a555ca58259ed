"""`sentinel init`: a commented configuration to begin with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pydantic import BaseModel

from sentinel.cli.init import TEMPLATE
from sentinel.cli.main import main
from sentinel.service.settings import Settings, load_settings, variables


def init(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["init", *map(str, arguments)])


def uncommented() -> str:
    """The template with every key that is commented out in force. Its opening sentences stay comments."""
    return re.sub(r"^# (?=\s*[a-z_]+:( |$))", "", TEMPLATE, flags=re.MULTILINE)


def test_the_written_file_loads_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "sentinel.yaml"
    result = init(path)
    assert result.exit_code == 0
    assert f"sentinel run --config {path}" in result.stdout
    assert load_settings(path, {})[0] == Settings()


def test_every_key_that_is_commented_out_is_one_and_shows_a_value_that_fits(tmp_path: Path) -> None:
    path = tmp_path / "sentinel.yaml"
    token = tmp_path / "token"
    token.write_text("xoxb-1")
    path.write_text(uncommented().replace("/etc/sentinel/slack-token", str(token)))
    settings, warnings = load_settings(path, {})
    assert warnings == []
    assert settings.slack.channel == "#rl-alerts"
    assert settings.redis.url == "redis://127.0.0.1:6379/0"
    assert settings.embedded.tcp_port == 6390


def test_what_is_commented_out_shows_the_default(tmp_path: Path) -> None:
    path = tmp_path / "sentinel.yaml"
    path.write_text(uncommented())
    token = tmp_path / "token"
    token.write_text("xoxb-1")
    shown = load_settings(path, {"SENTINEL_SLACK_TOKEN_FILE": str(token)})[0]
    differs = {"redis.url", "embedded.tcp_port", "slack.channel", "slack.token_file", "console", "state_dir"}

    def compare(given: BaseModel, default: BaseModel, prefix: str = "") -> None:
        for name in type(given).model_fields:
            one, other = getattr(given, name), getattr(default, name)
            if isinstance(one, BaseModel):
                compare(one, other, f"{name}.")
            elif f"{prefix}{name}" not in differs:
                assert one == other, name

    compare(shown, Settings())


def test_every_setting_but_the_tests_own_is_in_the_file() -> None:
    known = {path[-1] for path in variables().values()} - {"base_url"}
    assert known <= set(re.findall(r"^#? *([a-z_]+):", TEMPLATE, flags=re.MULTILINE))


def test_without_a_path_it_writes_sentinel_yaml_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert init().exit_code == 0
    assert (tmp_path / "sentinel.yaml").read_text() == TEMPLATE


def test_a_file_that_is_there_is_not_overwritten_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "sentinel.yaml"
    path.write_text("mine")
    result = init(path)
    assert result.exit_code == 2
    assert "--force overwrites it" in result.stderr
    assert path.read_text() == "mine"
    assert init(path, "--force").exit_code == 0
    assert path.read_text() == TEMPLATE


def test_a_place_that_cannot_be_written_exits_2(tmp_path: Path) -> None:
    assert "is a folder" in init(tmp_path).stderr
    result = init(tmp_path / "nowhere" / "sentinel.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "cannot write" in result.stderr
