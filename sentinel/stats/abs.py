"""`abs`: the magnitude of a value."""

from __future__ import annotations

from sentinel.stats.function import Pointwise


class Abs(Pointwise):
    """Without its sign, in the same unit; it takes no window: `abs(kl.ref) > 0.5` looks at both sides."""

    name = "abs"
    signature = "abs(x)"
    summary = "the value without its sign"

    @staticmethod
    def read(x: float) -> float:
        return abs(x)
