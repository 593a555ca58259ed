import asyncio

import msgspec
import pytest

from sentinel import wire
from sentinel.alerts.notification import Notification
from sentinel.connection import connect
from sentinel.errors import BusUnavailable
from sentinel.ports import Batch, Told
from sentinel.store.redis import RedisStore


def note(incident: str, state: str = "firing") -> Notification:
    return Notification(
        incident=incident,
        run="r",
        attempt=1,
        state=state,
        severity="warning",
        headline="h",
        step=1,
        time=None,
        onset_step=1,
        steps_since_onset=0,
        seconds_since_onset=None,
        episodes=(),
        history=(),
    )


async def test_a_refused_commit_changes_nothing_and_the_next_one_works(client, valkey):
    store = RedisStore(client, 0)
    await store.commit(Batch("1-0", {"a": b"1"}, [("slack", note("i1"))]))
    valkey.config_set("maxmemory", 1)
    try:
        with pytest.raises(BusUnavailable, match="out of memory"):
            await store.commit(Batch("2-0", {"a": b"2"}, [("slack", note("i2"))]))
        assert await store.position() == "1-0"
        assert [row.key for row in await store.unsettled()] == ["i1|slack"]
    finally:
        valkey.config_set("maxmemory", 0)
    await store.commit(Batch("2-0", {"a": b"2"}, [("slack", note("i2"))]))
    assert await store.position() == "2-0"
    assert [row.key for row in await store.unsettled()] == ["i1|slack", "i2|slack"]


async def test_asking_when_idle_costs_no_round_trip(client, valkey):
    store = RedisStore(client, 0)
    await store.commit(Batch("1-0", {}, [("slack", note("i1"))]))
    await store.settle("i1|slack", Told("ref", note("i1").digest))
    before = valkey.info("stats")["total_commands_processed"]
    for _ in range(100):
        assert not await store.unsettled()
    assert valkey.info("stats")["total_commands_processed"] - before <= 2


async def test_settled_rows_leave_redis(client, valkey):
    store = RedisStore(client, 0)
    closed = note("i1", "closed")
    await store.commit(Batch("1-0", {}, [("slack", closed)]))
    assert valkey.hlen(wire.outbox_key(0)) == 1
    await store.settle("i1|slack", Told("ref", closed.digest))
    assert (valkey.hlen(wire.outbox_key(0)), valkey.hlen(wire.told_key(0))) == (0, 1)


async def test_a_row_that_a_crash_left_after_its_last_word_is_swept(client, valkey):
    closed = note("i1", "closed")
    store = RedisStore(client, 0)
    await store.commit(Batch("1-0", {}, [("slack", closed)]))
    await store.record("i1|slack", Told("ref", closed.digest))
    assert not await RedisStore(client, 0).unsettled()
    assert valkey.hlen(wire.outbox_key(0)) == 0


async def test_a_row_that_cannot_be_read_is_set_aside_and_the_others_go_on(client, valkey):
    await RedisStore(client, 0).commit(Batch("1-0", {}, [("slack", note("i1"))]))
    valkey.hset(wire.outbox_key(0), "bad|slack", b'{"seq":"x"}')
    valkey.hset(wire.told_key(0), b"\xff", b"{}")
    store = RedisStore(client, 0)
    assert [row.key for row in await store.unsettled()] == ["i1|slack"]
    assert store.unusable == 2
    assert len(valkey.hgetall(wire.unusable_key(0))) == 2
    assert valkey.hlen(wire.outbox_key(0)) == 1


async def test_told_is_written_before_record_returns(client, valkey):
    store = RedisStore(client, 0)
    await store.commit(Batch("1-0", {}, [("slack", note("i1"))]))
    await store.record("i1|slack", Told(intent="post"))
    stored = msgspec.json.decode(valkey.hget(wire.told_key(0), "i1|slack"))
    assert stored["told"]["intent"] == "post"


async def test_an_unusable_snapshot_is_kept_with_its_reason(client, valkey):
    store = RedisStore(client, 0)
    await store.save_snapshot("5-0", b"bad")
    await store.set_aside_snapshot("cut short")
    assert valkey.hgetall(wire.unusable_snapshot_key(0)) == {
        b"position": b"5-0",
        b"data": b"bad",
        b"reason": b"cut short",
    }


async def test_commits_and_records_at_once_do_not_lose_each_other(client):
    store = RedisStore(client, 0)
    names = [f"i{n}" for n in range(30)]
    await store.commit(Batch("0-1", {}, [("slack", note(name)) for name in names]))
    await asyncio.gather(
        *(store.settle(f"{name}|slack", Told("ref", note(name).digest)) for name in names[:15]),
        *(store.commit(Batch(f"1-{n}", {}, [("console", note(name))])) for n, name in enumerate(names)),
    )
    for one in (store, RedisStore(client, 0)):
        rows = [row.key for row in await one.unsettled()]
        assert len(rows) == 45
        assert sorted(rows) == sorted([f"{n}|console" for n in names] + [f"{n}|slack" for n in names[15:]])


async def test_a_cancelled_commit_leaves_a_store_that_agrees_with_redis(client):
    store = RedisStore(client, 0)
    await store.commit(Batch("1-0", {}, []))
    committing = asyncio.create_task(store.commit(Batch("2-0", {}, [("slack", note("i1"))])))
    await asyncio.sleep(0)
    committing.cancel()
    await asyncio.gather(committing, return_exceptions=True)
    fresh = RedisStore(client, 0)
    assert await store.unsettled() == await fresh.unsettled()
    assert (await store.position() == "2-0") == bool(await store.unsettled())


async def test_all_keys_are_of_one_partition(client, valkey):
    store = RedisStore(client, 7)
    await store.commit(Batch("1-0", {"a": b"1"}, [("slack", note("i1"))]))
    await store.record("i1|slack", Told(intent="post"))
    await store.save_snapshot("1-0", b"x")
    assert all(key.startswith(b"sentinel:{7}:") for key in valkey.scan_iter())


async def test_no_redis_is_said_in_one_line(tmp_path):
    client = connect(f"unix://{tmp_path}/none.sock")
    store = RedisStore(client, 0)
    for call in (
        store.position(),
        store.unsettled(),
        store.load_snapshot(),
        store.commit(Batch("1-0")),
        store.record("a|b", Told()),
        store.set_aside_snapshot("x"),
    ):
        with pytest.raises(BusUnavailable, match="no socket at this path"):
            await call
    await client.aclose()
