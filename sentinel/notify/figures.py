"""Numbers as people read them: three significant digits, durations in two units."""

from __future__ import annotations

import math


def number(value: float | None) -> str:
    """Three significant digits; `not finite` for None, NaN and infinities (JSON has no word for them).

    >>> number(4.5172), number(0.5), number(12345.0), number(1.5e-7), number(None)
    ('4.52', '0.5', '12,300', '1.5e-7', 'not finite')
    """
    if value is None or not math.isfinite(value):
        return "not finite"
    if value == 0:
        return "0"
    size = abs(value)
    if size < 1e-4 or size >= 1e7:
        mantissa, exponent = f"{value:.2e}".split("e")
        if "." in mantissa:
            mantissa = mantissa.rstrip("0").rstrip(".")
        return f"{mantissa}e{int(exponent)}"
    rounded = float(f"{value:.3g}")
    if size >= 1000:
        return f"{rounded:,.0f}"
    return f"{rounded:g}"


SHARES = frozenset({"fraction", "ratio"})
"""Units of numbers from 0 to 1 that people read as percentages."""


def quantity(value: float | None, unit: str) -> str:
    """A number in its unit; shares as percentages.

    >>> quantity(4.517, "nats/token"), quantity(0.8721, "ratio"), quantity(0.5, ""), quantity(None, "tokens")
    ('4.52 nats/token', '87.2 %', '0.5', 'not finite')
    """
    if value is None or not math.isfinite(value):
        return number(value)
    if unit in SHARES:
        return f"{number(value * 100.0)} %"
    return f"{number(value)} {unit}" if unit else number(value)


def duration(seconds: float) -> str:
    """The two largest units.

    >>> duration(42), duration(754), duration(5040), duration(200000)
    ('42 s', '12 min 34 s', '1 h 24 min', '2 d 7 h')
    """
    if not math.isfinite(seconds):
        return "unknown time"
    whole = max(round(seconds), 0)
    for size, unit, smaller, smaller_unit in (
        (86400, "d", 3600, "h"),
        (3600, "h", 60, "min"),
        (60, "min", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {unit}" + (f" {rest} {smaller_unit}" if rest else "")
    return f"{whole} s"


def count(amount: int, noun: str) -> str:
    """`1 step`, `24 steps`."""
    return f"{amount:,} {noun}" if abs(amount) == 1 else f"{amount:,} {noun}s"
