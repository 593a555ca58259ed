"""One test, from its text to its outcome."""

from __future__ import annotations

from collections.abc import Iterator

from sentinel.documents import Loc, printable
from sentinel.errors import Problem
from sentinel.rules.model import RuleSet
from sentinel.ruletest.compare import compare
from sentinel.ruletest.coverage import Coverage
from sentinel.ruletest.performance import perform
from sentinel.ruletest.reading import Timelines
from sentinel.ruletest.result import Result
from sentinel.ruletest.stage import Stage
from sentinel.ruletest.strip import strips
from sentinel.suggestion import closest


def play(
    file: Timelines, index: int, rules: RuleSet, *, stage: Stage | None = None, coverage: Coverage | None = None
) -> Result:
    """Run one test of a file through an engine of its own.

    `stage`: what it shares with the other tests of its file. `coverage`: notes which parts of the rules were true.
    """
    test = file.tests[index]
    stage = stage or Stage(file, rules)
    problems = list(_unknown_names(file, index, rules, stage))
    if problems:
        return Result("ERROR", test.name, file.path, file.line(index), tuple(problems))
    watchers = [] if coverage is None else [coverage.begin(test)]
    played = perform(test, stage, watchers)
    differences = sorted(compare(file, index, played), key=lambda found: (found.problem.line, found.problem.column))
    return Result(
        "FAIL" if differences else "PASS",
        test.name,
        file.path,
        file.line(index),
        tuple(difference.problem for difference in differences),
        strips(test, stage, differences) if differences else (),
        played.changes(),
    )


def _unknown_names(file: Timelines, index: int, rules: RuleSet, stage: Stage) -> Iterator[Problem]:
    test, document, names = file.tests[index], file.document, {rule.name for rule in rules}
    places: list[tuple[Loc, str, bool]] = [
        (("tests", index, "expect", at, "alert"), entry.alert, False) for at, entry in enumerate(test.expect)
    ]
    places += [(("tests", index, "silent", at), name, False) for at, name in enumerate(test.silent)]
    places += [(("tests", index, "at", when.text, name), name, True) for when in test.at for name in test.at[when]]
    for loc, name, key in places:
        if name not in names:
            hint = closest(name, names) or f"rules: {', '.join(sorted(names))}"
            message = f"no rule is named '{printable(name)}'"
            yield document.problem(document.place(loc, key=key), "unknown-alert", message, hint)
    frameworks = stage.dictionary.frameworks
    if test.framework is not None and test.framework not in frameworks:
        hint = closest(test.framework, frameworks) or f"there are: {', '.join(frameworks)}"
        message = f"no framework is named '{printable(test.framework)}'"
        place = document.place(("tests", index, "framework"))
        yield document.problem(place, "unknown-framework", message, hint)
