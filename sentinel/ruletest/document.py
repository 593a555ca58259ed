"""The shape of a test file: its keys, and what each may hold."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator

from sentinel.documents import printable
from sentinel.ruletest.expected import (
    Bounds,
    When,
    parse_bounds,
    parse_seconds,
    parse_states,
    parse_step_bounds,
    parse_when,
)
from sentinel.ruletest.result import State
from sentinel.ruletest.series import Item, Repeat, parse_series
from sentinel.ruletest.steps import Steps, parse_steps
from sentinel.ruletest.text import Read, TextError
from sentinel.severity import Severity


def _rollback(text: str) -> int | None:
    if text == "none":
        return None
    if re.fullmatch(r"[0-9]{1,15}", text):
        return int(text)
    raise TextError("bad-rollback", f"'{printable(text)}' is no checkpoint", "a step, or none", 0, len(text))


def _every(text: str) -> int:
    match = re.fullmatch(r"every ([1-9][0-9]{0,8})(?: steps?)?", text)
    if match is None:
        hint = "write every 25, or a list of steps"
        raise TextError("bad-checkpoints", f"'{printable(text)}' are no checkpoints", hint, 0, len(text))
    return int(match[1])


SeriesText = Annotated[tuple[Item | Repeat, ...], Read(parse_series)]
StepsText = Annotated[Steps, Read(parse_steps)]
Seconds = Annotated[float, Read(parse_seconds)]
RollbackText = Annotated[int | None, Read(_rollback)]
Every = Annotated[int, Read(_every)]
# Told apart first, so that a fault is told once and not for each of the two.
Checkpoints = Annotated[
    Annotated[list[int], Tag("list")] | Annotated[Every, Tag("every")],
    Discriminator(lambda value: "list" if isinstance(value, list) else "every"),
]
StepBounds = Annotated[Bounds, Read(parse_step_bounds)]
NumberBounds = Annotated[Bounds, Read(parse_bounds)]
StatesText = Annotated[tuple[State, ...], Read(parse_states)]
WhenText = Annotated[When, Read(parse_when, key=True)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


class ExpectDocument(_Strict):
    """One alert that must fire. What is not said is not compared."""

    alert: str
    severity: Severity | None = None
    fires_at: int | None = Field(default=None, description="The step at which it fires.")
    fires_by: int | None = Field(default=None, description="The last step at which it may fire.")
    fires_between: list[int] | None = Field(
        default=None, min_length=2, max_length=2, description="The first and the last step at which it may fire."
    )
    fires_after: Seconds | None = Field(default=None, description="The time from the test's beginning.")
    onset: StepBounds | None = None
    resolved_at: int | None = None
    rollback: RollbackText | None = None
    attempt: int | None = None
    value: NumberBounds | None = Field(default=None, description="What was compared when it fired.")
    threshold: NumberBounds | None = None
    summary: str | None = Field(default=None, description="A part of its sentence.")
    labels: dict[str, str] = {}


class StateDocument(_Strict):
    """Where one alert stands at a moment: a state, or a mapping with it. What is not said is not compared."""

    state: StatesText | None = None
    severity: Severity | None = None
    value: NumberBounds | None = None
    threshold: NumberBounds | None = None
    onset: StepBounds | None = None
    labels: dict[str, str] = {}

    @model_validator(mode="before")
    @classmethod
    def _short(cls, value: Any) -> Any:
        return {"state": value} if isinstance(value, str) else value


class SamplesDocument(_Strict):
    """Metrics by time rather than by step: one value of each series every so often, from the test's beginning on."""

    every: Seconds
    series: dict[str, SeriesText]
    labels: dict[str, str] = {}


class TimelineDocument(_Strict):
    """One time-line and what must come of it."""

    name: str
    framework: str | None = None
    version: str | None = Field(default=None, description="The trainer's version.")
    config: dict[str, Any] = Field(default={}, description="The configuration that the run begins with.")
    labels: dict[str, str] = {}
    seed: int | None = Field(default=None, description="Other noise.")
    steps: StepsText | None = None
    series: dict[str, SeriesText] = {}
    reference: dict[str, SeriesText] = Field(
        default={}, description="What the reference run logged at the same steps; it ends with its longest series."
    )
    seconds_per_step: Seconds | None = None
    samples: SamplesDocument | None = None
    quiet: Seconds | None = Field(default=None, description="Time that passes after the last event.")
    checkpoints: Checkpoints | None = None
    phases: dict[str, int] = Field(default={}, description="The step at which each phase begins.")
    expect: list[ExpectDocument] = []
    silent: list[str] = []
    at: dict[WhenText, dict[str, StateDocument]] = Field(
        default={}, description="After a step, a time or at the end: where alerts stand."
    )


class TimelinesDocument(_Strict):
    """A file of tests. `rules` are files relative to it; without, NAME.yaml beside NAME.test.yaml."""

    rules: list[str] = []
    tests: list[TimelineDocument]
