"""What `sentinel explain` and `sentinel rules explain` print for machines (docs/explain.md). Version 1."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from sentinel.cli.output import JSON_VERSION

if TYPE_CHECKING:
    from sentinel.explain.finding import Finding
    from sentinel.explain.outlook import Prospect
    from sentinel.explain.standing import Counter, Standing
    from sentinel.explain.story import Need, Story
    from sentinel.explain.warmup import Wait
    from sentinel.explain.words import Clause
    from sentinel.service.sight import Sight


def json_of_sight(sight: Sight, standings: list[Standing]) -> dict[str, Any]:
    run = sight.run
    assert run is not None
    return {
        "version": JSON_VERSION,
        "run": run.id,
        "attempt": run.attempt,
        "status": run.status,
        "step": run.step if run.step >= 0 else None,
        "time": run.clock,
        "framework": run.framework,
        "seen": {
            "live": sight.live,
            "snapshot_age": sight.snapshot_age,
            "event_age": sight.event_age,
            "events": sight.entries,
            "rejected": sight.rejected,
            "notes": list(sight.notes),
        },
        "rules": [_standing(standing) for standing in standings],
    }


def _standing(standing: Standing) -> dict[str, Any]:
    return {
        "alert": standing.rule.name,
        "symptom": standing.rule.symptom,
        "labels": dict(standing.labels),
        "source": standing.rule.source,
        "state": standing.state,
        "severity": standing.severity,
        "id": standing.alert_id,
        "onset_step": standing.since_step,
        "onset_time": standing.since_time,
        "fired_step": standing.fired_step,
        "reason": standing.reason,
        "why": standing.why,
        "missing": list(standing.missing),
        "asked_step": standing.asked_step,
        "for": [_counter(counter) for counter in standing.counters],
        "keep_firing_for": None if standing.over is None else _counter(standing.over),
        "conditions": {severity: _finding(finding) for severity, finding in standing.conditions},
        "until": None if standing.until is None else _finding(standing.until),
        "prospects": [_prospect(prospect) for prospect in standing.prospects],
    }


def _counter(counter: Counter) -> dict[str, Any]:
    extent = counter.extent
    return {
        "severity": counter.severity,
        "count": counter.count,
        "of": None if extent is None else extent.size,
        "unit": None if extent is None else ("seconds" if extent.axis.value == "time" else extent.axis.value),
        "since_step": counter.since_step,
    }


def _finding(finding: Finding) -> dict[str, Any]:
    told: dict[str, Any] = {"kind": finding.kind, "text": finding.text}
    if finding.condition:
        told["truth"] = finding.truth
    else:
        told["value"] = finding.value
    if finding.kind == "comparison":
        told |= {"op": finding.op, "left": finding.left, "right": finding.right}
    if finding.fill is not None:
        fill = finding.fill
        told["window"] = {
            "unit": "seconds" if fill.axis.value == "time" else fill.axis.value,
            "size": fill.size,
            "reached": fill.reached,
            "values": fill.held,
            "needs": fill.needed,
            "covered": fill.covered,
        }
    if finding.since_step is not None:
        told["since_step"] = finding.since_step
    return told | {"unit": finding.unit, "note": finding.note, "parts": [_finding(part) for part in finding.parts]}


def _prospect(prospect: Prospect) -> dict[str, Any]:
    return {
        "aim": prospect.aim,
        "severity": prospect.severity,
        "words": prospect.words,
        "rows": prospect.rows,
        "step": prospect.step,
        "seconds": prospect.seconds,
        "changes": [
            {
                "metric": change.metric,
                "key": change.key,
                "want": change.want,
                "bound": change.bound,
                # JSON has no NaN: a value that is to be none is null.
                "tried": change.tried if change.tried is not None and math.isfinite(change.tried) else None,
            }
            for change in prospect.changes
        ],
    }


def json_of_story(story: Story, tests: list[dict[str, Any]]) -> dict[str, Any]:
    rule = story.rule
    return {
        "version": JSON_VERSION,
        "alert": rule.name,
        "symptom": rule.symptom,
        "source": rule.source,
        "conditions": {
            severity: {
                "text": str(condition),
                "words": dict(story.sentences)[severity],
                "outline": _clause(dict(story.outlines)[severity]),
            }
            for severity, condition in rule.conditions
        },
        "for": str(rule.hold) if rule.hold else None,
        "keep_firing_for": str(rule.keep_firing) if rule.keep_firing else None,
        "until": str(rule.until) if rule.until else None,
        "limits": list(story.limits),
        "ends": story.ends,
        "taints": rule.taints,
        "needs": [_need(need) for need in story.needs],
        "config": list(story.config),
        "reference": list(story.recorded),
        "asks_about": list(story.asks),
        "speaks": _wait(story.speaks),
        "fires": _wait(story.fires),
        "fastest_rows": story.fastest,
        "fastest_silence": story.fastest_silence,
        "unknown": list(story.unknown),
        "state_bytes": story.bytes,
        "summary": rule.summary,
        "runbook": {
            "causes": list(rule.runbook.causes),
            "look_at": list(rule.runbook.look_at),
            "do": list(rule.runbook.do),
        },
        "tests": tests,
    }


def _clause(clause: Clause) -> dict[str, Any]:
    return {"words": clause.words, "text": clause.code, "parts": [_clause(part) for part in clause.parts]}


def _wait(wait: Wait) -> dict[str, Any]:
    return {"steps": wait.steps, "seconds": wait.seconds}


def _need(need: Need) -> dict[str, Any]:
    info = need.info
    return {
        "metric": need.metric,
        "definition": None if info is None else info.definition,
        "unit": None if info is None or info.unit == "-" else info.unit,
        "asked_only": need.asked_only,
        "logged_as": [
            {"framework": source, "key": row.key, "versions": str(row.versions), "when": list(row.when)}
            for source, row in need.rows
        ],
    }
