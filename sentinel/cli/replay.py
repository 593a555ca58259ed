"""`sentinel replay`: would these rules have fired on these runs, and when?"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from sentinel.cli.options import reference_option
from sentinel.cli.output import clean, counted
from sentinel.cli.paths import missing_file
from sentinel.cli.progress import progress
from sentinel.cli.replay_tables import count_by_rule, heading_of, text_of_alerts
from sentinel.cli.score import Scoring, score_recordings, scoring_options
from sentinel.cli.speechless import text_of_speechless
from sentinel.cli.width import columns
from sentinel.engine.engine import REORDER_BOUND
from sentinel.errors import UsageError
from sentinel.metrics import Dictionary, default
from sentinel.resources import DEFAULT_PACKS, read_sources
from sentinel.rules.loader import load_rules
from sentinel.rules.model import RuleSet
from sentinel.service.references import read_references
from sentinel.service.replay import Found, Summary
from sentinel.service.replay import replay as play
from sentinel.severity import SEVERITIES, Severity, rank

SCHEMA_VERSION = 1

REDIRECTED = 110
"""Columns of a paragraph where there is no terminal."""


@click.command("replay")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--rules", "rule_paths", multiple=True, metavar="PATH", help="Rule file, folder or pack. Default: grpo, ppo, infra."
)
@click.option("--framework", help="Whose keys the rows hold (trl, verl...). Default: guessed.")
@reference_option("A recorded run for reference(x) to compare with; its name is the file's stem.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--pending/--no-pending", default=False, help="Show alerts that have begun but not fired, too.")
@click.option("--summary", "brief", is_flag=True, help="Only what fired in all, by rule and by run.")
@click.option("--fail-on", type=click.Choice(SEVERITIES), help="Exit 1 if an alert of at least this severity fired.")
@scoring_options
def replay(
    files: tuple[Path, ...],
    rule_paths: tuple[str, ...],
    framework: str | None,
    reference_paths: tuple[Path, ...],
    output: str,
    pending: bool,
    brief: bool,
    fail_on: Severity | None,
    scoring: Scoring,
) -> None:
    """Play recorded runs (JSONL) through the rules, at full speed and without Redis or Slack.

    A line is an event, or a row as a trainer logged it: {"step": 12, "kl": 0.03}. `-` reads standard input.

    With --score, the FILES are those that INDEX names, or the ones of them that are given.
    """
    if not files and scoring.index is None:
        raise click.UsageError("Missing argument 'FILES...'.")
    dictionary = default()
    if framework is not None and framework not in dictionary.frameworks:
        raise UsageError(f"no framework '{clean(framework)}' is known; there are: {', '.join(dictionary.frameworks)}")
    sources = read_sources(rule_paths or DEFAULT_PACKS)
    if scoring.index is not None:
        if pending or brief or fail_on is not None:
            hint = "its gates are --min-detected and others"
            raise UsageError(f"--pending, --summary and --fail-on do not go with --score; {hint}")
        score_recordings(files, sources, scoring, framework=framework, output=output)
        return
    rules = load_rules(sources, dictionary)
    # Pipes are welcome too: `sentinel replay <(zcat run.jsonl.gz)`.
    missing = [why for file in files if str(file) != "-" and (why := missing_file(file))]
    if missing:
        raise UsageError("; ".join(missing))
    references = read_references(reference_paths, dictionary, framework=framework)
    summary = Summary()
    worst = -1
    empty: list[str] = []
    told: set[tuple[str, str]] = set()
    with progress("replaying", sum(file.stat().st_size for file in files if file.is_file())) as bar:
        for file in files:
            path = Path("/dev/stdin") if str(file) == "-" else file
            before = summary.events, len(summary.rejected)
            said = play(
                path, rules, summary, dictionary=dictionary, framework=framework, references=references,
                on_read=bar.advance,
            )  # fmt: skip
            for found in said:
                state = found.transition.state
                if state == "firing":
                    worst = max(worst, rank(found.transition.severity))
                if state == "pending" and not pending:
                    summary.transitions -= 1
                    continue
                if brief:
                    continue
                with bar.aside():
                    click.echo(json.dumps(as_json(found)) if output == "json" else as_text(found, told))
            if summary.events == before[0]:
                rejected = summary.rejected[before[1] :]
                why = f" that can be understood: {rejected[0]}" if rejected else ""
                empty.append(f"{file} holds no event{why}")
    if output == "json":
        click.echo(json.dumps({"summary": summary_json(summary)}))
    else:
        _summary_text(summary, rules, dictionary, brief=brief)
    if empty:
        # Exit 2: a guard must not pass because it was given something else.
        raise UsageError("; ".join(empty))
    if fail_on is not None and worst >= rank(fail_on):
        sys.exit(1)


def as_json(found: Found) -> dict[str, Any]:
    """One transition, in the shape that the documentation promises (docs/replay.md)."""
    transition, rollback = found.transition, found.rollback
    return {
        "run": transition.run,
        "attempt": transition.attempt,
        "alert": transition.alert,
        "symptom": transition.symptom,
        "severity": transition.severity,
        "state": transition.state,
        "step": transition.step,
        "time": transition.time,
        "onset_step": transition.onset_step,
        "value": transition.value,
        "threshold": transition.threshold,
        "metric": transition.metric,
        "labels": transition.labels,
        "summary": transition.summary,
        "rollback": None
        if rollback is None or rollback.step is None
        else {"step": rollback.step, "path": rollback.path, "reason": rollback.reason},
        "id": transition.id,
        "source": transition.rule.source,
    }


def summary_json(summary: Summary) -> dict[str, Any]:
    """The last line of a replay."""
    return {
        "version": SCHEMA_VERSION,
        "files": summary.files,
        "steps": summary.steps,
        "events": summary.events,
        "late": summary.late,
        "repeated": summary.repeated,
        "transitions": summary.transitions,
        "fired": {severity: summary.fired[severity] for severity in SEVERITIES},
        "rejected": summary.rejected,
        "dropped_metrics": dict(summary.dropped_metrics),
        "frameworks": summary.frameworks,
        "not_evaluable": summary.not_evaluable,
        "rules": {rule: dict(found) for rule, found in count_by_rule(summary).items()},
        "runs": {
            run: {"rows": seen.rows, "first_step": seen.first_step, "last_step": seen.last_step}
            for run, seen in summary.runs.items()
        },
    }


def as_text(found: Found, told: set[tuple[str, str]]) -> str:
    """One transition. `told`: (run, reason) of the refusals to advise that were said before: each is said once."""
    transition, rollback = found.transition, found.rollback
    labels = "".join(f" {key}={value}" for key, value in transition.labels.items())
    line = (
        f"{clean(transition.run)}  step {transition.step:<6} {transition.severity.upper():<8} {transition.state:<10} "
        f"{transition.alert}{clean(labels)}: {clean(transition.summary)} (since step {transition.onset_step})"
    )
    if rollback is not None:
        if rollback.step is None and (transition.run, rollback.reason) in told:
            return line
        if rollback.step is None:
            told.add((transition.run, rollback.reason))
            line += f"\n    no rollback: {clean(rollback.reason)}"
        else:
            line += f"\n    roll back to step {rollback.step}: {clean(rollback.path or '')}"
    return line


def _summary_text(summary: Summary, rules: RuleSet, dictionary: Dictionary, *, brief: bool) -> None:
    fired = ", ".join(f"{summary.fired[severity]} {severity}" for severity in reversed(SEVERITIES))
    click.echo(f"{'' if brief else chr(10)}{heading_of(summary)}, fired: {fired}")
    if summary.late:
        near = f"{counted(summary.late, 'row')} of a step up to {REORDER_BOUND - 1} before the newest"
        click.echo(f"not judged: {near}: late, or of a run that went back without an event run_started")
    if summary.repeated:
        click.echo(f"not judged: {counted(summary.repeated, 'row')} that repeated what was there")
    if (brief or summary.files > 1) and (tables := text_of_alerts(summary)):
        click.echo(f"\n{tables}\n")
    for line in text_of_speechless(summary.not_evaluable, rules, dictionary, width=columns() or REDIRECTED):
        click.echo(line)
    for what, count in summary.dropped_metrics.most_common(20):
        click.echo(f"dropped {count} times: {clean(what)}", err=True)
    for line in summary.rejected[:20]:
        click.echo(f"rejected: {clean(line)}", err=True)
    if len(summary.rejected) > 20:
        click.echo(f"rejected: {len(summary.rejected) - 20} more lines", err=True)
