"""A run as it stands, seen from outside the daemon: from what the daemon saved and the stream since, or a recording.

The engine is a pure function of its state and the events, so that what is built here is what the daemon has. Nothing
is written: neither to Redis nor to the recording.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from redis.asyncio import Redis

from sentinel import wire
from sentinel.bus.recording import read_recording
from sentinel.bus.redis_streams import RedisBus
from sentinel.connection import CONNECTION_ERRORS, connect, unavailable
from sentinel.decode import decode, entry_time
from sentinel.engine import snapshot as codec
from sentinel.engine.engine import Engine
from sentinel.engine.recorded import RecordedRun
from sentinel.engine.run_state import RunState
from sentinel.errors import DecodeError, SnapshotError, UsageError
from sentinel.events import Event, RunStarted, StepMetrics
from sentinel.metrics import Dictionary
from sentinel.rules.model import RuleSet
from sentinel.service.saved import decode_saved

READ_COUNT = 500

LARGEST_LEAD = 300.0
"""Seconds by which an entry may be ahead of the clock of Redis: the daemon goes by the clock then, and so do we."""

BEGINNING = "0-0"


@dataclass(frozen=True, slots=True)
class Sight:
    """A run in an engine of its own, and where it comes from.

    - `run`: None when nobody has heard of it; `others`: the runs that there are.
    - `now`: seconds since the epoch, of Redis or of the newest event; None for a recording without times.
    - `snapshot_age`: seconds since the newest thing that the snapshot knows, None without one. `entries`: how many of
      the run's events were read after it. `event_age`: seconds since the run's newest event.
    - `notes`: what a reader must know: entries that were lost, alerts of rules that are not among ours.
    - `live`: from Redis, else from a recording; `first_step`, `last_step`: of the recording's steps, as far as read;
      `later`: whether steps follow that were not.
    """

    engine: Engine
    run: RunState | None
    others: tuple[str, ...]
    live: bool
    now: float | None
    entries: int
    snapshot_age: float | None = None
    event_age: float | None = None
    notes: tuple[str, ...] = ()
    first_step: int | None = None
    last_step: int | None = None
    rejected: int = 0
    later: bool = False


# --- a live run -------------------------------------------------------------------------------------------------


async def look_live(
    url: str, run: str, rules: RuleSet, dictionary: Dictionary, *, references: Mapping[str, RecordedRun] | None = None
) -> Sight:
    """The run as the daemon has it, up to the newest entry. Raises ConfigError for a bad URL, and BusUnavailable."""
    client = connect(url)
    try:
        partition = wire.partition_of(run, await _partitions(client))
        engine = Engine(rules, dictionary=dictionary, references=references)
        return await _look(client, partition, run, engine)
    finally:
        await client.aclose()


async def _partitions(client: Redis) -> int:
    try:
        text = await client.get(wire.PARTITIONS_KEY)
    except CONNECTION_ERRORS as error:
        raise unavailable(error) from error
    return max(int(text), 1) if isinstance(text, bytes) and text.isdigit() and len(text) < 6 else 1


async def _look(client: Redis, partition: int, run_id: str, engine: Engine) -> Sight:
    bus = RedisBus(client, partition)
    now = await bus.server_time()
    notes: list[str] = []
    names: dict[str, None] = {}
    position, snapshot_age = BEGINNING, None
    saved = await _load(client, partition)
    if saved is None:
        notes.append("there is no snapshot yet: the stream was read from its beginning")
    else:
        try:
            names = _restore(engine, saved[1], run_id, notes)
            position = saved[0]
            snapshot_age = max(now - entry_time(position), 0.0)
        except SnapshotError as error:
            notes.append(f"the snapshot cannot be used ({error}): the stream was read from its beginning")
    tail = await bus.tail_id()
    if _order(position) > _order(tail):
        notes.append("the stream was begun anew since the snapshot: it was read from its beginning")
        position = BEGINNING
    elif position not in (BEGINNING, tail) and not await bus.holds(position):
        notes.append("entries after the snapshot were trimmed from the stream: some values may be missing")
        engine.lose()
    count = 0
    rejected = 0
    while _order(position) < _order(tail):
        entries = await bus.read(position, count=READ_COUNT, block_seconds=0.0)
        if not entries:
            break
        for entry in entries:
            position = entry.id
            time = entry_time(entry.id)
            time = time if time <= now + LARGEST_LEAD else now
            try:
                event = decode(entry.fields, position=entry.id, time=time).event
            except DecodeError:
                rejected += 1
                continue
            names.setdefault(event.run)
            if event.run == run_id:
                engine.tick(time)
                engine.handle(event)
                count += 1
    engine.tick(now)
    run = engine.runs.get(run_id)
    age = max(now - run.time, 0.0) if run is not None and run.timed else None
    return Sight(engine, run, tuple(names), True, now, count, snapshot_age, age, tuple(notes), rejected=rejected)


async def _load(client: Redis, partition: int) -> tuple[str, bytes] | None:
    """As the store loads it, but an unusable one is left where it is."""
    try:
        position, data = await client.hmget(wire.snapshot_key(partition), ["position", "data"])
    except CONNECTION_ERRORS as error:
        raise unavailable(error) from error
    if not isinstance(position, bytes) or not isinstance(data, bytes):
        return None
    try:
        _order(position.decode("ascii"))
    except ValueError:
        return None  # no entry's id: the daemon will set it aside
    return position.decode("ascii"), data


def _restore(engine: Engine, data: bytes, run_id: str, notes: list[str]) -> dict[str, None]:
    """Take up the one run. Returns the names of all that were saved; notes alerts of rules that are not ours."""
    state = decode_saved(data).engine
    engine.restore(state, only=run_id)
    names: dict[str, None] = {}
    for loaded in codec.load(state):
        names.setdefault(loaded.run.id)
        if loaded.run.id == run_id:
            compiled = engine.runs[run_id].compiled
            ours = set() if compiled is None else compiled.index.keys()
            strange = {key.partition("@")[0] for key in loaded.records if key not in ours}
            notes += [
                f"the daemon has an open alert of a rule '{name}' that is not among these: name its rules with --rules"
                for name in sorted(strange)
            ]
    return names


def _order(entry_id: str) -> tuple[int, int]:
    milliseconds, _, sequence = entry_id.partition("-")
    return int(milliseconds), int(sequence or 0)


# --- a recording ------------------------------------------------------------------------------------------------


def look_at_recording(
    path: Path,
    run: str | None,
    rules: RuleSet,
    dictionary: Dictionary,
    *,
    at: int | None,
    framework: str | None,
    references: Mapping[str, RecordedRun] | None = None,
) -> Sight:
    """A recorded run as it stood after its step `at`, None for its end: before the first event of a later step.

    `run`: None for the recording's first. Raises UsageError for an unreadable file.
    """
    engine = Engine(rules, dictionary=dictionary, references=references)
    names: dict[str, None] = {}
    first: int | None = None
    last: int | None = None
    count = rejected = 0
    over = False
    for item in read_recording(path):
        if isinstance(item, DecodeError):
            rejected += 1
            continue
        event = item.event
        new = event.run not in names
        names.setdefault(event.run)
        if run is None:
            run = event.run
        if event.run != run or over:
            continue
        if isinstance(event, StepMetrics):
            first = event.step if first is None else first
            if at is not None and event.step > at:
                over = True
                continue
            last = event.step
        for one in _named(event, framework, new=new):
            engine.handle(one)
        count += 1
    if not names:
        said = f" ({rejected} lines rejected)" if rejected else ""
        raise UsageError(f"{path} holds no event{said}")
    found = engine.runs.get(run) if run is not None else None
    now = found.clock if found is not None else None
    seen = Sight(engine, found, tuple(names), False, now, count, rejected=rejected, later=over)
    return replace(seen, first_step=first, last_step=last)


def _named(event: Event, framework: str | None, *, new: bool) -> Iterator[Event]:
    """The event, with the framework that a person names put over the run's own."""
    if framework is not None:
        if isinstance(event, RunStarted):
            event.framework = framework
        elif new:
            yield RunStarted(run=event.run, framework=framework, time=event.time, position=event.position)
    yield event


def age_text(seconds: float | None) -> str:
    """`12 s`, `3 min`, `2 h`."""
    if seconds is None or math.isnan(seconds):
        return "unknown"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"
