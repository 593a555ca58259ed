"""Whose keys these are: the trainer and its version, told by what a run logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sentinel.metrics.keys import KeyTable
from sentinel.metrics.versions import ANY, Versions


@dataclass(frozen=True, slots=True)
class Identity:
    """What the keys tell. `framework`: None when nobody knows any of them.

    `versions`: the releases that write all of these keys, as far as they tell. A key that is missing proves nothing:
    notebook tables and loggers leave keys out. `evidence`: why, in short sentences for a person.
    """

    framework: str | None
    versions: Versions = ANY
    evidence: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.framework is None:
            return "unknown"
        return self.framework if self.versions == ANY else f"{self.framework} {self.versions}"


def identify(keys: Iterable[str], tables: Mapping[str, KeyTable]) -> Identity:
    """The trainer that knows most of the keys, and the range of its versions.

    In a tie it is the first of `tables` of which some release writes all of them together: `completion_length` beside
    `completions/mean_length` is no TRL, but unsloth.
    """
    logged = sorted(set(keys))
    known = {name: [key for key in logged if table.knows(key)] for name, table in tables.items()}
    count = max((len(keys) for keys in known.values()), default=0)
    if not count:
        return Identity(None, ANY, ("no trainer's keys are among them",) if logged else ())
    tied = [name for name in known if len(known[name]) == count]
    best = next((name for name in tied if not contradicted(known[name], tables[name])), tied[0])
    evidence = [f"{count} of {len(logged)} keys are {best}'s"]
    own = [key for key in known[best] if sum(key in keys for keys in known.values()) == 1]
    if own:
        evidence.append(f"only {best} writes {', '.join(own[:3])}")
    for rival in tied:
        if rival != best:
            clash = contradicted(known[rival], tables[rival])
            evidence.append(f"no {rival} writes all of them: {clash}" if clash else f"{rival} would write as many")
    versions, clues = date_keys(logged, tables[best])
    return Identity(best, versions, (*evidence, *clues))


def date_keys(keys: Iterable[str], table: KeyTable) -> tuple[Versions, tuple[str, ...]]:
    """The releases that write all of the keys, and the keys that say so; all releases when they contradict."""
    known = ANY
    clues = {"low": "", "high": ""}
    for key in keys:
        versions = table.versions_of(key)
        meet = known.meet(versions)
        if meet is None:
            return ANY, ()
        if meet.low != known.low:
            clues["low"] = f"{key}: {versions}"
        if meet.high != known.high:
            clues["high"] = f"{key}: {versions}"
        known = meet
    return known, tuple(dict.fromkeys(clue for clue in clues.values() if clue))


def contradicted(keys: Iterable[str], table: KeyTable) -> str:
    """The first two keys that no release writes together, with what they tell; empty when there are none."""
    dated = [(key, versions) for key in keys if (versions := table.versions_of(key)) != ANY]
    for index, (key, versions) in enumerate(dated):
        for other, others in dated[:index]:
            if versions.meet(others) is None:
                return f"{other} ({others}), {key} ({versions})"
    return ""
