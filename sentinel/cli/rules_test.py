"""`sentinel rules test`: play the time-lines beside rule files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sentinel.cli.numbers import FiniteRange
from sentinel.cli.output import JSON_VERSION, clean, counted, json_of_problem, print_json
from sentinel.errors import UsageError

if TYPE_CHECKING:
    from sentinel.cli.ruletests import Report
    from sentinel.ruletest import Result


@click.command("test")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--only", default="", metavar="NAME", help="Only tests with NAME in their name or in a rule's they name.")
@click.option("--coverage", is_flag=True, help="Say which parts of the rules no test has seen true.")
@click.option(
    "--fail-under",
    type=FiniteRange(0, 100),
    metavar="PERCENT",
    help="Exit 1 when less of the rules is covered. Implies --coverage.",
)
@click.option("--verbose", "-v", is_flag=True, help="Show all that happened in each test.")
@click.option(
    "--output",
    type=click.Choice(["text", "json", "junit"]),
    default="text",
    help="text, json, or JUnit XML for a CI's test report.",
)
def test_(
    paths: tuple[Path, ...], only: str, coverage: bool, fail_under: float | None, verbose: bool, output: str
) -> None:
    """Play the time-lines of NAME.test.yaml files through the rules and compare.

    A folder stands for all test files in it, a rule file for the one beside it. Exits 0 when every test passes, 1 when
    not, 2 when a test file or the rules that it names cannot be read, or there are no tests. docs/testing-rules.md has
    the format.
    """
    from sentinel.cli.ruletests import run_files

    report = run_files(paths, only=only, coverage=coverage or fail_under is not None)
    if not report.results and only:
        raise UsageError(f"no test is about '{clean(only)}': it stands in no name of a test or of a rule in one")
    if not report.results:
        raise UsageError("no tests there: they are in files named NAME.test.yaml")
    match output:
        case "json":
            print_json(_json(report))
        case "junit":
            from sentinel.cli.junit import junit_of_results

            click.echo(junit_of_results(report.results))
        case _:
            _text(report, verbose=verbose)
    if report.coverage and output != "json":
        from sentinel.cli.rule_coverage import text_of_coverage

        # Beside XML there is no room for it on stdout.
        click.echo(text_of_coverage(report), err=output == "junit")
    if report.unreadable:
        raise click.exceptions.Exit(2)
    if fail_under is not None and report.percent < fail_under:
        click.echo(f"sentinel: {report.percent:.1f}% is covered, less than {fail_under:g}%", err=True)
        raise click.exceptions.Exit(1)
    if report.count("PASS") < len(report.results):
        raise click.exceptions.Exit(1)


_COLORS = {"PASS": "green", "FAIL": "red", "ERROR": "magenta"}


def _text(report: Report, *, verbose: bool) -> None:
    from sentinel.cli.strip import text_of_result

    for result in report.results:
        mark = click.style(result.outcome.ljust(5), fg=_COLORS[result.outcome])
        click.echo(f"{mark}  {clean(result.place)}  {clean(result.name)}")
        for line in text_of_result(result, verbose=verbose):
            click.echo(f"       {line}".rstrip())
    click.echo(f"{report.count('PASS')} of {counted(len(report.results), 'test')} passed")


def _json(report: Report) -> dict[str, Any]:
    """{"version": 1, "passed": n, "failed": n, "errors": n, "tests": [...], "coverage": {...} when asked for}."""
    shape = {
        "version": JSON_VERSION,
        "passed": report.count("PASS"),
        "failed": report.count("FAIL"),
        "errors": report.count("ERROR"),
        "tests": [_json_of_result(result) for result in report.results],
    }
    if report.coverage:
        from sentinel.cli.rule_coverage import json_of_coverage

        shape["coverage"] = json_of_coverage(report)
    return shape


def _json_of_result(result: Result) -> dict[str, Any]:
    """{outcome, name, path, line, problems, strips: [{alert, moments}], changes}: see `sentinel.ruletest.result`."""
    from msgspec import to_builtins

    return {
        "outcome": result.outcome,
        "name": result.name,
        "path": result.path,
        "line": result.line,
        "problems": [json_of_problem(problem) for problem in result.problems],
        "strips": [{"alert": strip.alert, "moments": to_builtins(strip.moments)} for strip in result.strips],
        "changes": to_builtins(result.changes),
    }
