"""Which parts of the rules the tests of a file have seen come true, and which never.

A part is: that a rule fires; that a test demands its silence; each severity's condition; each branch of a condition
that is an `or`; the reset condition (`until`); and the conditions that an override sets. A part that no test has seen
true may say anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sentinel.rules.expression.nodes import Logic, Node
from sentinel.rules.model import Rule, RuleSet
from sentinel.ruletest.document import TimelineDocument
from sentinel.ruletest.script import RUN
from sentinel.severity import SEVERITIES, Severity

if TYPE_CHECKING:
    from sentinel.engine.engine import Engine
    from sentinel.ruletest.performance import Performance


@dataclass(frozen=True, slots=True)
class Part:
    """A condition within a rule. `name`: `critical`, `critical, branch 2`, `until` or `critical where team=math`;
    `text`: as the rule has it."""

    name: str
    text: str


@dataclass(slots=True)
class RuleCoverage:
    """What the tests have seen of one rule. `fired`: severity → the tests in which it fired; `silent`: the tests that
    demand its silence; `true`: the parts that were true."""

    rule: Rule
    parts: tuple[Part, ...]
    fired: dict[Severity, list[str]] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)
    true: set[str] = field(default_factory=set)

    @property
    def never_true(self) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if part.name not in self.true)

    @property
    def total(self) -> int:
        """Its parts, with firing and silence."""
        return 2 + len(self.parts)

    @property
    def covered(self) -> int:
        return bool(self.fired) + bool(self.silent) + len(self.parts) - len(self.never_true)


class Coverage:
    """Of the rules of one test file, over its tests."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules = [RuleCoverage(rule, tuple(_parts(rule))) for rule in rules]
        self._by_name = {found.rule.name: found for found in self.rules}

    @property
    def total(self) -> int:
        return sum(found.total for found in self.rules)

    @property
    def covered(self) -> int:
        return sum(found.covered for found in self.rules)

    def begin(self, test: TimelineDocument) -> Callable[[Performance, float | None], None]:
        """What watches one test. It may be asked once per test."""
        for name in dict.fromkeys(test.silent):
            self._by_name[name].silent.append(test.name)
        seen = 0

        def watch(played: Performance, now: float | None) -> None:
            nonlocal seen
            for transition in played.said[seen:]:
                found = self._by_name[transition.alert]
                if transition.state == "firing":
                    tests = found.fired.setdefault(transition.severity, [])
                    if test.name not in tests[-1:]:
                        tests.append(test.name)
                elif transition.state == "resolved":
                    found.true.add(_named("until", found.rule, transition.rule))
            seen = len(played.said)
            self._look(played.engine, now)

        return watch

    def _look(self, engine: Engine, now: float | None) -> None:
        """Note what is true now. A condition that has just been true has a clock that says so."""
        run = engine.runs[RUN]
        if run.compiled is None or not run.open:
            return
        reader = engine.reader(RUN)
        if now is not None:
            reader.time = now
        for instance, record in zip(run.compiled.instances, run.records, strict=True):
            if record is None:
                continue
            found = self._by_name[instance.rule.name]
            for (severity, condition), clock in zip(instance.conditions, record.clocks, strict=True):
                if not clock.count or clock.sequence != run.sequence:
                    continue
                own = _named(severity, found.rule, instance.rule)
                found.true.add(own)
                for name, branch in _branches(own, condition):
                    if name not in found.true and reader.truth(branch):
                        found.true.add(name)


def _parts(rule: Rule) -> Iterator[Part]:
    yield from _parts_of(rule, rule)
    for override in rule.overrides:
        if override.rule is not None:
            yield from _parts_of(rule, override.rule, override.changes)


def _parts_of(rule: Rule, variant: Rule, keys: Sequence[str] = (*SEVERITIES, "until")) -> Iterator[Part]:
    """The conditions under `keys` of what a rule is for some runs, or of the rule itself."""
    for severity, condition in variant.conditions:
        if severity in keys:
            name = _named(severity, rule, variant)
            yield Part(name, str(condition))
            yield from (Part(branch_name, str(branch)) for branch_name, branch in _branches(name, condition))
    if variant.until is not None and "until" in keys:
        yield Part(_named("until", rule, variant), str(variant.until))


def _named(key: str, rule: Rule, variant: Rule) -> str:
    """What the part under a key is called: by the labels of the override that sets it, if one does."""
    override = next((one for one in rule.overrides if one.rule is variant), None)
    if override is None or key not in override.changes:
        return key
    return f"{key} where {', '.join(f'{name}={value}' for name, value in override.where.items())}"


def _branches(name: str, condition: Node) -> Iterator[tuple[str, Node]]:
    """The parts of an `or`, with their names."""
    if isinstance(condition, Logic) and condition.op == "or":
        for number, branch in enumerate(_flat(condition), 1):
            yield f"{name}, branch {number}", branch


def _flat(condition: Node) -> Iterator[Node]:
    if isinstance(condition, Logic) and condition.op == "or":
        for part in condition.parts:
            yield from _flat(part)
    else:
        yield condition
