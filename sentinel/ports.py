"""The small promises between the daemon and the systems around it, declared by who needs them.

Data flows one way: `Bus.read` → decode → engine → alerts → `Store.commit` (one transaction a batch) →
`Outbox` → `Notifier`. Memory versions of each are real adapters; tests, the demo and replay use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from sentinel.alerts.notification import HistoryLine, Notification


class Clock(Protocol):
    """The only source of time. Seconds since the epoch; never runs backwards within a process."""

    def now(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Entry:
    """One raw stream entry: its id (`"1790000000000-0"`) and its fields, undecoded."""

    id: str
    fields: Mapping[bytes, bytes]


class Bus(Protocol):
    """Where events come from: one partition's stream."""

    async def read(self, after: str, *, count: int, block_seconds: float) -> Sequence[Entry]:
        """Entries with ids greater than `after`, oldest first; empty after `block_seconds` of nothing.

        Raises BusUnavailable. Nothing is consumed: reading again from the same position gives the same entries.
        """
        ...

    async def reject(self, entry: Entry, reason: str, message: str) -> None:
        """Keep an entry that cannot be understood, with its reason, where a person can read it (capped)."""
        ...

    async def tail_id(self) -> str:
        """The id that the stream generated last; `"0-0"` for none. One below our position: the stream was reset."""
        ...

    async def holds(self, entry_id: str) -> bool:
        """Whether the stream still has this entry. If not, and later ones came, entries may have been lost unread."""
        ...

    async def server_time(self) -> float:
        """Seconds since the epoch by the clock that stamps the entries."""
        ...


class Told(msgspec.Struct, frozen=True):
    """What one receiver has been told of one incident: the notification log's entry.

    `reference`: the receiver's own handle of the message (Slack: `"C123/1790000000.000100"`), None before the first.
    `digest`: the state last told. `said`: ids of the history lines that were told (the opening line is the message
    itself). `intent`: what was about to be sent when last heard of (`"post"`, `"edit"`, `"line:<id>"`); if it is set
    after a restart, that one send is in doubt. `failures`: consecutive refusals.
    """

    reference: str | None = None
    digest: str = ""
    said: tuple[str, ...] = ()
    intent: str | None = None
    failures: int = 0

    def untold(self, notification: Notification) -> Iterator[HistoryLine]:
        """The lines that the receiver has not seen, oldest first."""
        return (line for line in notification.history if line.id not in self.said)

    def covers(self, notification: Notification) -> bool:
        """Whether the receiver knows all of it: the state, and every line."""
        settled = self.intent is None and self.digest == notification.digest
        return settled and next(self.untold(notification), None) is None


class OutboxRow(msgspec.Struct, frozen=True):
    """One receiver's view of one incident: what should be told, and what has been."""

    receiver: str
    notification: Notification
    told: Told = Told()

    @property
    def key(self) -> str:
        return f"{self.notification.incident}|{self.receiver}"


@dataclass(frozen=True, slots=True)
class Batch:
    """What one transaction commits: position, alert records and outbox rows belong together.

    `position`: id of the last entry that was handled. `alerts`: alert id → JSON record; a None value deletes.
    `desired`: (receiver, notification) pairs that must be told; each replaces the older one of its incident, and
    leaves what was told untouched.
    """

    position: str
    alerts: Mapping[str, bytes | None] = field(default_factory=dict)
    desired: Sequence[tuple[str, Notification]] = ()


class Store(Protocol):
    """One partition's durable state."""

    async def position(self) -> str | None:
        """The committed position, or None on the very first start."""
        ...

    async def commit(self, batch: Batch) -> None:
        """All of the batch or nothing. Raises BusUnavailable."""
        ...

    async def alerts(self) -> Mapping[str, bytes]:
        """The committed records of open alerts, by alert id."""
        ...

    async def open_incidents(self) -> Sequence[Notification]:
        """The committed incidents that are not over, each once."""
        ...

    async def save_snapshot(self, position: str, data: bytes) -> None: ...

    async def load_snapshot(self) -> tuple[str, bytes] | None: ...

    async def set_aside_snapshot(self, reason: str) -> None:
        """Move an unusable snapshot out of the way, keeping it for a person to look at."""
        ...


class Outbox(Protocol):
    """Rows that are not yet fully told, and the log of what was told."""

    async def unsettled(self) -> Sequence[OutboxRow]:
        """Rows whose state or history is not fully told, oldest incident first."""
        ...

    async def record(self, key: str, told: Told) -> None:
        """Remember what was (or is about to be) told. Survives a crash once it returns."""
        ...

    async def settle(self, key: str, told: Told) -> None:
        """As `record`, and forget the row if its incident is closed and all of it is told."""
        ...


class Notifier(Protocol):
    """One receiver. Rendering is pure; these three do the only IO.

    `message_id` is a UUID string that stays the same when a send is repeated, so that a receiver that can
    deduplicate does. All three raise DeliveryRetry or DeliveryRefused and nothing else.
    """

    name: str

    async def post(self, notification: Notification, message_id: str) -> str:
        """Tell a new incident. Returns the receiver's reference of the message."""
        ...

    async def edit(self, reference: str, notification: Notification) -> None:
        """Bring the message up to date. Idempotent."""
        ...

    async def line(self, reference: str, notification: Notification, line: HistoryLine, message_id: str) -> None:
        """Add one history line beneath the message."""
        ...

    async def close(self) -> None: ...
