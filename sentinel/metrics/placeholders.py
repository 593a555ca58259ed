"""Texts with `<name>` parts: a trainer's keys and the canonical names that they become."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

_PART = re.compile(r"<([a-z_]+)>")


@cache
def pattern(text: str, free: str = r"[^/]+") -> re.Pattern[str]:
    """A regular expression for the texts that `text` stands for, one group per part; `<rest>` is anything."""
    parts = _PART.split(text)
    return re.compile(
        "".join(
            f"(?P<{part}>{'.+' if part == 'rest' else free})" if index % 2 else re.escape(part)
            for index, part in enumerate(parts)
        ),
        re.DOTALL,
    )


def fill(text: str, values: Mapping[str, str]) -> str | None:
    """`text` with its parts filled, in characters that the rule language can write. None when a part would be empty.

    >>> fill("reward.component.<name>", {"name": "accuracy reward"})
    'reward.component.accuracy_reward'
    """
    filled = text
    for part in _PART.findall(text):
        clean = [_word(piece) for piece in values.get(part, "").split("/")]
        if not all(clean):
            return None
        filled = filled.replace(f"<{part}>", ".".join(clean))
    return filled


def fill_label(text: str, values: Mapping[str, str]) -> str | None:
    """As `fill`, for the value of a label, which may be a path."""
    filled = text
    for part in _PART.findall(text):
        value = re.sub(r"[^A-Za-z0-9_./:@-]+", "_", values.get(part, ""), flags=re.ASCII)
        if not value:
            return None
        filled = filled.replace(f"<{part}>", value)
    return filled


def _word(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "_", text, flags=re.ASCII).strip("_")
