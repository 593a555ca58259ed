"""`sentinel rules`: the commands for those who write rules. None of them needs Redis, Slack or a secret."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sentinel.cli.numbers import FiniteRange
from sentinel.cli.output import JSON_VERSION, clean, print_json
from sentinel.cli.rule_story import explain
from sentinel.cli.rules_diff import diff
from sentinel.cli.rules_test import test_
from sentinel.cli.width import columns, table
from sentinel.errors import UsageError
from sentinel.resources import (
    PACKS,
    TEST_SUFFIX,
    check_page,
    pack_groups,
    pack_path,
    packs_dir,
    read_sources,
    rule_files,
)
from sentinel.rules.expression.readable import readable
from sentinel.rules.footprint import MAX_STATE
from sentinel.rules.loader import load_rules
from sentinel.severity import SEVERITIES
from sentinel.suggestion import closest

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
@click.option("--strict", is_flag=True, help="Warnings count as findings: exit 1.")
@click.option("--info", is_flag=True, help="Show remarks too.")
@click.option("--docs-url", default="", help="Where docs/checks is served, for the links in SARIF.")
@click.option(
    "--max-state",
    type=FiniteRange(min=0, min_open=True),
    default=MAX_STATE,
    show_default=True,
    help="MiB that the rules may keep of each run.",
)
def validate(paths: tuple[Path, ...], output: str, strict: bool, info: bool, docs_url: str, max_state: float) -> None:
    """Find everything that is wrong or odd in rule files, folders of them, or the shipped packs.

    Files that are named together are checked as rules in force together: a name may stand once in all of them. Each
    code has a page: `sentinel rules checks CODE`. Exits 0 when the rules can be used, 1 when not, 2 when a file cannot
    be read. Warnings alone exit 0, or 1 with --strict.
    """
    from sentinel.cli.validate import find, show

    findings = find(_groups(paths), max_state)
    show(findings, output, info=info, docs_url=docs_url)
    if findings.of("error", "warning") if strict else findings.of("error"):
        raise click.exceptions.Exit(1)


@rules.command()
@click.argument("code", required=False)
@click.option("--output", type=click.Choice(["text", "json"]), default="text")
def checks(code: str | None, output: str) -> None:
    """List what validate can find, or show the page of one CODE: why it matters, an example, the mended rule."""
    from sentinel.rules.lint.codes import codes

    if code is not None and code not in codes():
        hint = closest(code, codes()) or "`sentinel rules checks` lists them"
        raise UsageError(f"there is no check '{clean(code)}'. {hint}")
    if output == "json":
        # {"version": 1, "checks": [{code, severity, kind, meaning, and of one that is asked for page: Markdown}]}
        chosen = codes().values() if code is None else [codes()[code]]
        shown: list[dict[str, Any]] = [
            {"code": one.name, "severity": one.severity, "kind": one.kind, "meaning": one.meaning} for one in chosen
        ]
        if code is not None:
            shown[0]["page"] = check_page(code)
        print_json({"version": JSON_VERSION, "checks": shown})
    elif code is None:
        rows = [["code", "severity", "it says"], *([one.name, one.severity, one.meaning] for one in codes().values())]
        click.echo(table(rows))
    else:
        click.echo(check_page(code), nl=False)


@rules.command("symptoms")
def symptoms_() -> None:
    """List what a rule can look for, its key `symptom`: what each means, its usual severity, whether it taints."""
    from sentinel.rules.symptoms import symptoms

    taints = {True: "yes", False: "no"}
    rows = [[one.name, one.default_severity, taints[one.taints], one.meaning] for one in symptoms().values()]
    click.echo(table([["symptom", "severity", "taints", "what it is"], *rows]))


@rules.command("show")
@click.argument("pack")
@click.option("--tests", is_flag=True, help="Its tests instead.")
def show_(pack: str, tests: bool) -> None:
    """Print a shipped PACK as it stands: the text to begin with for rules of one's own."""
    path = pack_path(pack)
    click.echo((path.with_suffix(TEST_SUFFIX) if tests else path).read_text("utf-8"), nl=False)


def _groups(paths: Sequence[Path]) -> list[list[Path]]:
    """The files that are named, as one set of rules. Shipped packs are several sets: some stand alone."""
    if paths and not all(path.is_dir() and path.resolve() == packs_dir().resolve() for path in paths):
        return [rule_files(paths)]
    return pack_groups(rule_files(paths) if paths else [pack_path(name) for name in PACKS])


@rules.command("list")
@_PATHS
@click.option("--output", type=click.Choice(["text", "json"]), default="text")
def list_(paths: tuple[Path, ...], output: str) -> None:
    """List rules: name, symptom, conditions by severity, how long they must hold."""
    found = [rule for files in _groups(paths) for rule in load_rules(read_sources(files))]
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
            room = (columns() or 112) - 12
            first, *rest = textwrap.wrap(clean(readable(condition)), room, break_long_words=False) or [""]
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
    said = [
        f"{severity} {readable(condition)}" for severity, condition in rule.conditions if severity in override.changes
    ]
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
