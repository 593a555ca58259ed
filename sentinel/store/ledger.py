"""What should be told and what has been told, in memory, with the changes that each step makes to the durable copy.

One entry per incident and receiver. It is the reason why asking "is there something to tell?" costs nothing when
there is not. Pure: the memory store is this alone, the Redis store writes the changes and, when it comes up, fills a
ledger from what it wrote.

    desire(row)  ──► row kept, pending if not fully told
    tell(told)   ──► told kept; pending again or no longer
    settle(told) ──► the same; the row is forgotten if its incident is closed and all of it is told

What was told of an incident outlives its row, for the 1,000 most recent incidents: after a restart the same closed
state may be committed again, and must not be told again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from sentinel.alerts.notification import Notification
from sentinel.ports import OutboxRow, Told

MOST_REMEMBERED = 1000
"""Incidents without a row of which we still know what was told."""


class StoredRow(msgspec.Struct, frozen=True):
    """A row of the outbox hash. `seq` orders incidents: a later one is greater."""

    seq: int
    receiver: str
    notification: Notification


class StoredTold(msgspec.Struct, frozen=True):
    """An entry of the told hash."""

    seq: int
    told: Told


@dataclass(slots=True)
class Changes:
    """What a step changes: key → new value, or None to delete."""

    rows: dict[str, StoredRow | None] = field(default_factory=dict)
    told: dict[str, StoredTold | None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.rows or self.told)


class Ledger:
    """The mirror of one partition's outbox. See the module's text."""

    def __init__(
        self, rows: Mapping[str, StoredRow] | None = None, told: Mapping[str, StoredTold] | None = None
    ) -> None:
        self._rows = dict(rows or {})
        self._told = dict(told or {})
        self._receivers = {row.receiver for row in self._rows.values()}
        self._receivers |= {key.rpartition("|")[2] for key in self._told}
        seqs = [row.seq for row in self._rows.values()] + [one.seq for one in self._told.values()]
        self._next = 1 + max(seqs, default=0)
        self._pending = {key for key, row in self._rows.items() if not self._is_told(key, row.notification)}

    def sweep(self) -> Changes:
        """Forget rows that a crash left between the last word and its settling. Once, after loading."""
        changes = Changes()
        for key, row in list(self._rows.items()):
            if row.notification.state == "closed" and key not in self._pending:
                self._forget(key, changes)
        return changes

    def desire(self, desired: Sequence[tuple[str, Notification]]) -> Changes:
        """Each notification replaces the older one of its incident and receiver."""
        changes = Changes()
        for receiver, notification in desired:
            key = _key(notification.incident, receiver)
            told = self._is_told(key, notification)
            if told and notification.state == "closed":
                # Said before, in full: the state that a restart computes again.
                self._forget(key, changes)
                continue
            row = StoredRow(self._seq(notification.incident, receiver), receiver, notification)
            self._rows[key] = changes.rows[key] = row
            if told:
                self._pending.discard(key)
            else:
                self._pending.add(key)
        return changes

    def tell(self, key: str, told: Told) -> Changes:
        """Remember what was told."""
        changes = Changes()
        row = self._rows.get(key)
        known = self._told.get(key)
        seq = row.seq if row is not None else known.seq if known is not None else self._take()
        self._told[key] = changes.told[key] = StoredTold(seq, told)
        if row is not None:
            if self._is_told(key, row.notification):
                self._pending.discard(key)
            else:
                self._pending.add(key)
        return changes

    def settle(self, key: str, told: Told) -> Changes:
        """Remember what was told, and forget the row if its incident is closed and all of it is told."""
        changes = self.tell(key, told)
        row = self._rows.get(key)
        if row is not None and row.notification.state == "closed" and key not in self._pending:
            self._forget(key, changes)
        self._cap(changes)
        return changes

    def open_incidents(self) -> Sequence[Notification]:
        """Incidents that are desired as firing, each once."""
        rows = {row.notification.incident: row.notification for row in self._rows.values()}
        return [notification for notification in rows.values() if notification.state == "firing"]

    def unsettled(self) -> Sequence[OutboxRow]:
        """Rows that are not fully told, oldest incident first."""
        if not self._pending:
            return ()
        rows = sorted((self._rows[key].seq, key) for key in self._pending)
        return tuple(self._view(key) for _, key in rows)

    def _view(self, key: str) -> OutboxRow:
        row = self._rows[key]
        told = self._told.get(key)
        return OutboxRow(row.receiver, row.notification, told.told if told is not None else Told())

    def _is_told(self, key: str, notification: Notification) -> bool:
        stored = self._told.get(key)
        return stored is not None and stored.told.covers(notification)

    def _seq(self, incident: str, receiver: str) -> int:
        """All receivers of an incident share its place in the order."""
        self._receivers.add(receiver)
        for other in self._receivers:
            key = _key(incident, other)
            known = self._rows.get(key) or self._told.get(key)
            if known is not None:
                return known.seq
        return self._take()

    def _take(self) -> int:
        seq = self._next
        self._next += 1
        return seq

    def _forget(self, key: str, changes: Changes) -> None:
        self._pending.discard(key)
        if self._rows.pop(key, None) is not None:
            changes.rows[key] = None

    def _cap(self, changes: Changes) -> None:
        # A look at every entry only when there are more than could be wanted.
        if len(self._told) <= MOST_REMEMBERED:
            return
        finished = sorted((one.seq, key) for key, one in self._told.items() if key not in self._rows)
        seqs = sorted({seq for seq, _ in finished})
        if len(seqs) <= MOST_REMEMBERED:
            return
        oldest_kept = seqs[-MOST_REMEMBERED]
        for seq, key in finished:
            if seq >= oldest_kept:
                break
            del self._told[key]
            changes.told[key] = None


def _key(incident: str, receiver: str) -> str:
    return f"{incident}|{receiver}"
