"""One partition's state in memory: for tests, the demo and replay within one process."""

from __future__ import annotations

from collections.abc import Sequence

from sentinel.alerts.notification import Notification
from sentinel.ports import Batch, OutboxRow, Told
from sentinel.store.ledger import Ledger


class MemoryStore:
    """`ports.Store` and `ports.Outbox` on dicts. What a Redis store keeps over a restart, this keeps while it lives."""

    def __init__(self) -> None:
        self._position: str | None = None
        self._alerts: dict[str, bytes] = {}
        self._ledger = Ledger()
        self._snapshot: tuple[str, bytes] | None = None
        self.set_aside: list[tuple[str, tuple[str, bytes]]] = []
        """Snapshots that could not be used: reason, (position, data)."""

    async def position(self) -> str | None:
        return self._position

    async def commit(self, batch: Batch) -> None:
        self._position = batch.position
        for alert, record in batch.alerts.items():
            if record is None:
                self._alerts.pop(alert, None)
            else:
                self._alerts[alert] = record
        self._ledger.desire(batch.desired)

    async def alerts(self) -> dict[str, bytes]:
        """The committed alert records by id."""
        return dict(self._alerts)

    async def save_snapshot(self, position: str, data: bytes) -> None:
        self._snapshot = (position, data)

    async def load_snapshot(self) -> tuple[str, bytes] | None:
        return self._snapshot

    async def set_aside_snapshot(self, reason: str) -> None:
        if self._snapshot is not None:
            self.set_aside.append((reason, self._snapshot))
            self._snapshot = None

    async def open_incidents(self) -> Sequence[Notification]:
        return self._ledger.open_incidents()

    async def unsettled(self) -> Sequence[OutboxRow]:
        return self._ledger.unsettled()

    async def record(self, key: str, told: Told) -> None:
        self._ledger.tell(key, told)

    async def settle(self, key: str, told: Told) -> None:
        self._ledger.settle(key, told)
