"""Wall-clock work: a job that fails is counted, said, and comes again."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from sentinel.service.schedule import Schedule


@pytest.fixture(autouse=True)
def _quiet_library(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL", "apscheduler")


async def test_a_job_that_fails_is_counted_and_said_and_comes_again() -> None:
    calls: list[int] = []
    again = asyncio.Event()

    async def work() -> None:
        calls.append(len(calls))
        if len(calls) == 1:
            raise RuntimeError("disk full")
        again.set()

    schedule = Schedule()
    schedule.every(0.01, work, "tidy")
    with capture_logs() as logs:
        schedule.start()
        await asyncio.wait_for(again.wait(), 30.0)
        schedule.stop()
    assert schedule.failures == 1
    (line,) = [line for line in logs if line["event"] == "job.failed"]
    assert (line["job"], line["reason"]) == ("tidy", "disk full")


async def test_a_job_that_takes_long_is_not_begun_twice_and_stop_ends_it() -> None:
    begun = 0
    started, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        nonlocal begun
        begun += 1
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    schedule = Schedule()
    schedule.every(0.01, work, "slow")
    schedule.start()
    await asyncio.wait_for(started.wait(), 30.0)
    await asyncio.sleep(0.1)
    assert begun == 1
    schedule.stop()
    await asyncio.wait_for(ended.wait(), 30.0)
    schedule.stop()
