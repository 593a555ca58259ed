"""An outbox in a dict, for the tests of delivery."""

from msgspec.structs import replace

from sentinel.alerts.notification import Notification
from sentinel.errors import BusUnavailable
from sentinel.ports import OutboxRow, Told


class DictOutbox:
    """`writes` is every record and settle in order; `down` makes that many calls fail."""

    def __init__(self) -> None:
        self.rows: dict[str, OutboxRow] = {}
        self.log: dict[str, Told] = {}
        self.writes: list[tuple[str, Told]] = []
        self.reads = 0
        self.down = 0

    def want(self, notification: Notification, receiver: str = "recording") -> str:
        key = OutboxRow(receiver, notification).key
        self.rows[key] = OutboxRow(receiver, notification, self.log.get(key, Told()))
        return key

    async def unsettled(self) -> list[OutboxRow]:
        self.reads += 1
        self._check()
        return [row for row in self.rows.values() if not _all_told(row)]

    async def record(self, key: str, told: Told) -> None:
        self._check()
        self.writes.append((key, told))
        self.log[key] = told
        self.rows[key] = replace(self.rows[key], told=told)

    async def settle(self, key: str, told: Told) -> None:
        await self.record(key, told)
        row = self.rows[key]
        if row.notification.state == "closed" and _all_told(row):
            del self.rows[key]

    def _check(self) -> None:
        if self.down > 0:
            self.down -= 1
            raise BusUnavailable("redis is away")


def _all_told(row: OutboxRow) -> bool:
    return row.told.reference is not None and row.told.covers(row.notification)
