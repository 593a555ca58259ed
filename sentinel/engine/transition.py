"""What the engine says: one alert changed its state."""

from __future__ import annotations

import msgspec

from sentinel.rules.model import Rule
from sentinel.severity import AlertState, Severity


class Transition(msgspec.Struct, frozen=True, kw_only=True):
    """One alert changed its state, or its severity rose.

    `id`: the episode's, the same after any restart: a hash of run, attempt, rule, labels and the event that began it.
    `step`, `time`: when it happened (time None in recordings without times). `onset_step`: when the trouble began.
    `value`, `threshold`: the two sides of the comparison that decided, `metric` the text of the left one, `unit` the
    metric's own. `previous`: the severity before this transition, None at first.
    """

    id: str
    run: str
    attempt: int
    alert: str
    symptom: str
    severity: Severity
    state: AlertState
    step: int
    time: float | None
    onset_step: int
    onset_time: float | None
    value: float | None
    threshold: float | None
    metric: str
    unit: str
    labels: dict[str, str]
    summary: str
    condition: str
    rule: Rule
    previous: Severity | None = None
