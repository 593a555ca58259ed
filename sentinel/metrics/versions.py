"""Which releases of a trainer a statement holds for."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Versions:
    """A range of releases. `low` is the first; `high` is the last, with all that come under it: 0.26 holds 0.26.2.

    None is an open end.

    >>> Versions.parse("0.17.0..0.26").holds("0.26.2")
    True
    >>> str(Versions.parse("..0.16"))
    '0.16 or earlier'
    """

    low: Version | None = None
    high: Version | None = None

    @classmethod
    def parse(cls, text: str) -> Versions:
        """A range as the data files write it: `A..B`, `A..`, `..B`, or `-` for all. Raises ValueError."""
        if text == "-":
            return ANY
        low, dots, high = text.partition("..")
        if not dots or not (low or high):
            raise ValueError(f"not a range of versions: {text!r}")
        return cls(_strict(low) if low else None, _strict(high) if high else None)

    @classmethod
    def of(cls, version: str | Versions | None) -> Versions:
        """What a run says of its trainer's version: `1.16.0`, `v0.27.0.dev0`; all versions when it cannot be read."""
        if isinstance(version, Versions):
            return version
        number = read_version(version) if version is not None else None
        return cls(number, number) if number is not None else ANY

    def holds(self, version: str) -> bool:
        """Whether a single release lies in the range; False for a text that is no version."""
        number = read_version(version)
        return number is not None and Versions(number, number).within(self)

    def within(self, other: Versions) -> bool:
        """Whether every release of this range is one of `other`."""
        return _first(self.low) >= _first(other.low) and _last(self.high) <= _last(other.high)

    def meet(self, other: Versions) -> Versions | None:
        """The releases that are in both; None when there are none."""
        low = max(self.low, other.low, key=_first)
        high = min(self.high, other.high, key=_last)
        return Versions(low, high) if _first(low) <= _last(high) else None

    def __str__(self) -> str:
        low, high = _text(self.low), _text(self.high)
        if low and high:
            return low if low == high else f"{low} to {high}"
        if low:
            return f"{low} or later"
        return f"{high} or earlier" if high else "any version"


ANY = Versions()
"""All releases: nothing is known, or it does not matter."""


def hull(ranges: Iterable[Versions]) -> Versions:
    """The smallest range that holds all of `ranges`."""
    found = list(ranges)
    return Versions(min((one.low for one in found), key=_first), max((one.high for one in found), key=_last))


def read_version(text: str) -> Version | None:
    """The number that a version begins with, whatever follows it; None when it begins with none.

    >>> read_version("v0.27.0.dev0"), read_version("main")
    ((0, 27, 0), None)
    """
    match = re.match(r"\s*v?(\d{1,9}(?:\.\d{1,9}){0,5})", text)
    return tuple(int(part) for part in match.group(1).split(".")) if match is not None else None


def _strict(text: str) -> Version:
    if re.fullmatch(r"\d+(\.\d+)*", text) is None:
        raise ValueError(f"not a version: {text!r}")
    return tuple(int(part) for part in text.split("."))


def _first(version: Version | None) -> tuple[float, ...]:
    """Comparable; an open end comes before all releases, and 0.17 is 0.17.0."""
    if version is None:
        return (-math.inf,)
    return (*version, *(0 for _ in range(8 - len(version))))


def _last(version: Version | None) -> tuple[float, ...]:
    """Comparable; an open end comes after all releases, and 0.26 is the last 0.26.x."""
    if version is None:
        return (math.inf,)
    return (*version, *(math.inf for _ in range(8 - len(version))))


def _text(version: Version | None) -> str:
    return "" if version is None else ".".join(map(str, version))
