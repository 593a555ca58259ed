"""The notation for what a trainer logs, step by step.

Items stand with spaces between them; `xN` repeats an item N times:

    0.02x50 0.6x10       0.02 fifty times, then 0.6 ten times
    0.3+0.01x60          0.30, 0.31, 0.32 ... sixty values; 0.3-0.01x60 falls
    0.02*1.1x30          0.02, 0.022, 0.0242 ... thirty values, each 1.1 times the one before
    0.3..0.9x60          sixty values in equal strides from 0.3 to 0.9
    0.5~0.02x50          noise of standard deviation 0.02 about 0.5; 400~5%x50: a twentieth of the value
    NaN Inf -Inf null    not numbers, as a trainer may log them
    _x5                  not logged for five steps
    (0.1x9 0.9)x5        a spike at every tenth step
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from sentinel.documents import printable
from sentinel.ruletest.noise import noise
from sentinel.ruletest.steps import MAX_VALUES
from sentinel.ruletest.text import NUMBER, TextError

MAX_DEPTH = 8
"""Groups inside one another."""

Value = float | None | Literal["_"]
"""One value of a series; `_`: not logged at this step."""


@dataclass(frozen=True, slots=True)
class Item:
    """`count` values: `base`, then each by `slope` more and `factor` times the one before.

    `noise` is a standard deviation; with `relative` it is a share of the value.
    """

    base: Value
    slope: float = 0.0
    factor: float = 1.0
    noise: float = 0.0
    relative: bool = False
    count: int = 1

    @property
    def length(self) -> int:
        return self.count

    def clean(self) -> Iterator[Value]:
        """The values without noise."""
        for at in range(self.count):
            if not isinstance(self.base, float):
                yield self.base
            elif self.factor != 1.0:
                yield self.base * _power(self.factor, at)
            else:
                yield self.base + self.slope * at


@dataclass(frozen=True, slots=True)
class Repeat:
    """A group of items, `count` times over."""

    items: tuple[Item | Repeat, ...]
    count: int

    @property
    def length(self) -> int:
        return self.count * length(self.items)


Items = Sequence[Item | Repeat]


def length(items: Items) -> int:
    """How many values a series has."""
    return sum(item.length for item in items)


def values(key: str, items: Items, seed: int | None = None) -> list[Value]:
    """A series written out. `key` and `seed` decide its noise."""
    found: list[Value] = []
    for item in _flat(items):
        for value in item.clean():
            if item.noise and isinstance(value, float):
                deviation = item.noise * abs(value) if item.relative else item.noise
                value += deviation * noise(key, len(found), seed)
            found.append(value)
    return found


def _flat(items: Items) -> Iterator[Item]:
    for item in items:
        if isinstance(item, Item):
            yield item
        else:
            for _ in range(item.count):
                yield from _flat(item.items)


def _power(factor: float, exponent: int) -> float:
    try:
        return float(factor**exponent)
    except OverflowError:
        return math.inf


# ---- reading ------------------------------------------------------------------------------------------------

_COUNT = r"(?:x(?P<count>[0-9]{1,9}))?"
_ITEM = re.compile(
    rf"(?P<word>_|[+-]?(?i:nan|inf)|null|[+-]?{NUMBER})"
    rf"(?:(?P<slope>[+-]{NUMBER})|\*(?P<factor>{NUMBER})|\.\.(?P<to>[+-]?{NUMBER}))?"
    rf"(?:~(?P<noise>{NUMBER})(?P<relative>%)?)?{_COUNT}"
)
_CLOSE = re.compile(rf"\){_COUNT}")
_WORD = re.compile(r"[^\s()]+")

_HINT = "write 0.5x10, 0.3+0.01x60, 0.02*1.1x30, 0.5~0.02x50, NaN, null, _x5 or (0.1x9 0.9)x5"


def parse_series(text: str) -> tuple[Item | Repeat, ...]:
    """The items of a series. Raises TextError naming the item that cannot be read."""
    open_groups: list[tuple[int, list[Item | Repeat], int]] = []
    items: list[Item | Repeat] = []
    total = at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        start = at
        if text[at] == "(":
            if len(open_groups) >= MAX_DEPTH:
                raise _fault(f"groups are nested more than {MAX_DEPTH} deep", "", at, at + 1)
            open_groups.append((at, items, total))
            items, total = [], 0
            at += 1
            continue
        if text[at] == ")":
            at, count = _close(text, at, bool(open_groups))
            opened, outer, before = open_groups.pop()
            if not items:
                raise _fault("the group is empty", "write (0.1x9 0.9)x5", opened, at)
            outer.append(Repeat(tuple(items), count))
            items, total = outer, before
        else:
            word = _WORD.match(text, at)
            assert word is not None
            at = word.end()
            items.append(_item(word.group(), start, at))
        total += items[-1].length
        if not items[-1].length or total > MAX_VALUES:
            raise _fault(f"a series has 1 to {MAX_VALUES} values", "", start, at)
    if open_groups:
        opened, *_ = open_groups[-1]
        raise _fault("this bracket is never closed", "write (0.1x9 0.9)x5", opened, opened + 1)
    if not items:
        raise _fault("the series is empty", "write 0.5x10", 0, 1)
    return tuple(items)


def _close(text: str, at: int, is_open: bool) -> tuple[int, int]:
    """Where the end of a group ends, and how often the group is repeated."""
    match = _CLOSE.match(text, at)
    assert match is not None
    rest = _WORD.match(text, match.end())
    if rest is not None:
        wrong = printable(text[at : rest.end()])
        raise _fault(f"'{wrong}' is no end of a group", "write )x5, then a space", at, rest.end())
    if not is_open:
        raise _fault("no bracket is open here", "write (0.1x9 0.9)x5", at, at + 1)
    return match.end(), int(match["count"] or 1)


def _item(word: str, start: int, end: int) -> Item:
    match = _ITEM.fullmatch(word)
    if match is None:
        raise _fault(f"'{printable(word)}' is no item of a series", _remedy(word), start, end)
    base: Value = "_" if match["word"] == "_" else None if match["word"] == "null" else float(match["word"])
    count = int(match["count"] or 1)
    varies = match["slope"] or match["factor"] or match["to"] or match["noise"]
    if varies and not (isinstance(base, float) and math.isfinite(base)):
        raise _fault(f"'{match['word']}' can neither climb nor be noisy", "", start, end)
    if (match["slope"] or match["factor"]) and not match["count"]:
        often = f", or {match['word']}x{match['factor']} for the same {match['factor']} times"
        repeats = match["factor"] is not None and re.fullmatch("[1-9][0-9]*", match["factor"])
        raise _fault("a ramp needs xN", f"write {word}x60{often if repeats else ''}", start, end)
    slope = float(match["slope"] or 0.0)
    if match["to"] is not None:
        if count < 2:
            raise _fault("it takes two values or more to get from one to another", f"write {word}x60", start, end)
        assert isinstance(base, float)
        slope = (float(match["to"]) - base) / (count - 1)
    factor, relative = float(match["factor"] or 1.0), match["relative"] is not None
    return Item(base, slope, factor, float(match["noise"] or 0.0) / (100.0 if relative else 1.0), relative, count)


def _remedy(word: str) -> str:
    if re.fullmatch(r"x[0-9]+", word):
        return f"no space before it: 0.5{word}"
    if "," in word:
        return "put spaces between items, not commas"
    return _HINT


def _fault(message: str, hint: str, start: int, end: int) -> TextError:
    return TextError("bad-series", message, hint, start, end)
