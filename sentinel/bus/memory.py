"""A partition's stream in memory: for tests, the demo and replay within one process."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Mapping, Sequence

from sentinel.ports import Entry


class MemoryBus:
    """`ports.Bus` on a list. Ids have the shape of a stream's, so positions may be compared and stored alike.

    `append` may be called wherever the event loop runs; a reader that waits wakes at once.
    """

    def __init__(self) -> None:
        self._ids: list[tuple[int, int]] = []
        self._entries: list[Entry] = []
        self._tail = (0, 0)
        self._arrived = asyncio.Event()
        self.rejected: list[tuple[Entry, str, str]] = []
        """What was rejected: entry, reason, message."""

    def append(self, fields: Mapping[bytes, bytes], *, time: float | None = None) -> str:
        """Add an entry and give its id.

        `time`: seconds since the epoch, for the id; by default, or when it runs backwards, that of the entry before.
        """
        last = self._tail
        stamp = last[0] if time is None else max(int(time * 1000), last[0])
        number = (stamp, last[1] + 1 if stamp == last[0] else 0)
        self._tail = number
        self._ids.append(number)
        self._entries.append(Entry(f"{number[0]}-{number[1]}", dict(fields)))
        self._arrived.set()
        return self._entries[-1].id

    async def read(self, after: str, *, count: int, block_seconds: float) -> Sequence[Entry]:
        """Entries after the id `after`, oldest first, `count` at most; empty after `block_seconds` of nothing."""
        found = self._after(after, count)
        if found or block_seconds <= 0:
            return found
        self._arrived.clear()
        try:
            await asyncio.wait_for(self._arrived.wait(), block_seconds)
        except TimeoutError:
            return ()
        return self._after(after, count)

    def _after(self, after: str, count: int) -> Sequence[Entry]:
        milliseconds, _, sequence = after.partition("-")
        start = bisect_right(self._ids, (int(milliseconds), int(sequence or 0)))
        return self._entries[start : start + count]

    async def reject(self, entry: Entry, reason: str, message: str) -> None:
        self.rejected.append((entry, reason, message))

    async def tail_id(self) -> str:
        """The newest entry's id, `"0-0"` if there was none; it outlives the entry."""
        return f"{self._tail[0]}-{self._tail[1]}"

    async def holds(self, entry_id: str) -> bool:
        """Whether this entry is still there; `trim` takes the oldest away."""
        return any(entry.id == entry_id for entry in self._entries)

    def trim(self, keep: int) -> None:
        """Remove the oldest entries beyond `keep`."""
        cut = max(len(self._entries) - keep, 0)
        del self._entries[:cut], self._ids[:cut]

    async def server_time(self) -> float:
        """The newest entry's time, seconds since the epoch; 0 if there is none: this bus has no clock of its own."""
        return self._tail[0] / 1000.0
