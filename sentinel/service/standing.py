"""The open incidents of a live daemon, read from what it committed. Nothing is written."""

from __future__ import annotations

from typing import Any

import msgspec

from sentinel import wire
from sentinel.connection import CONNECTION_ERRORS, connect, unavailable
from sentinel.ports import OutboxRow, Told
from sentinel.store.ledger import StoredRow, StoredTold


async def open_rows(url: str) -> tuple[list[OutboxRow], int]:
    """Rows of open incidents, and how many rows could not be read. Raises ConfigError, BusUnavailable."""
    client: Any = connect(url)
    found: list[OutboxRow] = []
    unreadable = 0
    try:
        text = await client.get(wire.PARTITIONS_KEY)
        count = max(int(text), 1) if text and text.isdigit() and len(text) < 6 else 1
        for partition in range(count):
            told = await client.hgetall(wire.told_key(partition))
            for name, value in (await client.hgetall(wire.outbox_key(partition))).items():
                try:
                    row = msgspec.json.decode(value, type=StoredRow)
                    said = msgspec.json.decode(told[name], type=StoredTold).told if name in told else Told()
                except msgspec.MsgspecError:
                    unreadable += 1
                    continue
                if row.notification.state == "firing":
                    found.append(OutboxRow(row.receiver, row.notification, said))
    except CONNECTION_ERRORS as error:
        raise unavailable(error) from error
    finally:
        await client.aclose()
    return found, unreadable
