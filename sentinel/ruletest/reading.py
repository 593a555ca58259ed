"""From the text of a test file to its tests, or every fault at its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from sentinel.documents import Document, DocumentError, Loc, printable, problems_from_pydantic, read_document
from sentinel.errors import Problem, RuleError
from sentinel.ruletest.document import ExpectDocument, TimelineDocument, TimelinesDocument
from sentinel.ruletest.script import steps_of
from sentinel.ruletest.series import length


@dataclass(frozen=True, slots=True)
class Timelines:
    """A test file. `rules`: the rule files it names, relative to itself; may be empty.

    `faults`: index of a test → what is wrong with it. Such a test has a name and nothing else.
    """

    path: str
    rules: tuple[str, ...]
    tests: tuple[TimelineDocument, ...]
    document: Document
    faults: Mapping[int, tuple[Problem, ...]] = field(default_factory=dict)

    def line(self, index: int) -> int:
        return self.document.place(("tests", index)).line


def read_tests(path: str, text: bytes | str) -> Timelines:
    """The tests that `text` holds, all of them sound. Raises RuleError with every problem."""
    file = read_timelines(path, text)
    if file.faults:
        raise RuleError([problem for problems in file.faults.values() for problem in problems])
    return file


def read_timelines(path: str, text: bytes | str) -> Timelines:
    """The tests that `text` holds, each with its faults. Raises RuleError where the file as a whole has some."""
    try:
        document = read_document(text, path)
    except DocumentError as error:
        raise RuleError(error.problems) from None
    if document.value is None:
        raise RuleError([Problem(path, 1, 1, "no-tests", "the file is empty", "it begins with tests:")])
    _restore_zeros(document)
    value, faults = document.value, dict[int, tuple[Problem, ...]]()
    try:
        parsed = TimelinesDocument.model_validate(value)
    except ValidationError as error:
        places = [one["loc"] for one in error.errors(include_url=False)]
        if any(len(loc) < 2 or loc[0] != "tests" for loc in places):
            raise RuleError(problems_from_pydantic(error, document, TimelinesDocument)) from None
        for index in sorted({int(loc[1]) for loc in places}):
            within = ("tests", index)
            faults[index] = tuple(problems_from_pydantic(error, document, TimelinesDocument, within=within))
        # The others are read all the same, so that every fault of the file is told at once.
        tests = [_bare(test, index) if index in faults else test for index, test in enumerate(value["tests"])]
        parsed = TimelinesDocument.model_validate({**value, "tests": tests})
    file = Timelines(path, tuple(parsed.rules), tuple(parsed.tests), document, faults)
    for index in range(len(file.tests)):
        if index not in faults and (problems := tuple(_inconsistencies(file, index))):
            faults[index] = problems
    return file


def _restore_zeros(document: Document) -> None:
    """Put back the text of each series that YAML takes for one number: `0x50`, which is fifty zeros here."""
    tests = document.value.get("tests") if isinstance(document.value, dict) else None
    for index, test in enumerate(tests if isinstance(tests, list) else ()):
        for way in (("series",), ("samples", "series")):
            series = test
            for key in way:
                series = series.get(key) if isinstance(series, dict) else None
            for key, value in series.items() if isinstance(series, dict) else ():
                text = document.scalar(("tests", index, *way, key))
                if isinstance(value, int) and not isinstance(value, bool) and text is not None:
                    series[key] = text


def _bare(test: object, index: int) -> dict[str, str]:
    """A test that cannot be read, as far as it has a name."""
    name = test.get("name") if isinstance(test, dict) else None
    return {"name": name if isinstance(name, str) else f"test {index + 1}"}


def _inconsistencies(file: Timelines, index: int) -> Iterator[Problem]:
    """What each value allows and all together do not."""
    test, document, loc = file.tests[index], file.document, ("tests", index)
    if not test.series and test.samples is None:
        place = document.place((*loc, "name"))
        yield document.problem(place, "no-series", "the test logs nothing", "add series: or samples:")
    steps = list(steps_of(test))
    for key, items in test.series.items():
        count = length(items)
        if count != len(steps):
            message = f"the series has {count} values for {len(steps)} steps"
            hint = f"_x{len(steps) - count} at the end for values that are not logged" if count < len(steps) else ""
            yield document.problem(document.place((*loc, "series", key)), "series-length", message, hint)
    most = len({step for _, step in steps})
    for key, items in test.reference.items():
        if length(items) > most:
            message = f"the reference run has {length(items)} values for {most} steps"
            hint = "it may end before the run and not after it"
            yield document.problem(document.place((*loc, "reference", key)), "series-length", message, hint)
    timed = test.samples is not None or test.seconds_per_step is not None
    if test.samples is not None and test.series and test.seconds_per_step is None:
        place = document.place((*loc, "samples"), key=True)
        hint = "add seconds_per_step: 30"
        yield document.problem(place, "no-times", "samples have times and the steps have none", hint)
    known = {step for _, step in steps}
    for name, step in test.phases.items():
        if step not in known:
            yield _no_step(document, (*loc, "phases", name), step, test)
    for at, entry in enumerate(test.expect):
        yield from _moments(document, (*loc, "expect", at), entry)
    for when in test.at:
        place = document.place((*loc, "at", when.text), key=True)
        if when.step is not None and when.step not in known:
            yield _no_step(document, (*loc, "at", when.text), when.step, test, key=True)
        elif when.seconds is not None and not timed:
            yield document.problem(place, "no-times", "the steps have no times", "add seconds_per_step: 30")
    yield from _same_moments(document, loc, len(test.at))


def _moments(document: Document, loc: Loc, entry: ExpectDocument) -> Iterator[Problem]:
    """An expectation says in one way when its alert fires."""
    ways = [key for key in ("fires_at", "fires_by", "fires_between") if key in entry.model_fields_set]
    for key in ways[1:]:
        message = f"{ways[0]} and {key} say the same thing twice"
        yield document.problem(document.place((*loc, key), key=True), "said-twice", message, "keep one of them")
    if entry.fires_between is not None and entry.fires_between[0] > entry.fires_between[1]:
        place = document.place((*loc, "fires_between"))
        yield document.problem(place, "bad-steps", "the first step stands behind the last", "write [51, 60]")


def _same_moments(document: Document, loc: Loc, count: int) -> Iterator[Problem]:
    """`60s` and `1m` are one moment, of which the second would be lost."""
    value = document.value["tests"][loc[1]].get("at") or {}
    if len(value) != count:
        place = document.place((*loc, "at"), key=True)
        hint = "put what is expected there under one key"
        yield document.problem(place, "said-twice", "two keys name the same moment", hint)


def _no_step(document: Document, loc: Loc, step: int, test: TimelineDocument, *, key: bool = False) -> Problem:
    steps = [step for _, step in steps_of(test)]
    hint = f"its steps are {steps[0]} to {steps[-1]}" if steps else "it has samples only: name a time such as 5m"
    message = f"the test '{printable(test.name, 40)}' has no step {step}"
    return document.problem(document.place(loc, key=key), "no-step", message, hint)
