"""The nearest known word for one that nobody knows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(word: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?`, or nothing when no known word is near."""
    near = difflib.get_close_matches(word[:80], sorted(known), n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else ""
