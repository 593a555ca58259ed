"""`sentinel rules validate`: what is found in rule files, and how it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from sentinel import __version__
from sentinel.cli.github import github_of_problem
from sentinel.cli.output import JSON_VERSION, counted, json_of_problem, print_json, text_of_problem
from sentinel.cli.sarif import sarif_of_problems
from sentinel.errors import Problem
from sentinel.resources import TEST_SUFFIX, read_source
from sentinel.rules.footprint import state_problems
from sentinel.rules.lint.codes import codes
from sentinel.rules.lint.linter import Allowed, lint
from sentinel.rules.lint.tested import expected_alerts, named_rules
from sentinel.rules.loader import read_rules


@dataclass(frozen=True, slots=True)
class Findings:
    """What groups of files gave. `rules`: how many could be understood. `problems`: of severity info too."""

    rules: int
    problems: tuple[Problem, ...]
    allowed: tuple[Allowed, ...]

    def of(self, *severities: str) -> list[Problem]:
        return [problem for problem in self.problems if problem.severity in severities]


def find(groups: Iterable[Sequence[Path]], max_state: float) -> Findings:
    """Everything that is wrong or odd. The files of a group are rules in force together.

    `max_state`: MiB that the rules of a group may keep of each run. Raises UsageError.
    """
    rules = 0
    problems: list[Problem] = []
    allowed: list[Allowed] = []
    for paths in groups:
        sources = [read_source(path) for path in paths]
        reading = read_rules(sources)
        tests = {shown: _tested(path) for path, (shown, _) in zip(paths, sources, strict=True)}
        report = lint(reading, tests)
        rules += len(reading.rules)
        order = {shown: number for number, (shown, _) in enumerate(sources)}
        both = [*reading.problems, *report.problems]
        if not reading.errors:
            both += state_problems(reading.rules, max_state)
        problems += sorted(both, key=lambda problem: (order[problem.path], problem.line, problem.column))
        allowed += report.allowed
    return Findings(rules, tuple(problems), tuple(allowed))


def _tested(path: Path) -> frozenset[str] | None:
    """The alerts that tests expect of a rule file: those beside it, and those in its folder that name it."""
    found: frozenset[str] | None = None
    beside = path.stem + TEST_SUFFIX
    for file in sorted(path.resolve().parent.glob(f"*{TEST_SUFFIX}")):
        shown, text = read_source(file)
        # Parsing a large test file takes its time; one that speaks of the rules holds their file's name.
        named = named_rules(shown, text) if path.name.encode() in text else ()
        if path.name in named or (file.name == beside and not named):
            found = (found or frozenset()) | expected_alerts(shown, text)
    return found


def show(findings: Findings, output: str, *, info: bool, docs_url: str) -> None:
    """Print findings as `output` says. `info`: remarks too."""
    shown = findings.of("error", "warning", "info") if info else findings.of("error", "warning")
    match output:
        case "json":
            # {"version": 1, "ok": bool, "rules": how many could be understood, "problems": [json_of_problem, page...],
            #  "allowed": [json_of_problem, page, reason...]}
            print_json(
                {
                    "version": JSON_VERSION,
                    "ok": not findings.of("error"),
                    "rules": findings.rules,
                    "problems": [{**json_of_problem(problem), "page": page_of(problem)} for problem in shown],
                    "allowed": [
                        {**json_of_problem(one.problem), "page": page_of(one.problem), "reason": one.reason}
                        for one in findings.allowed
                    ],
                }
            )
        case "sarif":
            print_json(sarif_of_problems(shown, __version__, allowed=findings.allowed, docs_url=docs_url))
        case "github":
            for problem in shown:
                click.echo(github_of_problem(problem, page_of(problem)))
        case _:
            for problem in shown:
                click.echo(f"{text_of_problem(problem, page_of(problem))}\n")
            click.echo(_verdict(findings, info))


def page_of(problem: Problem) -> str:
    """The short address of the page about a problem; empty for one that has none."""
    code = codes().get(problem.code)
    return code.page if code is not None else ""


def _verdict(findings: Findings, info: bool) -> str:
    errors, warnings, remarks = (findings.of(severity) for severity in ("error", "warning", "info"))
    said = [counted(len(errors), "error")] if errors else [f"{counted(findings.rules, 'rule')} can be used"]
    said += [counted(len(warnings), "warning")] if warnings else []
    if remarks:
        said.append(counted(len(remarks), "remark") + ("" if info else " (shown with --info)"))
    said += [f"{len(findings.allowed)} allowed"] if findings.allowed else []
    return ", ".join(said)
