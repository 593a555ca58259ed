"""One rule as the checks see it: what it means, what it was written as, and what else is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sentinel.metrics import Dictionary
from sentinel.rules.expression.nodes import Node
from sentinel.rules.lint.ranges import Ranges
from sentinel.rules.lint.senders import Senders
from sentinel.rules.lint.truth import Truth
from sentinel.rules.model import Rule


@dataclass(frozen=True, slots=True)
class Subject:
    """A rule under examination.

    - `path`: its file. `first`: whether it is the first rule there.
    - `tested`: names of the alerts that tests beside the file expect to fire; None when there are no tests.
    - `tests_known`: whether anybody looked for tests.
    """

    rule: Rule
    path: str
    dictionary: Dictionary
    senders: Senders
    ranges: Ranges
    truth: Truth
    tested: frozenset[str] | None = None
    tests_known: bool = False
    first: bool = False

    @property
    def wakes(self) -> bool:
        """Whether it has a severity that somebody is woken for."""
        return any(severity != "info" for severity, _ in self.rule.conditions)

    def conditions(self) -> Iterator[tuple[str, Node]]:
        """(key, condition) of each severity, mildest first."""
        yield from self.rule.conditions

    def expressions(self) -> Iterator[tuple[str, Node]]:
        """The conditions, and `until`."""
        yield from self.rule.conditions
        if self.rule.until is not None:
            yield "until", self.rule.until
