"""Numbers given as options."""

from __future__ import annotations

import math
from typing import Any

import click


class Count(click.IntRange):
    """A whole number, from 0 on."""

    def __init__(self) -> None:
        super().__init__(min=0)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            int(value)
        except ValueError:
            self.fail(f"{value!r} is no whole number", param, ctx)
        return int(super().convert(value, param, ctx))


class FiniteRange(click.FloatRange):
    """A number within bounds. `nan` is within none: it would pass every gate, being neither above nor below."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{number} is no finite number", param, ctx)
        return number
