"""The test files that paths stand for, read and played."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sentinel.errors import Problem, RuleError, UsageError
from sentinel.resources import PACKS, TEST_SUFFIX, pack_path, read_source, read_sources
from sentinel.rules.loader import load_rules
from sentinel.ruletest import Coverage, Result, Stage, Timelines, play, read_timelines


@dataclass(slots=True)
class Report:
    """What came of all tests, in order. `coverage`: test file → what its tests have seen of its rules.

    `unreadable`: test files that could not be read, or whose rules could not.
    """

    results: list[Result] = field(default_factory=list)
    coverage: dict[str, Coverage] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)

    def count(self, outcome: str) -> int:
        return sum(result.outcome == outcome for result in self.results)

    @property
    def covered(self) -> int:
        """How many parts of the rules the tests have seen."""
        return sum(found.covered for found in self.coverage.values())

    @property
    def total(self) -> int:
        return sum(found.total for found in self.coverage.values())

    @property
    def percent(self) -> float:
        """Of all parts of all rules, those that the tests have seen; 100 when there is none."""
        return 100.0 * self.covered / self.total if self.total else 100.0


def run_files(paths: Sequence[Path], *, only: str = "", coverage: bool = False) -> Report:
    """All tests of all files, or those that are about `only`. Raises UsageError for a path that cannot be read."""
    report = Report()
    for file in find_files(paths):
        report.results += run_file(file, report, only=only, coverage=coverage)
    return report


def find_files(paths: Sequence[Path]) -> list[Path]:
    """A folder's `*.test.yaml`, the test file beside a rule file or of a shipped pack, or the file itself."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(file for file in path.iterdir() if file.name.endswith(TEST_SUFFIX))
        elif path.name.endswith(TEST_SUFFIX):
            found.append(path)
        else:
            rules = pack_path(str(path)) if not path.exists() and str(path) in PACKS else path
            if not rules.exists():
                raise UsageError(f"no such file: {path}")
            found.append(rules.with_name(rules.stem + TEST_SUFFIX))
    return list(dict.fromkeys(found))


def run_file(path: Path, report: Report, *, only: str = "", coverage: bool = False) -> Iterator[Result]:
    """Each test of one file. What cannot be understood is an ERROR: a test, the file, its rules."""
    shown, text = read_source(path)
    try:
        file = read_timelines(shown, text)
    except RuleError as error:
        report.unreadable.append(shown)
        yield Result("ERROR", "the tests cannot be read", shown, 0, tuple(error.problems))
        return
    names = file.rules or (path.name.removesuffix(TEST_SUFFIX) + ".yaml",)
    try:
        rules = load_rules(read_sources([path.parent / name for name in names]))
    except RuleError as error:
        yield Result("ERROR", "the rules cannot be used", shown, 0, tuple(error.problems))
        return
    except UsageError as error:
        place = file.document.place(("rules",))
        problem = Problem(shown, place.line, place.column, "no-rules", str(error), "", place.excerpt, place.width)
        report.unreadable.append(shown)
        yield Result("ERROR", "the rules cannot be read", shown, 0, (problem,))
        return
    stage = Stage(file, rules)
    noted = report.coverage.setdefault(shown, Coverage(rules)) if coverage else None
    for index in range(len(file.tests)):
        if is_about(file, index, only):
            yield play(file, index, rules, stage=stage, coverage=noted)


def is_about(file: Timelines, index: int, only: str) -> bool:
    """Whether a text stands in the name of a test, or of a rule that the test names. Upper case is as lower case."""
    test, sought = file.tests[index], only.casefold()
    names = [test.name, *test.silent, *(entry.alert for entry in test.expect)]
    names += [alert for alerts in test.at.values() for alert in alerts]
    return any(sought in name.casefold() for name in names)
