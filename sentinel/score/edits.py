"""What differs between two sets of rules as they are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from sentinel.rules.model import Rule, RuleSet, Runbook

Change = Literal["added", "removed", "changed", "reworded", "unchanged"]
"""reworded: only what is said has changed, not when it is said."""

WORDS = frozenset({"summary", "runbook"})
"""Keys that change what an alert says and not when it fires."""

_KEYS = {"hold": "for", "keep_firing": "keep_firing_for"}
_PLACES = frozenset({"name", "source"})


@dataclass(frozen=True, slots=True)
class Edit:
    """One key of a rule. `before`, `after`: as a rule file would say it; empty where the key is not given."""

    key: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RuleEdit:
    """One rule in both sets. `edits` is empty unless it is changed or reworded."""

    name: str
    change: Change
    edits: tuple[Edit, ...] = ()


def compare_rules(old: RuleSet, new: RuleSet) -> tuple[RuleEdit, ...]:
    """Every rule of both sets, in the order of the new one; those that are gone come last."""
    found = []
    for rule in new:
        before = old.named(rule.name)
        found.append(RuleEdit(rule.name, "added") if before is None else _edited(before, rule))
    gone = [RuleEdit(rule.name, "removed") for rule in old if new.named(rule.name) is None]
    return (*found, *gone)


def _edited(old: Rule, new: Rule) -> RuleEdit:
    before, after = _keys(old), _keys(new)
    edits = tuple(
        Edit(key, before.get(key, ""), after.get(key, ""))
        for key in dict.fromkeys([*after, *before])
        if before.get(key, "") != after.get(key, "")
    )
    if not edits:
        return RuleEdit(new.name, "unchanged")
    return RuleEdit(new.name, "reworded" if all(edit.key in WORDS for edit in edits) else "changed", edits)


def _keys(rule: Rule) -> dict[str, str]:
    """The keys of a rule with their texts, each severity's condition under its own."""
    found: dict[str, str] = {}
    for field in fields(rule):
        value = getattr(rule, field.name)
        if field.name == "conditions":
            found |= {severity: str(condition) for severity, condition in value}
        elif field.name not in _PLACES:
            found[_KEYS.get(field.name, field.name)] = _text(value)
    return found


def _text(value: object) -> str:
    match value:
        case None | () | 0 | False:
            return ""
        case True:
            return "true"
        case Mapping():
            return ", ".join(f"{key}: {_text(inner)}" for key, inner in value.items())
        case Runbook():
            return "; ".join(
                f"{key}: {', '.join(texts)}"
                for key, texts in (("causes", value.causes), ("look_at", value.look_at), ("do", value.do))
                if texts
            )
        case tuple() | list():
            return ", ".join(map(_text, value))
        case _:
            return str(value)
