"""kill -9 at any moment: the channel ends as if nothing had happened."""

from __future__ import annotations

import asyncio
import random
import time
from pathlib import Path
from typing import Any

import pytest
import redis
from daemon import DaemonProcess, settled

from sentinel import wire
from sentinel.bus.recording import read_recording
from sentinel.errors import DecodeError
from sentinel.events import Checkpoint, StepMetrics
from sentinel.resources import recording_path
from sentinel.testing.fake_slack import FakeSlack

KILLS = 10

Told = list[tuple[str, list[Any], list[str]]]


def entries() -> list[bytes]:
    """The demo's stream, a real run that collapses, and its end."""
    found: list[bytes] = []
    for item in read_recording(recording_path("grpo-collapse.jsonl")):
        assert not isinstance(item, DecodeError)
        match item.event:
            case StepMetrics(step=step, metrics=metrics):
                found.append(wire.encode({"v": 1, "type": "step", "run": "demo", "step": step, "metrics": metrics}))
            case Checkpoint(step=step, path=path):
                saved = {"v": 1, "type": "checkpoint", "run": "demo", "step": step, "path": path, "state": "saved"}
                found.append(wire.encode(saved))
    found.append(wire.encode({"v": 1, "type": "run_finished", "run": "demo", "status": "failed"}))
    return found


def publish(client: redis.Redis, raw: bytes, index: int, base: int) -> None:
    """One entry with an id of our choosing, so that two runs have the same times in them."""
    client.xadd(wire.events_key(0), {wire.EVENT_FIELD: raw}, id=f"{base + index * 1000}-0")


async def undisturbed(client: redis.Redis, url: str, log: Path, base: int) -> Told:
    async with FakeSlack() as slack:
        daemon = DaemonProcess(url, slack, log)
        await daemon.start()
        for index, raw in enumerate(entries()):
            publish(client, raw, index, base)
        await settled(url, client)
        assert await daemon.stop() == 0
        return slack.transcript("rl-alerts")


@pytest.mark.process
async def test_ten_kills_at_any_moment_leave_the_messages_of_an_undisturbed_run(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path
) -> None:
    base = int(time.time() * 1000) - 600_000
    expected = await undisturbed(valkey, valkey_url, tmp_path / "calm.log", base)
    assert len(expected) >= 1, (tmp_path / "calm.log").read_text()
    valkey.flushall()
    rng = random.Random(20261129)
    raws = entries()
    async with FakeSlack() as slack:
        daemon = DaemonProcess(valkey_url, slack, tmp_path / "killed.log")
        kills_after = sorted(rng.sample(range(2, len(raws)), KILLS))
        await daemon.start()
        for index, raw in enumerate(raws):
            publish(valkey, raw, index, base)
            if index in kills_after:
                # Anywhere between at once and well after the entry was dealt with.
                await asyncio.sleep(rng.choice([0.0, 0.001, 0.003, 0.01, 0.03, 0.1]))
                await daemon.kill()
                await daemon.start(wait=rng.random() < 0.7)
        await settled(valkey_url, valkey)
        assert await daemon.stop() == 0
        assert slack.transcript("rl-alerts") == expected
        assert slack.pings == []
