"""What is to be told: the present state of one incident, with its history.

A notification holds facts, not words for one channel; rendering is each notifier's own. It is a *state*, not an edge:
two notifications of one incident with equal `digest` say the same, and telling the later one says all that
the earlier one said. Its history lines are the exception: each is told once, in order.

Everything is plain data, so that it travels through the outbox as JSON (`to_wire`, `from_wire`).
"""

from __future__ import annotations

import hashlib
from typing import Literal

import msgspec

from sentinel.severity import SEVERITIES, AlertState, Severity

LineKind = Literal[
    "opened", "worse", "joined", "again", "flapping", "eased", "closed", "ended", "reminder", "mark", "summary"
]
"""`closed`: everything has recovered. `ended`: it is over without recovery. `again`: what had ended fires once more.
`reminder`: still so, after a while. `mark`: somebody acknowledged or silenced it, or that has ended."""

MarkKind = Literal["acknowledged", "silenced", "muted", "inhibited", "flapping", "fleet"]


class Mark(msgspec.Struct, frozen=True):
    """Something that changes how an alert is told, and not what it is: who did it, why and until when.

    `by`: a person, a rule or an incident, as it is to be shown. `since`, `until`: seconds since the epoch; until None:
    with the alert. `id`: of the silence, or of the incident or alert that stands over it.
    """

    kind: MarkKind
    by: str = ""
    reason: str = ""
    since: float | None = None
    until: float | None = None
    id: str = ""


class Member(msgspec.Struct, frozen=True):
    """One run's incident within a fleet incident."""

    run: str
    incident: str
    severity: Severity
    headline: str
    onset_step: int
    open: bool = True


class Chart(msgspec.Struct, frozen=True):
    """One metric over the steps around the trouble: at most 20 `points` of (step, value), in rising steps.

    Only finite values; a step without one has no point.
    """

    metric: str
    unit: str
    points: tuple[tuple[int, float], ...]
    threshold: float | None = None
    onset_step: int | None = None


class Companion(msgspec.Struct, frozen=True):
    """A metric that moved together with the trouble: its usual value before the onset, and its newest.

    `spread`: the usual distance between its values before the onset (median absolute difference), which says whether
    the change is one.
    """

    metric: str
    unit: str
    before: float
    now: float
    spread: float = 0.0


class RefusedCheckpoint(msgspec.Struct, frozen=True):
    """A newer checkpoint that was not recommended, and why: one sentence."""

    step: int
    path: str
    reason: str


class Rollback(msgspec.Struct, frozen=True):
    """Rollback advice. `step` and `path` are None when there is nothing safe to go back to; `reason` says why.

    `steps_lost` counts training steps between the checkpoint and the newest step, `seconds_lost` the time between
    them (None when the recording has no times). `command` resumes the trainer, or None when the framework is not known.
    `evidence` are (metric, value) pairs as they stood at the checkpoint.
    """

    step: int | None
    path: str | None
    reason: str
    steps_lost: int | None = None
    seconds_lost: float | None = None
    command: str | None = None
    refused: tuple[RefusedCheckpoint, ...] = ()
    evidence: tuple[tuple[str, float], ...] = ()


class EpisodeView(msgspec.Struct, frozen=True):
    """One alert of the incident, from its onset to now (or its end).

    `value` and `threshold` are the two sides of the comparison that fired, `metric` the text of its left side;
    `unit` is the metric's unit from the dictionary (`nats/token`), empty when unknown. `state` as in the lifecycle.
    `peak`, `peak_step`: the left side at its worst while it fired, None when that is not known.
    """

    id: str
    alert: str
    symptom: str
    severity: Severity
    state: AlertState
    summary: str
    metric: str
    value: float | None
    threshold: float | None
    unit: str
    onset_step: int
    fired_step: int
    fired_time: float | None
    ended_step: int | None = None
    ended_time: float | None = None
    labels: dict[str, str] = {}
    condition: str = ""
    source: str = ""
    runbook: dict[str, tuple[str, ...]] = {}
    marks: tuple[Mark, ...] = ()
    peak: float | None = None
    peak_step: int | None = None


class HistoryLine(msgspec.Struct, frozen=True):
    """One thing that happened, in words for a person, told once.

    `id` is stable over restarts: derived from the transition it tells. `loud`: a person must look again.
    """

    id: str
    kind: LineKind
    text: str
    step: int
    time: float | None
    loud: bool = False


class Notification(msgspec.Struct, frozen=True):
    """The state of one incident (a run's open episodes), worst cause first in `episodes`.

    `started_step`/`started_time`: the earliest onset. `seconds_since_onset` and `steps_since_onset` are what the
    trouble has cost so far, at the last transition. `episodes` holds ended ones too, after the open ones.

    `chart`: the leading alert's metric. `beside`: the most telling of the other metrics, best first. `marks`: of the
    incident as a whole. `kind`: a fleet incident stands for those of several runs, its `members`; `run` is then what
    they share.
    """

    incident: str
    run: str
    attempt: int
    state: Literal["firing", "closed"]
    severity: Severity
    headline: str
    step: int
    time: float | None
    onset_step: int
    steps_since_onset: int
    seconds_since_onset: float | None
    episodes: tuple[EpisodeView, ...]
    history: tuple[HistoryLine, ...]
    rollback: Rollback | None = None
    labels: dict[str, str] = {}
    framework: str | None = None
    chart: Chart | None = None
    beside: tuple[Companion, ...] = ()
    marks: tuple[Mark, ...] = ()
    kind: Literal["run", "fleet"] = "run"
    members: tuple[Member, ...] = ()

    @property
    def digest(self) -> str:
        """16 hex characters over everything but the history, which is told line by line."""
        return hashlib.sha256(_encoder.encode(msgspec.structs.replace(self, history=()))).hexdigest()[:16]


_encoder = msgspec.json.Encoder(order="deterministic")
_decoder = msgspec.json.Decoder(Notification)


def to_wire(notification: Notification) -> bytes:
    """JSON. Non-finite floats become null, which `value` and `threshold` allow."""
    return _encoder.encode(notification)


def from_wire(raw: bytes) -> Notification:
    """The inverse of `to_wire`. Raises msgspec.ValidationError on anything else."""
    return _decoder.decode(raw)


__all__ = [
    "SEVERITIES",
    "AlertState",
    "Chart",
    "Companion",
    "EpisodeView",
    "HistoryLine",
    "LineKind",
    "Mark",
    "MarkKind",
    "Member",
    "Notification",
    "RefusedCheckpoint",
    "Rollback",
    "Severity",
    "from_wire",
    "to_wire",
]
