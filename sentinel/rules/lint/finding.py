"""What a check says of a rule: which code, at which place, what is odd, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass

from sentinel.documents import Loc
from sentinel.rules.expression.nodes import Span


@dataclass(frozen=True, slots=True)
class Finding:
    """One oddity of one rule.

    - `loc`: the way from the rule to the value at fault: `("warning",)`; empty for the rule as a whole.
    - `span`: characters of that value's text; None marks all of it.
    - `at_key`: the key is marked rather than its value.
    - `message` says what is so, `hint` what to do, each in a sentence.
    """

    code: str
    loc: Loc
    message: str
    hint: str
    span: Span | None = None
    at_key: bool = False
