"""What people write in a rule file who come from other alerting tools, and where it stands here."""

from __future__ import annotations

from sentinel.documents import Loc

_CONDITION = "write the condition under its severity: warning: kl.ref > 0.1"
_SEVERITY = "the severity is the key of its condition: critical: kl.ref > 0.5"
_SUMMARY = "the alert's sentence is the key `summary`"
_NAME = "a rule's name is the key `alert`: alert: kl-high"
_HOLD = "how long a condition holds is the key `for`: for: 3 steps"
_UNTIL = "what ends the alert is the key `until`: until: kl.ref < 0.08"
_LEVELS = "there are three severities, each with its condition: info, warning, critical"

KEYS = {
    "groups": "groups are not needed: all rules stand in one list under `rules`",
    "group": "groups are not needed: all rules stand in one list under `rules`",
    "expr": _CONDITION,
    "expression": _CONDITION,
    "condition": _CONDITION,
    "conditions": _CONDITION,
    "query": _CONDITION,
    "if": _CONDITION,
    "when": _CONDITION,
    "metric": _CONDITION,
    "threshold": _CONDITION,
    "operator": _CONDITION,
    "severity": _SEVERITY,
    "level": _SEVERITY,
    "priority": _SEVERITY,
    "error": _LEVELS,
    "high": _LEVELS,
    "page": _LEVELS,
    "labels": f"{_SEVERITY}; labels that a run must carry stand under `where`",
    "annotations": f"{_SUMMARY}, and what to do stands under `runbook`",
    "description": _SUMMARY,
    "message": _SUMMARY,
    "runbook_url": "what to do stands under `runbook`: {do: [...]}; a link may be one of the texts",
    "name": _NAME,
    "rule": _NAME,
    "id": _NAME,
    "title": _NAME,
    "duration": _HOLD,
    "hold": _HOLD,
    "wait": _HOLD,
    "interval": "rules are evaluated at every event, so none is needed",
    "evaluation_interval": "rules are evaluated at every event, so none is needed",
    "resolve": _UNTIL,
    "recover": _UNTIL,
    "recovery": _UNTIL,
    "record": "nothing is recorded under a name: numbers that rules share stand under `vars`",
    "variables": "numbers that rules share stand under `vars`",
    "enabled": "take the rule out, or switch it off for some runs: overrides: [{where: {team: math}, enabled: false}]",
    "disabled": "take the rule out, or switch it off for some runs: overrides: [{where: {team: math}, enabled: false}]",
}
"""Key of another tool → what is written here."""

_SHAPES: dict[tuple[str, ...], str] = {
    (): "a file begins with the line rules: and the list of rules stands below it",
    ("rules",): "each rule begins with a hyphen: - alert: kl-high",
    ("rules", "#"): "a rule is its keys: - alert: kl-high, and below it symptom: and warning:",
    ("rules", "#", "overrides"): "each override begins with a hyphen: - where: {team: math}",
    ("rules", "#", "where"): "labels by name: where: {framework: trl}",
    ("rules", "#", "runbook"): "write runbook: {causes: [...], look_at: [...], do: [...]}",
    ("rules", "#", "allow"): 'checks by name, each with the reason: allow: {single-spike: "one is enough"}',
    ("vars",): "numbers by name: vars: {kl_limit: 0.5}",
    ("allow",): 'checks by name, each with the reason: allow: {no-runbook: "they are in the wiki"}',
}

_MISSING = {
    "rules": "the list of rules stands below the line rules:",
    "alert": "name the rule: alert: kl-high",
    "symptom": "say what it looks for; `sentinel rules symptoms` lists what there is",
}


def remedy(kind: str, loc: Loc) -> str:
    """What to do about a key or a value that does not fit into a rule file; empty when there is no more to say.

    `kind`: the code of the problem, `loc`: the way to what is at fault.
    """
    way = tuple("#" if isinstance(part, int) else part for part in loc)
    match kind:
        case "unknown-key":
            depth = len(way)
            at_rule = depth == 1 or (depth == 3 and way[0] == "rules") or (depth == 5 and way[2] == "overrides")
            return KEYS.get(str(loc[-1]).lower(), "") if at_rule else ""
        case "missing-key":
            return _MISSING.get(str(loc[-1]), "")
        case "wrong-type" if way[:3] == ("rules", "#", "runbook") and len(way) == 4:
            return f"put it in a list: {loc[-1]}: [...]"
        case "wrong-type":
            return _SHAPES.get(way, "")
    return ""
