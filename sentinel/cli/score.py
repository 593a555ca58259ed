"""`sentinel replay --score`: how good are these rules on runs that people have judged?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from sentinel.cli.numbers import FiniteRange
from sentinel.cli.output import JSON_VERSION, clean, counted, print_json
from sentinel.cli.progress import progress
from sentinel.cli.width import paragraph, table
from sentinel.errors import InputError, Problem, UsageError
from sentinel.resources import Source
from sentinel.rules.loader import load_rules
from sentinel.score.course import Course
from sentinel.score.index import Labelled, read_index
from sentinel.score.tally import Delays, Score, Tally, score
from sentinel.score.verdict import Finding, Terms, Verdict, judge, misplaced_onset
from sentinel.service.courses import Job, courses

MAX_INDEX_BYTES = 16 * 1024 * 1024
"""A larger index is refused unread."""


class Share(click.ParamType[float]):
    """`95%` or `0.95`."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            share = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
        except ValueError:
            share = -1.0
        if not 0 <= share <= 1:
            self.fail(f"'{clean(text)}' is no share: write 95% or 0.95", param, ctx)
        return share


@dataclass(frozen=True, slots=True)
class Scoring:
    """What `replay` was asked for beside plain replay. `processes`: 0 lets the size of the work decide."""

    index: Path | None
    terms: Terms
    processes: int
    least_detected: float | None
    most_false_alarms: float | None


def scoring_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options of `replay` that go with `--score`; the command gets one argument `scoring`."""

    def with_scoring(
        *arguments: Any,
        score: Path | None,
        jobs: int,
        tolerance: int,
        within: int | None,
        min_detected: float | None,
        max_false_alarms: float | None,
        **others: Any,
    ) -> None:
        alone = [
            name
            for name, given in (
                ("--jobs", jobs > 0),
                ("--tolerance", tolerance > 0),
                ("--within", within is not None),
                ("--min-detected", min_detected is not None),
                ("--max-false-alarms-per-1000", max_false_alarms is not None),
            )
            if given
        ]
        if score is None and alone:
            raise UsageError(f"{', '.join(alone)} {'goes' if len(alone) == 1 else 'go'} with --score INDEX")
        scoring = Scoring(score, Terms(tolerance, within), jobs, min_detected, max_false_alarms)
        command(*arguments, scoring=scoring, **others)

    with_scoring.__doc__ = command.__doc__
    with_scoring.__click_params__ = list(getattr(command, "__click_params__", []))  # type: ignore[attr-defined]
    for option in reversed(_OPTIONS):
        option(with_scoring)
    return with_scoring


_OPTIONS = (
    click.option(
        "--score",
        type=click.Path(path_type=Path),
        metavar="INDEX",
        help="Judge the rules by labelled recordings; INDEX says what each shows (docs/score.md).",
    ),
    click.option(
        "--tolerance",
        type=click.IntRange(min=0),
        default=0,
        metavar="ROWS",
        help="With --score: logged rows before the onset from which on an alert is in time.",
    ),
    click.option(
        "--within",
        type=click.IntRange(min=0),
        metavar="ROWS",
        help="With --score: logged rows after the onset within which an alert is in time. Default: any.",
    ),
    click.option("--jobs", type=click.IntRange(min=0), default=0, help="With --score: processes. Default: as it pays."),
    click.option(
        "--min-detected", type=Share(), metavar="95%", help="With --score: exit 1 if a smaller share is detected."
    ),
    click.option(
        "--max-false-alarms-per-1000",
        "max_false_alarms",
        type=FiniteRange(min=0),
        metavar="X",
        help="With --score: exit 1 if there are more false alarms for each 1,000 healthy steps.",
    ),
)


def score_recordings(
    files: Sequence[Path],
    sources: Sequence[Source],
    scoring: Scoring,
    *,
    framework: str | None,
    output: str,
) -> None:
    """Play, judge, print. Exits 1 when a gate is not passed.

    Raises InputError for an index that is wrong, UsageError for what cannot be read, RuleError for bad rules.
    """
    assert scoring.index is not None
    rules = load_rules(sources)
    runs = chosen_runs(scoring.index, files)
    jobs = [Job(path, run.file) for run, path in runs]
    with progress("scoring", sum(job.size for job in jobs)) as bar:
        found = list(courses(jobs, [sources], framework=framework, processes=scoring.processes, on_read=bar.advance))
    labelled = [run for run, _ in runs]
    check_courses(labelled, found)
    result = score(
        (judge(run, course, scoring.terms) for run, course in zip(labelled, found, strict=True)), rules.rules
    )
    failed = _failed(result, scoring)
    if output == "json":
        print_json({"version": JSON_VERSION, "score": json_of_score(result, scoring.terms), "failed": failed})
    else:
        click.echo(text_of_score(result))
        for line in failed:
            click.echo(f"failed: {line}", err=True)
    _tell_rejected(found)
    if failed:
        raise click.exceptions.Exit(1)


def chosen_runs(index: Path, files: Sequence[Path]) -> list[tuple[Labelled, Path]]:
    """The labelled runs and their recordings: those of the index, or the `files` of them that are named.

    Raises InputError for an index that is wrong or names a file that is not there, UsageError for one that cannot be
    read and for a file that it does not name.
    """
    try:
        if index.stat().st_size > MAX_INDEX_BYTES:
            raise UsageError(f"{index} is larger than {MAX_INDEX_BYTES // 1024 // 1024} MB: that is no index")
        text = index.read_bytes().decode("utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {index}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{index} is not UTF-8 at byte {error.start}") from None
    reading = read_index(text, str(index))
    problems = list(reading.problems)
    runs = [(run, index.parent / run.file) for run in reading.runs]
    if files:
        wanted = {file.resolve(): file for file in files}
        known = {path.resolve() for _, path in runs}
        strangers = [clean(str(file)) for path, file in wanted.items() if path not in known]
        if strangers and not problems:
            raise UsageError(f"{index} does not name {', '.join(strangers)}: add a row for each, or leave it out")
        runs = [(run, path) for run, path in runs if path.resolve() in wanted]
    for run, path in runs:
        if not path.is_file():
            hint = f"files are looked for beside the index: {path}"
            problems.append(_problem(run, "missing-file", f"there is no file '{clean(run.file)}'", hint))
    if problems:
        raise InputError(sorted(problems, key=lambda problem: (problem.line, problem.column)))
    return runs


def check_courses(runs: Sequence[Labelled], found: Sequence[Course]) -> None:
    """Refuse what cannot be judged: a recording without steps, with several runs, or that ends before its onset."""
    problems = []
    for run, course in zip(runs, found, strict=True):
        if len(course.runs) > 1:
            names = ", ".join(clean(name) for name in course.runs[:3])
            message = f"{clean(run.file)} holds {len(course.runs)} runs: {names}"
            problems.append(
                _problem(run, "several-runs", message, "a row of the index is about one run: split the file")
            )
        elif not course.steps:
            hint = f"its first fault: {course.fault}" if course.fault else "it is empty"
            problems.append(_problem(run, "no-steps", f"{clean(run.file)} holds no step with metrics", hint))
        elif (late := misplaced_onset(run, course)) is not None:
            problems.append(_problem(run, "misplaced-onset", late, "the onset is a step of the run, not a row"))
    if problems:
        raise InputError(problems)


def _problem(run: Labelled, code: str, message: str, hint: str) -> Problem:
    path, _, line = run.place.rpartition(":")
    return Problem(path, int(line), 1, code, message, hint)


def _failed(result: Score, scoring: Scoring) -> list[str]:
    """The gates that are not passed. A gate that cannot be judged is not passed: a guard must not be empty."""
    failed = []
    least, share = scoring.least_detected, result.total.share
    if least is not None:
        if share is None:
            failed.append("no run of the index broke, so no share of them can be detected")
        elif share < least:
            failed.append(f"{share:.1%} of the broken runs are detected, at least {least:.1%} are asked for")
    most, rate = scoring.most_false_alarms, result.total.per_1000_steps
    if most is not None:
        if rate is None:
            failed.append("no step of the recordings is healthy, so there is no rate of false alarms")
        elif rate > most:
            failed.append(f"{rate:.2f} false alarms for each 1,000 healthy steps, at most {most:g} are allowed")
    return failed


def _tell_rejected(found: Sequence[Course]) -> None:
    for course in found:
        if course.rejected:
            amount = counted(course.rejected, "line")
            click.echo(f"rejected: {amount} of {clean(course.file)}, the first: {clean(course.fault)}", err=True)


# --- text ------------------------------------------------------------------------------------------------


def text_of_score(result: Score) -> str:
    """The total, then files, labels, rules and runs, each worst first."""
    total, healthy = result.total, result.healthy
    kinds = ", ".join(
        f"{count} {name}"
        for name, count in (
            ("broken", result.kinds["broken"]),
            ("healthy", result.kinds["healthy"]),
            ("healthy in spite of a label", result.kinds["benign"]),
            ("not judged", result.kinds["unjudged"]),
        )
        if count
    )
    before_steps, before_rows = total.healthy_steps - healthy.steps, total.healthy_rows - healthy.rows
    lines = [
        f"{counted(len(result.verdicts), 'recording')}: {kinds}",
        f"healthy steps: {total.healthy_steps:,} in {total.healthy_rows:,} logged rows "
        f"({healthy.steps:,} in {healthy.rows:,} of healthy runs, {before_steps:,} in {before_rows:,} before an onset)",
        f"detected {total.detected} of {total.broken} ({_share(total)}), late {total.late}, early {total.early}, "
        f"missed {len(total.missed)}; delay in rows {_delays(total.rows)}, in steps {_delays(total.steps)}",
        f"false alarms: {total.false_alarms} on {total.alarmed} of {healthy.runs} healthy runs, "
        f"{total.early_alarms} before an onset: {_number(total.per_1000_steps)} per 1,000 healthy steps "
        f"({_number(healthy.per_1000_steps)} on healthy runs alone), {_number(total.per_1000_rows)} per 1,000 rows",
    ]
    parts = list(map(paragraph, lines))
    if len(result.files) > 1:
        parts += ["", _tallies("RULES OF", result.files)]
    if result.labels:
        parts += ["", _tallies("LABEL", result.labels)]
    idle = [tally for tally in result.rules if _is_idle(tally)]
    if len(idle) < len(result.rules):
        parts += ["", _tallies("RULE", [tally for tally in result.rules if tally not in idle])]
    if idle:
        names = ", ".join(clean(tally.name) for tally in idle)
        parts += ["", paragraph(f"no run that they fit, and no alarm: {names}")]
    parts += ["", table([("RUN", "LABELS", "ONSET", "OUTCOME", "ALERTS"), *map(_run_row, result.verdicts)])]
    return "\n".join(parts)


def _tallies(title: str, tallies: Sequence[Tally]) -> str:
    heading = (title, "DETECTED", "", "LATE", "EARLY", "ROWS", "STEPS", "FALSE", "TOO EARLY", "PER 1,000", "OTHER")
    return table([heading, *map(_tally_row, tallies)])


def _is_idle(tally: Tally) -> bool:
    alarms = tally.false_alarms + tally.early_alarms + tally.benign_alarms + tally.other_alarms
    return not tally.broken and not alarms


def _tally_row(tally: Tally) -> tuple[str, ...]:
    return (
        clean(tally.name),
        f"{tally.detected} of {tally.broken}" if tally.broken else "-",
        _share(tally) if tally.broken else "",
        str(tally.late or "-"),
        str(tally.early or "-"),
        _delays(tally.rows),
        _delays(tally.steps),
        str(tally.false_alarms or "-"),
        str(tally.early_alarms or "-"),
        _number(tally.per_1000_steps) if tally.false_alarms + tally.early_alarms else "-",
        str(tally.other_alarms + tally.benign_alarms or "-"),
    )


def _run_row(verdict: Verdict) -> tuple[str, ...]:
    run = verdict.run
    told = sorted(verdict.findings, key=lambda found: found.moment.row)
    words = ", ".join(map(_finding_text, told[:MOST_NAMED]))
    if len(told) > MOST_NAMED:
        words += f", and {len(told) - MOST_NAMED} more"
    labels = ";".join(run.labels) or (" ".join(run.fitting) if run.kind == "broken" else run.kind)
    return (clean(run.file), labels, "-" if run.onset is None else str(run.onset), verdict.outcome, words or "-")


MOST_NAMED = 4
"""Alerts named in a run's line."""


def _finding_text(found: Finding) -> str:
    at = f"{found.episode.alert} {found.moment.severity} at {found.moment.step}"
    if found.delay_rows is not None:
        late = "late, " if found.sort == "late" else ""
        return f"{at} ({late}after {counted(found.delay_rows, 'row')})"
    return at if found.sort in ("benign", "unjudged") else f"{at} ({found.sort})"


def _share(tally: Tally) -> str:
    return "-" if tally.share is None else f"{tally.share:.0%}"


def _delays(delays: Delays | None) -> str:
    return "-" if delays is None else f"{delays.median:g}/{delays.p90}/{delays.longest}"


def _number(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.2f}"


# --- JSON ------------------------------------------------------------------------------------------------


def json_of_score(result: Score, terms: Terms) -> dict[str, Any]:
    """The shape that docs/score.md promises."""
    healthy = result.healthy
    return {
        "tolerance_rows": terms.tolerance,
        "within_rows": terms.within,
        "runs_by_kind": dict(result.kinds),
        "total": json_of_tally(result.total),
        "healthy_runs": {
            "runs": healthy.runs,
            "alarmed": healthy.alarmed,
            "alarms": healthy.alarms,
            "steps": healthy.steps,
            "rows": healthy.rows,
            "alarms_per_1000_steps": healthy.per_1000_steps,
        },
        "files": [json_of_tally(tally) for tally in result.files],
        "labels": [json_of_tally(tally) for tally in result.labels],
        "rules": [json_of_tally(tally) | {"symptom": tally.symptom, "source": tally.source} for tally in result.rules],
        "runs": [json_of_verdict(verdict) for verdict in result.verdicts],
    }


def json_of_tally(tally: Tally) -> dict[str, Any]:
    return {
        "name": tally.name,
        "broken": tally.broken,
        "detected": tally.detected,
        "detected_share": tally.share,
        "late": tally.late,
        "early": tally.early,
        "missed": list(tally.missed),
        "delay_steps": _json_of_delays(tally.steps),
        "delay_rows": _json_of_delays(tally.rows),
        "false_alarms": tally.false_alarms,
        "alarmed_healthy_runs": tally.alarmed,
        "early_alarms": tally.early_alarms,
        "benign_alarms": tally.benign_alarms,
        "other_alarms": tally.other_alarms,
        "healthy_steps": tally.healthy_steps,
        "healthy_rows": tally.healthy_rows,
        "false_alarms_per_1000_steps": tally.per_1000_steps,
        "false_alarms_per_1000_rows": tally.per_1000_rows,
    }


def _json_of_delays(delays: Delays | None) -> dict[str, float] | None:
    return None if delays is None else {"median": delays.median, "p90": delays.p90, "max": delays.longest}


def json_of_verdict(verdict: Verdict) -> dict[str, Any]:
    run, first = verdict.run, verdict.first
    return {
        "file": run.file,
        "labels": list(run.labels),
        "kind": run.kind,
        "onset": run.onset,
        "deadline": run.deadline,
        "accepted": dict(run.fitting),
        "outcome": verdict.outcome,
        "delay_steps": None if first is None else first.delay_steps,
        "delay_rows": None if first is None else first.delay_rows,
        "healthy_steps": verdict.healthy_steps,
        "healthy_rows": verdict.healthy_rows,
        "alerts": [
            {
                "alert": found.episode.alert,
                "symptom": found.episode.symptom,
                "labels": dict(found.episode.labels),
                "severity": found.moment.severity,
                "step": found.moment.step,
                "row": found.moment.row,
                "onset_step": found.episode.onset_step,
                "sort": found.sort,
                "delay_steps": found.delay_steps,
                "delay_rows": found.delay_rows,
            }
            for found in verdict.findings
        ],
    }
