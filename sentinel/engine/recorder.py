"""From a recorded run's events to what rules compare others with."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sentinel.engine.engine import Engine
from sentinel.engine.recorded import Column, RecordedRun
from sentinel.events import Event, StepMetrics
from sentinel.metrics import Dictionary
from sentinel.rules.model import RuleSet


def record(events: Iterable[Event], dictionary: Dictionary) -> RecordedRun:
    """The run that `events` tell of, as an engine takes them: its keys get the names that a live run's get.

    Where the run went back, the later branch counts. Samples are left out: they have no step. Raises ValueError when
    the events are of several runs.
    """
    engine = Engine(RuleSet(), dictionary=dictionary)
    rows: dict[int, dict[str, float]] = {}
    attempt, first = 1, None
    for event in events:
        first = first or event.run
        if event.run != first:
            raise ValueError(f"it holds several runs, {first} and {event.run} among them: a reference is one run")
        engine.handle(event)
        run = engine.runs[event.run]
        if not isinstance(event, StepMetrics) or event.step != run.step:
            continue
        if run.attempt != attempt:
            attempt = run.attempt
            rows = {step: row for step, row in rows.items() if step < event.step}
        row = rows.setdefault(event.step, {})
        for key, value in event.metrics.items():
            if value is not None and math.isfinite(value):
                row.setdefault(key, value)
    names = {key: series.full for key, series in engine.runs[first].names.items()} if first is not None else {}
    derivations = dictionary.derivations(names.values())
    found: dict[str, Column] = {}
    for step in sorted(rows):
        values: dict[str, float | None] = {names[key]: value for key, value in rows[step].items() if key in names}
        for one in derivations:
            values[one.name] = one.compute(values)
        for name, value in values.items():
            if value is not None:
                column = found.setdefault(name, Column())
                column.steps.append(step)
                column.values.append(value)
    return RecordedRun(found, max(rows, default=-1))
