"""What came of a test, and what a person is shown when it is not as expected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sentinel.errors import Problem
from sentinel.severity import Severity

Outcome = Literal["PASS", "FAIL", "ERROR"]

State = Literal["inactive", "pending", "firing", "resolved", "unknown"]
"""Where an alert stands. `unknown`: nothing is open, and there is not enough data to tell. `resolved`: it has
fired, and recovered since."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One row of a strip: where an alert stood after one event, and what a test expected there.

    `step`: None before the first one. `seconds` since the test began: None without times. `value`, `threshold`: the
    two sides of the comparison that decides, None where unknown; `metric` is the text of the left one. `happened`: what
    changed at this event, in a word or two.
    """

    step: int | None
    seconds: float | None
    state: State
    severity: Severity | None
    value: float | None
    threshold: float | None
    metric: str = ""
    happened: str = ""
    expected: str = ""


@dataclass(frozen=True, slots=True)
class Strip:
    """What happened to one alert around the places of interest, in order.

    `gaps`: rows before which some are left out.
    """

    alert: str
    moments: tuple[Moment, ...]
    gaps: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Change:
    """An alert changed its state in a test."""

    alert: str
    state: str
    severity: Severity
    step: int
    seconds: float | None
    summary: str


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one test. `problems` say where the file and the engine disagree; empty for a PASS.

    `strips`: what the alerts in question did. `changes`: everything that happened, in order.
    """

    outcome: Outcome
    name: str
    path: str
    line: int
    problems: tuple[Problem, ...] = ()
    strips: tuple[Strip, ...] = field(default=(), compare=False)
    changes: tuple[Change, ...] = field(default=(), compare=False)

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path
