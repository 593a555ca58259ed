"""What a training run can say.

Every event is one `msgspec.Struct`, so the wire's JSON decodes straight into it (design: one field costs a
fifth of thirty). Common fields:

- `run`: the run's id, 1 to 200 printable characters.
- `time`: seconds since the epoch **by the clock of Redis** (the entry's id) when the event came over a stream,
  or the recording's own time in a replay. It is never the sender's clock. `None`: a recording without times.
- `publisher`, `seq`: who sent it and its number there, from 0 up; an event with a number that has come is a repeat.
  None for entries that were written by hand.
- `position`: where the event was read: the stream entry's id (`"1790000000000-0"`) or `"file:line"`.

A metric's value is a float; `NaN`, `inf` and `-inf` are values like others here, `None` is a JSON null. It is
the engine that keeps them out of the windows.
"""

from __future__ import annotations

from typing import Literal

import msgspec

PROTOCOL_VERSION = 1

MetricValue = float | None


class _Event(msgspec.Struct, tag_field="type", kw_only=True):
    run: str
    v: int = PROTOCOL_VERSION
    time: float | None = None
    position: str = ""
    publisher: str | None = None
    seq: int | None = None


class RunStarted(_Event, tag="run_started"):
    """A trainer process began, or began again. A higher `attempt` than before opens a new attempt."""

    labels: dict[str, str] = {}
    config: dict[str, object] = {}
    framework: str | None = None
    version: str | None = None
    attempt: int | None = None


class StepMetrics(_Event, tag="step"):
    """The metrics of one training step, keyed as the trainer writes them."""

    step: int
    metrics: dict[str, MetricValue]


class Sample(_Event, tag="sample"):
    """Metrics without a step (GPU, host, queue). `labels` apply to each of them."""

    metrics: dict[str, MetricValue]
    labels: dict[str, str] = {}


class Checkpoint(_Event, tag="checkpoint"):
    """A checkpoint was saved, deleted (rotation) or pinned (kept from rotation)."""

    step: int
    path: str
    state: Literal["saved", "deleted", "pinned"] = "saved"


class Phase(_Event, tag="phase"):
    """A new stage or dataset begins."""

    name: str
    step: int | None = None


class Completions(_Event, tag="completions"):
    """A few prompts and answers with their rewards."""

    step: int | None = None
    samples: list[dict[str, object]] = []


class Heartbeat(_Event, tag="heartbeat"):
    """The trainer is alive though it has nothing to log."""


class ControlAck(_Event, tag="control_ack"):
    """The trainer's answer to a pause request."""

    request: str
    state: str
    step: int | None = None
    reason: str | None = None


class RunFinished(_Event, tag="run_finished"):
    """The run ended: `ok`, `failed` or `stopped`."""

    status: Literal["ok", "failed", "stopped"] = "ok"
    step: int | None = None
    reason: str | None = None


Event = RunStarted | StepMetrics | Sample | Checkpoint | Phase | Completions | Heartbeat | ControlAck | RunFinished

EVENT_TYPES: tuple[str, ...] = (
    "run_started",
    "step",
    "sample",
    "checkpoint",
    "phase",
    "completions",
    "heartbeat",
    "control_ack",
    "run_finished",
)
