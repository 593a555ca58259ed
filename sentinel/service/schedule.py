"""Wall-clock work, thinly over APScheduler 3: saving, forgetting, looking whether rule files changed.

Never a job per run: what a run waits for is the engine's `next_wakeup`. By default APScheduler drops a tick that comes
a second late; here none is dropped, and those that were missed are one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from apscheduler.events import EVENT_JOB_ERROR, JobExecutionEvent  # type: ignore[import-untyped]
from apscheduler.schedulers.asyncio import AsyncIOScheduler  # type: ignore[import-untyped]

log = structlog.get_logger(__name__)


class Schedule:
    """Runs coroutines every so many seconds, each one at a time."""

    def __init__(self) -> None:
        self._scheduler: Any = AsyncIOScheduler(
            timezone="UTC",
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self._scheduler.add_listener(self._failed, EVENT_JOB_ERROR)
        self.failures = 0

    def every(self, seconds: float, work: Callable[[], Awaitable[None]], name: str) -> None:
        self._scheduler.add_job(work, "interval", seconds=seconds, id=name, name=name)

    def start(self) -> None:
        self._scheduler.start()

    def stop(self) -> None:
        """No more work begins; what is under way is cancelled."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def _failed(self, event: JobExecutionEvent) -> None:
        self.failures += 1
        log.error("job.failed", job=event.job_id, reason=str(event.exception))
