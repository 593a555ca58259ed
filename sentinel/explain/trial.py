"""What would come of it: a copy of a run is continued with values that nobody has logged yet.

The engine is a pure function of its state and the events, so an answer found this way is no estimate: fed with these
values, the real run does what the copy did.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median_low

from sentinel.engine import snapshot as codec
from sentinel.engine.engine import Engine
from sentinel.engine.plan import metric_key
from sentinel.engine.program import Program
from sentinel.engine.run_state import RunState
from sentinel.engine.transition import Transition
from sentinel.events import MetricValue, StepMetrics
from sentinel.explain.asked import asked_rules
from sentinel.rules.model import Rule, RuleSet
from sentinel.stats.series import Series

FALLBACK_SECONDS = 1.0
"""Seconds between two rows of a run that has logged one row only."""

Row = Mapping[str, MetricValue]

NO_DRIFT: Mapping[str, float] = {}

Goal = Callable[[Transition], bool]


@dataclass(frozen=True, slots=True)
class Pace:
    """How a run logs: every `stride` steps, `seconds` apart (None: without times)."""

    stride: int
    seconds: float | None


class Trial:
    """Continues copies of one run of an engine, under the one rule that is asked about. The engine is left alone.

    Rules do not touch one another, so the others can stay away but for those about whose alerts it asks.
    """

    def __init__(self, engine: Engine, run: RunState, rule: Rule) -> None:
        self.run = run
        self._program = Program(RuleSet((rule, *asked_rules(rule, engine.rules))), engine.dictionary)
        self._references = engine.references
        self.pace = pace_of(run)
        self.usual = usual_row(run)
        self.rows = 0
        """Rows tried so far, for who must stop somewhere."""
        self._saved = codec.dump([run])

    def fork(self) -> Engine:
        """A copy that knows this run only."""
        copy = Engine(self._program.rules, program=self._program, references=self._references)
        copy.restore(self._saved)
        return copy

    def until(self, goal: Goal, row: Row, most: int, *, drift: Mapping[str, float] = NO_DRIFT) -> int | None:
        """After how many rows like `row`, at the run's own pace, a transition meets `goal`; None: within `most`, none.

        `drift`: by how much a key's value moves on from each row to the next, the first included.
        """
        copy = self.fork()
        step, time = self.run.step, self.run.clock
        for count in range(1, most + 1):
            self.rows += 1
            step += self.pace.stride
            if time is not None:
                time += self.pace.seconds or FALLBACK_SECONDS
            metrics = {
                key: value if value is None else value + count * drift.get(key, 0.0) for key, value in row.items()
            }
            said = copy.handle(StepMetrics(run=self.run.id, step=step, metrics=metrics, time=time))
            if any(goal(transition) for transition in said):
                return count
        return None

    def silent(self, goal: Goal, most: float) -> float | None:
        """After how many seconds of silence a transition meets `goal`; None: within `most`, none, or without times."""
        if self.run.clock is None:
            return None
        said = self.fork().tick(self.run.clock + most)
        met = next((told.time for told in said if goal(told) and told.time is not None), None)
        return None if met is None else met - self.run.clock


def pace_of(run: RunState) -> Pace:
    """From the steps that the longest series has come at, and the time since the attempt began."""
    series = [slot for slot in run.slots.values() if isinstance(slot, Series) and len(slot.steps) > 1]
    longest = max(series, key=lambda one: len(one.steps), default=None)
    gaps: Sequence[int] = [1]
    if longest is not None:
        recent = longest.steps[-21:]
        gaps = [b - a for a, b in pairwise(recent) if b > a] or [1]
    stride = median_low(gaps)
    if not run.timed or math.isnan(run.origin):
        return Pace(stride, None)
    seconds = (run.time - run.origin) / run.rel * stride if run.rel else FALLBACK_SECONDS
    return Pace(stride, seconds if seconds > 0 else FALLBACK_SECONDS)


def usual_row(run: RunState) -> dict[str, MetricValue]:
    """Each of the run's keys with the newest number that is known of it."""
    row: dict[str, MetricValue] = {}
    for key, name in run.names.items():
        latest = run.latest.get(key)
        series: Series | None = run.slots.get(metric_key(name.full))
        if latest is not None and math.isfinite(latest):
            row[key] = latest
        elif series is not None and len(series.values):
            row[key] = series.values[-1]
    return row
