"""Which trainers log which metrics, in whatever version."""

from __future__ import annotations

from sentinel.metrics import Dictionary


class Senders:
    """Asked of one dictionary; it remembers the answers."""

    def __init__(self, dictionary: Dictionary) -> None:
        self.dictionary = dictionary
        self._sent: dict[str, frozenset[str]] = {}

    def of(self, name: str) -> list[str] | None:
        """The trainers that may log the metric `name`; None when nobody can tell: the dictionary does not have it, or
        parts of it are the user's own, as the names of reward functions are."""
        info = self.dictionary.describe(name)
        if info is None or info.free:
            return None
        return [framework for framework in self.dictionary.frameworks if info.name in self._names(framework)]

    def _names(self, framework: str) -> frozenset[str]:
        """The canonical names that a trainer may log, those of machines (any run may carry these), and what can be
        calculated from both."""
        found = self._sent.get(framework)
        if found is None:
            sources = [framework, *(one.name for one in self.dictionary.sources.values() if one.kind == "system")]
            rows = [row for source in sources for row in self.dictionary.table(source).rows]
            names = {row.name.partition("{")[0] for row in rows if row.name is not None}
            found = frozenset(names | {one.name for one in self.dictionary.derivations(names)})
            self._sent[framework] = found
        return found
