"""What fired in a replay, counted by rule and by run."""

from __future__ import annotations

from collections import Counter

from sentinel.cli.output import clean, counted
from sentinel.cli.width import table
from sentinel.service.replay import Summary
from sentinel.severity import SEVERITIES

WORST_FIRST = tuple(reversed(SEVERITIES))


def text_of_alerts(summary: Summary) -> str:
    """A table of the rules, those that fired in most runs on top, and one of the runs; empty when nothing fired."""
    rules = count_by_rule(summary)
    if not rules:
        return ""
    heading = ("RULE", *map(str.upper, WORST_FIRST), "RUNS")
    rows = [
        (clean(rule), *(_count(found[severity]) for severity in WORST_FIRST), f"{found['runs']} of {len(summary.runs)}")
        for rule, found in rules.items()
    ]
    parts = [table([heading, *rows])]
    if len(summary.runs) > 1:
        heading = ("RUN", *map(str.upper, WORST_FIRST), "ROWS", "STEPS", "RULES THAT FIRED")
        rows = [
            (
                clean(run),
                *(_count(sum(n for (_, own), n in seen.fired.items() if own == severity)) for severity in WORST_FIRST),
                str(seen.rows),
                seen.span,
                ", ".join(dict.fromkeys(clean(rule) for rule, _ in seen.fired)) or "-",
            )
            for run, seen in sorted(summary.runs.items(), key=lambda pair: -sum(pair[1].fired.values()))
        ]
        parts.append(table([heading, *rows]))
    return "\n\n".join(parts)


def count_by_rule(summary: Summary) -> dict[str, Counter[str]]:
    """Rule → how often it fired at each severity, and in how many `runs`; those of most runs first."""
    found: dict[str, Counter[str]] = {}
    for seen in summary.runs.values():
        for (rule, severity), count in seen.fired.items():
            found.setdefault(rule, Counter())[severity] += count
        for rule in {rule for rule, _ in seen.fired}:
            found[rule]["runs"] += 1
    return dict(sorted(found.items(), key=lambda pair: (-pair[1]["runs"], -pair[1].total(), pair[0])))


def heading_of(summary: Summary) -> str:
    """`1 recording, 90 rows, steps 5 to 450`."""
    words = [counted(summary.files, "recording"), counted(summary.steps, "row")]
    spans = [seen.span for seen in summary.runs.values() if seen.rows]
    if len(spans) == 1:
        words.append(f"steps {spans[0]}" if " " in spans[0] else f"step {spans[0]}")
    return ", ".join(words)


def _count(number: int) -> str:
    return str(number) if number else "-"
