"""Noise that is the same in every run, on every machine."""

from __future__ import annotations

import random
from functools import lru_cache


def noise(key: str, index: int, seed: int | None = None) -> float:
    """The deviation of value `index` (from 0) of the series `key`, in standard deviations: -6 to 6, about normal.

    Each `seed` gives other numbers; None, where a test names none, is one more seed. Twelve uniform numbers less six:
    Python promises its generator's numbers for a seed.
    """
    drawn, source = _drawn(key, seed)
    draw = source.random
    while index >= len(drawn):
        drawn.append(sum(draw() for _ in range(12)) - 6.0)
    return drawn[index]


@lru_cache(maxsize=256)
def _drawn(key: str, seed: int | None) -> tuple[list[float], random.Random]:
    """What was drawn so far, and where the next number comes from. What is forgotten is drawn again, the same."""
    return [], random.Random(key if seed is None else f"{key}\0{seed}")
