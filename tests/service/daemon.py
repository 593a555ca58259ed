"""A daemon in a process of its own, for tests that kill it, starve it and listen to it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import redis

from sentinel import wire
from sentinel.connection import connect
from sentinel.store.redis import RedisStore
from sentinel.testing.fake_slack import FakeSlack

PATIENCE = 60.0
"""Seconds until a test gives up waiting. Generous: what is tested is that it happens, not how fast."""


async def until(condition: Callable[[], Any | Awaitable[Any]], what: str = "it did not happen") -> Any:
    """Wait for a condition, or its awaitable, to be true; return what it gave. Raises AssertionError."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = condition()
        if isinstance(found, Awaitable):
            found = await found
        if found:
            return found
        assert time.monotonic() < deadline, what
        await asyncio.sleep(0.02)


async def settled(url: str, client: redis.Redis) -> None:
    """Wait until the daemon has read everything and told everything."""

    async def is_settled() -> bool:
        last = client.xinfo_stream(wire.events_key(0))["last-generated-id"]
        if client.hget(wire.state_key(0), "position") != last:
            return False
        reading = connect(url)
        try:
            return not await RedisStore(reading).unsettled()
        finally:
            await reading.aclose()

    await until(is_settled, "the daemon did not settle")


class DaemonProcess:
    """`sentinel run`. Its logs go to `log`, what it prints to the same path with `.out`.

    `url`: of Redis, None for an embedded Valkey below the log's folder. `slack`: None for the console alone.
    `settings` are variables, over quick defaults.
    """

    def __init__(self, url: str | None, slack: FakeSlack | None, log: Path, **settings: str) -> None:
        self.log = log
        self.printed = log.with_suffix(".out")
        ours = ("SENTINEL_", "NOTIFY_SOCKET", "WATCHDOG_", "CREDENTIALS_DIRECTORY", "STATE_DIRECTORY")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self.environment |= {
            "SENTINEL_HTTP_ENABLED": "false",
            "SENTINEL_SNAPSHOT_SECONDS": "0.5",
            "SENTINEL_RULES": "classic",
            "XDG_STATE_HOME": str(log.parent),
        }
        if url is not None:
            self.environment["SENTINEL_REDIS_URL"] = url
        if slack is not None:
            self.environment |= {
                "SENTINEL_SLACK_BASE_URL": slack.url,
                "SENTINEL_SLACK_CHANNEL": "#rl-alerts",
                "SENTINEL_SLACK_TOKEN": slack.token,
            }
        self.environment |= settings
        self.arguments: list[str] = []
        self.process: asyncio.subprocess.Process | None = None
        self.started = 0

    async def start(self, *, wait: bool = True) -> None:
        with self.log.open("ab") as log, self.printed.open("ab") as printed:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "sentinel", "run", *self.arguments, stdout=printed, stderr=log,
                env=self.environment,
            )  # fmt: skip
        self.started += 1
        while wait and self.log.read_text().count('"daemon.started"') < self.started:
            if self.process.returncode is not None:
                raise AssertionError(self.log.read_text())
            await asyncio.sleep(0.02)

    async def __aenter__(self) -> DaemonProcess:
        await self.start()
        return self

    async def __aexit__(self, *error: object) -> None:
        """A test that failed leaves nothing running."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    async def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        await self.process.wait()
        # A killed daemon may or may not have said that it started.
        self.started = self.log.read_text().count('"daemon.started"')

    async def stop(self) -> int:
        """SIGTERM, and the exit code."""
        self.send(signal.SIGTERM)
        return await self.ended()

    def send(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    async def ended(self) -> int:
        """Wait for its end by itself; the exit code."""
        assert self.process is not None
        return await asyncio.wait_for(self.process.wait(), PATIENCE)

    def said(self, event: str) -> list[dict[str, Any]]:
        """The log lines of one event so far."""
        lines = [line for line in self.log.read_text().splitlines() if line.startswith("{") and line.endswith("}")]
        return [found for line in lines if (found := json.loads(line))["event"] == event]

    async def wait_for(self, event: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until an event was logged so often."""

        def enough() -> list[dict[str, Any]]:
            found = self.said(event)
            return found if len(found) >= count else []

        found: list[dict[str, Any]] = await until(enough, f"{event} was not logged; {self.log.read_text()}")
        return found

    @property
    def output(self) -> str:
        """What it printed so far."""
        return self.printed.read_text()

    async def get(self, path: str) -> tuple[int, str]:
        """Ask its HTTP side: status and body. Needs HTTP enabled, on port 0."""
        port = self.said("daemon.started")[-1]["http_port"]
        async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
            return answer.status, await answer.text()
