"""Latency: from a trainer's XADD to the request at Slack, through a daemon of its own process that is idle otherwise.

Each probe is a run that logs a number and then a NaN, which fires at once. Slack takes a message a second and channel,
so the daemon holds itself to that, and probes come no faster.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import monotonic

from benchmarks.report import Figure
from sentinel import wire
from sentinel.bus.embedded import EmbeddedServer
from sentinel.connection import connect
from sentinel.testing.fake_slack import FakeSlack

_PAUSE = 1.05
_PATIENCE = 20.0


async def latency(server: EmbeddedServer, probes: int) -> list[Figure]:
    """Milliseconds of wall time over so many probes. The highest stands for the 99th percentile below 100 probes."""
    async with FakeSlack() as slack:
        with TemporaryDirectory(prefix="sentinel-bench-") as folder:
            log = Path(folder) / "log"
            daemon = await _start(server.url, slack, log)
            try:
                found = await _probe(server.url, slack, probes)
            finally:
                daemon.terminate()
                await daemon.wait()
    found.sort()
    return [
        Figure("XADD to the Slack request: median", median(found), "ms", found[0], found[-1]),
        Figure(f"XADD to the Slack request: 99th percentile of {probes}", found[int(0.99 * len(found))], "ms"),
    ]


async def _start(url: str, slack: FakeSlack, log: Path) -> asyncio.subprocess.Process:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SENTINEL_")} | {
        "SENTINEL_REDIS_URL": url,
        "SENTINEL_SLACK_BASE_URL": slack.url,
        "SENTINEL_SLACK_CHANNEL": "#rl-alerts",
        "SENTINEL_SLACK_TOKEN": slack.token,
        "SENTINEL_HTTP_ENABLED": "false",
        "SENTINEL_RULES": str(Path(__file__).with_name("rules.yaml")),
    }
    with log.open("wb") as output:
        daemon = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sentinel", "run", stdout=output, stderr=output, env=environment
        )
    while '"daemon.started"' not in _read(log):
        if daemon.returncode is not None:
            raise RuntimeError(f"the daemon did not start:\n{_read(log)}")
        await asyncio.sleep(0.05)
    return daemon


def _read(log: Path) -> str:
    return log.read_text()


async def _probe(url: str, slack: FakeSlack, probes: int) -> list[float]:
    trainer = connect(url)
    found: list[float] = []
    try:
        # The first probe opens connections and is not counted.
        for number in range(probes + 1):
            for step, value in ((0, 0.5), (1, float("nan"))):
                event = {"v": 1, "type": "step", "run": f"probe-{number}", "step": step, "metrics": {"loss": value}}
                sent = monotonic()
                await trainer.xadd(wire.events_key(0), {wire.EVENT_FIELD: wire.encode(event)})
                if step == 0:
                    await asyncio.sleep(0.1)
            while len(slack.requests) <= number:
                if monotonic() > sent + _PATIENCE:
                    raise RuntimeError(f"probe {number} reached Slack in no {_PATIENCE:.0f} s")
                await asyncio.sleep(0.002)
            found.append((slack.requests[number].at - sent) * 1e3)
            await asyncio.sleep(_PAUSE)
        posts = [request.method for request in slack.requests]
        assert posts == ["chat.postMessage"] * (probes + 1), posts
    finally:
        await trainer.aclose()
    return found[1:]
