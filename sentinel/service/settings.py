"""What an operator can set: a YAML file, `SENTINEL_*` variables over it, and secrets from files.

Every setting has a default that works: `sentinel run` with nothing configured starts an embedded Valkey, the default
rules and the console. Keys that do not exist are errors with their place.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from sentinel.documents import DocumentError, fields_at, problems_from_pydantic, read_document
from sentinel.errors import ConfigError, Problem
from sentinel.resources import DEFAULT_PACKS
from sentinel.severity import Severity

PREFIX = "SENTINEL_"

NOT_OURS = frozenset({"SENTINEL_URL", "SENTINEL_RUN", "SENTINEL_SLACK_TOKEN"})
"""Variables with our prefix that are no settings of the file: the trainer's side, and the secret."""

_TOKEN = re.compile(r"\bx(?:ox[a-z]|app)-[\w-]+")
_PASSWORD = re.compile(r"://\S*@")
"""User and password of a URL, also one with a slash in it."""
_REMEDY = "set slack.token_file, $CREDENTIALS_DIRECTORY/slack-token or SENTINEL_SLACK_TOKEN"


def _not_here(path: Path) -> Path:
    """An empty path is the current folder, which nobody means."""
    if path == Path():
        raise ValueError("it must name a folder")
    return path


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RedisSettings(_Section):
    """Where the event streams are."""

    url: str | None = Field(
        default=None, min_length=1, description="redis://, rediss:// or unix://; absent: an embedded Valkey."
    )
    start_timeout: float = Field(default=60.0, ge=0, le=86400, description="Seconds to wait for Redis at the start.")


class EmbeddedSettings(_Section):
    """The Valkey that is started when no URL is given."""

    tcp_port: int | None = Field(default=None, ge=1, le=65535, description="Also listen on 127.0.0.1 at this port.")


class SlackSettings(_Section):
    """One channel, posted to with a bot token (scope chat:write)."""

    channel: str | None = Field(default=None, min_length=1, description="The channel's id, or its name with #.")
    token_file: Path | None = Field(default=None, description="A file that holds the bot token (xoxb-...).")
    base_url: str | None = Field(default=None, description="Another address of the Web API, for tests.")
    _token: str | None = PrivateAttr(default=None)

    @property
    def token(self) -> str | None:
        """From `token_file`, `$CREDENTIALS_DIRECTORY/slack-token` or SENTINEL_SLACK_TOKEN. Never printed."""
        return self._token


class HttpSettings(_Section):
    """/healthz, /readyz and /metrics."""

    enabled: bool = True
    host: str = "127.0.0.1"
    port: int = Field(default=9464, ge=0, le=65535)


class Settings(_Section):
    """All settings of the daemon."""

    redis: RedisSettings = Field(default_factory=RedisSettings)
    embedded: EmbeddedSettings = Field(default_factory=EmbeddedSettings)
    slack: SlackSettings = Field(default_factory=SlackSettings)
    http: HttpSettings = Field(default_factory=HttpSettings)
    rules: Annotated[list[str], Field(min_length=1)] = Field(
        default=list(DEFAULT_PACKS), description="Shipped packs by name, rule files, or folders of them."
    )
    references: list[Path] = Field(
        default=[],
        description="Recorded runs (JSONL) for reference(x); a run's label `reference` names one by its stem.",
    )
    state_dir: Annotated[Path, AfterValidator(_not_here)] | None = Field(
        default=None, description="Where the embedded Valkey keeps its data."
    )
    console: bool | None = Field(default=None, description="Tell alerts on stdout; default: when Slack is not set up.")
    notify_from: Severity = Field(default="warning", description="Incidents below it are recorded but not told.")
    snapshot_seconds: float = Field(default=60.0, gt=0, le=86400, description="How often the state is saved.")
    keep_entries: int = Field(default=2_000_000, ge=1000, description="Stream entries kept; older ones are trimmed.")
    max_state_mib: float = Field(default=8.0, gt=0, le=1e6, description="MiB that the rules may keep of each run.")
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    @property
    def state_folder(self) -> Path:
        """`state_dir`, else systemd's STATE_DIRECTORY, else the user's own state folder (XDG)."""
        if self.state_dir is not None:
            return self.state_dir.expanduser()
        if given := os.environ.get("STATE_DIRECTORY"):
            return Path(given.split(":")[0])
        base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
        return Path(base).expanduser() / "sentinel"


_SECTIONS = frozenset(
    name
    for name, field in Settings.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
)


_LISTS = (("rules",), ("references",))
"""Settings whose variable holds several values, with commas between them."""


def load_settings(path: Path | None, environment: Mapping[str, str] = os.environ) -> tuple[Settings, list[str]]:
    """Settings from a file and the environment, and warnings about variables that mean nothing.

    Raises ConfigError with every problem and its place.
    """
    values, warnings, names = _overlay({} if path is None else _from_file(path), environment)
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        # The file alone is sound, so whatever is wrong now came from a variable.
        faults = [
            f"{name}: {found['msg']}"
            for found in error.errors(include_url=False, include_input=False)
            for name in (names.get(tuple(found["loc"][:2])) or names.get(tuple(found["loc"][:1])),)
        ]
        raise ConfigError("; ".join(faults)) from None
    settings.slack._token = _slack_token(settings, environment)
    if settings.slack.channel is not None and settings.slack.token is None:
        raise ConfigError(f"slack.channel is set but there is no bot token: {_REMEDY}")
    return settings, warnings


def _from_file(path: Path) -> dict[str, Any]:
    """What the file sets, once it has proven sound. Raises ConfigError with every problem and its place."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read the configuration {path}: {error.strerror}") from error
    try:
        document = read_document(raw, str(path))
    except DocumentError as error:
        raise ConfigError("the configuration cannot be used", error.problems) from error
    if document.value is None:
        return {}
    if not isinstance(document.value, dict):
        raise ConfigError(f"{path}: the configuration is a mapping, such as `rules: [grpo]`")
    # A section of which every key is commented out is an empty one.
    values = {key: value for key, value in document.value.items() if value is not None or key not in _SECTIONS}
    try:
        Settings.model_validate(values)
    except ValidationError as error:
        problems = [_without_secret(problem) for problem in problems_from_pydantic(error, document, Settings)]
        raise ConfigError("the configuration cannot be used", problems) from None
    return values


def _without_secret(problem: Problem) -> Problem:
    """The same, but a line that holds a token or a password is not shown: what we print ends in logs."""
    if _PASSWORD.search(problem.excerpt + problem.message) is not None:
        shown = _PASSWORD.sub("://...@", problem.message)
        return replace(problem, excerpt="", message=shown)
    if _TOKEN.search(problem.excerpt) is None and "'token'" not in problem.message:
        return problem
    hint = "a token does not belong in this file: " + _REMEDY
    return replace(problem, excerpt="", message=_TOKEN.sub("...", problem.message), hint=hint)


def variables() -> dict[str, tuple[str, ...]]:
    """Environment variable → path of the setting: `SENTINEL_REDIS_URL` → `("redis", "url")`."""
    found: dict[str, tuple[str, ...]] = {}
    for name in Settings.model_fields:
        if name in _SECTIONS:
            for inner in fields_at(Settings, (name,)):
                found[f"{PREFIX}{name}_{inner}".upper()] = (name, inner)
        else:
            found[f"{PREFIX}{name}".upper()] = (name,)
    return found


def _overlay(
    values: Mapping[str, Any], environment: Mapping[str, str]
) -> tuple[dict[str, Any], list[str], dict[tuple[str | int, ...], str]]:
    """The file's values with those of the environment put over them."""
    known = variables()
    merged = {key: dict(value) if isinstance(value, dict) else value for key, value in values.items()}
    warnings: list[str] = []
    names: dict[tuple[str | int, ...], str] = {}
    for variable, text in environment.items():
        if not variable.startswith(PREFIX) or variable in NOT_OURS:
            continue
        path = known.get(variable)
        if path is None:
            # Not an error: Kubernetes sets SENTINEL_PORT and the like for a Service named "sentinel".
            near = difflib.get_close_matches(variable, known, n=1)
            warnings.append(f"{variable} is no setting" + (f"; did you mean {near[0]}?" if near else ""))
            continue
        value: Any = [part.strip() for part in text.split(",") if part.strip()] if path in _LISTS else text
        names[path] = variable
        if len(path) == 2:
            inner = merged.setdefault(path[0], {})
            if isinstance(inner, dict):
                inner[path[1]] = value
        else:
            merged[path[0]] = value
    return merged, warnings, names


def _slack_token(settings: Settings, environment: Mapping[str, str]) -> str | None:
    file = settings.slack.token_file
    if file is None and (folder := environment.get("CREDENTIALS_DIRECTORY")):
        candidate = Path(folder) / "slack-token"
        file = candidate if candidate.is_file() else None
    if file is None:
        return environment.get("SENTINEL_SLACK_TOKEN", "").strip() or None
    if _TOKEN.search(file.name):
        raise ConfigError("slack.token_file names the file that holds the token; it must not be the token itself")
    try:
        token = file.expanduser().read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"cannot read the Slack token from {file}: {reason}") from None
    if not token:
        raise ConfigError(f"the Slack token file {file} is empty")
    if not token.isprintable() or " " in token:
        raise ConfigError(f"the Slack token file {file} must hold the token alone, on one line")
    return token
