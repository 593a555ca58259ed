"""One partition's stream in Redis, read with plain XREAD from a position that is the reader's own.

No consumer group: reading works in states of a failing server in which a group does not, there is no pending list to
leak, and a position belongs into the same transaction as the state it led to.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from redis import exceptions
from redis.asyncio import Redis

from sentinel import wire
from sentinel.connection import (
    CONNECTION_ERRORS,
    LONGEST_BLOCK_SECONDS,
    connect,
    unavailable,
)
from sentinel.ports import Entry

__all__ = ["MAX_REPLY_BYTES", "RedisBus", "connect"]

MAX_REPLY_BYTES = 8 * 1024 * 1024
_FIRST_COUNT = 16
_KEPT_REJECTED = 1000
_KEPT_FIELD_BYTES = 4096


class RedisBus:
    """`ports.Bus` on a stream. `client` comes from `connect`; its XREAD answers are left raw from here on.

    COUNT does not bound bytes, so the number of entries asked for follows their size: it starts small, doubles while
    replies are full and small, and shrinks when one is over half of MAX_REPLY_BYTES.
    """

    def __init__(self, client: Redis, partition: int = 0) -> None:
        self._client = client
        self._key = wire.events_key(partition)
        self._rejected_key = wire.rejected_key(partition)
        self._count = _FIRST_COUNT
        # redis-py's parser of XREAD makes a tuple and a dict of each entry; we make our own from the raw answer.
        client.response_callbacks.pop("XREAD", None)

    async def read(self, after: str, *, count: int, block_seconds: float) -> Sequence[Entry]:
        """Entries after the id `after`, oldest first; waits LONGEST_BLOCK_SECONDS at most. Raises BusUnavailable."""
        asked = min(count, self._count)
        command: list[str | int] = ["XREAD", "COUNT", asked]
        # BLOCK 0 would mean for ever.
        milliseconds = int(min(block_seconds, LONGEST_BLOCK_SECONDS) * 1000)
        if milliseconds > 0:
            command += ["BLOCK", milliseconds]
        try:
            reply = await self._client.execute_command(  # type: ignore[no-untyped-call]
                *command, "STREAMS", self._key, after
            )
        except CONNECTION_ERRORS as error:
            raise unavailable(error) from error
        if not reply:
            return ()
        entries, size = _parse(reply)
        self._adapt(asked, len(entries), size)
        return entries

    def _adapt(self, asked: int, got: int, size: int) -> None:
        if size > MAX_REPLY_BYTES // 2:
            self._count = max(1, got * (MAX_REPLY_BYTES // 2) // size)
        elif got == asked >= self._count and size * 4 < MAX_REPLY_BYTES:
            self._count *= 2

    async def reject(self, entry: Entry, reason: str, message: str) -> None:
        """Keep the entry, cut at 4 KiB, in the capped stream of rejected ones. Raises BusUnavailable."""
        shown: dict[str, str] = {}
        room = _KEPT_FIELD_BYTES
        for key, value in entry.fields.items():
            if room <= 0:
                break
            name = key[:200].decode("utf-8", "backslashreplace")
            shown[name] = value[:room].decode("utf-8", "backslashreplace")
            room -= len(name) + len(shown[name])
        row = {
            "reason": reason,
            "message": message,
            "id": entry.id,
            "fields": json.dumps(shown)[:_KEPT_FIELD_BYTES],
        }
        try:
            await self._client.xadd(self._rejected_key, row, maxlen=_KEPT_REJECTED, approximate=True)  # type: ignore[arg-type]
        except CONNECTION_ERRORS as error:
            raise unavailable(error) from error

    async def tail_id(self) -> str:
        """The id that the stream generated last, `"0-0"` if there is no stream: where a first start begins to read.

        It outlives the entry itself, so one below our position means that the stream was reset. Raises BusUnavailable.
        """
        try:
            facts: dict[str, Any] = await self._client.xinfo_stream(self._key)
        except exceptions.ResponseError as error:
            if "no such key" in str(error).lower():
                return "0-0"
            raise unavailable(error) from error
        except CONNECTION_ERRORS as error:
            raise unavailable(error) from error
        last = facts["last-generated-id"]
        return last.decode() if isinstance(last, bytes) else str(last)

    async def holds(self, entry_id: str) -> bool:
        """Whether the stream still has this entry. Raises BusUnavailable."""
        try:
            return bool(await self._client.xrange(self._key, entry_id, entry_id, count=1))
        except CONNECTION_ERRORS as error:
            raise unavailable(error) from error

    async def server_time(self) -> float:
        """Seconds since the epoch by the clock of Redis. Raises BusUnavailable."""
        try:
            seconds, microseconds = await self._client.time()
        except CONNECTION_ERRORS as error:
            raise unavailable(error) from error
        return int(seconds) + int(microseconds) / 1e6

    async def trim(self, keep: int) -> None:
        """Remove the oldest entries beyond about `keep`. Raises BusUnavailable."""
        try:
            await self._client.xtrim(self._key, maxlen=keep, approximate=True)
        except CONNECTION_ERRORS as error:
            raise unavailable(error) from error


def _parse(reply: Any) -> tuple[list[Entry], int]:
    """Entries of a raw answer for one stream, and their size in bytes.

    RESP2: `[[key, [[id, [name, value, ...]], ...]]]`; RESP3: `{key: [[id, [...]], ...]}`.
    """
    rows = next(iter(reply.values())) if isinstance(reply, dict) else reply[0][1]
    entries: list[Entry] = []
    size = 0
    for entry_id, flat in rows:
        if len(flat) == 2:
            name, value = flat
            size += len(value)
            fields = {name: value}
        else:
            size += sum(map(len, flat))
            parts = iter(flat)
            fields = dict(zip(parts, parts, strict=True))
        entries.append(Entry(entry_id.decode(), fields))
    return entries, size
