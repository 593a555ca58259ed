"""What a rule is, once its text has been understood. Plain values; nothing here reads a file.

YAML text → `sentinel.rules.loader` → `Rule` → `sentinel.engine.compile` → generated code per run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sentinel.rules.expression.nodes import Extent, Metric, Node, metrics_of
from sentinel.severity import SEVERITIES, Severity


@dataclass(frozen=True, slots=True)
class Runbook:
    """What a person does about it: likely causes, where to look in order, what to do."""

    causes: tuple[str, ...] = ()
    look_at: tuple[str, ...] = ()
    do: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One alerting rule.

    - `conditions`: (severity, condition) in rising severity; at least one.
    - `hold`: how long a condition must hold before it fires (`for`); None fires at once.
    - `keep_firing`: how long it must be over before it resolves.
    - `until`: reset condition; without it, the rule is over when no condition holds.
    - `after`: steps of the attempt during which the rule is not evaluated.
    - `phases`: names of the phases in which the rule is evaluated; empty: in all of them.
    - `where`: run labels (or `framework`) that a run must carry.
    - `overrides`: what it is instead for some of these runs; the first that matches counts.
    - `taints`: checkpoints saved from the onset on are suspect.
    - `source`: `file:line` of the rule, shown with each alert.
    """

    name: str
    symptom: str
    conditions: tuple[tuple[Severity, Node], ...]
    summary: str
    hold: Extent | None = None
    keep_firing: Extent | None = None
    until: Node | None = None
    after: int = 0
    phases: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)
    taints: bool = False
    runbook: Runbook = field(default_factory=Runbook)
    source: str = ""
    overrides: tuple[Override, ...] = ()

    def chosen(self, facts: Mapping[str, str]) -> Rule | None:
        """What the rule is for a run of these labels, its framework among them; None when it does not apply to it."""
        if not carries(facts, self.where):
            return None
        return next((override.rule for override in self.overrides if carries(facts, override.where)), self)

    @property
    def variants(self) -> tuple[Rule, ...]:
        """The rule itself, and what its overrides make of it."""
        return (self, *(override.rule for override in self.overrides if override.rule is not None))

    @property
    def fingerprint(self) -> str:
        """What its state depends on: an edited sentence keeps it, an edited condition does not."""
        text = "\n".join(
            [
                *(f"{severity}: {condition}" for severity, condition in self.conditions),
                f"for: {self.hold}",
                f"keep_firing_for: {self.keep_firing}",
                f"until: {self.until}",
                f"after: {self.after}",
                *([f"phase: {self.phases}"] if self.phases else []),
            ]
        )
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @property
    def key(self) -> str:
        """Name and fingerprint: state is kept under it over reloads and restarts."""
        return f"{self.name}@{self.fingerprint}"

    def expressions(self) -> Iterator[Node]:
        for _, condition in self.conditions:
            yield condition
        if self.until is not None:
            yield self.until

    def metrics(self) -> list[Metric]:
        """The metrics of all its expressions, in reading order, each once."""
        return list(dict.fromkeys(metric for expression in self.expressions() for metric in metrics_of(expression)))


@dataclass(frozen=True, slots=True)
class Override:
    """What a rule is for the runs that carry all of `where`: a rule of the same name, or None where it is off.

    `changes`: the keys that it sets. `source`: `file:line`.
    """

    where: Mapping[str, str]
    rule: Rule | None
    changes: tuple[str, ...]
    source: str = ""


def carries(facts: Mapping[str, str], where: Mapping[str, str]) -> bool:
    """Whether a run carries all the labels that are asked for."""
    return all(facts.get(key) == value for key, value in where.items())


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules in force, in file order. Names are unique."""

    rules: tuple[Rule, ...] = ()

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def selected(self, facts: Mapping[str, str]) -> tuple[Rule, ...]:
        """What the rules are for a run of these labels; those that do not apply to it are left out."""
        return tuple(chosen for rule in self.rules if (chosen := rule.chosen(facts)) is not None)

    def named(self, name: str) -> Rule | None:
        return next((rule for rule in self.rules if rule.name == name), None)


__all__ = ["SEVERITIES", "Override", "Rule", "RuleSet", "Runbook", "Severity", "carries"]
