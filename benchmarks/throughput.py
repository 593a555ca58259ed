"""CPU per event: the floor, the rules alone, the whole.

- floor: `RedisBus.read` from a private Valkey, and decoding. Nothing is evaluated.
- rules: `Engine.handle` of events that are decoded already.
- whole: `Partition.turn`, the daemon's own loop: read, decode, evaluate, commit a position per batch.

All three take the same entries, in turn, round after round. Windows are full before the first round.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from time import process_time

import redis

from benchmarks.report import Figure
from benchmarks.stopwatch import calibrate, cpu_seconds
from benchmarks.workload import Workload, entry_id, rules
from sentinel import wire
from sentinel.bus.embedded import EmbeddedServer
from sentinel.bus.redis_streams import RedisBus
from sentinel.connection import connect
from sentinel.decode import decode, entry_time
from sentinel.engine.engine import Engine
from sentinel.events import Event
from sentinel.ports import Entry
from sentinel.service.clock import RedisClock
from sentinel.service.figures import Figures
from sentinel.service.partition import READ_COUNT, Partition
from sentinel.store.redis import RedisStore


@dataclass(slots=True)
class Round:
    """CPU of one round: microseconds per event, and seconds for a million turns of the calibration loop."""

    floor: float
    rules: float
    whole: float
    loop: float


async def throughput(
    server: EmbeddedServer, load: Workload, *, runs: int, window: int, rounds: int, events: int
) -> list[Figure]:
    """Figures for so many runs in turn, over windows of so many steps; a round is about `events` events."""
    with redis.Redis.from_url(server.url) as writer:
        writer.flushall()
        bench = _Bench(server, load, runs=runs, window=window)
        try:
            await bench.start()
            steps = max(events // runs, 1)
            found = [await bench.round(writer, steps) for _ in range(rounds + 1)][1:]
        finally:
            await bench.stop()
    name = f"{runs:,} runs, windows of {window:,}"
    return [
        _figure(f"{name}: floor (read, decode)", [each.floor for each in found], "µs/event"),
        _figure(f"{name}: rules alone", [each.rules for each in found], "µs/event"),
        _figure(f"{name}: whole", [each.whole for each in found], "µs/event"),
        _figure(f"{name}: whole / floor", [each.whole / each.floor for each in found], "x"),
        _figure(f"{name}: rules / floor", [each.rules / each.floor for each in found], "x"),
        _figure(f"{name}: whole in turns of the loop", [each.whole / each.loop for each in found], "turns"),
    ]


def _figure(name: str, values: Sequence[float], unit: str) -> Figure:
    return Figure(name, median(values), unit, min(values), max(values))


class _Bench:
    """Two engines that have seen the same healthy past: one fed directly, one inside a partition."""

    def __init__(self, server: EmbeddedServer, load: Workload, *, runs: int, window: int) -> None:
        self.load = load
        self.runs = runs
        self.step = window + 20
        self.clients = (connect(server.url), connect(server.url))
        self.bus = RedisBus(self.clients[0])
        self.engine = Engine(rules(window))
        self.partition = Partition(
            self.bus,
            RedisStore(self.clients[1]),
            rules(window),
            clock=RedisClock(),
            figures=Figures(),
            receivers=["nobody"],
        )

    async def start(self) -> None:
        await self.partition.restore()
        await self.partition.catch_up()
        for entry, event in self.load.entries(self.runs, 0, self.step):
            for engine in (self.engine, self.partition.engine):
                engine.handle(_decoded(Entry(entry, {b"event": event})))
        self.partition.position = entry_id(self.runs - 1, self.step - 1)
        gc.collect()

    async def stop(self) -> None:
        for client in self.clients:
            await client.aclose()

    async def round(self, writer: redis.Redis, steps: int) -> Round:
        first, self.step = self.step, self.step + steps
        before, last = entry_id(self.runs - 1, first - 1), entry_id(self.runs - 1, self.step - 1)
        with writer.pipeline(transaction=False) as pipe:
            pipe.delete(wire.events_key(0))
            for entry, event in self.load.entries(self.runs, first, self.step):
                pipe.xadd(wire.events_key(0), {wire.EVENT_FIELD: event}, id=entry)
            pipe.execute()
        events = steps * self.runs

        async def floor() -> None:
            position = before
            while position != last:
                entries = await self.bus.read(position, count=READ_COUNT, block_seconds=0.0)
                for entry in entries:
                    _decoded(entry)
                position = entries[-1].id

        async def whole() -> None:
            while self.partition.position != last:
                await self.partition.turn()

        loops = [calibrate()]
        floor_cpu = await cpu_seconds(floor)
        rules_cpu = await self._rules(before, last)
        loops.append(calibrate())
        whole_cpu = await cpu_seconds(whole)
        # The floor again: what was quiet before may be busy now.
        floor_cpu = (floor_cpu + await cpu_seconds(floor)) / 2
        loops.append(calibrate())
        micro = 1e6 / events
        return Round(floor_cpu * micro, rules_cpu * micro, whole_cpu * micro, median(loops))

    async def _rules(self, position: str, last: str) -> float:
        """CPU seconds of the engine alone, a batch at a time, so that events are as fresh in memory as in the loop."""
        spent = 0.0
        while position != last:
            entries = await self.bus.read(position, count=READ_COUNT, block_seconds=0.0)
            spent += _handle(self.engine, [_decoded(entry) for entry in entries])
            position = entries[-1].id
        return spent


def _decoded(entry: Entry) -> Event:
    return decode(entry.fields, position=entry.id, time=entry_time(entry.id)).event


def _handle(engine: Engine, events: Iterable[Event]) -> float:
    began = process_time()
    for event in events:
        engine.handle(event)
    return process_time() - began
