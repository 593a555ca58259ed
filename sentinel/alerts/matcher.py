"""Which alerts a silence, a route or a mute schedule is about: Alertmanager's matchers.

`alert="kl-high"`, `run=~"grpo-.*"`, `severity!=info`, `host!~gpu.*`; quotes may be left out. A label that an alert does
not carry counts as empty, and a pattern must match the whole value, both as in Alertmanager.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

Operator = Literal["=", "!=", "=~", "!~"]

# Longest first: "=~" begins with "=".
_TEXT = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.\-]*)\s*(=~|!~|!=|=)\s*(.*?)\s*", re.DOTALL)

LONGEST_PATTERN = 500


class Matcher(msgspec.Struct, frozen=True):
    """One condition on one label."""

    label: str
    op: Operator
    value: str

    def matches(self, labels: Mapping[str, str]) -> bool:
        found = labels.get(self.label, "")
        match self.op:
            case "=":
                return found == self.value
            case "!=":
                return found != self.value
            case "=~":
                return _pattern(self.value).fullmatch(found) is not None
            case "!~":
                return _pattern(self.value).fullmatch(found) is None

    def __str__(self) -> str:
        return f"{self.label}{self.op}{json.dumps(self.value, ensure_ascii=False)}"


def parse_matcher(text: str) -> Matcher:
    """Raises ValueError, in words for a person, on anything that is not a matcher."""
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no matcher; write label=value, label!=value, label=~pattern or label!~pattern")
    label, op, value = found.groups()
    if value.startswith('"'):
        try:
            value = json.loads(value)
        except ValueError:
            raise ValueError(f"{text!r}: the quotes around the value do not end as they begin") from None
        if not isinstance(value, str):
            raise ValueError(f"{text!r}: the value must be one text")
    if op in ("=~", "!~"):
        if len(value) > LONGEST_PATTERN:
            raise ValueError(f"the pattern of {label} is longer than {LONGEST_PATTERN} characters")
        try:
            _pattern(value)
        except re.error as error:
            raise ValueError(f"{text!r}: the pattern cannot be read: {error}") from None
    return Matcher(label, op, value)  # type: ignore[arg-type]


def all_match(matchers: Iterable[Matcher], labels: Mapping[str, str]) -> bool:
    return all(matcher.matches(labels) for matcher in matchers)


@functools.lru_cache(maxsize=1000)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.DOTALL)
