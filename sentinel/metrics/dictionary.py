"""The metric dictionary: from each trainer's own keys to one canonical name per kind of number.

Its tables are the files in `data/` beside this module; `docs/metrics.md` says what is in them. A framework's file is
read when it is asked for, so that checking rules, which needs the canonical names only, stays quick.

Two numbers that differ in kind never share a name: what differs is the quantity (which other policy, per token or per
sequence, over which samples) or its unit. An estimator of the same quantity (k1 or k3) is told in the key's row. A key
that nobody knows keeps its own name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeVar

from sentinel.metrics.derivation import Derivation, plan, read_derivations
from sentinel.metrics.identity import Identity, date_keys, identify
from sentinel.metrics.keys import Candidate, KeyRow, KeyTable, Labels, read_keys
from sentinel.metrics.metric import MetricInfo, read_metrics
from sentinel.metrics.table import read_table
from sentinel.metrics.versions import ANY, Versions

MAX_CACHED = 512
"""Sets of keys whose readings are kept: runs that log the same keys are read once."""

_K = TypeVar("_K")
_V = TypeVar("_V")

Standing = Literal["named", "canonical", "second", "refused", "unknown"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What one logged key of a run is.

    - `standing`: `named` by a row; `canonical`, a name of ours already; `second`, another key of the run has the name;
      `refused`, known but of no use as a metric, or of uncertain meaning; `unknown`.
    - `name`: the canonical name that it has, or would have if it were not second; None for the rest.
    - `labels`: told by the key itself, as the GPU's number in `system.gpu.3.gpu`.
    - `row`: the row that says so, None without one.
    """

    key: str
    standing: Standing
    name: str | None = None
    labels: Labels = ()
    row: KeyRow | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Where keys come from. `kind`: a `trainer`, or a `system` whose keys any run may carry.

    `read`: which releases and commits the rows were read from.
    """

    name: str
    kind: str
    prefixes: tuple[str, ...]
    read: str


class Dictionary:
    """The loaded dictionary. `default()` is the shipped one."""

    def __init__(self, metrics: dict[str, MetricInfo], sources: Sequence[Source]) -> None:
        self.metrics = metrics
        self.sources = {source.name: source for source in sources}
        self._free = [info for info in metrics.values() if info.free]
        self._tables: dict[str, KeyTable] = {}
        self._derivations: tuple[Derivation, ...] | None = None
        self._readings: dict[tuple[object, ...], dict[str, Reading]] = {}
        self._identities: dict[frozenset[str], Identity] = {}

    @property
    def frameworks(self) -> list[str]:
        """The trainers, by name."""
        return sorted(source.name for source in self.sources.values() if source.kind == "trainer")

    # --- canonical names ------------------------------------------------------------------------------------

    def describe(self, name: str) -> MetricInfo | None:
        """The entry of a canonical name, free parts included; None for a name that is not canonical."""
        found = self.metrics.get(name)
        if found is not None:
            return found if not found.free else None
        # The more specific pattern is the longer one: reward.component.<name>.std before reward.component.<name>.
        return max((info for info in self._free if info.matches(name)), key=lambda info: len(info.name), default=None)

    def higher_is_better(self, name: str) -> bool:
        info = self.describe(name)
        return info is None or info.better != "lower"

    def names(self) -> set[str]:
        """All canonical names without free parts, for suggestions."""
        return {name for name, info in self.metrics.items() if not info.free}

    def kin(self, name: str, there: Iterable[str]) -> list[str]:
        """Of the metrics `there`, those most like `name`: one is made of the other, or the first part of the name, the
        unit, the layer and the stage are the same. At most three; they are no substitutes, but a place to look."""
        own = self.describe(name)
        if own is None:
            return []
        made = {(one.name, part) for one in self.all_derivations() for part in one.needs}
        found = []
        for other in there:
            info = self.describe(other)
            if info is None or other == name:
                continue
            alike = (info.unit, info.layer, info.stage) == (own.unit, own.layer, own.stage)
            related = (name, other) in made or (other, name) in made
            if related or (alike and other.partition(".")[0] == name.partition(".")[0]):
                found.append((not related, other))
        return [other for _, other in sorted(found)[:3]]

    # --- keys -----------------------------------------------------------------------------------------------

    def table(self, source: str) -> KeyTable:
        """The keys of a trainer or system. Raises KeyError for one that is not known."""
        table = self._tables.get(source)
        if table is None:
            table = self._tables[source] = KeyTable(read_keys(source), self.sources[source].prefixes)
        return table

    def keys(self) -> set[str]:
        """All keys of all trainers without placeholders, for suggestions."""
        return {key for source in self.sources for key in self.table(source).exact_keys()}

    def rows_of(self, name: str) -> list[tuple[str, KeyRow]]:
        """(trainer or system, row) of each row that stands for the canonical `name`, in the tables' order."""
        return [
            (source, row)
            for source in self.sources
            for row in self.table(source).rows
            if row.name is not None and row.name.partition("{")[0] == name
        ]

    def keys_of(self, name: str) -> list[tuple[str, str]]:
        """(trainer or system, key) of each key that stands for the canonical `name`, in the tables' order."""
        return list(dict.fromkeys((source, row.key) for source, row in self.rows_of(name)))

    def meanings(self, key: str) -> list[str]:
        """The canonical names that a trainer's `key` may stand for, whichever the trainer; each once.

        What it usually is comes first, what it is in one algorithm, configuration or version only comes last.
        """
        found = [one for source in self.sources for one in self.table(source).candidates(key) if one.name is not None]
        found.sort(key=lambda one: (any(term[0] != "!" for term in one.row.when), one.row.versions != ANY))
        return list(dict.fromkeys(one.name for one in found if one.name is not None))

    # --- runs -----------------------------------------------------------------------------------------------

    def guess(self, keys: Iterable[str]) -> str | None:
        """The framework that knows most of these keys; None when none knows any. TRL wins a tie."""
        return self.identify(keys).framework

    def identify(self, keys: Iterable[str]) -> Identity:
        """The framework that knows most of these keys, the range of its versions, and why. TRL wins a tie."""
        wanted = frozenset(keys)
        found = self._identities.get(wanted)
        if found is None:
            trainers = [source.name for source in self.sources.values() if source.kind == "trainer"]
            found = identify(wanted, {name: self.table(name) for name in trainers})
            _keep(self._identities, wanted, found)
        return found

    def translate(
        self,
        keys: Sequence[str],
        framework: str | None,
        version: str | Versions | None = None,
        config: Mapping[str, object] | None = None,
    ) -> dict[str, str]:
        """Raw key → canonical name, for the keys that have one, in the order given; each name is given once.

        As `read`, without labels: of the keys that differ in these alone, the first has the name.
        """
        found: dict[str, str] = {}
        taken: set[str] = set()
        for key, reading in self.read(keys, framework, version, config).items():
            if reading.name is not None and reading.standing in ("named", "canonical") and reading.name not in taken:
                found[key] = reading.name
                taken.add(reading.name)
        return found

    def read(
        self,
        keys: Sequence[str],
        framework: str | None,
        version: str | Versions | None = None,
        config: Mapping[str, object] | None = None,
    ) -> dict[str, Reading]:
        """What each key of a run is, in the order given. A name with its labels is given to one key only.

        Rows are tried in the file's order, exact keys before patterns; the trainer's before those of systems. An
        unknown framework reads as TRL. Where a key's meaning hangs on a version that is neither given (`version`)
        nor told by the keys, the row that holds for all versions is taken, which has the neutral name. `config`: the
        run's configuration, for rows that depend on it.
        """
        trainer = framework if framework in self.sources else "trl"
        table = self.table(trainer)
        known = Versions.of(version)
        facts = table.config_terms(config)
        wanted = (trainer, known, facts, tuple(keys))
        found = self._readings.get(wanted)
        if found is None:
            if known == ANY:
                known = date_keys(keys, table)[0]
            found = self._read(tuple(dict.fromkeys(keys)), table, known, facts)
            _keep(self._readings, wanted, found)
        return found

    def _read(
        self, keys: tuple[str, ...], table: KeyTable, known: Versions, facts: frozenset[str]
    ) -> dict[str, Reading]:
        logged = {spelled for key in keys for spelled in table.spellings(key)}
        systems = [self.table(source.name) for source in self.sources.values() if source.kind == "system"]
        readings = {key: Reading(key, "unknown") for key in keys}
        taken: set[tuple[str, Labels]] = set()
        ranked: list[tuple[int, tuple[int, int], str, Candidate]] = []
        for key in keys:
            found = [(0, one) for one in table.candidates(key) if table.certain(one.row, known)]
            found += [(1, one) for system in systems for one in system.candidates(key)] if not found else []
            found = [(place, one) for place, one in found if one.row.holds(logged, facts)]
            if found:
                ranked += [(place, one.rank, key, one) for place, one in found]
            elif self.describe(key) is not None:
                readings[key] = Reading(key, "canonical", key)
                taken.add((key, ()))
        for _, _, key, one in sorted(ranked, key=lambda entry: entry[:3]):
            if readings[key].standing in ("named", "refused"):
                continue
            if one.name is None:
                if readings[key].standing == "unknown":
                    readings[key] = Reading(key, "refused", row=one.row)
            elif (one.name, one.labels) not in taken:
                readings[key] = Reading(key, "named", one.name, one.labels, one.row)
                taken.add((one.name, one.labels))
            elif readings[key].standing == "unknown":
                readings[key] = Reading(key, "second", one.name, one.labels, one.row)
        return readings

    # --- derived metrics ------------------------------------------------------------------------------------

    def derivations(self, names: Iterable[str]) -> tuple[Derivation, ...]:
        """What can be calculated from the canonical metrics that a run logs, each after what it needs."""
        return plan(names, self.all_derivations())

    def all_derivations(self) -> tuple[Derivation, ...]:
        """Every derivation, in the table's order."""
        if self._derivations is None:
            self._derivations = read_derivations()
        return self._derivations


def _keep(kept: dict[_K, _V], key: _K, value: _V) -> None:
    if len(kept) >= MAX_CACHED:
        kept.clear()
    kept[key] = value


@cache
def default() -> Dictionary:
    """The dictionary that ships with sentinel."""
    sources = [
        Source(name, kind, () if prefixes == "-" else tuple(prefixes.split(",")), read)
        for name, kind, prefixes, read in read_table("sources.tsv", ("name", "kind", "prefixes", "read"))
    ]
    return Dictionary(read_metrics(), sources)
