"""A label or a phase that is nearly a known one, where any name is allowed."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from sentinel.rules.expression.nodes import InPhase, walk
from sentinel.rules.lint.finding import Finding
from sentinel.rules.lint.subject import Subject

LABELS = ("framework",)
PHASES = ("early", "middle", "late")
NEAR = 0.75
"""How like, of 1, a name must be to be taken for another: a letter more, less, or two that changed places."""


def likely_typo(subject: Subject) -> Iterator[Finding]:
    for label in subject.rule.where:
        if meant := _meant(label, LABELS):
            message = f"a label '{label}' is asked for, which runs seldom carry"
            yield Finding("likely-typo", ("where", label), message, f"did you mean '{meant}'?", at_key=True)
    for at, override in enumerate(subject.rule.overrides):
        for label in override.where:
            if meant := _meant(label, LABELS):
                message = f"a label '{label}' is asked for, which runs seldom carry"
                loc = ("overrides", at, "where", label)
                yield Finding("likely-typo", loc, message, f"did you mean '{meant}'?", at_key=True)
    for phase in subject.rule.phases:
        if meant := _meant(phase, PHASES):
            message = f"no run has a phase '{phase}' unless its trainer says so"
            yield Finding("likely-typo", ("phase",), message, f"did you mean '{meant}'?")
    for key, expression in subject.expressions():
        for node in walk(expression):
            if isinstance(node, InPhase) and (meant := _meant(node.name, PHASES)):
                message = f"no run has a phase '{node.name}' unless its trainer says so"
                yield Finding("likely-typo", (key,), message, f"did you mean '{meant}'?", node.span)


def _meant(name: str, known: tuple[str, ...]) -> str:
    """The known name that another is nearly, but not quite; empty for none."""
    if name in known:
        return ""
    if name.lower() in known:
        return name.lower()
    return next(iter(difflib.get_close_matches(name.lower()[:80], known, n=1, cutoff=NEAR)), "")
