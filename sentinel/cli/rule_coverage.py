"""What rule tests have seen of the rules, for people and machines."""

from __future__ import annotations

import textwrap
from typing import Any

import click

from sentinel.cli.output import clean, counted
from sentinel.cli.ruletests import Report
from sentinel.ruletest import RuleCoverage
from sentinel.severity import SEVERITIES


def text_of_coverage(report: Report) -> str:
    """One line a rule, and below it what no test has seen."""
    lines: list[str] = []
    for path, coverage in report.coverage.items():
        lines += ["", f"Coverage of {clean(path)}"]
        for found in coverage.rules:
            whole = found.covered == found.total
            mark = click.style(f"{found.covered}/{found.total}".rjust(7), fg="green" if whole else "yellow")
            lines.append(f"{mark}  {click.style(found.rule.name, bold=True)}  {_seen(found)}".rstrip())
            lines += _unseen(found)
    lines.append(f"{report.percent:.1f}% covered: {report.covered} of {counted(report.total, 'part')}")
    return "\n".join(lines)


def _seen(found: RuleCoverage) -> str:
    fired = [f"{severity} in {len(found.fired[severity])}" for severity in SEVERITIES if severity in found.fired]
    silent = f"silent in {len(found.silent)}" if found.silent else ""
    return ", ".join(filter(None, [*fired, silent]))


def _unseen(found: RuleCoverage) -> list[str]:
    lines = []
    if not found.fired:
        lines.append("         fires in no test")
    if not found.silent:
        lines.append("         no test demands its silence")
    for part in found.never_true:
        lines += textwrap.wrap(
            f"{part.name} is never true: {clean(part.text)}",
            110,
            initial_indent=" " * 9,
            subsequent_indent=" " * 13,
            break_long_words=False,
        )
    return lines


def json_of_coverage(report: Report) -> dict[str, Any]:
    """{percent, covered, total, rules: [{path, rule, source, covered, total, fired: {severity: [test]}, silent: [test],
    never_true: [{part, condition}]}]}."""
    return {
        "percent": round(report.percent, 2),
        "covered": report.covered,
        "total": report.total,
        "rules": [
            {
                "path": path,
                "rule": found.rule.name,
                "source": found.rule.source,
                "covered": found.covered,
                "total": found.total,
                "fired": found.fired,
                "silent": found.silent,
                "never_true": [{"part": part.name, "condition": part.text} for part in found.never_true],
            }
            for path, coverage in report.coverage.items()
            for found in coverage.rules
        ],
    }
