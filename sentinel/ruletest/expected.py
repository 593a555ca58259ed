"""Numbers, steps, states and moments as an expectation names them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import get_args

from sentinel.documents import printable
from sentinel.rules.expression.parse import ExpressionError, parse_extent
from sentinel.ruletest.result import State
from sentinel.ruletest.text import NUMBER, TextError
from sentinel.stats.window import Axis
from sentinel.suggestion import closest

RELATIVE = 1e-6
"""How near a number that is given without a tolerance must come, as a share of it."""

_SIGNED = rf"[+-]?(?:{NUMBER}|inf)"
_NEAR = re.compile(rf"({_SIGNED})(?:\s*(?:±|\+-|\+/-)\s*({NUMBER})(%)?)?")
_BETWEEN = re.compile(rf"({_SIGNED})\s*\.\.\s*({_SIGNED})")
_BOUND = re.compile(rf"(<=?|>=?)\s*({_SIGNED})")


@dataclass(frozen=True, slots=True)
class Bounds:
    """A number lies from `low` to `high`; an open end itself is outside. `text`: as it was written."""

    low: float
    high: float
    text: str
    open_low: bool = False
    open_high: bool = False

    def hold(self, number: float | None) -> bool:
        """Whether a number lies within; None and NaN never do."""
        if number is None or not self.low <= number <= self.high:
            return False
        return not (self.open_low and number == self.low) and not (self.open_high and number == self.high)

    def __str__(self) -> str:
        return self.text


def parse_bounds(text: str) -> Bounds:
    """`0.6`, `0.6 ± 0.05`, `0.6 +- 10%`, `0.5..0.7`, `> 0.5`, `<= 0.7`. Raises TextError."""
    text = text.strip()
    if match := _NEAR.fullmatch(text):
        middle = float(match[1])
        span = RELATIVE * abs(middle) if match[2] is None else float(match[2])
        if match[3]:
            span *= abs(middle) / 100.0
        return Bounds(middle, middle, text) if math.isinf(middle) else Bounds(middle - span, middle + span, text)
    if match := _BETWEEN.fullmatch(text):
        low, high = float(match[1]), float(match[2])
        if low <= high:
            return Bounds(low, high, text)
    if match := _BOUND.fullmatch(text):
        limit, is_open = float(match[2]), "=" not in match[1]
        if match[1][0] == ">":
            return Bounds(limit, math.inf, text, open_low=is_open)
        return Bounds(-math.inf, limit, text, open_high=is_open)
    hint = "write 0.6, 0.6 +- 0.05, 0.5..0.7 or '> 0.5'"
    raise TextError("bad-number", f"'{printable(text)}' is no number to compare with", hint, 0, len(text))


def parse_step_bounds(text: str) -> Bounds:
    """A step, or `48..52`. Raises TextError."""
    match = re.fullmatch(r"\s*([0-9]{1,15})(?:\s*\.\.\s*([0-9]{1,15}))?\s*", text)
    if match is None or int(match[2] or match[1]) < int(match[1]):
        raise TextError("bad-step", f"'{printable(text)}' is no step", "write 51 or 48..52", 0, len(text))
    return Bounds(float(match[1]), float(match[2] or match[1]), text.strip())


STATES: tuple[State, ...] = get_args(State)


def parse_states(text: str) -> tuple[State, ...]:
    """`firing`, or `inactive or unknown`. Raises TextError naming the word that is no state."""
    found: list[State] = []
    for match in re.finditer(r"\S+", text):
        word = match.group()
        state = next((state for state in STATES if state == word), None)
        if state is not None:
            found.append(state)
        elif word != "or":
            hint = closest(word, STATES) or f"one of {', '.join(STATES)}; or several: inactive or unknown"
            raise TextError("unknown-state", f"'{printable(word)}' is no state of an alert", hint, *match.span())
    if not found:
        raise TextError("unknown-state", "the state is empty", f"one of {', '.join(STATES)}", 0, 1)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class When:
    """A moment of a test: after the run's `step`, `seconds` after it began, or at its `end` (both None).

    `text`: as it was written.
    """

    step: int | None = None
    seconds: float | None = None
    text: str = field(default="end", compare=False)

    def __str__(self) -> str:
        if self.step is not None:
            return f"at step {self.step}"
        return "at the end" if self.seconds is None else f"after {self.seconds:g}s"


def parse_when(text: str) -> When:
    """`53`, `5m` or `end`. Raises TextError."""
    if re.fullmatch(r"[0-9]{1,15}", text):
        return When(step=int(text), text=text)
    if text == "end":
        return When()
    try:
        return When(seconds=parse_seconds(text), text=text)
    except TextError:
        message = f"'{printable(text)}' is no moment of a test"
        raise TextError("bad-moment", message, "write a step such as 53, a time such as 5m, or end", 0, 1) from None


def parse_seconds(text: str) -> float:
    """`30s`, `5m`, or a bare number of seconds. Raises TextError."""
    try:
        extent = parse_extent(text if not re.fullmatch(NUMBER, text) else f"{text}s")
    except ExpressionError:
        extent = None
    if extent is None or extent.axis is not Axis.TIME:
        raise TextError("bad-duration", f"'{printable(text)}' is not a duration", "write 30s or 5m", 0, len(text))
    return extent.size
