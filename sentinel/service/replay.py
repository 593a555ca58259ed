"""Replay: recordings through the same engine as live, at full speed.

File → events → engine → transitions with advice → who asked. Each file is a run of its own with an engine of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sentinel.alerts.advice import advise_on
from sentinel.alerts.notification import Rollback
from sentinel.bus.recording import read_recording
from sentinel.engine.engine import Engine
from sentinel.engine.recorded import RecordedRun
from sentinel.engine.transition import Transition
from sentinel.errors import DecodeError
from sentinel.events import Event, RunStarted, StepMetrics
from sentinel.metrics import Dictionary
from sentinel.rules.model import RuleSet


@dataclass(slots=True)
class Seen:
    """One run: how many rows it logged, its first and last step, and (rule, severity) → how often that fired."""

    rows: int = 0
    first_step: int | None = None
    last_step: int | None = None
    fired: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def span(self) -> str:
        """`5 to 450`; `-` without steps."""
        if self.first_step is None:
            return "-"
        return str(self.first_step) if self.first_step == self.last_step else f"{self.first_step} to {self.last_step}"

    def row(self, step: int) -> None:
        self.rows += 1
        self.first_step = step if self.first_step is None else min(self.first_step, step)
        self.last_step = step if self.last_step is None else max(self.last_step, step)


@dataclass(slots=True)
class Summary:
    """What a replay read and found. `steps`: how many rows. `not_evaluable`: run → rule → what the rule misses.

    `late`: rows of a step before the newest, too near to it for a run that went back. `repeated`: rows that gave
    nothing new for the newest step, and events that a publisher sent twice. Neither was judged.
    """

    files: int = 0
    steps: int = 0
    events: int = 0
    late: int = 0
    repeated: int = 0
    transitions: int = 0
    fired: Counter[str] = field(default_factory=Counter)
    rejected: list[str] = field(default_factory=list)
    dropped_metrics: Counter[str] = field(default_factory=Counter)
    frameworks: dict[str, str | None] = field(default_factory=dict)
    not_evaluable: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    runs: dict[str, Seen] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """One transition and the advice that came with it."""

    transition: Transition
    rollback: Rollback | None


def replay(
    path: Path,
    rules: RuleSet,
    summary: Summary,
    *,
    dictionary: Dictionary,
    framework: str | None = None,
    references: Mapping[str, RecordedRun] | None = None,
    on_read: Callable[[int], None] | None = None,
) -> Iterator[Found]:
    """The transitions of one recording, as they happen. Adds to `summary`. Raises UsageError for an unreadable file.

    `on_read` is told now and then how many bytes more have been read.
    """
    engine = Engine(rules, dictionary=dictionary, references=references)
    summary.files += 1
    for found in events(path, summary, framework, on_read):
        for transition in engine.handle(found):
            summary.transitions += 1
            if transition.state == "firing":
                summary.fired[transition.severity] += 1
                summary.runs[transition.run].fired[transition.alert, transition.severity] += 1
            yield Found(transition, advise_on(engine.runs[transition.run], transition))
    for run in engine.runs.values():
        summary.late += run.counts.late
        summary.repeated += run.counts.repeated
        summary.frameworks[run.id] = run.framework
        summary.not_evaluable[run.id] = {
            missing.rule: list(missing.missing) for missing in engine.not_evaluable(run.id)
        }


def events(
    path: Path, summary: Summary, framework: str | None, on_read: Callable[[int], None] | None = None
) -> Iterator[Event]:
    """The events of one recording, as an engine is to take them. Adds to `summary`. Raises UsageError."""
    told: set[str] = set()
    for item in read_recording(path, on_read):
        if isinstance(item, DecodeError):
            summary.rejected.append(str(item))
            continue
        for key, reason in item.dropped:
            summary.dropped_metrics[f"{key}: {reason}"] += 1
        event = item.event
        summary.events += 1
        seen = summary.runs.get(event.run)
        if seen is None:
            seen = summary.runs[event.run] = Seen()
        if isinstance(event, StepMetrics):
            summary.steps += 1
            seen.row(event.step)
        if framework is not None and event.run not in told:
            told.add(event.run)
            if not isinstance(event, RunStarted):
                yield RunStarted(run=event.run, framework=framework, time=event.time, position=event.position)
        if framework is not None and isinstance(event, RunStarted):
            event.framework = framework
        yield event
