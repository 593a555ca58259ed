"""The nearest known word for one that nobody knows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(word: str, known: Iterable[str], *, near: float = 0.6) -> str:
    """`did you mean 'x'?`, or nothing when no known word is as like as `near`, of 1."""
    found = difflib.get_close_matches(word[:80], sorted(known), n=1, cutoff=near)
    return f"did you mean '{found[0]}'?" if found else ""
