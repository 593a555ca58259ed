"""Two sets of rules compared on recorded runs: played, compared, and shown as text, Markdown and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from sentinel.cli.output import JSON_VERSION, clean, counted
from sentinel.cli.progress import progress
from sentinel.cli.score import check_courses, json_of_tally
from sentinel.cli.width import table
from sentinel.errors import RuleError, UsageError
from sentinel.resources import Source, read_sources
from sentinel.rules.loader import load_rules
from sentinel.rules.model import RuleSet
from sentinel.score.course import Course, Episode
from sentinel.score.difference import Difference, compare_courses, with_verdicts
from sentinel.score.edits import WORDS, RuleEdit, compare_rules
from sentinel.score.index import Labelled
from sentinel.score.tally import Score, Tally, score
from sentinel.score.verdict import Finding, judge
from sentinel.service.courses import Job, courses
from sentinel.service.revision import PREFIX, read_revision


@dataclass(frozen=True, slots=True)
class Comparison:
    """All that a diff found. `before`, `after`: the scores, when the recordings are labelled."""

    rules: tuple[RuleEdit, ...]
    files: int
    alerts: tuple[Difference, ...]
    before: Score | None = None
    after: Score | None = None

    def count(self, fate: str) -> int:
        return sum(alert.fate == fate for alert in self.alerts)

    @property
    def changed(self) -> list[Difference]:
        return [alert for alert in self.alerts if alert.fate != "kept"]


def compare(
    sources: Sequence[Sequence[Source]],
    paths: Sequence[Path],
    labelled: Sequence[Labelled],
    *,
    index: Path | None,
    framework: str | None,
    processes: int,
) -> Comparison:
    """Play every recording through both sets of rules. Raises RuleError, UsageError, InputError."""
    old, new = (_in_force_together(each) for each in sources)
    # A recording goes through both sets one after the other, so that a long list of them can be told as it comes.
    plays = [Job(path, str(path), rules) for path in paths for rules in (0, 1)]
    with progress("comparing", sum(job.size for job in plays)) as bar:
        played = list(courses(plays, sources, framework=framework, processes=processes, on_read=bar.advance))
    before, after = played[::2], played[1::2]
    _check_understood(after)
    alerts = [compare_courses(*pair) for pair in zip(before, after, strict=True)]
    scores: tuple[Score | None, Score | None] = (None, None)
    if index is not None:
        check_courses(labelled, after)
        verdicts = [tuple(map(judge, labelled, each)) for each in (before, after)]
        alerts = [with_verdicts(*each) for each in zip(alerts, *verdicts, strict=True)]
        scores = score(verdicts[0], old.rules), score(verdicts[1], new.rules)
    return Comparison(compare_rules(old, new), len(paths), tuple(alert for file in alerts for alert in file), *scores)


def rules_of(given: str) -> list[Source]:
    """The rule files of a path, a pack, or `git:REVISION:PATH`. Raises UsageError."""
    return read_revision(given) if given.startswith(PREFIX) else read_sources([given])


def _in_force_together(sources: Sequence[Source]) -> RuleSet:
    """The rules of all files. Raises RuleError, and UsageError for files that stand in for one another."""
    try:
        return load_rules(sources)
    except RuleError as error:
        faults = [problem for problem in error.problems if problem.severity == "error"]
        twice = [problem for problem in faults if problem.code == "duplicate-alert"]
        if len(sources) < 2 or len(twice) < len(faults) or any(problem.path in problem.hint for problem in twice):
            raise
        files = ", ".join(dict.fromkeys(problem.path for problem in twice))
        before = twice[0].hint.removeprefix("it stands at ").rpartition(": ")[0]
        raise UsageError(
            f"these files are not in force together: {counted(len(twice), 'rule')} of {files} have the name of one in "
            f"another file, the first of them at {before} and {twice[0].place}. Compare one file or pack at a time"
        ) from None


def recordings_of(given: Sequence[str]) -> list[Path]:
    """The files that paths stand for, a folder for its `*.jsonl`. Raises UsageError for what is not there."""
    found: list[Path] = []
    missing: list[str] = []
    for name in given:
        path = Path(name)
        inside = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        found += inside
        if not inside or not inside[0].is_file():
            missing.append(
                f"there is no recording (*.jsonl) in {name}" if path.is_dir() else f"there is no file {name}"
            )
    if missing:
        raise UsageError(clean("; ".join(missing)))
    return list(dict.fromkeys(found))


def _check_understood(found: Sequence[Course]) -> None:
    """A guard must not pass because it was given something else."""
    empty = [
        f"{course.file} holds no event that can be understood: {course.fault}" for course in found if _empty(course)
    ]
    if empty:
        raise UsageError(clean("; ".join(empty)))


def _empty(course: Course) -> bool:
    return bool(course.rejected) and not course.steps and not course.episodes


# --- text ------------------------------------------------------------------------------------------------

SIGNS = {"added": "+", "removed": "-", "moved": "~", "changed": "~", "reworded": "~"}


def text_of_comparison(found: Comparison) -> str:
    """What changed in the rules, then in the alerts of each recording, then the counts."""
    blocks = [[line for rule in found.rules if rule.change != "unchanged" for line in _rule_lines(rule)]]
    for (file, outcomes), alerts in groupby(found.changed, lambda alert: (alert.file, alert.outcomes)):
        heading = file if outcomes is None else f"{file}: {_both(*outcomes)}"
        blocks.append([clean(heading), *(f"  {SIGNS[alert.fate]} {clean(_alert_line(alert))}" for alert in alerts)])
    blocks.append([_counts(found)])
    if found.before is not None and found.after is not None:
        blocks.append([table([("", "OLD", "NEW"), *score_rows(found.before, found.after)])])
        if rules := rule_rows(found.before, found.after):
            blocks.append([table([RULE_HEADING, *rules])])
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _rule_lines(rule: RuleEdit) -> list[str]:
    lines = [f"{SIGNS[rule.change]} rule {rule.name}: {rule.change}"]
    lines += [
        f"    {edit.key}: {_or_none(edit.before)} → {_or_none(edit.after)}"
        for edit in rule.edits
        if edit.key not in WORDS
    ]
    lines += [f"    {edit.key}: other words" for edit in rule.edits if edit.key in WORDS]
    return [clean(line) for line in lines]


def _or_none(text: str) -> str:
    return text or "(none)"


def _counts(found: Comparison) -> str:
    kinds = Counter(rule.change for rule in found.rules)
    rules = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "none"
    alerts = ", ".join(f"{found.count(fate)} {fate}" for fate in ("added", "removed", "moved", "kept"))
    return f"rules: {rules}\nalerts on {counted(found.files, 'recording')}: {alerts}"


def _alert_line(alert: Difference) -> str:
    name = alert.episode.alert + "".join(f" {key}={value}" for key, value in alert.episode.labels)
    before, after = alert.before, alert.after
    if before is None or after is None:
        return f"{name}: {_told(alert.episode)}{_judged(alert)}"
    facts = (
        (_moments(before), _moments(after)),
        (f"onset {before.onset_step}", f"onset {after.onset_step}"),
        (_ending(before), _ending(after)),
    )
    return f"{name}: " + ", ".join(_both(*pair) for pair in facts) + _judged(alert)


def _both(old: str, new: str) -> str:
    return old if old == new else f"{old} → {new}"


def _judged(alert: Difference) -> str:
    """What a change is worth: ` [was a false alarm]`. Nothing without labels, and nothing of what is no alarm."""
    was, now = (" and ".join(map(_sort, found)) for found in (alert.was, alert.now))
    if not was and not now:
        return ""
    if alert.after is None:
        return f" [was {was}]"
    return f" [{now}]" if alert.before is None else f" [{_both(was or 'no alarm', now or 'no alarm')}]"


def _sort(found: Finding) -> str:
    if found.delay_rows is not None:
        return f"{found.sort} after {counted(found.delay_rows, 'row')}"
    return _SORTS.get(found.sort, found.sort)


_SORTS = {
    "false": "a false alarm",
    "early": "too early",
    "benign": "on a run that did well",
    "other": "another symptom",
    "unjudged": "not judged",
}


def _told(episode: Episode) -> str:
    return f"{_moments(episode)}, onset {episode.onset_step}, {_ending(episode)}"


def _moments(episode: Episode) -> str:
    return ", ".join(f"{moment.severity} at {moment.step}" for moment in episode.moments)


def _ending(episode: Episode) -> str:
    return "firing to the end" if episode.ending is None else f"{episode.ending.state} at {episode.ending.step}"


def score_rows(before: Score, after: Score) -> list[tuple[str, str, str]]:
    """What two scores say of the same recordings, line by line."""

    def row(name: str, read: Any) -> tuple[str, str, str]:
        return name, read(before), read(after)

    def rate(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    return [
        row("detected", lambda each: f"{each.total.detected} of {each.total.broken}"),
        row("late", lambda each: str(each.total.late)),
        row("early", lambda each: str(each.total.early)),
        row("missed", lambda each: str(len(each.total.missed))),
        row("median delay, rows", lambda each: "-" if each.total.rows is None else f"{each.total.rows.median:g}"),
        row("healthy runs alarmed", lambda each: f"{each.total.alarmed} of {each.healthy.runs}"),
        row("alarms before an onset", lambda each: str(each.total.early_alarms)),
        row("false alarms per 1,000 healthy steps", lambda each: rate(each.total.per_1000_steps)),
    ]


RULE_HEADING = ("RULE", "DETECTED", "ROWS", "LATE", "EARLY", "MISSED", "FALSE", "TOO EARLY")


def rule_rows(before: Score, after: Score) -> list[tuple[str, ...]]:
    """The rules whose own score is another: `2 of 2 → 1 of 2`. A rule that is not there has `-`."""
    return [
        (name, *(_both(*pair) for pair in zip(*cells, strict=True)))
        for name, *tallies in changed_tallies(before, after)
        if (cells := [_tally_cells(tally) for tally in tallies])
    ]


def changed_tallies(before: Score, after: Score) -> list[tuple[str, Tally | None, Tally | None]]:
    """(rule, old tally, new tally) of the rules that say something else, in the order of the new score."""
    old, new = ({tally.name: tally for tally in each.rules} for each in (before, after))
    pairs = [(name, old.get(name), new.get(name)) for name in dict.fromkeys([*new, *old])]
    return [pair for pair in pairs if _tally_cells(pair[1]) != _tally_cells(pair[2])]


def _tally_cells(tally: Tally | None) -> tuple[str, ...]:
    if tally is None:
        return ("-",) * (len(RULE_HEADING) - 1)
    rows = "-" if tally.rows is None else f"{tally.rows.median:g}"
    counts = (tally.late, tally.early, len(tally.missed), tally.false_alarms, tally.early_alarms)
    return (f"{tally.detected} of {tally.broken}", rows, *map(str, counts))


# --- markdown --------------------------------------------------------------------------------------------

MOST_ROWS = 200
"""Alerts in a comment; GitHub takes 65,536 characters."""


def markdown_of_comparison(found: Comparison) -> str:
    """A comment for a pull request: the counts first, the rest folded."""
    changed = [rule for rule in found.rules if rule.change != "unchanged"]
    fates = ", ".join(f"**{found.count(fate)}** {fate}" for fate in ("added", "removed", "moved"))
    lines = [f"### Alerts on {counted(found.files, 'recording')}: {fates}, {found.count('kept')} kept"]
    if found.before is not None and found.after is not None:
        lines += ["", "| | old | new |", "| --- | --- | --- |"]
        lines += [f"| {name} | {old} | {new} |" for name, old, new in score_rows(found.before, found.after)]
        if rules := rule_rows(found.before, found.after):
            lines += [
                "",
                f"| {' | '.join(cell.lower() for cell in RULE_HEADING)} |",
                "| --- " * len(RULE_HEADING) + "|",
            ]
            lines += [f"| {' | '.join(map(_cell, row))} |" for row in rules]
    if found.changed:
        shown = found.changed[:MOST_ROWS]
        lines += ["", "<details><summary>Alerts</summary>", "", "| | recording | alert |", "| --- | --- | --- |"]
        lines += [f"| {alert.fate} | {_cell(alert.file)} | {_cell(_alert_line(alert))} |" for alert in shown]
        if len(found.changed) > len(shown):
            lines.append(f"| | | and {len(found.changed) - len(shown)} more |")
        lines += ["", "</details>"]
    if changed:
        lines += ["", "<details><summary>Rules</summary>", "", "| rule | | old | new |", "| --- | --- | --- | --- |"]
        for rule in changed:
            if rule.change in ("added", "removed"):
                lines.append(f"| {_cell(rule.name)} | {rule.change} | | |")
            for edit in rule.edits:
                both = "other words | " if edit.key in WORDS else f"{_code(edit.before)} | {_code(edit.after)}"
                lines.append(f"| {_cell(rule.name)} | {edit.key} | {both} |")
        lines += ["", "</details>"]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """A text as itself inside a cell of a table: what Markdown or HTML would read is escaped."""
    escaped = "".join(f"\\{character}" if character in "\\`*_[]|~#" else character for character in clean(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "&#64;")


def _code(text: str) -> str:
    return f"<code>{_cell(text)}</code>" if text else ""


# --- JSON ------------------------------------------------------------------------------------------------


def json_of_comparison(found: Comparison) -> dict[str, Any]:
    """The shape that docs/score.md promises."""
    result: dict[str, Any] = {
        "version": JSON_VERSION,
        "files": found.files,
        "rules": [
            {
                "name": rule.name,
                "change": rule.change,
                "edits": [{"key": edit.key, "before": edit.before, "after": edit.after} for edit in rule.edits],
            }
            for rule in found.rules
        ],
        "alerts": [_json_of_alert(alert) for alert in found.changed],
        "counts": {fate: found.count(fate) for fate in ("added", "removed", "moved", "kept")},
        "score": None,
    }
    if found.before is not None and found.after is not None:
        result["score"] = {
            "before": json_of_tally(found.before.total),
            "after": json_of_tally(found.after.total),
            "rules": [
                {
                    "name": name,
                    "before": None if old is None else json_of_tally(old),
                    "after": None if new is None else json_of_tally(new),
                }
                for name, old, new in changed_tallies(found.before, found.after)
            ],
        }
    return result


def _json_of_alert(alert: Difference) -> dict[str, Any]:
    episode = alert.episode
    return {
        "file": alert.file,
        "change": alert.fate,
        "run": episode.run,
        "attempt": episode.attempt,
        "alert": episode.alert,
        "symptom": episode.symptom,
        "labels": dict(episode.labels),
        "before": _json_of_episode(alert.before, alert.was),
        "after": _json_of_episode(alert.after, alert.now),
        "outcomes": None if alert.outcomes is None else dict(zip(("before", "after"), alert.outcomes, strict=True)),
    }


def _json_of_episode(episode: Episode | None, findings: Sequence[Finding]) -> dict[str, Any] | None:
    if episode is None:
        return None
    end = episode.ending
    return {
        "severity": episode.severity,
        "step": episode.step,
        "onset_step": episode.onset_step,
        "fired": [{"severity": moment.severity, "step": moment.step} for moment in episode.moments],
        "ended": None if end is None else {"state": end.state, "step": end.step},
        "source": episode.source,
        "judged": [{"sort": found.sort, "delay_rows": found.delay_rows} for found in findings],
    }
