"""The engine's state as bytes, and back.

    b"SNTL" | format version (1 byte) | CRC-32 of the body (4 bytes) | body: MessagePack

Windows and sums are saved bit for bit, arrays as raw bytes, so that a run that was snapshotted and restored anywhere
goes on exactly as one that was not. Each slot is saved under its key of canonical text: a restore under other rules
keeps what both rule sets need. Nothing here can execute what it reads.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import msgspec

from sentinel.engine.bind import name_series
from sentinel.engine.delivery import Delivery
from sentinel.engine.derived import name_of
from sentinel.engine.lifecycle import Record
from sentinel.engine.phases import Phases
from sentinel.engine.plan import STEP_TIME, Plan, build, metric_key
from sentinel.engine.run_state import Counts, RunState, SavedCheckpoint
from sentinel.errors import SnapshotError
from sentinel.stats.window import Window

MAGIC = b"SNTL"
VERSION = 1

SlotState = dict[str, Any]

_PLAIN = (
    "id",
    "labels",
    "config",
    "framework",
    "version",
    "attempt",
    "first_step",
    "step",
    "time",
    "origin",
    "sequence",
    "status",
    "lost_after",
    "due",
    "timed_at",
)
"""Fields of a run that are saved as they are."""


class _SavedSteps(msgspec.Struct):
    """The steps that series share: `keys` of those that do, `steps` packed, and the rest of `SharedSteps`."""

    keys: list[str]
    steps: Any
    limit: int
    turn: int


class _SavedRun(msgspec.Struct):
    plain: dict[str, Any]
    names: list[tuple[str, str, list[tuple[str, str]]]]
    numeric: list[str]
    bad: list[str]
    late_keys: list[str]
    latest: dict[str, float | None]
    checkpoints: list[SavedCheckpoint]
    counts: Counts
    deliveries: dict[str, Delivery]
    records: dict[str, Record]
    slots: dict[str, SlotState]
    together: _SavedSteps
    phases: Phases = msgspec.field(default_factory=Phases)  # snapshots of before there were phases hold none


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """A run without its slots, which need the rules to be built around, and what they held."""

    run: RunState
    records: Mapping[str, Record]
    slots: Mapping[str, SlotState]
    together: Mapping[str, str]
    """Key → full name, of the series that shared their steps."""


def dump(runs: Iterable[RunState]) -> bytes:
    body = _encoder.encode([_saved(run) for run in runs])
    return MAGIC + bytes([VERSION]) + zlib.crc32(body).to_bytes(4, "big") + body


def load(data: bytes) -> list[LoadedRun]:
    """Raises SnapshotError when the bytes are cut, corrupt, or from a newer version."""
    if data[:4] != MAGIC or len(data) < 9:
        raise SnapshotError("the snapshot does not begin like one")
    if data[4] > VERSION:
        raise SnapshotError(f"the snapshot has format {data[4]}, this version reads up to {VERSION}: upgrade sentinel")
    if data[4] < 1:
        raise SnapshotError(f"the snapshot has format {data[4]}, which never was: it is corrupt")
    body = data[9:]
    if zlib.crc32(body) != int.from_bytes(data[5:9], "big"):
        raise SnapshotError("the snapshot is cut or corrupt: its checksum does not match")
    try:
        return [_loaded(saved) for saved in _decoder.decode(body)]
    except (msgspec.DecodeError, TypeError, ValueError, KeyError) as error:
        raise SnapshotError(f"the snapshot cannot be read: {error}") from error


def rebuild(plan: Plan, saved: Mapping[str, SlotState]) -> dict[str, Any]:
    """The plan's slots, holding what was saved of them. Raises SnapshotError when that makes no sense."""
    try:
        return _rebuilt(plan, saved)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise SnapshotError(f"the snapshot cannot be read: {error!r}") from error


def _rebuilt(plan: Plan, saved: Mapping[str, SlotState]) -> dict[str, Any]:
    slots = build(plan, {})
    for key, spec in plan.series.items():
        if key in saved:
            _restore(slots[key], saved[key])
            slots[key].keep_times(timed=spec.timed)
    for key in plan.windows:
        window: Window = slots[key]
        if key in saved:
            _restore(window, saved[key])
        elif window.series.values:
            # Its parts must hold what they are to let go of.
            window.renew()
            window.advance(window.series.step, window.series.time)
    for key, (owner, _) in plan.parts.items():
        if key in saved and owner in saved:
            _restore(slots[key], saved[key])
        else:
            slots[owner].renew_part(slots[key])
    for key in plan.running:
        if key in saved:
            _restore(slots[key], saved[key])
    if plan.step_time and STEP_TIME in saved:
        _restore(slots[STEP_TIME], saved[STEP_TIME])
    return slots


def _saved(run: RunState) -> _SavedRun:
    records: dict[str, Record] = {}
    if run.compiled is not None:
        for instance, record in zip(run.compiled.instances, run.records, strict=True):
            if record is not None:
                records[instance.key] = record
    slots = {key: _state(slot) for key, slot in run.slots.items()}
    together = run.together
    for key in together.members:
        del slots[metric_key(run.series[key].full)]["steps"]
    return _SavedRun(
        plain={name: getattr(run, name) for name in _PLAIN},
        names=[(key, series.name, list(series.labels)) for key, series in run.names.items()],
        numeric=sorted(run.numeric),
        bad=sorted(run.bad),
        late_keys=sorted(run.late_keys),
        latest=dict(run.latest),
        checkpoints=run.checkpoints,
        counts=run.counts,
        deliveries=run.deliveries,
        records=records,
        slots=slots,
        together=_SavedSteps(list(together.members), _packed(together.steps), together.limit, together.turn),
        phases=run.phases,
    )


def _loaded(saved: _SavedRun) -> LoadedRun:
    run = RunState(**saved.plain)
    run.names = {
        key: name_series(name, tuple((label, value) for label, value in labels), key)
        for key, name, labels in saved.names
    }
    run.numeric = set(saved.numeric)
    run.bad = set(saved.bad)
    run.late_keys = set(saved.late_keys)
    run.latest = saved.latest
    run.checkpoints = saved.checkpoints
    run.counts = saved.counts
    run.deliveries = saved.deliveries
    run.phases = saved.phases
    together = {key: name_of(key) or run.names[key].full for key in saved.together.keys}
    for full in together.values():
        saved.slots[metric_key(full)]["steps"] = saved.together.steps
    run.together.limit = saved.together.limit
    run.together.turn = saved.together.turn
    return LoadedRun(run, saved.records, saved.slots, together)


def _state(slot: Any) -> SlotState:
    if isinstance(slot, Window):
        return {"start": slot.start}
    return {name: _packed(getattr(slot, name)) for name in _fields(slot.__class__) if name != "windows"}


def _restore(slot: Any, state: SlotState) -> None:
    own = _fields(slot.__class__)
    for name, value in state.items():
        if name in own:
            setattr(slot, name, _unpacked(value))


@cache
def _fields(kind: type) -> tuple[str, ...]:
    """The slots of a class, those of its bases included."""
    return tuple(name for base in kind.__mro__ for name in getattr(base, "__slots__", ()))


def _packed(value: Any) -> Any:
    return [value.typecode, value.tobytes()] if isinstance(value, array) else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        unpacked: array[Any] = array(value[0])
        unpacked.frombytes(value[1])
        return unpacked
    return value


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(list[_SavedRun])

assert set(_PLAIN) <= {field.name for field in fields(RunState)}
