"""The same promises for every bus."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from sentinel import wire
from sentinel.bus.memory import MemoryBus
from sentinel.bus.redis_streams import RedisBus
from sentinel.connection import connect


class MemoryCase:
    def __init__(self) -> None:
        self.bus = MemoryBus()

    async def add(self, fields: dict[bytes, bytes]) -> str:
        return self.bus.append(fields)

    async def rejected(self) -> list[tuple[str, str, str]]:
        return [(entry.id, reason, message) for entry, reason, message in self.bus.rejected]


class RedisCase:
    def __init__(self, client) -> None:
        self.client = client
        self.bus = RedisBus(client, 0)

    async def add(self, fields: dict[bytes, bytes]) -> str:
        return (await self.client.xadd(wire.events_key(0), fields)).decode()

    async def rejected(self) -> list[tuple[str, str, str]]:
        rows = await self.client.xrange(wire.rejected_key(0))
        return [(row[b"id"].decode(), row[b"reason"].decode(), row[b"message"].decode()) for _, row in rows]


@pytest.fixture(params=["memory", "redis-resp2", "redis-resp3"])
async def case(request, valkey_url) -> AsyncIterator[MemoryCase | RedisCase]:
    if request.param == "memory":
        yield MemoryCase()
        return
    url = valkey_url
    if request.param == "redis-resp2":
        client = connect(url)
    else:
        from redis.asyncio import Redis

        client = Redis.from_url(url, protocol=3)
    yield RedisCase(client)
    await client.aclose()


async def test_an_empty_stream_gives_nothing(case):
    assert list(await case.bus.read("0-0", count=10, block_seconds=0)) == []
    assert list(await case.bus.read("0-0", count=10, block_seconds=0.01)) == []
    assert await case.bus.tail_id() == "0-0"


async def test_entries_come_oldest_first_and_again(case):
    ids = [await case.add({b"event": str(n).encode()}) for n in range(30)]
    first = await case.bus.read("0-0", count=10, block_seconds=0)
    assert [entry.id for entry in first] == ids[:10]
    assert [entry.fields for entry in first] == [{b"event": str(n).encode()} for n in range(10)]
    assert await case.bus.read("0-0", count=10, block_seconds=0) == first
    assert await case.bus.tail_id() == ids[-1]
    seen, position = [], "0-0"
    while batch := await case.bus.read(position, count=500, block_seconds=0):
        seen += [entry.id for entry in batch]
        position = batch[-1].id
    assert seen == ids


async def test_entries_of_many_fields_and_any_bytes_come_whole(case):
    fields = {b"run": b"r", b"step": b"1", b"kl": b"0.5", b"\xff\x00": b"\xfe\r\n"}
    await case.add(fields)
    [entry] = await case.bus.read("0-0", count=10, block_seconds=0)
    assert entry.fields == fields


async def test_a_reader_that_waits_is_woken_by_an_entry(case):
    first = await case.add({b"event": b"1"})
    reading = asyncio.create_task(case.bus.read(first, count=10, block_seconds=5))
    await asyncio.sleep(0.05)
    assert not reading.done()
    second = await case.add({b"event": b"2"})
    assert [entry.id for entry in await asyncio.wait_for(reading, 5)] == [second]


async def test_a_read_that_was_cancelled_loses_nothing(case):
    first = await case.add({b"event": b"1"})
    reading = asyncio.create_task(case.bus.read(first, count=10, block_seconds=5))
    await asyncio.sleep(0.05)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    second = await case.add({b"event": b"2"})
    for _ in range(2):
        assert [entry.id for entry in await case.bus.read(first, count=10, block_seconds=1)] == [second]


async def test_a_rejected_entry_is_kept_with_its_reason(case):
    await case.add({b"event": b"nonsense"})
    [entry] = await case.bus.read("0-0", count=1, block_seconds=0)
    await case.bus.reject(entry, "bad-json", "not JSON at character 0")
    assert await case.rejected() == [(entry.id, "bad-json", "not JSON at character 0")]
    assert len(await case.bus.read("0-0", count=10, block_seconds=0)) == 1


async def test_an_entry_that_was_trimmed_is_no_longer_held_and_the_tail_outlives_it(case):
    first, last = [await case.add({b"event": b"x"}) for _ in range(2)]
    assert await case.bus.holds(first)
    if isinstance(case, MemoryCase):
        case.bus.trim(0)
    else:
        await case.client.xtrim(wire.events_key(0), maxlen=0, approximate=False)
    assert not await case.bus.holds(first)
    assert await case.bus.tail_id() == last
