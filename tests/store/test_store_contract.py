"""The same promises for every store: memory, Redis, and Redis with a new process after each step."""

import pytest

from sentinel.alerts.notification import HistoryLine, Notification
from sentinel.connection import connect
from sentinel.ports import Batch, Told
from sentinel.store import ledger
from sentinel.store.memory import MemoryStore
from sentinel.store.redis import RedisStore


class Case:
    """`store` may be another object at each use: what is promised holds over a restart."""

    def __init__(self, make) -> None:
        self._make = make

    @property
    def store(self):
        return self._make()


@pytest.fixture(params=["memory", "redis", "redis-restarted"])
async def case(request, valkey_url):
    if request.param == "memory":
        store = MemoryStore()
        yield Case(lambda: store)
        return
    client = connect(valkey_url)
    store = RedisStore(client, 0)
    yield Case((lambda: store) if request.param == "redis" else (lambda: RedisStore(client, 0)))
    await client.aclose()


def notification(incident="i1", lines=1, state="firing", headline="KL is high", step=10) -> Notification:
    return Notification(
        incident=incident,
        run="r",
        attempt=1,
        state=state,
        severity="warning",
        headline=headline,
        step=step,
        time=5.0,
        onset_step=8,
        steps_since_onset=2,
        seconds_since_onset=None,
        episodes=(),
        history=tuple(HistoryLine(f"h{n}", "opened", "text", step, None) for n in range(lines)),
    )


def fully(note: Notification) -> Told:
    return Told(reference="C1/1.0", digest=note.digest, said=tuple(line.id for line in note.history))


async def keys(store) -> list[str]:
    return [row.key for row in await store.unsettled()]


async def commit(store, *notes: Notification, position="1-0", receiver="slack") -> None:
    await store.commit(Batch(position, {}, [(receiver, note) for note in notes]))


async def test_a_new_store_is_empty(case):
    assert await case.store.position() is None
    assert await case.store.load_snapshot() is None
    assert await case.store.alerts() == {}
    assert list(await case.store.unsettled()) == []


async def test_a_commit_keeps_position_alerts_and_outbox(case):
    await case.store.commit(Batch("5-1", {"a": b"1", "b": b"2"}, [("slack", notification())]))
    await case.store.commit(Batch("6-0", {"a": b"3", "b": None, "none": None}))
    assert await case.store.position() == "6-0"
    assert await case.store.alerts() == {"a": b"3"}
    [row] = await case.store.unsettled()
    assert (row.key, row.receiver, row.notification, row.told) == ("i1|slack", "slack", notification(), Told())


async def test_a_later_state_replaces_the_older_and_keeps_what_was_told(case):
    await commit(case.store, notification())
    await case.store.record("i1|slack", fully(notification()))
    assert await keys(case.store) == []
    worse = notification(headline="KL is very high", lines=2)
    await commit(case.store, worse)
    [row] = await case.store.unsettled()
    assert row.notification == worse
    assert row.told == fully(notification())


async def test_rows_come_oldest_incident_first(case):
    await commit(case.store, notification("z"), notification("a"))
    await commit(case.store, notification("m"))
    await commit(case.store, notification("z", headline="again"))
    assert await keys(case.store) == ["z|slack", "a|slack", "m|slack"]


async def test_receivers_are_settled_each_on_its_own(case):
    await commit(case.store, notification())
    await commit(case.store, notification("i2"))
    await commit(case.store, notification(), receiver="console")
    assert sorted((await keys(case.store))[:2]) == ["i1|console", "i1|slack"]
    await case.store.settle("i1|slack", fully(notification()))
    assert await keys(case.store) == ["i1|console", "i2|slack"]


@pytest.mark.parametrize(
    "told",
    [
        Told(reference="C1/1.0", digest="other", said=("h0", "h1")),
        Told(reference="C1/1.0", digest=notification(lines=2).digest, said=("h0",)),
        Told(reference="C1/1.0", digest=notification(lines=2).digest, said=("h0", "h1"), intent="edit"),
    ],
    ids=["another state", "a line is missing", "in doubt"],
)
async def test_a_row_that_is_not_fully_told_stays(case, told):
    await commit(case.store, notification(lines=2))
    await case.store.settle("i1|slack", told)
    [row] = await case.store.unsettled()
    assert row.told == told


async def test_an_open_incident_that_is_told_waits_for_its_next_change(case):
    await commit(case.store, notification())
    await case.store.settle("i1|slack", fully(notification()))
    assert await keys(case.store) == []
    await commit(case.store, notification())
    assert await keys(case.store) == []
    await commit(case.store, notification(state="closed"))
    [row] = await case.store.unsettled()
    assert row.told.reference == "C1/1.0"


async def test_a_closed_incident_that_is_told_is_not_told_again(case):
    closed = notification(state="closed", lines=2)
    await commit(case.store, notification())
    await commit(case.store, closed)
    await case.store.settle("i1|slack", fully(closed))
    await commit(case.store, closed)
    assert await keys(case.store) == []
    await commit(case.store, notification(state="closed", lines=3))
    [row] = await case.store.unsettled()
    assert row.told == fully(closed)


async def test_a_newer_state_that_comes_while_the_older_is_sent_is_not_lost(case):
    old = notification(state="closed")
    await commit(case.store, old)
    newer = notification(headline="open again")
    await commit(case.store, newer)
    await case.store.settle("i1|slack", fully(old))
    [row] = await case.store.unsettled()
    assert row.notification == newer


async def test_what_was_told_is_remembered_for_the_newest_incidents(case, monkeypatch):
    monkeypatch.setattr(ledger, "MOST_REMEMBERED", 3)
    notes = [notification(f"i{n}", state="closed") for n in range(5)]
    still_open = notification("open")
    await commit(case.store, still_open, *notes)
    await case.store.settle("open|slack", fully(still_open))
    for note in notes:
        await case.store.settle(f"{note.incident}|slack", fully(note))
    await commit(case.store, still_open, *notes)
    assert sorted(await keys(case.store)) == ["i0|slack", "i1|slack"]


async def test_a_snapshot_comes_back_with_its_position(case):
    await case.store.save_snapshot("5-0", b"old")
    await case.store.save_snapshot("6-0", b"\x00\xffnew")
    assert await case.store.load_snapshot() == ("6-0", b"\x00\xffnew")


async def test_a_snapshot_that_is_unusable_is_set_aside(case):
    await case.store.set_aside_snapshot("there is none")
    await case.store.save_snapshot("5-0", b"bad")
    await case.store.set_aside_snapshot("cut short")
    assert await case.store.load_snapshot() is None
    await case.store.save_snapshot("6-0", b"good")
    assert await case.store.load_snapshot() == ("6-0", b"good")
