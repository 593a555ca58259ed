"""`nonfinite`: whether the newest logged value is not a number."""

from __future__ import annotations

from collections.abc import Set

from sentinel.stats.function import Function, Result


class Nonfinite(Function):
    """True for NaN, an infinity or a magnitude above 1e100, and for a null where there had been a number.

    A null from the start means that the trainer has nothing to log there (a reward function that scored no
    sample); a null later is how verl's file logger and TRL write a NaN.
    """

    name = "nonfinite"
    signature = "nonfinite(metric)"
    summary = "the newest logged value is NaN, infinite, or null where there had been a number"
    result = Result.TRUTH
    needs_values = False

    @staticmethod
    def read(bad: Set[str], series: str) -> bool:
        """`bad` holds the names of the run's series whose newest value is not a number."""
        return series in bad
