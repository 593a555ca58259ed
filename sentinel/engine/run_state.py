"""All that is remembered of one run: its attempt, its statistics, its alerts, its checkpoints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import msgspec

from sentinel.engine.bind import SeriesName
from sentinel.engine.delivery import Delivery
from sentinel.engine.derived import DerivedSeries, with_derived
from sentinel.engine.lifecycle import Record
from sentinel.engine.phases import Phases
from sentinel.engine.program import Compiled
from sentinel.engine.recorded import NOTHING, RecordedRun
from sentinel.stats.shared_steps import SharedSteps


class Missing(Enum):
    """Six ways for a number not to be there, never confused."""

    NOT_APPLICABLE = "the run has never logged it"
    NOT_THIS_STEP = "it was not logged at this step"
    NOT_FINITE = "it was logged as NaN, infinite or null"
    LATE = "it came after a later step and was left out"
    LOST = "it was trimmed from the stream before it was read"
    ENDED = "the run has ended"


class SavedCheckpoint(msgspec.Struct):
    """One entry of the ledger. `evidence`: canonical metric → value as last logged when it was saved."""

    step: int
    path: str
    time: float | None
    attempt: int
    deleted: bool = False
    pinned: bool = False
    evidence: dict[str, float] = {}


class Counts(msgspec.Struct):
    """What came that did not simply count. `metrics_refused`: keys over the limit of metrics per run.

    `checkpoints`: those that were saved, whether they are still known or not.
    """

    events: int = 0
    steps: int = 0
    late: int = 0
    repeated: int = 0
    skipped: int = 0
    metrics_refused: int = 0
    checkpoints: int = 0


@dataclass(slots=True, eq=False)
class Row:
    """A row of keys.

    `clean`: one was all numbers. `whole`: it holds all series that share their steps; None when that is not known.
    """

    clean: bool = False
    whole: bool | None = None


@dataclass(slots=True, eq=False)
class RunState:
    """One run. `step` and `time` are those of the newest event taken into account.

    `first_step`: of the attempt; statistics count from it. `names`: the trainer's key → its series. `rows`: the rows
    of keys that have come, and what is known of each: a known row needs no looking up. `bad`: series
    whose newest value is not a number. `numeric`: keys that have been a number. `sequence` counts evaluations: steps
    and samples.
    """

    id: str
    labels: dict[str, str] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    framework: str | None = None
    version: str | None = None
    attempt: int = 1
    first_step: int = -1
    step: int = -1
    time: float = -math.inf
    origin: float = math.nan
    sequence: int = 0
    status: str = "running"
    names: dict[str, SeriesName] = field(default_factory=dict)
    derived: tuple[DerivedSeries, ...] = ()
    """What is calculated from what it logs, because a rule asks for it."""
    series: dict[str, SeriesName] = field(default_factory=dict)
    """`names`, and the derived ones by keys of their own."""
    recorded: RecordedRun = NOTHING
    """The run that it is held against."""
    rows: dict[tuple[str, ...], Row] = field(default_factory=dict)
    numeric: set[str] = field(default_factory=set)
    bad: set[str] = field(default_factory=set)
    late_keys: set[str] = field(default_factory=set)
    lost_after: int | None = None
    latest: Mapping[str, float | None] = field(default_factory=dict)
    compiled: Compiled | None = None
    slots: Mapping[str, Any] = field(default_factory=dict)
    state: tuple[Any, ...] = ()
    """The objects in `slots`, in the order in which the kernel takes them."""
    constants: Mapping[str, float] = field(default_factory=dict)
    """What `config` states of what the rules ask for."""
    together: SharedSteps = field(default_factory=SharedSteps)
    records: list[Record | None] = field(default_factory=list)
    open: int = 0
    """How many records there are."""
    awake: set[int] = field(default_factory=set)
    """Dormant instances with a record: they need judging at every event."""
    checkpoints: list[SavedCheckpoint] = field(default_factory=list)
    phases: Phases = field(default_factory=Phases)
    deliveries: dict[str, Delivery] = field(default_factory=dict)
    counts: Counts = field(default_factory=Counts)
    due: float = math.inf
    """When `tick` must look at this run again."""
    timed_at: float = -math.inf

    @property
    def timed(self) -> bool:
        """Whether the run's events carry times (a recording's may not)."""
        return self.time > -math.inf

    @property
    def clock(self) -> float | None:
        """The newest time, None when the recording has none."""
        return self.time if self.timed else None

    @property
    def rel(self) -> int:
        """The newest step counted from the attempt's first."""
        return max(self.step - self.first_step, 0) if self.first_step >= 0 else 0

    def facts(self) -> dict[str, str]:
        """What a rule's `where` is held against: the labels, and the framework."""
        facts = dict(self.labels)
        if self.framework is not None:
            facts.setdefault("framework", self.framework)
        return facts

    def value(self, name: str) -> float | None:
        """The newest logged value of a series by name; None when it is missing or not finite."""
        latest = with_derived(self.latest, {}, self.derived) if self.derived else self.latest
        for key, series in self.series.items():
            if series.full == name:
                found = latest.get(key)
                return found if found is not None and math.isfinite(found) else None
        return None

    def missing(self, name: str) -> Missing | None:
        """Why a series has no value at the newest event; None when it has one."""
        if self.status != "running":
            return Missing.ENDED
        key = next((key for key, series in self.series.items() if series.full == name), None)
        if key is None:
            return Missing.NOT_APPLICABLE
        if name in self.bad:
            return Missing.NOT_FINITE
        derived = next((one for one in self.derived if one.series.raw == key), None)
        if derived is not None:
            reasons = (self.missing(self.series[need].full) for _, need in derived.needs)
            return next((reason for reason in reasons if reason is not None), None)
        if key in self.latest and self.latest[key] is not None:
            return None
        if self.lost_after is not None and self.step <= self.lost_after:
            return Missing.LOST
        return Missing.LATE if key in self.late_keys else Missing.NOT_THIS_STEP
