"""Rules that ask about other rules: whether there are such rules."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sentinel.documents import Document, Loc
from sentinel.errors import Problem
from sentinel.rules.document import OverrideDocument, RuleDocument
from sentinel.rules.expression.nodes import Node, alerts_of
from sentinel.severity import SEVERITIES
from sentinel.suggestion import closest


def unknown_alerts(entry: RuleDocument, index: int, document: Document, names: Collection[str]) -> Iterator[Problem]:
    """A problem for each alert that rule `index` of a document asks about and that is none of `names`."""
    for loc, given in ((("rules", index), entry), *_overrides(entry, index)):
        for key in (*SEVERITIES, "until"):
            expression: Node | None = getattr(given, key)
            for alert in alerts_of(expression) if expression is not None else ():
                if alert.name not in names:
                    place = document.place_in((*loc, key), alert.span.start, alert.span.end)
                    hint = closest(alert.name, names) or "name a rule of the files that are in force together"
                    yield document.problem(place, "unknown-alert", f"there is no rule '{alert.name}'", hint)


def _overrides(entry: RuleDocument, index: int) -> Iterator[tuple[Loc, OverrideDocument]]:
    for at, override in enumerate(entry.overrides):
        yield ("rules", index, "overrides", at), override
