"""Saved state is used whole or not at all."""

import struct
import zlib

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from rule_builder import at, rule, rules

from sentinel.engine.engine import Engine
from sentinel.engine.snapshot import MAGIC, VERSION
from sentinel.errors import SnapshotError
from sentinel.events import Checkpoint, RunStarted, StepMetrics
from sentinel.rules.loader import load_rules

RULES = rules(
    rule(warning="kl.ref > 1"),
    rule("drop", info="drop(median(reward.mean, 3 steps), 9 steps) > 20%", until="step > 90"),
)


def engine_with_state() -> Engine:
    engine = Engine(RULES)
    engine.handle(RunStarted(run="r", labels={"team": "a"}, config={"beta": 0.1, "deep": {"a": [1, None]}}))
    for step in range(1, 8):
        engine.handle(at(step, step, kl_ref=step / 4, reward_mean=-float(step)))
    engine.handle(Checkpoint(run="r", step=7, path="c7"))
    return engine


SAVED = engine_with_state().snapshot()


@pytest.fixture(scope="module")
def other() -> Engine:
    engine = Engine(RULES)
    engine.handle(at(3, 3, kl_ref=9.0, run="other"))
    return engine


def refused(engine: Engine, data: bytes) -> str:
    before, wakeup = engine.snapshot(), engine.next_wakeup()
    with pytest.raises(SnapshotError) as error:
        engine.restore(data)
    assert engine.snapshot() == before
    assert engine.next_wakeup() == wakeup
    return str(error.value)


def test_cut_at_any_length_it_is_refused_and_nothing_changes(other):
    for length in range(len(SAVED)):
        refused(other, SAVED[:length])


def test_with_any_byte_flipped_it_is_refused_and_nothing_changes(other):
    for at_byte in range(len(SAVED)):
        for flip in (0x01, 0x80, 0xFF):
            damaged = bytearray(SAVED)
            damaged[at_byte] ^= flip
            refused(other, bytes(damaged))


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(data):
    refused(Engine(RULES), data)
    # A sound envelope makes nonsense no more than nonsense; an empty list of runs, of whatever length, is sense.
    assume(data not in (b"\x90", b"\xdc\0\0", b"\xdd\0\0\0\0"))
    refused(Engine(RULES), MAGIC + bytes([VERSION]) + struct.pack(">I", zlib.crc32(data)) + data)


def test_a_newer_format_is_named(other):
    assert "upgrade sentinel" in refused(other, SAVED[:4] + bytes([VERSION + 1]) + SAVED[5:])


def sealed(body: object) -> bytes:
    data = msgspec.msgpack.encode(body)
    return MAGIC + bytes([VERSION]) + struct.pack(">I", zlib.crc32(data)) + data


def test_a_sound_envelope_around_something_else_is_refused_and_nothing_changes(other):
    runs = msgspec.msgpack.decode(SAVED[9:])
    key = next(key for key in runs[0]["slots"] if key.startswith("series"))
    for damage in (
        lambda run: run["plain"].update(unknown=1),
        lambda run: run["plain"].pop("id"),
        lambda run: run["slots"][key].update(values=["d", b"123"]),
        lambda run: run["slots"][key].update(values=["?", b""]),
        lambda run: run["slots"][key].update(values=[]),
        lambda run: run.pop("slots"),
    ):
        changed = msgspec.msgpack.decode(SAVED[9:])
        damage(changed[0])
        refused(other, sealed(changed))


def test_everything_about_a_run_comes_back():
    engine, restored = engine_with_state(), Engine(RULES)
    restored.restore(SAVED)
    run, again = engine.runs["r"], restored.runs["r"]
    for name in (
        "labels",
        "config",
        "attempt",
        "step",
        "names",
        "numeric",
        "latest",
        "checkpoints",
        "counts",
        "records",
    ):
        assert getattr(run, name) == getattr(again, name), name
    assert restored.snapshot() == SAVED


def test_a_rule_that_is_new_at_a_restart_begins_with_what_its_series_still_holds():
    def loaded(condition):
        text = f"rules:\n  - {{alert: a, symptom: kl-high, warning: '{condition}'}}\n"
        return load_rules([("x.yaml", text)])

    engine = Engine(loaded("max(entropy, 50 steps) > 10"))
    for step in range(1, 9):
        engine.handle(StepMetrics(run="r", step=step, metrics={"entropy": float(step)}))
    for condition in ("quantile(entropy, 50%, 3 steps) > 7.5", "slope(entropy, 4 steps) > 0.9"):
        restarted = Engine(loaded(condition))
        restarted.restore(engine.snapshot())
        (told,) = restarted.handle(StepMetrics(run="r", step=9, metrics={"entropy": 9.0}))
        assert told.state == "firing"
