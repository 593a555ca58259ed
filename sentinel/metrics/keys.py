"""What one trainer calls its numbers: the rows of its file, and which of them a logged key is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from sentinel.metrics.placeholders import fill, fill_label, pattern
from sentinel.metrics.table import read_table
from sentinel.metrics.versions import ANY, Versions, hull

COLUMNS = ("key", "name", "versions", "when", "algorithm", "aggregation", "estimator", "note")

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A row: under this key, and on these terms, the trainer logs this metric. None stands for the file's `-`.

    - `key`: as the trainer writes it. `<i>` is a part without a slash, `<rest>` is anything.
    - `name`: the canonical name. Its `<i>` are filled from the key's, and `{gpu=<i>}` makes a label. None: a
      key that is known and has no canonical name on purpose; `note` says why.
    - `versions`: the releases that write the key with this meaning.
    - `when`: what else must be so: `other/key` is logged, `!other/key` is not, `config.kl_in_reward=true`.
    - `algorithm`: those that log it, None for all.
    - `aggregation`, `estimator`: as in this trainer; an estimator is `k3/ref`: which, against which other policy.
    - `note`: what a reader must know. It begins with `after KEY:` in a row that comes second for a name.
    """

    key: str
    name: str | None
    versions: Versions
    when: tuple[str, ...]
    algorithm: str | None
    aggregation: str | None
    estimator: str | None
    note: str | None

    def fill(self, values: Mapping[str, str]) -> tuple[str, Labels] | None:
        """The canonical name and the labels of a key whose placeholders stand for `values`; None when there is none."""
        if self.name is None:
            return None
        name, _, rest = self.name.partition("{")
        filled = fill(name, values)
        if filled is None or not rest:
            return (filled, ()) if filled is not None else None
        labels = []
        for pair in rest.removesuffix("}").split(","):
            label, _, value = pair.partition("=")
            text = fill_label(value, values)
            if text is None:
                return None
            labels.append((label, text))
        return filled, tuple(sorted(labels))

    def holds(self, logged: Set[str], config: Set[str]) -> bool:
        """Whether the terms of `when` are met. `config`: the `config.…` terms that are (`KeyTable.config_terms`)."""
        for term in self.when:
            if term.startswith("config."):
                if term not in config:
                    return False
            elif (term[1:] in logged) if term[0] == "!" else (term not in logged):
                return False
        return True


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that a key may be, and what the row makes of it. Candidates with a lower `rank` come first."""

    rank: tuple[int, int]
    row: KeyRow
    name: str | None
    labels: Labels


class KeyTable:
    """The rows of one trainer (or one source of system metrics). `prefixes`: what exports put before its keys."""

    def __init__(self, rows: Iterable[KeyRow], prefixes: Iterable[str] = ()) -> None:
        self.rows = tuple(rows)
        self.prefixes = tuple(prefixes)
        self._exact: dict[str, list[tuple[int, KeyRow]]] = {}
        self._free: list[tuple[int, str, KeyRow]] = []
        meanings: dict[str, set[str | None]] = {}
        for index, row in enumerate(self.rows):
            if "<" in row.key:
                self._free.append((index, row.key.partition("<")[0], row))
            else:
                self._exact.setdefault(row.key, []).append((index, row))
            meanings.setdefault(row.key, set()).add(row.name)
        self._one_meaning = {key for key, names in meanings.items() if len(names) == 1}
        self._config = sorted({term for row in self.rows for term in row.when if term.startswith("config.")})

    def exact_keys(self) -> list[str]:
        """The keys without placeholders."""
        return list(self._exact)

    def spellings(self, key: str) -> Iterator[str]:
        """The ways to look a key up: as it is, without a notebook's spaces, without an export's prefix."""
        plain = re.sub(r"\s*/\s*", "/", key) if "/" in key else key
        yield plain
        for prefix in self.prefixes:
            if plain.startswith(prefix) and len(plain) > len(prefix):
                yield plain[len(prefix) :]

    def candidates(self, key: str) -> list[Candidate]:
        """The rows that a logged key may be, the best first; exact keys come before patterns."""
        for spelled in self.spellings(key):
            found = [Candidate((0, index), row, *_named(row, {})) for index, row in self._exact.get(spelled, ())]
            for index, head, row in self._free:
                if spelled.startswith(head):
                    match = pattern(row.key).fullmatch(spelled)
                    if match is not None:
                        name, labels = _named(row, match.groupdict())
                        if name is not None or row.name is None:
                            found.append(Candidate((1, index), row, name, labels))
            if found:
                return found
        return []

    def knows(self, key: str) -> bool:
        return bool(self.candidates(key))

    def certain(self, row: KeyRow, known: Versions) -> bool:
        """Whether a row is sure to apply to a trainer of which `known` is known."""
        return row.versions is ANY or row.key in self._one_meaning or known.within(row.versions)

    def versions_of(self, key: str) -> Versions:
        """The releases that write a key, whatever it means there; all of them for one that is not known."""
        found = self.candidates(key)
        if not found or found[0].rank[0]:
            return ANY  # a pattern is too loose to date a run by
        return hull(candidate.row.versions for candidate in found if not candidate.rank[0])

    def config_terms(self, config: Mapping[str, object] | None) -> frozenset[str]:
        """The `config.…` terms of the rows that a run's configuration meets."""
        if not config:
            return frozenset()
        return frozenset(term for term in self._config if _met(term, config))


def read_keys(framework: str) -> list[KeyRow]:
    """The shipped rows of a trainer, in the file's order."""
    rows = []
    for key, name, versions, when, algorithm, aggregation, estimator, note in read_table(
        f"keys/{framework}.tsv", COLUMNS
    ):
        rows.append(
            KeyRow(
                key,
                _none(name),
                ANY if versions == "-" else Versions.parse(versions),
                () if when == "-" else tuple(when.split(",")),
                _none(algorithm),
                _none(aggregation),
                _none(estimator),
                _none(note),
            )
        )
    return rows


def _none(cell: str) -> str | None:
    return None if cell == "-" else cell


def _named(row: KeyRow, values: Mapping[str, str]) -> tuple[str | None, Labels]:
    return row.fill(values) or (None, ())


def _met(term: str, config: Mapping[str, object]) -> bool:
    """Whether `config.a.b=value` is so; the configuration may be nested or have dotted names, `True` is `true`."""
    path, _, wanted = term.removeprefix("config.").partition("=")
    value: object = config.get(path)
    if value is None:
        value = config
        for part in path.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    return value is not None and str(value).lower() == wanted
