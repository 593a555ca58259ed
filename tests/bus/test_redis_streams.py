import json

import pytest

from sentinel import wire
from sentinel.bus import redis_streams
from sentinel.bus.redis_streams import MAX_REPLY_BYTES, RedisBus
from sentinel.connection import connect
from sentinel.errors import BusUnavailable, ConfigError
from sentinel.ports import Entry


@pytest.fixture
async def client(valkey_url):
    client = connect(valkey_url)
    yield client
    await client.aclose()


async def test_replies_stay_small_after_a_big_one(client, valkey):
    bus = RedisBus(client, 0)
    for _ in range(40):
        valkey.xadd(wire.events_key(0), {"event": b"x" * (1024 * 1024)})
    position, sizes = "0-0", []
    while batch := await bus.read(position, count=500, block_seconds=0):
        sizes.append(sum(len(value) for entry in batch for value in entry.fields.values()))
        position = batch[-1].id
    assert sum(sizes) == 40 * 1024 * 1024
    assert all(size <= MAX_REPLY_BYTES for size in sizes[1:])
    assert len(sizes) > 3


async def test_the_count_grows_while_entries_are_small(client, valkey):
    bus = RedisBus(client, 0)
    with valkey.pipeline() as pipe:
        for number in range(2000):
            pipe.xadd(wire.events_key(0), {"event": str(number)})
        pipe.execute()
    position, lengths = "0-0", []
    while batch := await bus.read(position, count=500, block_seconds=0):
        lengths.append(len(batch))
        position = batch[-1].id
    assert sum(lengths) == 2000
    assert max(lengths) == 500


async def test_the_stream_of_rejected_entries_is_capped_and_its_rows_are_cut(client, valkey):
    bus = RedisBus(client, 0)
    entry = Entry("5-0", {b"event": b"\xff" * 1_000_000, b"more": b"x"})
    for _ in range(1300):
        await bus.reject(entry, "bad-json", "not UTF-8")
    assert valkey.xlen(wire.rejected_key(0)) <= 1100
    [(_, row)] = valkey.xrevrange(wire.rejected_key(0), count=1)
    assert len(row[b"fields"]) <= 4096
    assert row[b"id"] == b"5-0"


async def test_a_rejected_entry_can_be_read_by_a_person(client, valkey):
    await RedisBus(client, 0).reject(Entry("5-0", {b"run": b"r", b"step": b"x"}), "bad-step", "no step")
    [(_, row)] = valkey.xrange(wire.rejected_key(0))
    assert json.loads(row[b"fields"]) == {"run": "r", "step": "x"}


async def test_the_tail_outlives_its_entry(client, valkey):
    bus = RedisBus(client, 0)
    last = valkey.xadd(wire.events_key(0), {"event": "1"})
    valkey.xdel(wire.events_key(0), last)
    assert await bus.tail_id() == last.decode()


async def test_trimming_keeps_the_newest(client, valkey):
    bus = RedisBus(client, 0)
    for number in range(1000):
        last = valkey.xadd(wire.events_key(0), {"event": str(number)})
    await bus.trim(100)
    assert 100 <= valkey.xlen(wire.events_key(0)) < 300
    assert await bus.tail_id() == last.decode()


async def test_the_time_is_that_of_redis(client, valkey):
    seconds, _ = valkey.time()
    assert seconds <= await RedisBus(client, 0).server_time() < seconds + 60


async def test_partitions_are_apart(client, valkey):
    valkey.xadd(wire.events_key(1), {"event": "1"})
    assert not await RedisBus(client, 0).read("0-0", count=1, block_seconds=0)
    assert len(await RedisBus(client, 1).read("0-0", count=1, block_seconds=0)) == 1


async def test_nobody_listening_is_said_in_one_line(tmp_path):
    for url in ("redis://127.0.0.1:1/0", f"unix://{tmp_path}/none.sock"):
        client = connect(url)
        for call in (lambda bus: bus.read("0-0", count=1, block_seconds=1), lambda bus: bus.server_time()):
            with pytest.raises(BusUnavailable) as caught:
                await call(RedisBus(client, 0))
            assert "\n" not in str(caught.value)
            assert "Redis" in str(caught.value)
        await client.aclose()


async def test_a_foreign_key_is_said_with_its_remedy(client, valkey):
    valkey.set(wire.events_key(0), "x")
    bus = RedisBus(client, 0)
    for call in (bus.read("0-0", count=1, block_seconds=0), bus.tail_id()):
        with pytest.raises(BusUnavailable, match="another kind of value"):
            await call


async def test_credentials_and_permissions_are_told_apart(valkey, valkey_url):
    valkey.acl_setuser("narrow", enabled=True, passwords=["+s3cret"], commands=["+xadd"], keys=["*"])
    for password, word in (("wrong", "credentials"), ("s3cret", "does not permit")):
        client = connect(valkey_url.replace("unix://", f"unix://narrow:{password}@"))
        with pytest.raises(BusUnavailable, match=word) as caught:
            await RedisBus(client, 0).read("0-0", count=1, block_seconds=0)
        assert password not in str(caught.value)
        await client.aclose()
    valkey.acl_deluser("narrow")


async def test_a_url_that_is_none_is_a_configuration_error():
    with pytest.raises(ConfigError, match="redis://"):
        connect("http://localhost")


async def test_a_read_never_blocks_beyond_the_sockets_timeout(client, monkeypatch):
    monkeypatch.setattr(redis_streams, "LONGEST_BLOCK_SECONDS", 0.05)
    assert not await RedisBus(client, 0).read("0-0", count=1, block_seconds=3600)
