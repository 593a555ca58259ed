"""One partition's durable state in Redis: a few hashes in one slot, changed in transactions."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
import structlog
from redis.asyncio import Redis

from sentinel import wire
from sentinel.alerts.notification import Notification
from sentinel.connection import CONNECTION_ERRORS, unavailable
from sentinel.ports import Batch, OutboxRow, Told
from sentinel.store.ledger import Changes, Ledger, StoredRow, StoredTold

_encoder = msgspec.json.Encoder()
_row_decoder = msgspec.json.Decoder(StoredRow)
_told_decoder = msgspec.json.Decoder(StoredTold)

_T = TypeVar("_T")

_ENTRY_ID = re.compile(rb"[0-9]{1,20}-[0-9]{1,20}")

log = structlog.get_logger(__name__)


class RedisStore:
    """`ports.Store` and `ports.Outbox`. `client` comes from `sentinel.connection.connect`.

    The partition has one owner, so a mirror of the outbox in memory answers `unsettled` without a round trip. The
    mirror is read from Redis on first use, and again after any error: a transaction whose answer was lost may have
    been applied. Every method raises BusUnavailable, with the remedy, and nothing else.
    """

    def __init__(self, client: Redis, partition: int = 0) -> None:
        self._client = client
        self._state_key = wire.state_key(partition)
        self._alerts_key = wire.alerts_key(partition)
        self._outbox_key = wire.outbox_key(partition)
        self._told_key = wire.told_key(partition)
        self._unusable_key = wire.unusable_key(partition)
        self._snapshot_key = wire.snapshot_key(partition)
        self._unusable_snapshot_key = wire.unusable_snapshot_key(partition)
        self._ledger: Ledger | None = None
        # The sender records while the loop commits; each step must see the mirror that the other left.
        self._lock = asyncio.Lock()
        self.unusable = 0
        """Rows that could not be read, set aside in the hash `unusable` since this store was made."""

    async def position(self) -> str | None:
        raw = await self._ask(self._client.hget(self._state_key, "position"))
        if not isinstance(raw, bytes):
            return None
        if _ENTRY_ID.fullmatch(raw) is None:
            # Not ours, whoever wrote it. Reading the stream again is slower, and ends in the same state.
            log.error("position.unusable", key=self._state_key, value=raw[:40].decode("ascii", "backslashreplace"))
            return None
        return raw.decode()

    async def commit(self, batch: Batch) -> None:
        def apply(pipe: Any, ledger: Ledger) -> Changes:
            pipe.hset(self._state_key, "position", batch.position)
            _put(pipe, self._alerts_key, batch.alerts)
            return ledger.desire(batch.desired)

        await self._transact(apply)

    async def alerts(self) -> dict[str, bytes]:
        """The committed alert records by id."""
        raw: dict[Any, Any] = await self._ask(self._client.hgetall(self._alerts_key))
        return {name.decode(): record for name, record in raw.items()}

    async def save_snapshot(self, position: str, data: bytes) -> None:
        # One command for both fields, so a snapshot never has another's position.
        await self._ask(self._client.hset(self._snapshot_key, mapping={"position": position, "data": data}))

    async def load_snapshot(self) -> tuple[str, bytes] | None:
        position, data = await self._ask(self._client.hmget(self._snapshot_key, ["position", "data"]))
        if not isinstance(position, bytes) or not isinstance(data, bytes):
            return None
        if _ENTRY_ID.fullmatch(position) is None:
            log.error("snapshot.unusable", reason="its position is no entry's id")
            await self.set_aside_snapshot("its position is no entry's id")
            return None
        return position.decode(), data

    async def set_aside_snapshot(self, reason: str) -> None:
        if not await self._ask(self._client.exists(self._snapshot_key)):
            return
        async with self._client.pipeline(transaction=True) as pipe:
            pipe.rename(self._snapshot_key, self._unusable_snapshot_key)
            pipe.hset(self._unusable_snapshot_key, "reason", reason)
            await self._ask(pipe.execute())

    async def open_incidents(self) -> Sequence[Notification]:
        async with self._lock:
            return (await self._loaded()).open_incidents()

    async def unsettled(self) -> Sequence[OutboxRow]:
        if self._ledger is not None:
            return self._ledger.unsettled()
        async with self._lock:
            return (await self._loaded()).unsettled()

    async def record(self, key: str, told: Told) -> None:
        await self._transact(lambda pipe, ledger: ledger.tell(key, told))

    async def settle(self, key: str, told: Told) -> None:
        await self._transact(lambda pipe, ledger: ledger.settle(key, told))

    async def _transact(self, apply: Callable[[Any, Ledger], Changes]) -> None:
        """All that `apply` queues, and all the changes it makes to the ledger, or nothing of either."""
        async with self._lock:
            ledger = await self._loaded()
            # Until the answer is here nobody may trust the mirror, not even after a cancellation.
            self._ledger = None
            async with self._client.pipeline(transaction=True) as pipe:
                changes = apply(pipe, ledger)
                _put(pipe, self._outbox_key, _encoded(changes.rows))
                _put(pipe, self._told_key, _encoded(changes.told))
                await self._ask(pipe.execute())
            self._ledger = ledger

    async def _loaded(self) -> Ledger:
        if self._ledger is None:
            rows = await self._read(self._outbox_key, _row_decoder)
            told = await self._read(self._told_key, _told_decoder)
            ledger = Ledger(rows, told)
            left_over = ledger.sweep()
            if left_over:
                await self._ask(self._client.hdel(self._outbox_key, *left_over.rows))
            self._ledger = ledger
        return self._ledger

    async def _read(self, key: str, decoder: msgspec.json.Decoder[_T]) -> dict[str, _T]:
        raw: dict[Any, Any] = await self._ask(self._client.hgetall(key))
        sound: dict[str, _T] = {}
        for name, value in raw.items():
            try:
                sound[name.decode()] = decoder.decode(value)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                # Written by a newer version, or by a stranger. One bad row must not silence all others.
                self.unusable += 1
                async with self._client.pipeline(transaction=True) as pipe:
                    pipe.hset(self._unusable_key, key.encode() + b"|" + name, value)
                    pipe.hdel(key, name)
                    await self._ask(pipe.execute())
        return sound

    async def _ask(self, command: Awaitable[_T]) -> _T:
        try:
            return await command
        except CONNECTION_ERRORS as error:
            raise unavailable(error) from error


def _put(pipe: Any, key: str, values: Mapping[str, bytes | None]) -> None:
    written = {name: value for name, value in values.items() if value is not None}
    deleted = [name for name, value in values.items() if value is None]
    if written:
        pipe.hset(key, mapping=written)
    if deleted:
        pipe.hdel(key, *deleted)


def _encoded(values: Mapping[str, StoredRow | None] | Mapping[str, StoredTold | None]) -> dict[str, bytes | None]:
    return {name: None if value is None else _encoder.encode(value) for name, value in values.items()}
