"""Settings: the file, the variables over it, the secret from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from sentinel.errors import ConfigError
from sentinel.service.settings import Settings, load_settings, variables

TOKEN = "xoxb-1234-secret"


def written(folder: Path, text: str) -> Path:
    path = folder / "sentinel.yaml"
    path.write_text(text, "utf-8")
    return path


def refused(path: Path | None, environment: dict[str, str] | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_settings(path, environment or {})
    return caught.value


def test_without_a_file_and_variables_everything_has_a_default() -> None:
    settings, warnings = load_settings(None, {})
    assert settings == Settings()
    assert warnings == []
    assert settings.rules == ["grpo", "ppo", "infra"]
    assert settings.redis.url is None


def test_a_file_sets_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    path = written(tmp_path, "redis: {url: 'redis://h:1/0'}\nrules: [classic, own.yaml]\nconsole: true\n")
    settings, _ = load_settings(path, {})
    assert settings.redis.url == "redis://h:1/0"
    assert settings.redis.start_timeout == 60.0
    assert (settings.rules, settings.console) == (["classic", "own.yaml"], True)


def test_yes_and_no_are_taken_as_they_are_meant(tmp_path: Path) -> None:
    settings, _ = load_settings(written(tmp_path, "console: yes\nhttp: {enabled: no}\n"), {})
    assert (settings.console, settings.http.enabled) == (True, False)


def test_a_section_of_which_every_key_is_commented_out_is_an_empty_one(tmp_path: Path) -> None:
    settings, _ = load_settings(written(tmp_path, "redis:\n  # url: x\nhttp:\n"), {})
    assert settings == Settings()


@pytest.mark.parametrize("text", ["", "# nothing\n"])
def test_an_empty_file_is_a_configuration(tmp_path: Path, text: str) -> None:
    assert load_settings(written(tmp_path, text), {})[0] == Settings()


def test_an_unknown_key_is_refused_with_its_place_and_a_suggestion(tmp_path: Path) -> None:
    path = written(tmp_path, "redis:\n  ur: redis://h\nruels: [grpo]\n")
    problems = refused(path).problems
    assert [(problem.line, problem.column, problem.code) for problem in problems] == [
        (2, 3, "unknown-key"),
        (3, 1, "unknown-key"),
    ]
    assert "did you mean 'url'?" in problems[0].hint
    assert "did you mean 'rules'?" in problems[1].hint


@pytest.mark.parametrize(
    ("text", "line", "column", "code"),
    [
        ("console: perhaps\n", 1, 10, "wrong-type"),
        ("http:\n  port: 99999\n", 2, 9, "bad-value"),
        ("http:\n  port: many\n", 2, 9, "wrong-type"),
        ("notify_from: high\n", 1, 14, "unknown-value"),
        ("rules: []\n", 1, 8, "bad-value"),
        ("rules: grpo\n", 1, 8, "wrong-type"),
        ("redis: nowhere\n", 1, 8, "wrong-type"),
        ("log_level: info\nlog_level: debug\n", 2, 1, "duplicate-key"),
        ("redis: {url: ''}\n", 1, 14, "bad-value"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_place(
    tmp_path: Path, text: str, line: int, column: int, code: str
) -> None:
    (problem,) = refused(written(tmp_path, text)).problems
    assert (problem.line, problem.column, problem.code) == (line, column, code)


def test_a_file_that_is_not_there_or_no_mapping_is_named(tmp_path: Path) -> None:
    assert "cannot read the configuration" in str(refused(tmp_path / "none.yaml"))
    assert "is a mapping" in str(refused(written(tmp_path, "- grpo\n")))


def test_a_variable_wins_over_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, "redis: {url: 'redis://file', start_timeout: 5}\nconsole: true\n")
    settings, _ = load_settings(path, {"SENTINEL_REDIS_URL": "redis://env", "SENTINEL_CONSOLE": "false"})
    assert (settings.redis.url, settings.redis.start_timeout, settings.console) == ("redis://env", 5.0, False)


@pytest.mark.parametrize(
    ("variable", "text", "path", "value"),
    [
        ("SENTINEL_RULES", "grpo, /etc/own.yaml,", ("rules",), ["grpo", "/etc/own.yaml"]),
        ("SENTINEL_REFERENCES", "/r/a.jsonl, b.jsonl", ("references",), [Path("/r/a.jsonl"), Path("b.jsonl")]),
        ("SENTINEL_CONSOLE", "true", ("console",), True),
        ("SENTINEL_CONSOLE", "0", ("console",), False),
        ("SENTINEL_HTTP_ENABLED", "no", ("http", "enabled"), False),
        ("SENTINEL_HTTP_PORT", "0", ("http", "port"), 0),
        ("SENTINEL_REDIS_START_TIMEOUT", "2.5", ("redis", "start_timeout"), 2.5),
        ("SENTINEL_KEEP_ENTRIES", "5000", ("keep_entries",), 5000),
        ("SENTINEL_STATE_DIR", "/var/lib/s", ("state_dir",), Path("/var/lib/s")),
        ("SENTINEL_NOTIFY_FROM", "critical", ("notify_from",), "critical"),
    ],
)
def test_text_of_a_variable_becomes_what_the_setting_is(
    variable: str, text: str, path: tuple[str, ...], value: object
) -> None:
    found: object = load_settings(None, {variable: text})[0]
    for name in path:
        found = getattr(found, name)
    assert found == value


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("SENTINEL_HTTP_PORT", "many"),
        ("SENTINEL_HTTP_PORT", "70000"),
        ("SENTINEL_CONSOLE", "perhaps"),
        ("SENTINEL_RULES", " , "),
        ("SENTINEL_LOG_LEVEL", "loud"),
        ("SENTINEL_REDIS_URL", ""),
    ],
)
def test_a_bad_value_names_its_variable(tmp_path: Path, variable: str, text: str) -> None:
    for path in (None, written(tmp_path, "console: true\n")):
        assert str(refused(path, {variable: text})).startswith(f"{variable}: ")


def test_all_bad_variables_are_named_at_once() -> None:
    error = refused(None, {"SENTINEL_HTTP_PORT": "x", "SENTINEL_CONSOLE": "perhaps"})
    assert "SENTINEL_HTTP_PORT: " in str(error)
    assert "SENTINEL_CONSOLE: " in str(error)


def test_a_variable_that_means_nothing_is_a_warning_with_a_suggestion() -> None:
    _, warnings = load_settings(None, {"SENTINEL_REDIS_ULR": "x", "SENTINEL_PORT_80_TCP": "x", "OTHER": "x"})
    assert warnings[0] == "SENTINEL_REDIS_ULR is no setting; did you mean SENTINEL_REDIS_URL?"
    assert len(warnings) == 2


def test_variables_of_the_trainers_side_are_none_of_ours() -> None:
    assert load_settings(None, {"SENTINEL_URL": "redis://h", "SENTINEL_RUN": "r"})[1] == []


def test_every_setting_has_a_variable() -> None:
    known = variables()
    assert known["SENTINEL_REDIS_URL"] == ("redis", "url")
    assert known["SENTINEL_KEEP_ENTRIES"] == ("keep_entries",)
    assert {path[0] for path in known.values()} == set(Settings.model_fields)


# --- the secret --------------------------------------------------------------------------------------------


def test_the_token_comes_from_its_file_then_from_the_credentials_then_from_the_variable(tmp_path: Path) -> None:
    (tmp_path / "named").write_text(f"{TOKEN}-file\n")
    (tmp_path / "slack-token").write_text(f"{TOKEN}-credentials\n")
    environment = {"SENTINEL_SLACK_TOKEN": f"{TOKEN}-variable\n"}
    assert load_settings(None, environment)[0].slack.token == f"{TOKEN}-variable"
    environment["CREDENTIALS_DIRECTORY"] = str(tmp_path / "nowhere")
    assert load_settings(None, environment)[0].slack.token == f"{TOKEN}-variable"
    environment["CREDENTIALS_DIRECTORY"] = str(tmp_path)
    assert load_settings(None, environment)[0].slack.token == f"{TOKEN}-credentials"
    environment["SENTINEL_SLACK_TOKEN_FILE"] = str(tmp_path / "named")
    assert load_settings(None, environment)[0].slack.token == f"{TOKEN}-file"


def test_the_token_of_one_load_is_not_seen_by_another() -> None:
    load_settings(None, {"SENTINEL_SLACK_TOKEN": TOKEN})
    assert Settings().slack.token is None


def test_the_token_is_in_no_text_of_the_settings() -> None:
    settings, _ = load_settings(None, {"SENTINEL_SLACK_TOKEN": TOKEN, "SENTINEL_SLACK_CHANNEL": "#c"})
    assert settings.slack.token == TOKEN
    for text in (repr(settings), str(settings), settings.model_dump_json(), repr(settings.model_dump())):
        assert TOKEN not in text


def test_a_channel_without_a_token_is_refused_with_the_remedy() -> None:
    error = refused(None, {"SENTINEL_SLACK_CHANNEL": "#c"})
    for place in ("slack.token_file", "$CREDENTIALS_DIRECTORY/slack-token", "SENTINEL_SLACK_TOKEN"):
        assert place in str(error)


def test_a_token_in_the_file_is_refused_with_the_remedy_and_not_shown(tmp_path: Path) -> None:
    path = written(tmp_path, f"slack:\n  channel: '#c'\n  token: {TOKEN}\n")
    error = refused(path)
    (problem,) = error.problems
    assert (problem.line, problem.column) == (3, 3)
    assert "slack.token_file" in problem.hint
    assert TOKEN not in repr(problem) + str(error)
    assert error.__cause__ is None


@pytest.mark.parametrize("text", ["slack: {tokn: %s}\n", "slack: %s\n", "console: %s\n", "slack: {channel: [%s]}\n"])
def test_a_token_in_a_wrong_place_is_not_shown_either(tmp_path: Path, text: str) -> None:
    error = refused(written(tmp_path, text % TOKEN))
    assert error.problems
    assert TOKEN not in repr(error.problems) + str(error)


def test_a_token_where_its_file_should_be_named_is_not_shown() -> None:
    error = refused(None, {"SENTINEL_SLACK_TOKEN_FILE": TOKEN})
    assert "must not be the token itself" in str(error)
    assert TOKEN not in str(error)


@pytest.mark.parametrize("content", [None, b"", b"  \n", b"\xff\xfe"])
def test_a_token_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "token"
    if content is not None:
        path.write_bytes(content)
    assert str(path) in str(refused(None, {"SENTINEL_SLACK_TOKEN_FILE": str(path)}))


def test_the_state_folder_is_the_one_that_is_set_then_systemds_then_the_users(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", "/home/ada/state")
    assert Settings().state_folder == Path("/home/ada/state/sentinel")
    monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/sentinel:/var/lib/other")
    assert Settings().state_folder == Path("/var/lib/sentinel")
    assert Settings(state_dir=tmp_path).state_folder == tmp_path
