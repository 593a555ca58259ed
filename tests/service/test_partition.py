"""One partition on memory adapters: the start, the loop, what is committed and what is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from sentinel.alerts.notification import Notification, to_wire
from sentinel.bus.memory import MemoryBus
from sentinel.engine.run_state import RunState
from sentinel.engine.transition import Transition
from sentinel.errors import BusUnavailable
from sentinel.events import Event
from sentinel.ports import Batch, Entry
from sentinel.rules.loader import load_rules
from sentinel.rules.model import RuleSet
from sentinel.service.figures import Figures
from sentinel.service.partition import Partition
from sentinel.store.memory import MemoryStore
from sentinel.testing import ManualClock

RULES = b"""
rules:
  - alert: kl-high
    symptom: kl-high
    critical: kl.ref > 0.5
    for: 3 steps
    summary: "KL is {value:.3g}"
  - alert: clip-high
    symptom: clip-high
    info: clip_frac > 40%
  - alert: stall
    symptom: stall
    critical: age(reward.mean) > 5m
    summary: "no step"
"""

START = 1_790_000_000.0


class AnchoredClock(ManualClock):
    def anchor(self, server_time: float) -> None:
        self.anchored = server_time


class World:
    """A bus, a store and a clock that outlive the partitions that are killed on them."""

    def __init__(self) -> None:
        self.bus = MemoryBus()
        self.store = MemoryStore()
        self.clock = AnchoredClock(START)
        self.spoken = 0

    def partition(self, rules: RuleSet | None = None) -> Partition:
        def speak() -> None:
            self.spoken += 1

        return Partition(
            self.bus,
            self.store,
            rules or load_rules([("test.yaml", RULES)]),
            clock=self.clock,
            figures=Figures(),
            receivers=["slack"],
            speak=speak,
        )

    async def started(self) -> Partition:
        partition = self.partition()
        await partition.restore()
        await partition.catch_up()
        return partition

    def step(self, step: int, *, run: str = "r", **metrics: float) -> str:
        fields = {b"run": run.encode(), b"step": str(step).encode()}
        fields |= {name.encode(): str(value).encode() for name, value in metrics.items()}
        return self.bus.append(fields, time=START + 10.0 * step)

    async def told(self) -> list[tuple[str, str, int]]:
        rows = await self.store.unsettled()
        return [(row.notification.run, row.notification.state, len(row.notification.history)) for row in rows]


@pytest.fixture
def world() -> World:
    return World()


async def test_a_transition_is_committed_with_its_position_and_wakes_the_senders(world: World) -> None:
    partition = await world.started()
    spoken = world.spoken
    for step in range(1, 4):
        last = world.step(step, kl=0.9)
    await partition.turn()
    assert await world.store.position() == last
    assert await world.told() == [("r", "firing", 1)]
    assert len(await world.store.alerts()) == 1
    assert world.spoken == spoken + 1


async def test_an_incident_that_never_reached_warning_is_not_told(world: World) -> None:
    partition = await world.started()
    world.step(1, clip_ratio=0.9)
    await partition.turn()
    assert await world.told() == []
    assert len(await world.store.alerts()) == 1


async def test_a_restart_without_a_snapshot_reads_the_stream_again_and_repeats_nothing(world: World) -> None:
    first = await world.started()
    for step in range(1, 5):
        world.step(step, kl=0.9)
    await first.turn()
    rows = await world.store.unsettled()
    second = await world.started()
    assert await world.store.unsettled() == rows
    world.step(5, kl=0.1)
    await second.turn()
    assert await world.told() == [("r", "closed", 2)]


async def test_a_for_that_is_half_done_goes_on_after_a_restart(world: World) -> None:
    first = await world.started()
    world.step(1, kl=0.9)
    world.step(2, kl=0.9)
    await first.turn()
    await first.snapshot()
    second = await world.started()
    world.step(3, kl=0.9)
    await second.turn()
    rows = await world.store.unsettled()
    assert [row.notification.onset_step for row in rows] == [1]


async def test_what_happened_while_nobody_watched_is_told_once_as_it_stands(world: World) -> None:
    first = await world.started()
    world.step(1, kl=0.1)
    await first.turn()
    for step in range(2, 6):
        world.step(step, kl=0.9)
    world.step(6, kl=0.1)
    await world.started()
    assert await world.told() == [("r", "closed", 2)]


async def test_on_the_very_first_start_history_is_not_news(world: World) -> None:
    for step in range(1, 5):
        world.step(step, kl=0.9, run="old")
    world.step(5, kl=0.1, run="old")
    for step in range(1, 5):
        world.step(step, kl=0.9, run="live")
    await world.started()
    assert await world.told() == [("live", "firing", 1)]


async def test_silence_is_noticed_at_the_due_moment_though_nothing_arrives(world: World) -> None:
    partition = await world.started()
    world.step(1, reward=0.5)
    await partition.turn()
    assert partition.engine.next_wakeup() == START + 10.0 + 300.0
    world.clock.advance(400.0)
    await partition.turn()
    (row,) = await world.store.unsettled()
    assert row.notification.time == START + 10.0 + 300.0


async def test_a_bad_entry_is_kept_aside_and_the_next_one_counts(world: World) -> None:
    partition = await world.started()
    world.bus.append({b"event": b"{not json"})
    for step in range(1, 4):
        world.step(step, kl=0.9)
    await partition.turn()
    await asyncio.sleep(0)
    assert await world.told() == [("r", "firing", 1)]
    assert [reason for _, reason, _ in world.bus.rejected] == ["bad-json"]


async def test_a_corrupt_snapshot_is_set_aside_and_the_stream_read_again(world: World) -> None:
    first = await world.started()
    for step in range(1, 4):
        world.step(step, kl=0.9)
    await first.turn()
    await first.snapshot()
    position, data = (await world.store.load_snapshot()) or ("", b"")
    await world.store.save_snapshot(position, data[:-3])
    rows = await world.store.unsettled()
    second = await world.started()
    assert await world.store.load_snapshot() is None
    assert await world.store.unsettled() == rows
    assert list(second.engine.runs) == ["r"]


class RefusingStore(MemoryStore):
    """Refuses to commit while `down`."""

    down = False

    async def commit(self, batch: Batch) -> None:
        if self.down:
            raise BusUnavailable("read-only")
        await super().commit(batch)


async def test_what_redis_refused_to_commit_goes_with_the_next_commit(world: World) -> None:
    world.store = RefusingStore()
    partition = await world.started()
    world.store.down = True
    for step in range(1, 4):
        world.step(step, kl=0.9)
    await partition.turn()
    assert await world.told() == []
    assert partition.problem is None
    assert partition.degraded == "what was found cannot be saved: read-only"
    world.store.down = False
    world.step(4, kl=0.9)
    await partition.turn()
    assert await world.told() == [("r", "firing", 1)]
    assert partition.degraded is None


async def test_while_redis_refuses_writes_evaluation_goes_on_and_everything_is_told_afterwards(world: World) -> None:
    world.store = RefusingStore()
    partition = await world.started()
    world.store.down = True
    for step in range(1, 4):
        world.step(step, kl=0.9)
        await partition.turn()
    for step in range(4, 6):
        world.step(step, kl=0.1)
        await partition.turn()
    for step in range(1, 4):
        world.step(step, kl=0.9, run="other")
        await partition.turn()
    assert partition.engine.runs["r"].step == 5
    world.store.down = False
    await partition.drain()
    assert await world.told() == [("r", "closed", 2), ("other", "firing", 1)]
    assert await world.store.position() == partition.position


async def test_no_snapshot_is_taken_while_something_is_left_to_commit(world: World) -> None:
    """It would hold an alert that nobody was told of, and a restart from it would take the alert for told."""
    world.store = RefusingStore()
    partition = await world.started()
    world.step(1, reward=0.5)
    await partition.turn()
    world.clock.advance(400.0)
    world.store.down = True
    await partition.turn()  # the stall falls due: no entry came, so the position is the committed one
    await partition.snapshot()
    assert await world.store.load_snapshot() is None
    world.store.down = False
    second = await world.started()
    await second.turn()
    assert await world.told() == [("r", "firing", 1)]


class HangingStore(MemoryStore):
    """Never answers while `down`."""

    down = False

    async def commit(self, batch: Batch) -> None:
        if self.down:
            await asyncio.Event().wait()
        await super().commit(batch)


async def test_a_commit_that_hangs_is_given_up_and_made_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentinel.service.partition.LONGEST_COMMIT", 0.05)
    world.store = HangingStore()
    partition = await world.started()
    world.store.down = True
    for step in range(1, 4):
        world.step(step, kl=0.9)
    await partition.turn()
    assert partition.degraded == "what was found cannot be saved: Redis does not answer in time"
    world.store.down = False
    world.step(4, kl=0.9)
    await partition.turn()
    assert await world.told() == [("r", "firing", 1)]


class FailingSnapshots(MemoryStore):
    down = False

    async def save_snapshot(self, position: str, data: bytes) -> None:
        if self.down:
            raise BusUnavailable("out of memory")
        await super().save_snapshot(position, data)


async def test_a_snapshot_that_could_not_be_saved_is_taken_again_though_nothing_came(world: World) -> None:
    world.store = FailingSnapshots()
    partition = await world.started()
    world.step(1, kl=0.1)
    await partition.turn()
    world.store.down = True
    with pytest.raises(BusUnavailable):
        await partition.snapshot()
    world.store.down = False
    await partition.snapshot()
    assert await world.store.load_snapshot() is not None


class FlakyBus(MemoryBus):
    """Fails the next reads."""

    failures = 0

    async def read(self, after: str, *, count: int, block_seconds: float) -> Sequence[Entry]:
        if self.failures:
            self.failures -= 1
            raise BusUnavailable("connection refused")
        return await super().read(after, count=count, block_seconds=min(block_seconds, 0.01))


async def test_the_loop_survives_redis_going_away_and_says_so_meanwhile(world: World) -> None:
    world.bus = FlakyBus()
    partition = await world.started()
    world.bus.failures = 2
    loop = asyncio.create_task(partition.run())
    while world.bus.failures:
        await asyncio.sleep(0.01)
    assert partition.problem == "connection refused"
    for step in range(1, 4):
        world.step(step, kl=0.9)
    while not await world.told():
        await asyncio.sleep(0.01)
    assert partition.problem is None
    partition.stop()
    await loop


async def test_a_stream_that_was_reset_is_read_from_its_beginning(world: World) -> None:
    first = await world.started()
    for step in range(1, 4):
        world.step(step, kl=0.9)
    await first.turn()
    await first.snapshot()
    world.bus = MemoryBus()
    fields = {b"run": b"new", b"step": b"1", b"kl": b"0.1"}
    entry = world.bus.append(fields, time=START - 1000.0)
    second = await world.started()
    assert second.position == entry
    assert "new" in second.engine.runs


async def test_what_was_found_before_a_reset_and_not_yet_saved_is_still_told(world: World) -> None:
    world.store = RefusingStore()
    partition = await world.started()
    world.store.down = True
    for step in range(1, 4):
        world.step(step, kl=0.9)
    await partition.turn()
    # Redis comes back without its data.
    partition._bus = world.bus = MemoryBus()
    world.store.down = False
    partition.problem = "gone"
    loop = asyncio.create_task(partition.run())
    while not await world.told():
        await asyncio.sleep(0.01)
    partition.stop()
    await loop
    assert await world.told() == [("r", "firing", 1)]


async def test_stop_ends_a_long_backlog_early_and_commits_none_of_it(world: World) -> None:
    for step in range(1, 2000):
        world.step(step, kl=0.9)
    partition = world.partition()
    await partition.restore()
    read = world.bus.read

    async def read_and_stop(after: str, *, count: int, block_seconds: float) -> Sequence[Entry]:
        partition.stop()
        return await read(after, count=count, block_seconds=block_seconds)

    world.bus.read = read_and_stop  # type: ignore[method-assign]
    await partition.catch_up()
    assert not partition.caught_up.is_set()
    await partition.run()
    await partition.drain()
    assert await world.store.position() is None
    assert await world.store.load_snapshot() is None


async def test_an_alert_whose_rule_was_removed_while_nobody_watched_ends_as_removed(world: World) -> None:
    first = await world.started()
    for step in range(1, 4):
        world.step(step, kl=0.9)
    await first.turn()
    await first.drain()
    second = world.partition(load_rules([("test.yaml", RULES.replace(b"kl.ref > 0.5", b"kl.ref > 0.8"))]))
    await second.restore()
    await second.catch_up()
    (row,) = await world.store.unsettled()
    assert row.notification.state == "closed"
    assert row.notification.history[-1].text == "kl-high ended: its rule was removed at step 3"
    assert second.book.open == {}


async def test_under_the_same_rules_a_restart_ends_nothing(world: World) -> None:
    first = await world.started()
    for step in range(1, 4):
        world.step(step, kl=0.9)
    await first.turn()
    await first.drain()
    second = await world.started()
    assert await world.told() == [("r", "firing", 1)]
    assert list(second.book.open) == ["r"]


async def test_an_entry_that_the_engine_fails_on_is_set_aside_and_the_line_goes_on(world: World) -> None:
    partition = await world.started()
    handle = partition.engine.handle

    def fail(event: Event) -> Sequence[Transition]:
        if event.run == "poison":
            raise ZeroDivisionError("a fault of ours")
        return handle(event)

    partition.engine.handle = fail  # type: ignore[method-assign]
    world.step(1, kl=0.9)
    world.step(1, kl=0.9, run="poison")
    world.step(2, kl=0.9)
    world.step(3, kl=0.9)
    # Writing the traceback can take longer than a batch may.
    while partition.position != await world.bus.tail_id():
        await partition.turn()
    await partition.drain()
    assert await world.told() == [("r", "firing", 1)]
    ((_, reason, message),) = world.bus.rejected
    assert reason == "fault"
    assert message == "evaluating it failed: ZeroDivisionError: a fault of ours"


async def test_a_tick_that_fails_does_not_stop_the_line(world: World) -> None:
    partition = await world.started()

    def fail(now: float) -> Sequence[Transition]:
        raise ZeroDivisionError

    partition.engine.tick = fail  # type: ignore[method-assign]
    for step in range(1, 4):
        world.step(step, kl=0.9)
    await partition.turn()
    assert await world.told() == [("r", "firing", 1)]


class CountingBus(MemoryBus):
    """Notes how many rejects are under way at once."""

    under_way = 0
    most = 0

    async def reject(self, entry: Entry, reason: str, message: str) -> None:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        await super().reject(entry, reason, message)


async def test_a_flood_of_bad_entries_is_set_aside_one_after_the_other(world: World) -> None:
    world.bus = CountingBus()
    partition = await world.started()
    for _ in range(400):
        world.bus.append({b"event": b"{not json"})
    await partition.turn()
    await partition.drain()
    assert len(world.bus.rejected) == 400
    assert world.bus.most == 1


async def test_entries_that_were_set_aside_before_a_restart_are_not_set_aside_again(world: World) -> None:
    first = await world.started()
    world.bus.append({b"event": b"{not json"})
    world.step(1, kl=0.1)
    await first.turn()
    await first.drain()
    await world.started()
    assert len(world.bus.rejected) == 1


async def test_what_is_told_does_not_depend_on_how_entries_are_batched(world: World) -> None:
    """A stall that falls due before an entry is told as things stood before that entry."""

    async def told(batch: int) -> list[bytes]:
        fresh = World()
        partition = await fresh.started()
        fresh.clock.advance(2000.0)
        found: list[bytes] = []
        apply = partition.book.apply

        def noted(transitions: Sequence[Transition], run: RunState) -> list[Notification]:
            notifications = apply(transitions, run)
            found.extend(map(to_wire, notifications))
            return notifications

        partition.book.apply = noted  # type: ignore[method-assign]
        for index, (step, reward) in enumerate([(1, 0.5), (50, 0.4), (51, 0.4), (120, 0.3), (121, 0.9)]):
            facts = {b"run": b"r", b"type": b"run_started", b"attempt": b"1", b"labels": b'{"at": "%d"}' % step}
            fresh.bus.append(facts, time=START + 10.0 * step)
            fresh.step(step, reward=reward, kl=0.9)
            if index % batch == 0:
                await partition.turn()
        if partition.position != await fresh.bus.tail_id():
            await partition.turn()
        return found

    one = await told(1)
    assert len(one) >= 3
    assert await told(2) == one
    assert await told(5) == one


async def test_stop_ends_a_blocking_read_at_once(world: World) -> None:
    partition = await world.started()
    loop = asyncio.create_task(partition.run())
    await asyncio.sleep(0.02)
    partition.stop()
    await asyncio.wait_for(loop, 2.0)


async def test_a_stream_that_was_trimmed_past_us_is_said_and_fires_and_resolves_nothing(world: World) -> None:
    first = await world.started()
    for step in range(1, 4):
        world.step(step, kl=0.9, reward=0.5)
    await first.turn()
    await first.snapshot()
    for step in range(4, 40):
        world.step(step, kl=0.9)
    world.bus.trim(1)
    second = await world.started()
    assert second._figures.gaps._value.get() == 1
    assert [(run, state) for run, state, _ in await world.told()] == [("r", "firing")]


async def test_a_stream_that_was_trimmed_to_its_end_has_no_gap(world: World) -> None:
    first = await world.started()
    world.step(1, kl=0.1)
    await first.turn()
    await first.snapshot()
    world.bus.trim(0)
    second = await world.started()
    assert second._figures.gaps._value.get() == 0


async def test_an_incident_whose_state_was_lost_with_its_stream_is_closed_and_said(world: World) -> None:
    first = await world.started()
    for step in range(1, 4):
        world.step(step, kl=0.9)
    await first.turn()
    assert await world.told() == [("r", "firing", 1)]
    world.step(4, kl=0.1, run="other")
    world.bus.trim(1)
    second = await world.started()
    assert second._figures.gaps._value.get() == 1
    assert await world.told() == [("r", "closed", 2)]
    assert await world.store.alerts() == {}


async def test_a_slow_batch_is_committed_in_parts(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sentinel.service.partition.LONGEST_BATCH", 0.0)
    partition = await world.started()
    positions = [world.step(step, kl=0.9) for step in range(1, 5)]
    for position in positions:
        await partition.turn()
        assert await world.store.position() == position
    assert await world.told() == [("r", "firing", 1)]


async def test_an_id_from_the_far_future_moves_no_time(world: World) -> None:
    partition = await world.started()
    for step in range(1, 4):
        world.step(step, kl=0.9)
    await partition.turn()
    world.bus.append({b"run": b"other", b"step": b"1", b"kl": b"0.1"}, time=START + 36_000.0)
    await partition.turn()
    assert await world.told() == [("r", "firing", 1)]
