"""The steps of a test: `1..60`, `5..300 by 5`, and `1..60, 51..110` for a run that goes back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from sentinel.documents import printable
from sentinel.ruletest.text import TextError

MAX_VALUES = 100_000
"""Values of one series, and steps of one test."""

_RANGE = re.compile(r"\s*([0-9]{1,15})\s*\.\.\s*([0-9]{1,15})(?:\s+by\s+([0-9]{1,9}))?\s*")


@dataclass(frozen=True, slots=True)
class Steps:
    """One or more ranges of steps, in the order in which the run logs them.

    A range that begins at or before the end of the one before it is a new attempt.
    """

    ranges: tuple[range, ...]

    @property
    def numbers(self) -> list[int]:
        """All steps, one after another."""
        return list(chain.from_iterable(self.ranges))

    def attempts(self) -> Iterator[tuple[int, int]]:
        """(attempt, step) of each row; attempts count from 1."""
        attempt, last = 1, -1
        for steps in self.ranges:
            if steps[0] <= last:
                attempt += 1
            last = steps[-1]
            for step in steps:
                yield attempt, step


def parse_steps(text: str) -> Steps:
    """Read ranges of steps, with commas between them. Raises TextError naming the range that cannot be read."""
    ranges: list[range] = []
    total = start = 0
    for part in text.split(","):
        end = start + len(part)
        match = _RANGE.fullmatch(part)
        if match is None:
            message = f"'{printable(part.strip())}' are no steps"
            raise TextError("bad-steps", message, "write 1..60 or 5..300 by 5", start, end)
        stride = int(match[3] or 1)
        found = range(int(match[1]), int(match[2]) + 1, max(stride, 1))
        total += len(found)
        if stride == 0 or not found or total > MAX_VALUES:
            hint = "the first step stands before the last: 1..60" if stride and not found else ""
            raise TextError("bad-steps", f"that is not 1 to {MAX_VALUES} steps", hint, start, end)
        ranges.append(found)
        start = end + 1
    return Steps(tuple(ranges))
