"""/healthz, /readyz and /metrics, asked over HTTP."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest

from sentinel.service.figures import Figures
from sentinel.service.health import STUCK_SECONDS, Health


class Served:
    """A health side whose loop and clock the test moves."""

    def __init__(self) -> None:
        self.now = 100.0
        self.last_turn: float | None = None
        self.problem: str | None = None
        self.refreshed = 0
        self.figures = Figures()
        self.health = Health(
            self.figures.registry,
            now=lambda: self.now,
            last_turn=lambda: self.last_turn,
            problem=lambda: self.problem,
            refresh=self.refresh,
        )

    def refresh(self) -> None:
        self.refreshed += 1
        self.figures.runs.set(7)

    async def get(self, path: str, method: str = "GET") -> tuple[int, str]:
        url = f"http://127.0.0.1:{self.health.port}{path}"
        async with aiohttp.ClientSession() as session, session.request(method, url) as answer:
            return answer.status, await answer.text()


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    found = Served()
    await found.health.start("127.0.0.1", 0)
    yield found
    await found.health.stop()


async def test_a_loop_that_has_not_begun_or_that_turns_is_healthy(served: Served) -> None:
    assert await served.get("/healthz") == (200, "ok\n")
    served.last_turn = served.now - STUCK_SECONDS + 1.0
    assert await served.get("/healthz") == (200, "ok\n")


async def test_a_loop_that_is_stuck_is_not(served: Served) -> None:
    served.last_turn = served.now - STUCK_SECONDS
    assert await served.get("/healthz") == (503, "the loop is stuck\n")
    assert not served.health.turning


async def test_health_does_not_depend_on_redis_but_readiness_does(served: Served) -> None:
    served.last_turn, served.problem = served.now, "Redis refuses the connection; is it running at this address?"
    assert (await served.get("/healthz"))[0] == 200
    assert await served.get("/readyz") == (503, f"{served.problem}\n")
    served.problem = None
    assert await served.get("/readyz") == (200, "ok\n")


async def test_metrics_are_looked_up_when_someone_asks(served: Served) -> None:
    status, text = await served.get("/metrics")
    assert (status, served.refreshed) == (200, 1)
    assert "\nsentinel_runs 7.0\n" in text
    assert "\nsentinel_config_last_reload_successful 1.0\n" in text


async def test_nothing_else_is_served_and_nothing_can_be_written(served: Served) -> None:
    assert (await served.get("/"))[0] == 404
    assert (await served.get("/../etc/passwd"))[0] == 404
    assert (await served.get("/healthz", "POST"))[0] == 405


async def test_a_port_that_is_taken_is_an_error(served: Served) -> None:
    assert served.health.port is not None
    with pytest.raises(OSError):
        await Served().health.start("127.0.0.1", served.health.port)


async def test_a_client_that_never_ends_its_request_does_not_hold_up_the_end() -> None:
    found = Served()
    await found.health.start("127.0.0.1", 0)
    with socket.create_connection(("127.0.0.1", found.health.port or 0)) as lazy:
        lazy.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        await asyncio.sleep(0.05)
        await asyncio.wait_for(found.health.stop(), 30.0)
    await found.health.stop()
