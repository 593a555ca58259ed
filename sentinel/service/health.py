"""/healthz, /readyz and /metrics.

`/healthz` says whether the loop turns; it does not depend on Redis or Slack, which a restart would not mend.
`/readyz` says whether the stream is being read, and why not.
"""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

STUCK_SECONDS = 15.0
"""A loop that has not turned for this long is stuck: it turns at least every 5 s, with or without Redis."""


class Health:
    """The HTTP side. `last_turn` and `problem` ask the loop; `now` is the clock of `last_turn`, in seconds."""

    def __init__(
        self,
        registry: CollectorRegistry,
        *,
        now: Callable[[], float],
        last_turn: Callable[[], float | None],
        problem: Callable[[], str | None],
        refresh: Callable[[], None] = lambda: None,
    ) -> None:
        self._registry = registry
        self._now = now
        self._last_turn = last_turn
        self._problem = problem
        self._refresh = refresh
        self._runner: web.AppRunner | None = None
        self.port: int | None = None

    @property
    def turning(self) -> bool:
        last = self._last_turn()
        return last is None or self._now() - last < STUCK_SECONDS

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises OSError when the port is taken."""
        app = web.Application(client_max_size=1024)
        app.add_routes(
            [web.get("/healthz", self._healthz), web.get("/readyz", self._readyz), web.get("/metrics", self._metrics)]
        )
        # A client that never ends its request must not hold up the farewell.
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        address = self._runner.addresses[0]
        self.port = int(address[1])

    async def stop(self) -> None:
        """Close the port. Stopping twice, or without having started, is fine."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def _healthz(self, request: web.Request) -> web.Response:
        if self.turning:
            return web.Response(text="ok\n")
        return web.Response(status=503, text="the loop is stuck\n")

    async def _readyz(self, request: web.Request) -> web.Response:
        problem = self._problem()
        if problem is None:
            return web.Response(text="ok\n")
        return web.Response(status=503, text=f"{problem}\n")

    async def _metrics(self, request: web.Request) -> web.Response:
        self._refresh()
        body = generate_latest(self._registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})
