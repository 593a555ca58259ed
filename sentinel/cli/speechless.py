"""The rules that could say nothing of replayed runs, as a short paragraph: a run without GPU metrics misses dozens."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sentinel.cli.output import clean, counted
from sentinel.metrics import Dictionary
from sentinel.rules.model import RuleSet

MOST_LINES = 6

LAYERS = ("objective", "constraint", "diagnostic", "infra", "timing")
"""What people care for, in this order."""


@dataclass(slots=True)
class _Lack:
    """What some rules of one file miss. `rules`: each with the number of runs in which it misses just that."""

    missing: tuple[str, ...]
    rules: Counter[str] = field(default_factory=Counter)

    def text(self, runs: int) -> str:
        """`kl.ref (kl-high)`, and in how many of the runs where it is not all of them."""
        names = ", ".join(
            rule if count == runs else f"{rule} in {count} of {runs} runs" for rule, count in self.rules.items()
        )
        return clean(f"{' and '.join(self.missing)} ({names})")


def text_of_speechless(
    not_evaluable: Mapping[str, Mapping[str, Sequence[str]]], rules: RuleSet, dictionary: Dictionary, *, width: int
) -> list[str]:
    """At most `MOST_LINES` lines of `width` columns: by file of rules, in the order in which the files are in force,
    and within it by the layer of what is missing. Empty when every rule could speak of every run.

    `not_evaluable`: run → rule → what it misses.
    """
    runs = len(not_evaluable)
    files: dict[str, dict[tuple[str, ...], _Lack]] = {}
    for rule in rules:
        for lacks in not_evaluable.values():
            if rule.name in lacks:
                missing = tuple(lacks[rule.name])
                found = files.setdefault(rule.source.rpartition(":")[0], {})
                found.setdefault(missing, _Lack(missing)).rules[rule.name] += 1
    if not files:
        return []
    blocks: list[str] = []
    unsaid: set[str] = set()
    for number, (file, lacks_of_file) in enumerate(files.items()):
        lacks_sorted = sorted(lacks_of_file.values(), key=lambda lack: _layer(lack, dictionary))
        # Each file that is still to come has a line.
        left_over = MOST_LINES - 1 - len(blocks)
        room = min(max(left_over - (len(files) - 1 - number), 1), left_over)
        lines, left = _block(file, [(lack.text(runs), set(lack.rules)) for lack in lacks_sorted], room, width)
        blocks += lines
        unsaid |= left
    speechless = len({rule for lacks in not_evaluable.values() for rule in lacks})
    whole = all(count == runs for lacks in files.values() for lack in lacks.values() for count in lack.rules.values())
    of_whom = "this run" if runs == 1 else f"these {runs} runs" if whole else f"some of these {runs} runs"
    hint = " (--output json lists all)" if unsaid else ""
    return [f"{speechless} of {counted(len(rules), 'rule')} can say nothing of {of_whom}{hint}, for want of", *blocks]


def _block(file: str, entries: Sequence[tuple[str, set[str]]], room: int, width: int) -> tuple[list[str], set[str]]:
    """As many entries of one file as `room` lines hold, and the rules that are not told."""
    every = set().union(*(names for _, names in entries))
    for count in range(len(entries), -1, -1):
        left = every - set().union(*(names for _, names in entries[:count]))
        told = [text for text, _ in entries[:count]]
        if left:
            told.append(f"{'and ' if told else ''}{counted(len(left), 'more rule' if told else 'rule')}")
        lines = textwrap.wrap(
            f"{clean(file)}: {', '.join(told)}",
            width,
            initial_indent="  ",
            subsequent_indent="    ",
            break_on_hyphens=False,
        )
        if len(lines) <= room:
            return lines, left
    return [], every


def _layer(lack: _Lack, dictionary: Dictionary) -> int:
    return min(_layers(lack.missing, dictionary), default=len(LAYERS))


def _layers(names: Iterable[str], dictionary: Dictionary) -> Iterable[int]:
    for name in names:
        info = dictionary.describe(name.partition("{")[0])
        if info is not None and info.layer in LAYERS:
            yield LAYERS.index(info.layer)
