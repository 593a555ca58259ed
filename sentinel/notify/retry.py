"""When to try again: what the receiver asked for, or a growing pause with jitter."""

from __future__ import annotations

import math
import random
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_WAIT = 15 * 60.0
"""Seconds. A receiver that asks for more is asked again after this long."""

_NUMBER = re.compile(r"\d{1,20}(\.\d{1,20})?([eE]\+?\d{1,3})?", re.ASCII)


def parse_retry_after(value: str | None, *, date: str | None = None) -> float | None:
    """Seconds to wait by a `Retry-After` header, 0 to `LONGEST_WAIT`; None when it says nothing usable.

    `date` is the same answer's `Date` header: a `Retry-After` that is a date is measured against the receiver's own
    clock, which needs no clock of ours and no agreement between the two.

    >>> parse_retry_after("30"), parse_retry_after("1e9"), parse_retry_after("-5")
    (30.0, 900.0, None)
    """
    if value is None:
        return None
    value = value.strip()
    if _NUMBER.fullmatch(value):
        seconds = float(value)
        return min(seconds, LONGEST_WAIT) if math.isfinite(seconds) else LONGEST_WAIT
    until, now = _parse_date(value), _parse_date(date or "")
    if until is None or now is None:
        return None
    return min(max((until - now).total_seconds(), 0.0), LONGEST_WAIT)


def _parse_date(text: str) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)


class Backoff:
    """Pauses between tries of one receiver: `first` seconds, doubling to `longest`, until `reset`.

    Each own pause is stretched by up to a quarter at random, so that many daemons do not come back together. A pause
    that the receiver named is kept, never shortened.
    """

    def __init__(self, first: float = 1.0, longest: float = 60.0, *, rng: random.Random | None = None) -> None:
        self._first = first
        self._longest = longest
        self._rng = rng or random.Random()
        self.tries = 0

    def next(self, retry_after: float | None = None) -> float:
        """Seconds to wait after one more failure. `retry_after` of None or 0 or less leaves it to us."""
        # 2**32 seconds is past any `longest`; the bound keeps the power small after a day of failures.
        own = min(self._first * 2.0 ** min(self.tries, 32), self._longest)
        self.tries += 1
        if retry_after is not None and math.isfinite(retry_after) and retry_after > 0:
            return min(retry_after, LONGEST_WAIT)
        return own * (1.0 + 0.25 * self._rng.random())

    def reset(self) -> None:
        """A send worked: the next failure starts from `first` again."""
        self.tries = 0
