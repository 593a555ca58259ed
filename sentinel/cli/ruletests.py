"""The test files that paths stand for, read and played."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from sentinel.errors import Problem, RuleError, UsageError
from sentinel.resources import PACKS, TEST_SUFFIX, pack_path, read_source, read_sources
from sentinel.rules.loader import load_rules
from sentinel.ruletest import Result, Stage, play, read_tests


def run_files(paths: Sequence[Path]) -> list[Result]:
    """All tests of all files, in order. Raises UsageError for a path that is not there or cannot be read."""
    return [result for file in find_files(paths) for result in run_file(file)]


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


def run_file(path: Path) -> Iterator[Result]:
    """Each test of one file. A file that cannot be understood is one ERROR, and so are its rules."""
    shown, text = read_source(path)
    try:
        file = read_tests(shown, text)
    except RuleError as error:
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
        yield Result("ERROR", "the rules cannot be read", shown, 0, (problem,))
        return
    stage = Stage(file, rules)
    for index in range(len(file.tests)):
        yield play(file, index, rules, stage=stage)
