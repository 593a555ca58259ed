"""`worst`: the worst value so far."""

from __future__ import annotations

from collections.abc import Sequence

from sentinel.stats.best import Best


class Worst(Best):
    """The best of the opposite direction: lowest, or highest where the dictionary says that lower is better.

    As with `best`, one unlucky batch is the worst for good: smooth first.
    """

    name = "worst"
    signature = "worst(x)"
    summary = "the worst value so far: lowest, or highest where lower is better"
    __slots__ = ()

    def __init__(self, *, higher_is_better: bool, samples: int | None) -> None:
        super().__init__(higher_is_better=not higher_is_better, samples=samples)

    @staticmethod
    def define(history: Sequence[float], *, higher_is_better: bool, samples: int | None) -> float:
        return Best.define(history, higher_is_better=not higher_is_better, samples=samples)
