"""`sentinel rules`: validate, test, diff, list, explain, schema. None of them needs Redis, Slack or a secret."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sentinel import __version__
from sentinel.cli.output import (
    JSON_VERSION,
    clean,
    counted,
    github_of_problem,
    json_of_problem,
    print_json,
    sarif_of_problems,
    text_of_problem,
)
from sentinel.cli.rule_story import explain
from sentinel.cli.rules_diff import diff
from sentinel.cli.rules_test import test_
from sentinel.errors import Problem
from sentinel.resources import (
    PACKS,
    Source,
    pack_groups,
    pack_path,
    packs_dir,
    read_source,
    read_sources,
    rule_files,
)
from sentinel.rules.footprint import MAX_STATE, state_problems
from sentinel.rules.loader import load_rules, read_rules
from sentinel.severity import SEVERITIES

if TYPE_CHECKING:
    from sentinel.rules.model import Override, Rule

_PATHS = click.argument("paths", nargs=-1, type=click.Path(path_type=Path))


@click.group()
def rules() -> None:
    """Validate, test, compare, list and explain rules."""


rules.add_command(diff)
rules.add_command(explain)


@rules.command()
@_PATHS
@click.option(
    "--output",
    type=click.Choice(["text", "json", "github", "sarif"]),
    default="text",
    help="text, json, workflow commands for GitHub, or SARIF 2.1.0.",
)
@click.option(
    "--max-state",
    type=click.FloatRange(min=0, min_open=True),
    default=MAX_STATE,
    show_default=True,
    help="MiB that the rules may keep of each run.",
)
def validate(paths: tuple[Path, ...], output: str, max_state: float) -> None:
    """Find everything that is wrong in rule files, folders of them, or the shipped packs.

    Files that are named together are checked as rules in force together: a name may stand once in all of them.
    Exits 0 when they can be used, 1 when not, 2 when one cannot be read. Warnings alone exit 0.
    """
    readings = [read_rules(sources) for sources in _groups(paths)]
    problems = [problem for reading in readings for problem in reading.problems]
    problems += [
        problem for reading in readings if not reading.errors for problem in state_problems(reading.rules, max_state)
    ]
    errors = [problem for problem in problems if problem.severity == "error"]
    count = sum(len(reading.rules) for reading in readings)
    match output:
        case "json":
            # {"version": 1, "ok": bool, "rules": how many could be understood, "problems": [json_of_problem...]}
            listed = [json_of_problem(problem) for problem in problems]
            print_json({"version": JSON_VERSION, "ok": not errors, "rules": count, "problems": listed})
        case "sarif":
            print_json(sarif_of_problems(problems, __version__))
        case "github":
            for problem in problems:
                click.echo(github_of_problem(problem))
        case _:
            click.echo(_report(problems, errors, count))
    if errors:
        raise click.exceptions.Exit(1)


def _report(problems: Sequence[Problem], errors: Sequence[Problem], count: int) -> str:
    lines = [f"{text_of_problem(problem)}\n" for problem in problems]
    warnings = len(problems) - len(errors)
    found = [counted(len(errors), "error")] if errors else []
    found += [counted(warnings, "warning")] if warnings else []
    lines.append(", ".join(found) if errors else ", ".join([f"{counted(count, 'rule')} can be used", *found]))
    return "\n".join(lines)


def _groups(paths: Sequence[Path]) -> list[list[Source]]:
    """The files that are named, as one set of rules. Shipped packs are several sets: some stand alone."""
    if paths and not all(path.is_dir() and path.resolve() == packs_dir().resolve() for path in paths):
        return [read_sources(paths)]
    files = rule_files(paths) if paths else [pack_path(name) for name in PACKS]
    return [[read_source(file) for file in group] for group in pack_groups(files)]


@rules.command("list")
@_PATHS
@click.option("--output", type=click.Choice(["text", "json"]), default="text")
def list_(paths: tuple[Path, ...], output: str) -> None:
    """List rules: name, symptom, conditions by severity, how long they must hold."""
    found = [rule for sources in _groups(paths) for rule in load_rules(sources)]
    if output == "json":
        # {"version": 1, "rules": [{name, symptom, conditions: {severity: text}, for, keep_firing_for, until, after,
        #  phase: [name...], where, taints, summary, runbook, source, overrides: [{where, enabled, source, and of the
        #  keys that it changes: conditions as a whole, the others each}]}]}
        print_json({"version": JSON_VERSION, "rules": [_json_of_rule(rule) for rule in found]})
        return
    for rule in found:
        hold = f", for {rule.hold}" if rule.hold else ""
        hold += f", phase {clean(', '.join(rule.phases))}" if rule.phases else ""
        click.echo(f"{click.style(rule.name, bold=True)}  {rule.symptom}{hold}  ({clean(rule.source)})")
        for severity, condition in rule.conditions:
            first, *rest = textwrap.wrap(clean(str(condition)), 100, break_long_words=False) or [""]
            click.echo(f"  {severity:<9} {first}")
            for line in rest:
                click.echo(f"  {'':<9} {line}")
        for override in rule.overrides:
            click.echo(f"  {_override_in_words(override)}")


def _override_in_words(override: Override) -> str:
    where = clean(", ".join(f"{key}={label}" for key, label in override.where.items()))
    rule = override.rule
    if rule is None:
        return f"where {where}: off"
    listed = _json_of_rule(rule)
    said = [f"{severity} {condition}" for severity, condition in rule.conditions if severity in override.changes]
    said += [
        f"no {severity}"
        for severity in SEVERITIES
        if severity in override.changes and severity not in dict(rule.conditions)
    ]
    said += [f"{key} {listed[key]}" for key in override.changes if key in listed]
    return f"where {where}: {clean('; '.join(said))}"


def _json_of_override(override: Override) -> dict[str, Any]:
    found = {"where": dict(override.where), "enabled": override.rule is not None, "source": override.source}
    if override.rule is not None:
        listed = _json_of_rule(override.rule)
        found |= {key: listed[key] for key in override.changes if key in listed}
        if set(override.changes) & set(SEVERITIES):
            found["conditions"] = listed["conditions"]
    return found


def _json_of_rule(rule: Rule) -> dict[str, Any]:
    book = rule.runbook
    return {
        "name": rule.name,
        "symptom": rule.symptom,
        "conditions": {severity: str(condition) for severity, condition in rule.conditions},
        "for": str(rule.hold) if rule.hold else None,
        "keep_firing_for": str(rule.keep_firing) if rule.keep_firing else None,
        "until": str(rule.until) if rule.until else None,
        "after": rule.after,
        "phase": list(rule.phases),
        "where": dict(rule.where),
        "taints": rule.taints,
        "summary": rule.summary,
        "runbook": {"causes": list(book.causes), "look_at": list(book.look_at), "do": list(book.do)},
        "source": rule.source,
        "overrides": [_json_of_override(override) for override in rule.overrides],
    }


@rules.command()
def schema() -> None:
    """Print the JSON schema of a rule file, for editors that check while one types."""
    from sentinel.rules.document import json_schema

    click.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))


rules.add_command(test_)
