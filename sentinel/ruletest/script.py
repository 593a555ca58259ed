"""What the trainer of a test says: its events, in order of time."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.engine.recorded import LABEL, RecordedRun
from sentinel.engine.recorder import record
from sentinel.events import Checkpoint, Event, MetricValue, Phase, RunStarted, Sample, StepMetrics
from sentinel.metrics import Dictionary
from sentinel.ruletest.document import TimelineDocument
from sentinel.ruletest.series import Value, length, values

START = 1_700_000_000.0
"""Seconds since the epoch at which every test begins."""

RUN = "test"


def steps_of(test: TimelineDocument) -> Iterator[tuple[int, int]]:
    """(attempt, step) of each row that the run logs."""
    if test.steps is not None:
        return test.steps.attempts()
    return ((1, 1 + at) for at in range(max(map(length, test.series.values()), default=0)))


def events(test: TimelineDocument) -> list[Event]:
    """All events of a test. A phase begins right before its step, a checkpoint comes right after it.

    Where the steps go back the run is started again, as a new attempt.
    """
    timed = test.seconds_per_step is not None or test.samples is not None
    begun = _started(test, None, START if timed else None)
    said: list[Event] = []
    written = {key: values(key, items, test.seed) for key, items in test.series.items()}
    saved = set(test.checkpoints) if isinstance(test.checkpoints, list) else set()
    every = test.checkpoints if isinstance(test.checkpoints, int) else 0
    phases: dict[int, list[str]] = {}
    for name, step in test.phases.items():
        phases.setdefault(step, []).append(name)
    current = 1
    for index, (attempt, step) in enumerate(steps_of(test)):
        time = START + (index + 1) * test.seconds_per_step if test.seconds_per_step is not None else None
        if attempt != current:
            said.append(_started(test, attempt, time))
            current = attempt
        said += [Phase(run=RUN, name=name, step=step, time=time) for name in phases.get(step, ())]
        said.append(StepMetrics(run=RUN, step=step, metrics=_row(written, index), time=time))
        if step in saved or (every and step > 0 and step % every == 0):
            said.append(Checkpoint(run=RUN, step=step, path=f"out/checkpoint-{step}", time=time))
    # Stable: a step and a sample of the same moment come in that order.
    return [begun, *sorted([*said, *_samples(test)], key=lambda event: event.time or 0.0)]


def reference_of(test: TimelineDocument, dictionary: Dictionary) -> dict[str, RecordedRun]:
    """The run that a test's run is held against, under the name by which it asks for it; empty when it has none."""
    if not test.reference:
        return {}
    # Noise hangs on the key, and must not be the run's own.
    written = {key: values(f"reference {key}", items, test.seed) for key, items in test.reference.items()}
    said: list[Event] = [_started(test, None, None)]
    for at, step in enumerate(sorted({step for _, step in steps_of(test)})):
        there = {key: column for key, column in written.items() if at < len(column)}
        if there:
            said.append(StepMetrics(run=RUN, step=step, metrics=_row(there, at)))
    return {test.labels.get(LABEL, "reference"): record(said, dictionary)}


def _started(test: TimelineDocument, attempt: int | None, time: float | None) -> RunStarted:
    return RunStarted(
        run=RUN,
        framework=test.framework,
        version=test.version,
        config=test.config,
        labels=test.labels,
        attempt=attempt,
        time=time,
    )


def _samples(test: TimelineDocument) -> Iterator[Sample]:
    if test.samples is None:
        return
    sampled = {key: values(key, items, test.seed) for key, items in test.samples.series.items()}
    for index in range(max(map(len, sampled.values()), default=0)):
        row = _row({key: column for key, column in sampled.items() if index < len(column)}, index)
        time = START + (index + 1) * test.samples.every
        yield Sample(run=RUN, metrics=row, labels=test.samples.labels, time=time)


def _row(written: dict[str, list[Value]], index: int) -> dict[str, MetricValue]:
    return {key: value for key, column in written.items() if not isinstance(value := column[index], str)}
