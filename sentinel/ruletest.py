"""Time-lines that must fire, and time-lines that must stay silent: tests of rules, written beside them.

`grpo.test.yaml` tests `grpo.yaml`. A test says what a trainer logs, as short series, and what must come of it; it is
played through the real engine. It needs no clock, so hours pass in milliseconds.

A series is a text of items with spaces between them; `xN` repeats an item N times:

    0.02x50 0.6x10       0.02 fifty times, then 0.6 ten times
    0.3+0.01x60          0.30, 0.31, 0.32 ... sixty values; 0.3-0.01x60 falls
    0.5~0.02x50          noise of standard deviation 0.02 about 0.5: the same in every run, see `noise`
    NaN Inf -Inf null    not numbers, as a trainer may log them
    _x5                  not logged for five steps

A test passes when each alert in `expect` fired as it says, no alert in `silent` fired at all, and no other alert of
warning or worse fired. This module opens no file.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError, core_schema

from sentinel.alerts.incident import IncidentBook
from sentinel.alerts.notification import Rollback
from sentinel.documents import Document, DocumentError, Loc, printable, problems_from_pydantic, read_document
from sentinel.engine.engine import Engine
from sentinel.engine.program import Program, not_evaluable
from sentinel.engine.transition import Transition
from sentinel.errors import Problem, RuleError
from sentinel.events import Checkpoint, Event, MetricValue, RunStarted, Sample, StepMetrics
from sentinel.metrics import Dictionary
from sentinel.metrics import default as default_dictionary
from sentinel.rules.expression.parse import ExpressionError, parse_extent
from sentinel.rules.model import RuleSet
from sentinel.severity import Severity, rank
from sentinel.stats.window import Axis
from sentinel.suggestion import closest

MAX_VALUES = 100_000
"""Values of one series, and steps of one test."""

START = 1_700_000_000.0
"""Seconds since the epoch at which every test begins."""

RUN = "test"

Outcome = Literal["PASS", "FAIL", "ERROR"]

Value = float | None | Literal["_"]
"""One value of a series; `_`: not logged at this step."""


# ---- what a test file says ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Steps:
    """First step, last step, stride."""

    first: int
    last: int
    stride: int = 1

    @property
    def numbers(self) -> range:
        return range(self.first, self.last + 1, self.stride)


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a series: `base`, `base + slope`, ... `count` values with noise of standard deviation `noise`."""

    base: Value
    slope: float = 0.0
    noise: float = 0.0
    count: int = 1


class _Read:
    """A field that is read from a text by `read`, which raises ValueError with a sentence."""

    def __init__(self, read: Callable[[str], object]) -> None:
        self.read = read

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self._validate)

    def _validate(self, value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise PydanticCustomError("string_type", "this must be a text")
        try:
            return self.read(str(value))
        except _TextError as fault:
            context = {"start": fault.start, "end": fault.end, "hint": fault.hint, "message": str(fault)}
            raise PydanticCustomError(fault.code, "{message}", context) from None


class _TextError(Exception):
    def __init__(self, code: str, message: str, hint: str, start: int, end: int) -> None:
        super().__init__(message)
        self.code, self.hint, self.start, self.end = code, hint, start, end


_NUMBER = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_ITEM = re.compile(
    rf"(?P<word>_|[+-]?(?i:nan|inf)|null|[+-]?{_NUMBER})"
    rf"(?P<slope>[+-]{_NUMBER})?(?:~(?P<noise>{_NUMBER}))?(?:x(?P<count>[0-9]{{1,9}}))?"
)


def parse_series(text: str) -> tuple[Item, ...]:
    """The items of a series. Raises ValueError naming the item that cannot be read."""
    items = []
    total = 0
    for found in re.finditer(r"\S+", text):
        word = found.group()
        match = _ITEM.fullmatch(word)
        if match is None:
            hint = "write 0.5x10, 0.3+0.01x60, 0.5~0.02x50, NaN, null or _x5"
            raise _TextError("bad-series", f"'{printable(word)}' is no item of a series", hint, *found.span())
        base: Value = _base(match["word"])
        varies = match["slope"] or match["noise"]
        if varies and not (isinstance(base, float) and math.isfinite(base)):
            raise _TextError("bad-series", f"'{match['word']}' can neither climb nor be noisy", "", *found.span())
        count = int(match["count"] or 1)
        total += count
        if count == 0 or total > MAX_VALUES:
            raise _TextError("bad-series", f"a series has 1 to {MAX_VALUES} values", "", *found.span())
        items.append(Item(base, float(match["slope"] or 0.0), float(match["noise"] or 0.0), count))
    if not items:
        raise _TextError("bad-series", "the series is empty", "write 0.5x10", 0, 1)
    return tuple(items)


def _base(word: str) -> Value:
    if word == "_":
        return "_"
    return None if word == "null" else float(word)


def parse_steps(text: str) -> Steps:
    """`1..60` or `5..300 by 5`."""
    match = re.fullmatch(r"\s*([0-9]{1,15})\s*\.\.\s*([0-9]{1,15})(?:\s+by\s+([0-9]{1,9}))?\s*", text)
    if match is None:
        raise _TextError("bad-steps", f"'{printable(text)}' are no steps", "write 1..60 or 5..300 by 5", 0, len(text))
    steps = Steps(int(match[1]), int(match[2]), int(match[3] or 1))
    if steps.stride == 0 or not 1 <= len(steps.numbers) <= MAX_VALUES:
        raise _TextError("bad-steps", f"that is not 1 to {MAX_VALUES} steps", "", 0, len(text))
    return steps


def _seconds(text: str) -> float:
    try:
        extent = parse_extent(text if not re.fullmatch(_NUMBER, text) else f"{text}s")
    except ExpressionError:
        extent = None
    if extent is None or extent.axis is not Axis.TIME:
        raise _TextError("bad-duration", f"'{printable(text)}' is not a duration", "write 30s or 5m", 0, len(text))
    return extent.size


def _rollback(text: str) -> int | None:
    if text == "none":
        return None
    if re.fullmatch(r"[0-9]{1,15}", text):
        return int(text)
    raise _TextError("bad-rollback", f"'{printable(text)}' is no checkpoint", "a step, or none", 0, len(text))


def _every(text: str) -> int:
    match = re.fullmatch(r"every ([1-9][0-9]{0,8})(?: steps?)?", text)
    if match is None:
        hint = "write every 25, or a list of steps"
        raise _TextError("bad-checkpoints", f"'{printable(text)}' are no checkpoints", hint, 0, len(text))
    return int(match[1])


SeriesText = Annotated[tuple[Item, ...], _Read(parse_series)]
StepsText = Annotated[Steps, _Read(parse_steps)]
Seconds = Annotated[float, _Read(_seconds)]
RollbackText = Annotated[int | None, _Read(_rollback)]
Every = Annotated[int, _Read(_every)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, arbitrary_types_allowed=True)


class ExpectDocument(_Strict):
    """One alert that must fire. What is not said is not compared."""

    alert: str
    severity: Severity | None = None
    fires_at: int | None = None
    fires_after: Seconds | None = None
    onset: int | None = None
    resolved_at: int | None = None
    rollback: RollbackText | None = None
    labels: dict[str, str] = {}


class SamplesDocument(_Strict):
    """Metrics by time rather than by step: one value of each series every so often, from the test's beginning on."""

    every: Seconds
    series: dict[str, SeriesText]
    labels: dict[str, str] = {}


class TimelineDocument(_Strict):
    """One time-line and what must come of it."""

    name: str
    framework: str | None = None
    labels: dict[str, str] = {}
    steps: StepsText | None = None
    series: dict[str, SeriesText] = {}
    seconds_per_step: Seconds | None = None
    samples: SamplesDocument | None = None
    quiet: Seconds | None = Field(default=None, description="Time that passes after the last event.")
    checkpoints: list[int] | Every | None = None
    expect: list[ExpectDocument] = []
    silent: list[str] = []


class TimelinesDocument(_Strict):
    """A file of tests. `rules` are files relative to it; without, NAME.yaml beside NAME.test.yaml."""

    rules: list[str] = []
    tests: list[TimelineDocument]


# ---- reading ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Timelines:
    """A test file that was understood. `rules`: the rule files it names, relative to itself; may be empty."""

    path: str
    rules: tuple[str, ...]
    tests: tuple[TimelineDocument, ...]
    document: Document

    def line(self, index: int) -> int:
        return self.document.place(("tests", index)).line


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one test. `problems` say where the file and the engine disagree; empty for a PASS."""

    outcome: Outcome
    name: str
    path: str
    line: int
    problems: tuple[Problem, ...] = ()

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.line else self.path


def read_tests(path: str, text: bytes | str) -> Timelines:
    """The tests that `text` holds. Raises RuleError with every problem."""
    try:
        document = read_document(text, path)
    except DocumentError as error:
        raise RuleError(error.problems) from None
    if document.value is None:
        raise RuleError([Problem(path, 1, 1, "no-tests", "the file is empty", "it begins with tests:")])
    try:
        parsed = TimelinesDocument.model_validate(document.value)
    except ValidationError as error:
        raise RuleError(problems_from_pydantic(error, document, TimelinesDocument)) from None
    file = Timelines(path, tuple(parsed.rules), tuple(parsed.tests), document)
    problems = [problem for index in range(len(file.tests)) for problem in _inconsistencies(file, index)]
    if problems:
        raise RuleError(problems)
    return file


def _inconsistencies(file: Timelines, index: int) -> Iterator[Problem]:
    """What each value allows and all together do not."""
    test, document, loc = file.tests[index], file.document, ("tests", index)
    if not test.series and test.samples is None:
        place = document.place((*loc, "name"))
        yield document.problem(place, "no-series", "the test logs nothing", "add series: or samples:")
    steps = _steps(test)
    for key, items in test.series.items():
        count = sum(item.count for item in items)
        if count != len(steps):
            message = f"the series has {count} values for {len(steps)} steps"
            hint = f"_x{len(steps) - count} at the end for values that are not logged" if count < len(steps) else ""
            yield document.problem(document.place((*loc, "series", key)), "series-length", message, hint)
    if test.samples is not None and test.series and test.seconds_per_step is None:
        place = document.place((*loc, "samples"), key=True)
        hint = "add seconds_per_step: 30"
        yield document.problem(place, "no-times", "samples have times and the steps have none", hint)


def _steps(test: TimelineDocument) -> range:
    if test.steps is not None:
        return test.steps.numbers
    return range(1, 1 + max((sum(item.count for item in items) for items in test.series.values()), default=0))


# ---- playing ------------------------------------------------------------------------------------------------


def noise(key: str, index: int, _cache: dict[str, list[float]] = {}) -> float:  # noqa: B006 - a cache on purpose
    """The deviation of value `index` (from 0) of the series `key`, in standard deviations: -6 to 6, about normal.

    Twelve uniform numbers less six; Python promises its generator's numbers for a seed, so they are the same anywhere.
    """
    drawn = _cache.setdefault(key, [])
    if index >= len(drawn):
        source = random.Random(key)
        drawn[:] = [sum(source.random() for _ in range(12)) - 6.0 for _ in range(max(256, 2 * index))]
    return drawn[index]


def values(key: str, items: Sequence[Item]) -> list[Value]:
    """A series written out."""
    found: list[Value] = []
    for item in items:
        for at in range(item.count):
            value = item.base
            if isinstance(value, float):
                value += item.slope * at
                if item.noise:
                    value += item.noise * noise(key, len(found))
            found.append(value)
    return found


def events(test: TimelineDocument) -> list[Event]:
    """What the trainer says, in order of time. A checkpoint comes right after its step."""
    timed = test.seconds_per_step is not None or test.samples is not None
    started = RunStarted(run=RUN, framework=test.framework, labels=test.labels, time=START if timed else None)
    steps: list[Event] = []
    written = {key: values(key, items) for key, items in test.series.items()}
    saved = set(test.checkpoints) if isinstance(test.checkpoints, list) else set()
    for index, step in enumerate(_steps(test)):
        time = START + (index + 1) * test.seconds_per_step if test.seconds_per_step is not None else None
        steps.append(StepMetrics(run=RUN, step=step, metrics=_row(written, index), time=time))
        if step in saved or (isinstance(test.checkpoints, int) and step > 0 and step % test.checkpoints == 0):
            steps.append(Checkpoint(run=RUN, step=step, path=f"out/checkpoint-{step}", time=time))
    samples: list[Event] = []
    if test.samples is not None:
        sampled = {key: values(key, items) for key, items in test.samples.series.items()}
        for index in range(max(map(len, sampled.values()), default=0)):
            row = _row({key: column for key, column in sampled.items() if index < len(column)}, index)
            time = START + (index + 1) * test.samples.every
            samples.append(Sample(run=RUN, metrics=row, labels=test.samples.labels, time=time))
    # Stable: a step and a sample of the same moment come in that order.
    return [started, *sorted([*steps, *samples], key=lambda event: event.time or 0.0)]


def _row(written: dict[str, list[Value]], index: int) -> dict[str, MetricValue]:
    return {key: value for key, column in written.items() if not isinstance(value := column[index], str)}


@dataclass(slots=True)
class _Firing:
    """One time that an alert fired, with what was advised then and where it ended."""

    transition: Transition
    advice: Rollback | None
    resolved_at: int | None = None


@dataclass(slots=True)
class _Played:
    engine: Engine
    firings: list[_Firing] = field(default_factory=list)
    pending: dict[str, Transition] = field(default_factory=dict)


class Stage:
    """What the tests of one file share: the rules, compiled once for the keys of all of them.

    A test's rows are the same rows beside keys that it never logs; but compiling costs more than playing.
    """

    def __init__(self, file: Timelines, rules: RuleSet, dictionary: Dictionary | None = None) -> None:
        self.dictionary = dictionary or default_dictionary()
        self.program = Program(rules, self.dictionary)
        self._keys: dict[str | None, dict[str, None]] = {}
        for test in file.tests:
            self._keys.setdefault(self.framework(test), {}).update(dict.fromkeys(test.series))

    def framework(self, test: TimelineDocument) -> str | None:
        return test.framework or self.dictionary.guess(test.series)

    def engine(self, test: TimelineDocument) -> Engine:
        """An engine that has heard nothing yet."""
        engine = Engine(self.program.rules, program=self.program)
        framework, own = self.framework(test), list(test.series)
        keys = list(self._keys[framework])
        together = self.dictionary.translate(keys, framework)
        # Other keys can change what a key of this test is (verl's rewards beside its scores): then it stays alone.
        if test.samples is None and all(
            together.get(key) == name for key, name in self.dictionary.translate(own, framework).items()
        ):
            engine.expect(RUN, keys, framework)
        return engine


def play(file: Timelines, index: int, rules: RuleSet, *, stage: Stage | None = None) -> Result:
    """Run one test of a file through an engine of its own."""
    test = file.tests[index]
    problems = list(_unknown_names(file, index, rules))
    if problems:
        return Result("ERROR", test.name, file.path, file.line(index), tuple(problems))
    played = _play(test, stage or Stage(file, rules))
    problems = sorted(_compare(file, index, played), key=lambda problem: problem.line)
    return Result("FAIL" if problems else "PASS", test.name, file.path, file.line(index), tuple(problems))


def _unknown_names(file: Timelines, index: int, rules: RuleSet) -> Iterator[Problem]:
    test, names = file.tests[index], {rule.name for rule in rules}
    places: list[tuple[Loc, str]] = [
        (("tests", index, "expect", at, "alert"), entry.alert) for at, entry in enumerate(test.expect)
    ]
    places += [(("tests", index, "silent", at), name) for at, name in enumerate(test.silent)]
    for loc, name in places:
        if name not in names:
            hint = closest(name, names) or f"rules: {', '.join(sorted(names))}"
            yield file.document.problem(
                file.document.place(loc), "unknown-alert", f"no rule is named '{printable(name)}'", hint
            )


def _play(test: TimelineDocument, stage: Stage) -> _Played:
    engine, book = stage.engine(test), IncidentBook()
    played = _Played(engine)
    last = START
    for event in events(test):
        last = event.time if event.time is not None else last
        _note(engine.handle(event), played, engine, book)
    if test.quiet is not None:
        _note(engine.tick(last + test.quiet), played, engine, book)
    return played


def _missing(engine: Engine) -> dict[str, tuple[str, ...]]:
    """The rules that could not be evaluated, and the metrics they lack. Keys that were only expected do not count."""
    run = engine.runs[RUN]
    logged = [series for key, series in run.names.items() if key in run.numeric or series.full in run.bad]
    return {entry.rule: entry.missing for entry in not_evaluable(engine.rules, logged, engine.dictionary)}


def _note(said: Sequence[Transition], played: _Played, engine: Engine, book: IncidentBook) -> None:
    for transition in said:
        told = next(iter(book.apply([transition], engine.runs[RUN])), None)
        match transition.state:
            case "firing":
                played.firings.append(_Firing(transition, told.rollback if told is not None else None))
            case "pending":
                played.pending.setdefault(transition.alert, transition)
            case "resolved":
                for firing in played.firings:
                    if firing.transition.id == transition.id:
                        firing.resolved_at = transition.step
            case _:
                pass


# ---- comparing ----------------------------------------------------------------------------------------------


def _compare(file: Timelines, index: int, played: _Played) -> Iterator[Problem]:
    test, document = file.tests[index], file.document
    left = list(played.firings)
    for at, entry in enumerate(test.expect):
        loc = ("tests", index, "expect", at)
        candidates = [firing for firing in left if _is_meant(entry, firing)]
        if not candidates:
            place = document.place((*loc, "alert"))
            yield document.problem(place, "did-not-fire", _silence(entry, played))
            continue
        best = min(candidates, key=lambda firing: len(list(_differences(entry, firing))))
        left.remove(best)
        for key, message in _differences(entry, best):
            yield document.problem(document.place((*loc, key)), "fired-differently", message)
    for at, name in enumerate(test.silent):
        for firing in played.firings:
            if firing.transition.alert == name:
                place = document.place(("tests", index, "silent", at))
                yield document.problem(place, "not-silent", _told(firing.transition))
    for firing in left:
        if _is_unexpected(firing.transition, test):
            place = document.place(("tests", index, "name"))
            yield document.problem(place, "unexpected", _told(firing.transition), "expect it, or mend the rule")


def _is_meant(entry: ExpectDocument, firing: _Firing) -> bool:
    transition = firing.transition
    return (
        transition.alert == entry.alert
        and entry.severity in (None, transition.severity)
        and entry.labels.items() <= transition.labels.items()
    )


def _is_unexpected(transition: Transition, test: TimelineDocument) -> bool:
    """Whether an alert is neither expected (at this severity or a higher one) nor merely informative."""
    if rank(transition.severity) < rank("warning") or transition.alert in test.silent:
        return False
    expected = [entry.severity or "critical" for entry in test.expect if entry.alert == transition.alert]
    return not any(rank(transition.severity) <= rank(severity) for severity in expected)


def _differences(entry: ExpectDocument, firing: _Firing) -> Iterator[tuple[str, str]]:
    """(key of the expectation, sentence) of each thing that is not as expected."""
    transition, name = firing.transition, entry.alert
    if entry.fires_at is not None and transition.step != entry.fires_at:
        yield "fires_at", f"{name} fired at step {transition.step}, not {entry.fires_at}"
    if entry.fires_after is not None:
        after = None if transition.time is None else transition.time - START
        if after is None or abs(after - entry.fires_after) > 1e-6:
            when = "at an unknown time" if after is None else f"after {after:g}s"
            yield "fires_after", f"{name} fired {when}, not after {entry.fires_after:g}s"
    if entry.onset is not None and transition.onset_step != entry.onset:
        yield "onset", f"the onset of {name} was step {transition.onset_step}, not {entry.onset}"
    if entry.resolved_at is not None and firing.resolved_at != entry.resolved_at:
        when = "did not resolve" if firing.resolved_at is None else f"resolved at step {firing.resolved_at}"
        yield "resolved_at", f"{name} {when}, not at step {entry.resolved_at}"
    if "rollback" in entry.model_fields_set:
        step = firing.advice.step if firing.advice is not None else None
        if step != entry.rollback:
            why = f" ({firing.advice.reason})" if firing.advice is not None and firing.advice.reason else ""
            advised = "no rollback" if step is None else f"the checkpoint of step {step}"
            wanted = "none" if entry.rollback is None else f"that of step {entry.rollback}"
            yield "rollback", f"{name} advised {advised}, not {wanted}{why}"


def _silence(entry: ExpectDocument, played: _Played) -> str:
    """Why an expected alert is not there, as far as it is known."""
    fired = [firing.transition for firing in played.firings if firing.transition.alert == entry.alert]
    if fired:
        severities = ", ".join(dict.fromkeys(transition.severity for transition in fired))
        steps = f"at step {fired[0].step}"
        wanted = f" as {entry.severity}" if entry.severity else " once more"
        return f"{entry.alert} did not fire{wanted}; it fired as {severities} {steps}"
    if (missing := _missing(played.engine).get(entry.alert)) is not None:
        return f"{entry.alert} could not be evaluated: the run does not log {', '.join(missing)}"
    if entry.alert in played.pending:
        return f"{entry.alert} did not fire; it was pending from step {played.pending[entry.alert].step}"
    return f"{entry.alert} did not fire"


def _told(transition: Transition) -> str:
    labels = ",".join(f"{key}={value}" for key, value in transition.labels.items())
    which = f"{transition.alert}{{{labels}}}" if labels else transition.alert
    return f"{which} fired at step {transition.step} ({transition.severity}): {printable(transition.summary, 200)}"
