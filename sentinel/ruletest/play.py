"""One test, from its text to its outcome."""

from __future__ import annotations

from sentinel.rules.model import RuleSet
from sentinel.ruletest.compare import compare
from sentinel.ruletest.coverage import Coverage
from sentinel.ruletest.names import not_tested, unknown_names
from sentinel.ruletest.performance import perform
from sentinel.ruletest.reading import Timelines
from sentinel.ruletest.result import Result
from sentinel.ruletest.stage import Stage
from sentinel.ruletest.strip import strips


def play(
    file: Timelines, index: int, rules: RuleSet, *, stage: Stage | None = None, coverage: Coverage | None = None
) -> Result:
    """Run one test of a file through an engine of its own.

    `stage`: what it shares with the other tests of its file. `coverage`: notes which parts of the rules were true.
    """
    test = file.tests[index]
    stage = stage or Stage(file, rules)
    problems = file.faults.get(index) or tuple(unknown_names(file, index, rules, stage))
    if problems:
        return Result("ERROR", test.name, file.path, file.line(index), problems)
    watchers = [] if coverage is None else [coverage.begin(test)]
    played = perform(test, stage, watchers)
    idle = list(not_tested(file, index, played))
    differences = sorted(compare(file, index, played), key=lambda found: (found.problem.line, found.problem.column))
    told = {(problem.line, problem.column) for problem in idle}
    differences = [found for found in differences if (found.problem.line, found.problem.column) not in told]
    found = [*idle, *(difference.problem for difference in differences)]
    return Result(
        "ERROR" if idle else "FAIL" if differences else "PASS",
        test.name,
        file.path,
        file.line(index),
        tuple(sorted(found, key=lambda problem: (problem.line, problem.column))),
        strips(test, stage, differences) if differences else (),
        played.changes(),
    )
