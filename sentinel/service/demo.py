"""The demo: a real recorded run that collapses, through a real Valkey into the real daemon, told to a fake Slack.

recording → Publisher → Valkey → `sentinel run` (its own process) → fake Slack, and the terminal
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from sentinel.bus.embedded import EmbeddedServer
from sentinel.bus.recording import read_recording
from sentinel.bus.redis_streams import RedisBus
from sentinel.connection import connect
from sentinel.errors import DecodeError, SentinelError
from sentinel.events import Checkpoint, StepMetrics
from sentinel.publisher import Publisher
from sentinel.resources import recording_path
from sentinel.service.clock import SteadyClock
from sentinel.store.redis import RedisStore
from sentinel.testing.fake_slack import FakeSlack

RECORDING = "grpo-collapse.jsonl"
RUN = "grpo-math-7b"
CHANNEL = "rl-alerts"

SHOWN = ("reward", "completions/mean_length", "entropy")


@dataclass(frozen=True, slots=True)
class Screen:
    """What the demo tells the terminal: a step's numbers, a checkpoint, a line of the daemon's, the page's address."""

    page: Callable[[str], None]
    step: Callable[[int, dict[str, float]], None]
    checkpoint: Callable[[int, str], None]
    said: Callable[[str], None]


async def play(screen: Screen, *, row_seconds: float, keep: bool, port: int = 0) -> FakeSlack:
    """Play the demo. Returns the fake Slack with what it was told. Ends by itself unless `keep`.

    Raises SentinelError when something of it cannot start.
    """
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sentinel-demo-")))
        server = stack.enter_context(EmbeddedServer.start(folder))
        slack = FakeSlack(channels={"C1": CHANNEL}, clock=SteadyClock())
        await slack.start(port)
        stack.push_async_callback(slack.stop)
        screen.page(slack.page_url)
        daemon = await _start_daemon(server.url, slack, folder)
        stack.push_async_callback(_end, daemon)
        listening = asyncio.create_task(_listen(daemon, screen))
        await _wait_until_ready(daemon, listening)
        await _publish(server.url, screen, row_seconds)
        await _all_read(server.url, listening)
        await _settle(slack)
        if keep:
            await asyncio.Event().wait()
    await listening
    return slack


async def _start_daemon(url: str, slack: FakeSlack, folder: Path) -> asyncio.subprocess.Process:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SENTINEL_")}
    environment |= {
        "SENTINEL_REDIS_URL": url,
        "SENTINEL_SLACK_BASE_URL": slack.url,
        "SENTINEL_SLACK_CHANNEL": f"#{CHANNEL}",
        "SENTINEL_SLACK_TOKEN": slack.token,
        "SENTINEL_CONSOLE": "true",
        "SENTINEL_HTTP_ENABLED": "false",
        "SENTINEL_LOG_LEVEL": "warning",
        "SENTINEL_STATE_DIR": str(folder),
        "PYTHONUNBUFFERED": "1",
    }
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "sentinel",
        "run",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=environment,
    )


async def _end(daemon: asyncio.subprocess.Process) -> None:
    if daemon.returncode is None:
        daemon.terminate()
        try:
            await asyncio.wait_for(daemon.wait(), 10.0)
        except TimeoutError:
            daemon.kill()
            await daemon.wait()


async def _listen(daemon: asyncio.subprocess.Process, screen: Screen) -> None:
    """The daemon's console notifier and its warnings, line by line."""
    assert daemon.stdout is not None
    async for line in daemon.stdout:
        screen.said(line.decode("utf-8", "replace").rstrip("\n"))


async def _wait_until_ready(daemon: asyncio.subprocess.Process, listening: asyncio.Task[None]) -> None:
    """A daemon that ends at once has said why; one that is still starting reads what was published meanwhile."""
    done, _ = await asyncio.wait((listening,), timeout=1.0)
    if done or daemon.returncode is not None:
        raise SentinelError("the demo's daemon did not start; what it said is above")


async def _publish(url: str, screen: Screen, row_seconds: float) -> None:
    publisher = Publisher(url, run=RUN, framework="trl", labels={"model": "qwen-7b", "team": "rl"})
    try:
        for item in read_recording(recording_path(RECORDING)):
            if isinstance(item, DecodeError):
                raise item
            match item.event:
                case StepMetrics(step=step, metrics=metrics):
                    publisher.step(step, metrics)
                    shown = {name: value for name in SHOWN if (value := metrics.get(name)) is not None}
                    screen.step(step, shown)
                    await asyncio.sleep(row_seconds)
                case Checkpoint(step=step, path=path):
                    publisher.checkpoint(step, path)
                    screen.checkpoint(step, path)
        await asyncio.to_thread(publisher.flush, 5.0)
    finally:
        # Closed without `finish`: a run that is said to be over would end its alerts.
        await asyncio.to_thread(publisher.close)


async def _all_read(url: str, listening: asyncio.Task[None]) -> None:
    """Wait until the daemon has taken everything into account, however slow this machine is. Raises SentinelError."""
    client = connect(url)
    bus, store = RedisBus(client), RedisStore(client)
    try:
        tail = await bus.tail_id()
        while await store.position() != tail:
            if listening.done():
                raise SentinelError("the demo's daemon has ended; what it said is above")
            await asyncio.sleep(0.1)
    finally:
        await client.aclose()


async def _settle(slack: FakeSlack) -> None:
    """Wait until nothing has been told for a while."""
    quiet = 0
    version = slack.version
    while quiet < 8:
        await asyncio.sleep(0.25)
        quiet = quiet + 1 if slack.version == version else 0
        version = slack.version
