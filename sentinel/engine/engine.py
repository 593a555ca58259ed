"""The engine: a pure function of its state and the event. It reads no clock and does no IO.

    handle(event) → transitions     tick(now) → transitions     next_wakeup() → when to tick
    snapshot() → bytes              restore(bytes)               reload(rules) → transitions

A run is first advanced to an event's time, so that whatever fell due before it happens before it; then the event
is applied. So it makes no difference how often someone ticks: what is due is stamped with the moment it was due.
"""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Container, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any

from sentinel.engine import snapshot as codec
from sentinel.engine.bind import Instance, name_series
from sentinel.engine.compile import Hit
from sentinel.engine.context import PROGRESS, read_constants
from sentinel.engine.delivery import admit
from sentinel.engine.derived import name_of, with_derived
from sentinel.engine.evaluable import NotEvaluable
from sentinel.engine.evaluate import Reader, deciding
from sentinel.engine.lifecycle import Clock, Record, judge
from sentinel.engine.notice import Notice
from sentinel.engine.onset import find_onset
from sentinel.engine.plan import Slots, build, metric_key, only_nonfinite, series_key
from sentinel.engine.program import Compiled, Program, Silences
from sentinel.engine.recorded import RecordedRun, chosen
from sentinel.engine.run_state import Row, RunState, SavedCheckpoint
from sentinel.engine.transition import Transition
from sentinel.events import (
    Checkpoint,
    ControlAck,
    Event,
    MetricValue,
    Phase,
    RunFinished,
    RunStarted,
    Sample,
    StepMetrics,
)
from sentinel.metrics import Dictionary, default
from sentinel.rules.expression.nodes import Call, Context, Node, metrics_of, walk
from sentinel.rules.model import RuleSet
from sentinel.rules.template import render
from sentinel.severity import AlertState
from sentinel.stats import FUNCTIONS, Result, RunningFunction
from sentinel.stats.series import Series
from sentinel.stats.shared_steps import TURNS
from sentinel.stats.step_time import StepTime
from sentinel.stats.window import Axis

LARGEST = 1e100
"""A magnitude beyond this counts as infinite: its square must still be a double."""

REORDER_BOUND = 5
"""A step that is fewer than this many behind is late; one further behind is a run that went back."""

MAX_RUNS = 20_000
"""Runs kept alive; past it, those heard of longest ago are forgotten."""

MAX_METRICS = 500
"""Keys of one run; the rest are counted and left out."""

MAX_ROWS = 64
"""Different sets of keys of one run that are recognised at a glance."""

MAX_STEP_SPAN = 2**32 - 2
"""Steps of one attempt, counted from its first: windows keep them in 32 bits."""

STALE_AFTER = 3600.0
"""Seconds of silence after which a run's open alerts end as stale."""

FORGET_AFTER = 48 * 3600.0
"""Seconds of silence after which a run without open alerts is forgotten."""

MAX_CHECKPOINTS = 1000
"""Ledger entries of one run; the oldest leave first."""

SETTLED_STEPS = 10
"""Steps after which a run has shown what it logs."""

MOST_NOTICES = 1000

EVIDENCE = ("reward.mean", "kl.ref", "entropy", "length.mean", "grad_norm")
"""Metrics noted with each checkpoint, for the advice to show."""

Transitions = Sequence[Transition]
NOTHING: Transitions = ()
_NO_ROW: Mapping[str, MetricValue] = {}


class Engine:
    """Rules over runs. See the module's first lines."""

    def __init__(
        self,
        rules: RuleSet,
        *,
        dictionary: Dictionary | None = None,
        program: Program | None = None,
        references: Mapping[str, RecordedRun] | None = None,
    ) -> None:
        """`program`: compiled rules to share with other engines; without it, `rules` are compiled for this one.

        `references`: recorded runs by name. A run is held against the one that its label `reference` names, or without
        the label against the only one there is.
        """
        self.references = references or {}
        self.program = program or Program(rules, dictionary or default())
        self.dictionary = self.program.dictionary
        self.runs: dict[str, RunState] = {}
        self.forgotten = 0
        self.notices: deque[Notice] = deque(maxlen=MOST_NOTICES)
        """What nobody has taken note of yet; the newest ones when nobody does."""
        self._wakeups: list[tuple[float, str]] = []
        self._now = -math.inf

    @property
    def rules(self) -> RuleSet:
        return self.program.rules

    # --- events ---------------------------------------------------------------------------------------------

    def handle(self, event: Event) -> Transitions:
        """Take an event into account. Returns what changed, in the order in which it happened.

        Times that run backwards are held at the newest one.
        """
        run = self.runs.get(event.run)
        if run is None:
            run = self._open(event.run)
        run.counts.events += 1
        sender, number = event.publisher, event.seq
        if sender is not None and number is not None and not admit(run.deliveries, sender, number):
            run.counts.repeated += 1
            return NOTHING
        time = event.time
        due: Transitions = NOTHING
        if time is None:
            time = run.time if run.timed else math.nan
        else:
            if time < run.time:
                time = run.time
            if time > run.due:
                due = self._advance(run, time)
            run.time = time
        said = self._step(run, event, time) if type(event) is StepMetrics else self._other(run, event, time)
        if run.due == math.inf:
            if run.open or (run.compiled is not None and run.compiled.timed):
                self._schedule(run)
        elif run.compiled is not None and run.compiled.timed:
            # What the event changed may fall due sooner. Later is no matter: the wake-up then finds nothing to do.
            self._schedule(run, only_sooner=True)
        return [*due, *said] if due else said

    def expect(self, run_id: str, keys: Sequence[str], framework: str | None) -> None:
        """Say beforehand which keys a new run may log, so that runs that log different ones share compiled rules."""
        run = self._open(run_id)
        run.framework = framework
        self._name(run, keys)
        self._recompile(run, math.nan)

    def tick(self, now: float) -> Transitions:
        """Let time pass to `now`, seconds since the epoch. It never runs backwards."""
        if now <= self._now:
            return NOTHING
        self._now = now
        said: list[Transition] = []
        while self._wakeups and self._wakeups[0][0] < now:
            due, run_id = heappop(self._wakeups)
            run = self.runs.get(run_id)
            if run is not None and run.due <= due:
                said.extend(self._advance(run, now))
        return said

    @property
    def soonest(self) -> float:
        """A moment before which `tick` has nothing to do: what `next_wakeup` says, or earlier. Costs nothing."""
        return self._wakeups[0][0] if self._wakeups else math.inf

    def next_wakeup(self) -> float | None:
        """The moment after which `tick` has something to do, seconds since the epoch; None when it is not waited for.

        An event at that very moment comes first, so `tick` acts on what is due strictly before the time it is given.
        """
        while self._wakeups:
            due, run_id = self._wakeups[0]
            run = self.runs.get(run_id)
            if run is not None and run.due <= due:
                return due
            heappop(self._wakeups)
        return None

    def _other(self, run: RunState, event: Event, time: float) -> Transitions:
        match event:
            case Sample():
                return self._sample(run, event, time)
            case Checkpoint():
                self._checkpoint(run, event)
                return NOTHING
            case RunStarted():
                return self._started(run, event)
            case RunFinished():
                return self._finished(run, event)
            case ControlAck():
                return NOTHING
            case Phase():
                run.phases.begin(event.name, event.step, run.step)
                return NOTHING
            case _:  # completions or a heartbeat: the run is alive, which its time already says
                return NOTHING

    def _step(self, run: RunState, event: StepMetrics, time: float) -> Transitions:
        step, metrics = event.step, event.metrics
        said: Transitions = NOTHING
        if run.status != "running":
            said = self._begin_attempt(run, run.attempt + 1)
        merged = False
        if step <= run.step:
            if run.step - step >= REORDER_BOUND or (step <= 1 < run.step - step):
                said = self._begin_attempt(run, run.attempt + 1)
            else:
                metrics = self._merge(run, step, metrics)
                if not metrics:
                    return said
                merged = True
        elif run.step >= 0 and step > run.step + 1:
            run.counts.skipped += 1
        if run.first_step >= 0 and step - run.first_step > MAX_STEP_SPAN:
            said = [*said, *self._begin_attempt(run, run.attempt + 1)]
        if run.first_step < 0:
            self._rewind(run, step)
            run.first_step = step
            run.origin = time
        if step != run.step:
            run.sequence += 1
            run.counts.steps += 1
            if run.counts.steps == SETTLED_STEPS:
                self._notice_not_evaluable(run)
            run.step = step
            if run.late_keys:
                run.late_keys.clear()
        judged = self._evaluate(run, metrics, time, run.latest if merged else _NO_ROW)
        run.latest = {**run.latest, **metrics} if merged else metrics
        return [*said, *judged] if said else judged

    def _merge(self, run: RunState, step: int, metrics: Mapping[str, MetricValue]) -> dict[str, MetricValue]:
        """What a row for a step already seen adds. Some trainers log one step in several rows."""
        if step < run.step:
            run.counts.late += 1
            run.late_keys.update(metrics)
            return {}
        added = {key: value for key, value in metrics.items() if key not in run.latest}
        if not added:
            run.counts.repeated += 1
        return added

    def _sample(self, run: RunState, event: Sample, time: float) -> Transitions:
        if run.status != "running":
            return NOTHING  # the host outlives the run, and an idle GPU is then as it should be
        metrics: Mapping[str, MetricValue] = event.metrics
        if event.labels:
            suffix = ",".join(f"{key}={value}" for key, value in sorted(event.labels.items()))
            metrics = {f"{key}{{{suffix}}}": value for key, value in metrics.items()}
        if math.isnan(run.origin):
            run.origin = time
        run.sequence += 1
        return self._evaluate(run, metrics, time)

    def _evaluate(
        self,
        run: RunState,
        metrics: Mapping[str, MetricValue],
        time: float,
        earlier: Mapping[str, MetricValue] = _NO_ROW,
    ) -> Transitions:
        """Judge a row. `earlier`: what other rows of its step had."""
        if run.derived:
            metrics = with_derived(metrics, earlier, run.derived)
        row = run.rows.get(tuple(metrics))
        removed: Transitions = NOTHING
        if row is None:
            metrics, removed, row = self._learn(run, metrics, earlier, time)
        try:
            clean = math.hypot(*metrics.values()) < LARGEST  # type: ignore[arg-type]
        except TypeError:  # a null
            clean = False
        if clean and not row.clean:
            run.numeric.update(metrics)
            row.clean = True
        compiled = run.compiled
        assert compiled is not None
        finite: Mapping[str, Any] = metrics
        if not clean:
            finite = self._part(run, metrics, time)
            row = Row()
        elif run.bad:
            run.bad.difference_update([run.series[key].full for key in metrics])
        rel = run.step - run.first_step if run.first_step >= 0 else 0
        together = run.together
        if together.members and (row.whole or (row.whole is None and self._is_whole(run, row, finite))):
            together.take(rel)
            shared = together.steps
        else:
            shared = None
        hits = compiled.kernel(
            run.state, run.records, run.bad, finite.get, rel, run.step, time, run.origin, run.open, shared,
            run.constants, run.phases, run.recorded,
        )  # fmt: skip
        together.turn += 1
        if together.turn % TURNS == 1:
            self._gather(run)
        if compiled.dormant and (run.bad or run.awake):
            hits = self._wake(run, hits, time)
        if hits is None:
            return removed
        return [*removed, *self._judge(run, hits, time)]

    @staticmethod
    def _is_whole(run: RunState, row: Row, present: Container[str]) -> bool:
        """Whether an event has a value of every series that shares its steps; series may part company over it."""
        before = len(run.together.members)
        whole = run.together.sort_out(present)
        if len(run.together.members) != before:
            for known in run.rows.values():
                known.whole = None
        row.whole = whole
        return whole

    @staticmethod
    def _gather(run: RunState) -> None:
        """Let series that have come at the same steps share them."""
        before = len(run.together.members)
        found = {key: run.slots.get(metric_key(series.full)) for key, series in run.series.items()}
        run.together.gather({key: series for key, series in found.items() if series is not None})
        if len(run.together.members) != before:
            for known in run.rows.values():
                known.whole = None

    def _part(self, run: RunState, metrics: Mapping[str, MetricValue], time: float) -> dict[str, float]:
        """Divide an event's metrics: the finite ones are returned, the others are noted as bad."""
        finite: dict[str, float] = {}
        for key, value in metrics.items():
            name = run.series[key].full
            if value is not None and abs(value) < LARGEST:
                finite[key] = value
                run.numeric.add(key)
                run.bad.discard(name)
                continue
            # A null counts only where there had been a number.
            if value is not None or key in run.numeric:
                run.bad.add(name)
            series: Series | None = run.slots.get(metric_key(name))
            if series is not None:
                series.miss(run.rel, time)
        return finite

    def _learn(
        self, run: RunState, metrics: Mapping[str, MetricValue], earlier: Mapping[str, MetricValue], time: float
    ) -> tuple[Mapping[str, MetricValue], Transitions, Row]:
        """A row of keys that has not come before: name new series, recompile if rules care about them.

        Returns the metrics without those that are over the limit and with those that are derived, the ends of alerts
        whose series are named otherwise by now, and the row.
        """
        removed: Transitions = NOTHING
        if run.derived:
            metrics = {key: value for key, value in metrics.items() if not name_of(key)}
        new = [key for key in metrics if key not in run.names]
        whole = True
        if new:
            room = MAX_METRICS - len(run.names)
            if len(new) > room:
                if not run.counts.metrics_refused:
                    facts = {"limit": MAX_METRICS, "first": new[max(room, 0)][:80]}
                    self.notices.append(Notice("metrics.refused", run.id, facts))
                run.counts.metrics_refused += len(new) - max(room, 0)
                refused = set(new[max(room, 0) :])
                new = new[: max(room, 0)]
                metrics = {key: value for key, value in metrics.items() if key not in refused}
                whole = False
            if run.framework is None:
                run.framework = self.dictionary.guess(run.names.keys() | metrics.keys())
            if new:
                self._name(run, new)
        if new or run.compiled is None:
            removed = self._recompile(run, time)
        if run.derived:
            metrics = with_derived(metrics, earlier, run.derived)
        row = Row()
        if whole:
            if len(run.rows) >= MAX_ROWS:
                run.rows.clear()
            run.rows[tuple(metrics)] = row
        return metrics, removed, row

    def _name(self, run: RunState, new: Sequence[str]) -> None:
        """Give new keys their series. A name that an earlier key has taken stays with it."""
        bare = {key: key.partition("{")[0] for key in [*run.names, *new]}
        readings = self.dictionary.read(list(dict.fromkeys(bare.values())), run.framework, run.version, run.config)
        taken = {series.full for series in run.names.values()}
        for key in new:
            reading = readings[bare[key]]
            name = reading.name if reading.standing in ("named", "canonical") else None
            labels = tuple(sorted({*reading.labels, *_labels_of(key)}))
            series = name_series(name or bare[key], labels, key)
            if series.full in taken:
                series = name_series(bare[key], labels, key)
            if series.full in taken:
                series = name_series(key, (), key)
            taken.add(series.full)
            run.names[key] = series

    def _recompile(self, run: RunState, time: float) -> Transitions:
        """Fit the run's slots and records to the rules and to the series that it logs by now.

        Alerts whose rule is gone, or looks at other series now, end as removed.
        """
        self._derive(run)
        compiled = self.program.compiled(tuple(run.series.values()), run.facts())
        if compiled is run.compiled:
            return NOTHING
        said: list[Transition] = []
        held: dict[str, Record] = {}
        if run.compiled is not None:
            for index, (instance, record) in enumerate(zip(run.compiled.instances, run.records, strict=True)):
                if record is None:
                    continue
                if instance.key in compiled.index:
                    held[instance.key] = record
                elif record.level >= 0:
                    record.state = "removed"
                    said.append(self._transition(run, index, record, "removed", time, record.level))
        run.together.dissolve()
        run.compiled = compiled
        self._place(run, compiled, build(compiled.plan, run.slots))
        # A key is a hash of its rule: not worked out where there is nothing to look for.
        run.records = [held.get(instance.key) if held else None for instance in compiled.instances]
        run.open = sum(record is not None for record in run.records)
        dormant = set(compiled.dormant)
        run.awake = {index for index, record in enumerate(run.records) if record is not None and index in dormant}
        return said

    def _derive(self, run: RunState) -> None:
        """Settle what is calculated for a run, from the names of what it logs by now."""
        before, run.derived = run.derived, self.program.derived(tuple(run.names.values()))
        run.series = run.names
        if run.derived:
            run.series = run.names | {one.series.raw: one.series for one in run.derived}
        run.bad.difference_update(one.series.full for one in before if one not in run.derived)

    @staticmethod
    def _place(run: RunState, compiled: Compiled, slots: Mapping[str, Any]) -> None:
        run.state = tuple(slots[key] for key in compiled.plan.keys)
        run.slots = Slots(compiled.plan.places, run.state)
        run.constants = read_constants(run.config, compiled.plan.constants)

    def _wake(self, run: RunState, hits: list[Hit] | None, time: float) -> list[Hit] | None:
        """Ask the instances that sleep while all values are numbers."""
        assert run.compiled is not None
        reader = self.reader_at(run, time)
        for index in run.compiled.dormant:
            instance = run.compiled.instances[index]
            truths = tuple(reader.truth(condition) for _, condition in instance.conditions)
            if any(truths) or index in run.awake:
                hits = hits if hits is not None else []
                over = None if instance.until is None else reader.truth(instance.until)
                if run.rel >= instance.rule.after:
                    hits.append((index, truths, over))
        return hits

    # --- the lifecycle --------------------------------------------------------------------------------------

    def _judge(self, run: RunState, hits: Sequence[Hit], time: float) -> Transitions:
        assert run.compiled is not None
        said: list[Transition] = []
        for index, truths, until in hits:
            instance = run.compiled.instances[index]
            rule = instance.rule
            record = run.records[index]
            if rule.phases and (record is None or record.level < 0) and not self._in_phase(run, instance):
                # Outside its phase a rule begins nothing; what fired goes on until it is over.
                if record is not None:
                    self._end(run, index)
                continue
            began = record is None
            if record is None:
                if not any(truths):
                    continue
                record = self._begin(run, index, time)
            before = record.level
            state = judge(
                record, truths, until, has_until=instance.until is not None, hold=rule.hold,
                keep_firing=rule.keep_firing, step=run.step, time=time, sequence=run.sequence,
            )  # fmt: skip
            if state is not None:
                said.append(self._transition(run, index, record, state, time, before))
                if before < 0 and state == "firing":
                    for key in run.compiled.plan.owned.get(index, ()):
                        run.slots[key].take_back(record.onset_step)
            elif began:
                said.append(self._transition(run, index, record, "pending", time, before))
            if record.state in ("resolved", "ended"):
                self._end(run, index)
        if said and run.timed:
            self._schedule(run)
        return said

    @staticmethod
    def _in_phase(run: RunState, instance: Instance) -> bool:
        """Whether the run is in a phase of the rule."""
        phases = instance.rule.phases
        return not phases or run.phases.at(run.step, run.constants.get(PROGRESS, math.nan)) in phases

    def _begin(self, run: RunState, index: int, time: float) -> Record:
        assert run.compiled is not None
        instance = run.compiled.instances[index]
        clock = run.clock
        identity = f"{run.id}\0{run.attempt}\0{instance.rule.name}\0{instance.labels}\0{run.step}\0{clock}"
        record = Record(
            id=hashlib.sha256(identity.encode()).hexdigest()[:16],
            state="pending",
            onset_step=max(run.step, 0),
            onset_time=clock,
            clocks=[Clock() for _ in instance.conditions],
        )
        run.records[index] = record
        run.open += 1
        for key in run.compiled.plan.owned.get(index, ()):
            run.slots[key].hold()
        if index in run.compiled.dormant:
            run.awake.add(index)
        return record

    def _end(self, run: RunState, index: int) -> None:
        run.records[index] = None
        run.open -= 1
        run.awake.discard(index)

    def _transition(
        self, run: RunState, index: int, record: Record, state: AlertState, time: float, before: int
    ) -> Transition:
        assert run.compiled is not None
        instance = run.compiled.instances[index]
        rule = instance.rule
        # While pending the severity is the one whose clock runs furthest up.
        level = record.level
        if level < 0:
            level = max((at for at, clock in enumerate(record.clocks) if clock.count), default=0)
        severity, condition = instance.conditions[level]
        reader = self.reader_at(run, time)
        decided = deciding(condition, reader)
        if state == "firing":
            breach = min((clock.step for clock in record.clocks if clock.count), default=run.step)
            if before < 0:
                record.onset_step = self._onset(run, instance, level, breach)
                record.onset_time = self._time_at(run, instance, level, record.onset_step, record.onset_time)
        value, threshold, metric = None, None, _subject(instance, run)
        if decided is not None:
            node, left, right = decided
            metric = str(node)
            value = left if math.isfinite(left) else None
            threshold = right if math.isfinite(right) else None
        elif metric in run.bad:
            value = None
        unit = self._unit(decided[0]) if decided is not None else ""
        labels = dict(instance.labels)
        facts: dict[str, object] = {
            "run": run.id,
            "attempt": run.attempt,
            "alert": rule.name,
            "symptom": rule.symptom,
            "severity": severity,
            "step": max(run.step, 0),
            "onset_step": record.onset_step,
            "value": value,
            "threshold": threshold,
            "metric": labels.get("metric", metric),
            "unit": unit,
            "labels": ", ".join(f"{key}={label}" for key, label in labels.items()),
        }
        return Transition(
            id=record.id,
            run=run.id,
            attempt=run.attempt,
            alert=rule.name,
            symptom=rule.symptom,
            severity=severity,
            state=state,
            step=max(run.step, 0),
            time=None if math.isnan(time) else time,
            onset_step=record.onset_step,
            onset_time=record.onset_time,
            value=value,
            threshold=threshold,
            metric=metric,
            unit=unit,
            labels=labels,
            summary=render(rule.summary, facts),
            condition=str(rule.conditions[level][1]),
            rule=rule,
            previous=instance.conditions[before][0] if before >= 0 else None,
        )

    def _unit(self, node: Node) -> str:
        """The unit of what a comparison has on its left: the metric's own, `ratio` for a relative change."""
        results = [FUNCTIONS[found.function].result for found in walk(node) if isinstance(found, Call)]
        if Result.RATIO in results or Result.SHARE in results:
            return "ratio"
        if Result.SECONDS in results or Context("step_time") in walk(node):
            return "s"
        if Result.PLAIN in results:
            return ""
        metrics = metrics_of(node)
        info = self.dictionary.describe(metrics[0].name.partition("{")[0]) if len(metrics) == 1 else None
        unit = info.unit if info is not None and info.unit != "-" else ""
        for found in walk(node):
            if isinstance(found, Call) and FUNCTIONS[found.function].result is Result.RATE and unit:
                timed = found.window is not None and found.window.axis is Axis.TIME
                return f"{unit}/{'s' if timed else 'step'}"
        return unit

    def _onset(self, run: RunState, instance: Instance, level: int, breach: int) -> int:
        """Look back over the metrics of the condition that fired for the step at which they changed course."""
        if only_nonfinite(instance):
            # It began where it is seen: the numbers before were numbers, whatever their course.
            return max(breach, 0)
        onsets = [breach]
        for metric in metrics_of(instance.conditions[level][1])[:1]:
            series: Series | None = run.slots.get(series_key(metric))
            if series is None or not series.values:
                continue
            steps = [run.first_step + step for step in series.steps]
            onsets.append(find_onset(steps, series.values, breach))
        return max(min(onsets), 0)

    def _time_at(
        self, run: RunState, instance: Instance, level: int, step: int, breach_time: float | None
    ) -> float | None:
        """When the run was at `step`, from the series that keep times; else by the checkpoint or breach nearest to
        it."""
        if breach_time is None or step >= run.step:
            return breach_time
        for metric in metrics_of(instance.conditions[level][1]):
            series: Series | None = run.slots.get(series_key(metric))
            if series is not None and series.times is not None:
                for at, when in zip(series.steps, series.times, strict=True):
                    if run.first_step + at >= step and when > -math.inf:
                        return when
        return breach_time

    def reader_at(self, run: RunState, time: float, *, rel: int | None = None) -> Reader:
        """What answers for the values of expressions over `run` at `time`; as of `rel`, steps after the attempt's
        first, or else as of the newest one."""
        assert run.compiled is not None
        if rel is None:
            rel, step = run.rel, run.step
        else:
            step = run.first_step + rel
        return Reader(
            run.slots, run.bad, run.constants, run.phases, records=run.records, instances=run.compiled.instances,
            recorded=run.recorded, rel=rel, step=step, time=time, origin=run.origin,
        )  # fmt: skip

    def _end_all(self, run: RunState, state: AlertState, time: float) -> list[Transition]:
        """End every open alert without evidence of recovery. Pending ones end in silence."""
        said: list[Transition] = []
        for index, record in enumerate(run.records):
            if record is None:
                continue
            if record.level >= 0:
                record.state = state
                said.append(self._transition(run, index, record, state, time, record.level))
            self._end(run, index)
        return said

    # --- attempts, checkpoints, ends ------------------------------------------------------------------------

    def _open(self, run_id: str) -> RunState:
        if len(self.runs) >= MAX_RUNS:
            oldest = sorted(self.runs.values(), key=lambda run: (run.open > 0, run.time))[: MAX_RUNS // 20]
            for run in oldest:
                del self.runs[run.id]
            self.forgotten += len(oldest)
        run = RunState(run_id)
        run.recorded = chosen(self.references, run.labels)
        self.runs[run_id] = run
        return run

    def _started(self, run: RunState, event: RunStarted) -> Transitions:
        said: Transitions = NOTHING
        attempt = event.attempt if event.attempt is not None else run.attempt + (run.step >= 0)
        if run.step >= 0 and (attempt > run.attempt or run.status != "running"):
            said = self._begin_attempt(run, max(attempt, run.attempt + 1))
        elif run.step < 0:
            run.attempt = max(attempt, 1)
        run.labels = dict(event.labels)
        run.recorded = chosen(self.references, run.labels)
        known = (run.framework, run.version, run.config)
        run.config = dict(event.config)
        run.version = event.version
        if event.framework is not None:
            run.framework = event.framework
        # What a key is can hang on the trainer, its version and its configuration.
        if run.names and known != (run.framework, run.version, run.config):
            before, run.names = run.names, {}
            self._name(run, list(before))
            run.bad = {run.names[key].full for key, series in before.items() if series.full in run.bad}
        if run.names:
            said = [*said, *self._recompile(run, run.time if run.timed else math.nan)]
        if run.compiled is not None:
            run.constants = read_constants(run.config, run.compiled.plan.constants)
        return said

    def _begin_attempt(self, run: RunState, attempt: int) -> Transitions:
        """The trainer began again: windows restart, the old branch's alerts end as superseded.

        Where it goes on from is known when its first step comes (`_rewind`).
        """
        said = self._end_all(run, "superseded", run.time if run.timed else math.nan)
        self.notices.append(Notice("attempt.begun", run.id, {"attempt": attempt, "after_step": run.step}))
        run.attempt = attempt
        run.first_step = -1
        run.step = -1
        run.origin = math.nan
        run.status = "running"
        run.latest = {}
        run.bad.clear()
        run.late_keys.clear()
        run.together.dissolve()
        for slot in run.slots.values():
            if isinstance(slot, Series | StepTime):
                slot.clear()
        return said

    def _notice_not_evaluable(self, run: RunState) -> None:
        """Once per run, when it has shown what it logs: a rule that can say nothing must not pass for a quiet one."""
        missing = {found.rule: ", ".join(found.missing) for found in self.not_evaluable(run.id)}
        if missing:
            # That a run sends no GPU metrics is no trouble.
            self.notices.append(Notice("rules.found_not_evaluable", run.id, {"needs": missing}, "info"))

    def _rewind(self, run: RunState, step: int) -> None:
        """The attempt's first step: what was learned and saved before it stays, the rest was another branch."""
        run.checkpoints = [saved for saved in run.checkpoints if saved.step < step or saved.attempt == run.attempt]
        run.phases.enter(step)
        for slot in run.slots.values():
            if isinstance(slot, RunningFunction):
                slot.rewind(step)

    def _finished(self, run: RunState, event: RunFinished) -> Transitions:
        said = self._end_all(run, "ended", run.time if run.timed else math.nan)
        run.status = event.status
        return said

    def _checkpoint(self, run: RunState, event: Checkpoint) -> None:
        found = next((saved for saved in run.checkpoints if saved.path == event.path), None)
        if event.state == "saved":
            run.counts.checkpoints += 1
            if found is not None:
                run.checkpoints.remove(found)
            evidence = {name: value for name in EVIDENCE if (value := run.value(name)) is not None}
            run.checkpoints.append(SavedCheckpoint(event.step, event.path, run.clock, run.attempt, evidence=evidence))
            del run.checkpoints[:-MAX_CHECKPOINTS]
        elif found is not None:
            found.deleted = event.state == "deleted"
            found.pinned = event.state == "pinned"

    # --- time -----------------------------------------------------------------------------------------------

    def _advance(self, run: RunState, now: float) -> list[Transition]:
        """Let everything happen that falls due strictly before `now`, in order."""
        said: list[Transition] = []
        while run.due < now:
            due = run.due
            # What was awaited may have been put off by what came since.
            self._schedule(run)
            if run.due > due:
                continue
            if run.open and due >= run.time + STALE_AFTER:
                said.extend(self._end_all(run, "stale", due))
            else:
                said.extend(self._judge_timed(run, due))
            run.timed_at = due
            self._schedule(run)
        return said

    def _judge_timed(self, run: RunState, due: float) -> Transitions:
        """Judge the instances that have waited for this moment, and no others: rules do not touch one another.

        Those that ask about alerts which change by it are judged after it, each once.
        """
        assert run.compiled is not None
        waited = [index for index, watched in run.compiled.timed if self._due_of(run, index, watched) <= due]
        followers, followed = run.compiled.followers, set[int]()
        said: list[Transition] = []
        while waited:
            before = [_standing(run.records[index]) for index in waited] if followers else []
            said.extend(self._judge_waiting(run, waited, due))
            changed = [
                index for index, was in zip(waited, before, strict=False) if _standing(run.records[index]) != was
            ]
            waited = sorted({follower for index in changed for follower in followers.get(index, ())} - followed)
            followed.update(waited)
        return said

    def _judge_waiting(self, run: RunState, waited: Sequence[int], due: float) -> Transitions:
        assert run.compiled is not None
        # A hair past the moment, so that `age(x) > 5m` holds at five minutes and not at the next event.
        reader = self.reader_at(run, math.nextafter(due, math.inf))
        hits: list[Hit] = []
        for index in waited:
            instance = run.compiled.instances[index]
            if run.rel < instance.rule.after:
                continue
            truths = tuple(reader.truth(condition) for _, condition in instance.conditions)
            if any(truths) or run.records[index] is not None:
                over = None if instance.until is None else reader.truth(instance.until)
                hits.append((index, truths, over))
        # Time that passes is an evaluation for a `for` in seconds, not one more step.
        return self._judge(run, hits, due)

    def _schedule(self, run: RunState, *, only_sooner: bool = False) -> None:
        """Work out when the run must be looked at next."""
        due = math.inf
        if run.status == "running" and run.timed and run.compiled is not None:
            if run.compiled.soonest is not None:
                due = run.compiled.soonest(
                    run.state, run.records, run.bad, run.rel, run.step, run.time, run.origin, run.open,
                    run.constants, run.phases, run.recorded, run.timed_at,
                )  # fmt: skip
                due = max(due, run.time)
            if run.open:
                for index, _ in run.compiled.timed:
                    due = self._sooner_by_holds(run, index, due)
                due = self._sooner(run, due, run.time + STALE_AFTER)
        if only_sooner and due >= run.due:
            return
        run.due = due
        if due < math.inf:
            heappush(self._wakeups, (due, run.id))

    def _due_of(self, run: RunState, index: int, watched: Silences) -> float:
        """When one instance's answer next changes if nothing is logged. What is unknown falls never due."""
        assert run.compiled is not None
        due = math.inf
        for key, wait in watched:
            since = run.slots[key].time
            seconds = wait if isinstance(wait, float | int) else self.reader_at(run, run.time).number(wait)
            due = self._sooner(run, due, (since if since == since else run.origin) + seconds)
        return self._sooner_by_holds(run, index, due)

    def _sooner_by_holds(self, run: RunState, index: int, due: float) -> float:
        """When an instance's alert next changes because a `for` or a `keep_firing_for` in seconds is over, if that is
        sooner than `due`."""
        assert run.compiled is not None
        record, rule = run.records[index], run.compiled.instances[index].rule
        if record is not None:
            if rule.hold is not None and rule.hold.axis is Axis.TIME:
                for clock in record.clocks:
                    if clock.count:
                        due = self._sooner(run, due, clock.time + rule.hold.size)
            if rule.keep_firing is not None and rule.keep_firing.axis is Axis.TIME and record.over.count:
                due = self._sooner(run, due, record.over.time + rule.keep_firing.size)
        return due

    @staticmethod
    def _sooner(run: RunState, due: float, candidate: float) -> float:
        """What was due before rules were there to ask falls due at the run's newest event, not in its past."""
        return min(due, max(candidate, run.time)) if candidate > run.timed_at else due

    # --- the whole ------------------------------------------------------------------------------------------

    def reload(self, rules: RuleSet) -> Transitions:
        """Put other rules in force. State of every unchanged condition is kept; alerts of rules that are gone end."""
        self.program = Program(rules, self.dictionary)
        said: list[Transition] = []
        for run in self.runs.values():
            if run.compiled is not None:
                said.extend(self._recompile(run, run.time if run.timed else math.nan))
                self._schedule(run)
        return said

    def forget_idle(self, now: float) -> int:
        """Forget runs that have been silent for two days and have nothing open. Returns how many."""
        idle = [run.id for run in self.runs.values() if not run.open and run.time < now - FORGET_AFTER and run.timed]
        for run_id in idle:
            del self.runs[run_id]
        self.forgotten += len(idle)
        return len(idle)

    def lose(self) -> int:
        """Entries were lost before they were read: what a run lacks up to its next step may have been among them.

        Returns how many runs that concerns. Nothing fires or resolves by it.
        """
        for run in self.runs.values():
            run.lost_after = run.step + 1
        return len(self.runs)

    def not_evaluable(self, run_id: str) -> Sequence[NotEvaluable]:
        """The rules that can say nothing of a run, and what they miss."""
        run = self.runs.get(run_id)
        if run is None or run.compiled is None:
            return ()
        return run.compiled.not_evaluable(run.constants, run.recorded, phased=bool(run.phases.begun))

    def reader(self, run_id: str) -> Reader:
        """What asks for the value of an expression of a run as of its newest event. KeyError for an unknown run."""
        run = self.runs[run_id]
        return self.reader_at(run, run.time if run.timed else math.nan)

    def active(self) -> Iterator[tuple[RunState, Instance, Record]]:
        """Every alert on record, pending ones included."""
        for run in self.runs.values():
            if run.compiled is not None:
                for instance, record in zip(run.compiled.instances, run.records, strict=True):
                    if record is not None:
                        yield run, instance, record

    def snapshot(self) -> bytes:
        """The whole state. `restore` of it, under the same rules, goes on as if nothing had happened."""
        return codec.dump(self.runs.values())

    def restore(self, data: bytes, *, only: str | None = None) -> None:
        """Replace the state. Under other rules, what they share is kept. Raises SnapshotError and changes nothing.

        `only`: the one run to take up, for who wants to look at no other.
        """
        runs: dict[str, RunState] = {}
        wakeups: list[tuple[float, str]] = []
        for saved in codec.load(data):
            run = saved.run
            if only is not None and run.id != only:
                continue
            runs[run.id] = run
            run.recorded = chosen(self.references, run.labels)
            if run.names:
                self._derive(run)
                run.bad.intersection_update(series.full for series in run.series.values())
                compiled = self.program.compiled(tuple(run.series.values()), run.facts())
                run.compiled = compiled
                self._place(run, compiled, codec.rebuild(compiled.plan, saved.slots))
                shared = {key: run.slots.get(metric_key(full)) for key, full in saved.together.items()}
                run.together.join({key: series for key, series in shared.items() if series is not None})
                run.records = [saved.records.get(instance.key) for instance in compiled.instances]
                run.open = sum(record is not None for record in run.records)
                dormant = set(compiled.dormant)
                run.awake = {at for at, record in enumerate(run.records) if record is not None and at in dormant}
            if run.due < math.inf:
                heappush(wakeups, (run.due, run.id))
        self.runs, self._wakeups = runs, wakeups


def _standing(record: Record | None) -> tuple[object, ...] | None:
    """All of a record that another rule can ask about."""
    return None if record is None else (record.level, *(clock.count > 0 for clock in record.clocks))


def _labels_of(key: str) -> tuple[tuple[str, str], ...]:
    """The labels of a key such as `gpu.util{gpu=3}`; none when it has none, or braces of its own."""
    _, brace, rest = key.partition("{")
    if not brace or not rest.endswith("}"):
        return ()
    pairs = [part.partition("=") for part in rest[:-1].split(",")]
    return tuple(sorted((name.strip(), value.strip()) for name, sign, value in pairs if sign))


def _subject(instance: Instance, run: RunState) -> str:
    """What an alert without a comparison is about: the series that is not a number, or the first it names."""
    metrics = [metric for condition in instance.expressions() for metric in metrics_of(condition)]
    return next((metric.name for metric in metrics if metric.name in run.bad), metrics[0].name if metrics else "")
