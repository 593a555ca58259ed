"""What a rule is for some runs: `overrides: [{where: {team: math}, warning: kl.ref > 0.2}]`.

An override becomes a whole rule when its file is loaded. The engine chooses one for each run by the run's labels. Each
keeps its state under a fingerprint of its own, so that an edited override touches the runs that it is for, no others.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sentinel.documents import Document, Loc
from sentinel.errors import Problem
from sentinel.rules.document import OverrideDocument, RuleDocument
from sentinel.rules.model import SEVERITIES, Override, Rule


def resolve(rule: Rule, override: OverrideDocument, source: str) -> Override:
    """The rule with an override's keys in the place of its own. A condition that it sets to nothing is gone."""
    given = override.model_fields_set - {"where", "enabled"}
    changes = tuple(info.alias or name for name, info in OverrideDocument.model_fields.items() if name in given)
    if not override.enabled:
        return Override(dict(override.where), None, ("enabled",), source)
    own = dict(rule.conditions)
    own.update((severity, getattr(override, severity)) for severity in SEVERITIES if severity in given)
    names = {"hold": "hold", "keep_firing_for": "keep_firing", "until": "until", "after": "after"}
    names |= {"taints": "taints", "summary": "summary"}
    changed = replace(
        rule,
        conditions=tuple((severity, own[severity]) for severity in SEVERITIES if own.get(severity) is not None),
        source=source,
        overrides=(),
        **{field: getattr(override, name) for name, field in names.items() if name in given},
    )
    return Override(dict(override.where), changed, changes, source)


def override_problems(entry: RuleDocument, rule: Rule, index: int, document: Document) -> Iterator[Problem]:
    """Overrides that leave no condition, that change nothing, or that no run can come to."""
    for at, override in enumerate(rule.overrides):
        loc: Loc = ("rules", index, "overrides", at)
        where = document.place((*loc, "where"), key=True)
        given = entry.overrides[at].model_fields_set - {"where", "enabled"}
        if override.rule is not None and not override.rule.conditions:
            message, hint = "the override leaves the rule without a condition", "to switch it off write enabled: false"
            yield document.problem(where, "no-condition", message, hint)
        elif override.rule is None and given:
            message, hint = "the rule is off for these runs, so the other keys say nothing", "remove them"
            yield document.problem(where, "idle-override", message, hint, severity="warning")
        elif override.rule is not None and replace(override.rule, source="") == replace(rule, source="", overrides=()):
            message, hint = "the override changes nothing: all of it is what the rule says anyway", "remove it"
            yield document.problem(where, "idle-override", message, hint, severity="warning")
        earlier = next((e for e in rule.overrides[:at] if e.where.items() <= override.where.items()), None)
        other = next((key for key, label in override.where.items() if rule.where.get(key, label) != label), None)
        if earlier is not None:
            message = "no run comes to this override: an earlier one takes all that it is for"
            hint = f"the first that matches counts: move it before {earlier.source}"
            yield document.problem(where, "shadowed-override", message, hint, severity="warning")
        elif other is not None:
            message = f"no run comes to this override: the rule itself is for {other} {rule.where[other]}"
            yield document.problem(where, "shadowed-override", message, "remove it", severity="warning")
