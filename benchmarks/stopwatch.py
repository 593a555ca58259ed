"""CPU time of this process, and what it is held against: a loop of plain Python."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

_LOOPS = 20_000


async def cpu_seconds(work: Callable[[], Awaitable[None]]) -> float:
    """CPU seconds of this process for one go of `work`, all threads together."""
    began = time.process_time()
    await work()
    return time.process_time() - began


def calibrate() -> float:
    """CPU seconds of a million turns of a plain loop, now: how fast this machine is at this moment."""
    values = [0.25, 0.5, 0.75, 1.0]
    total = 0.0
    began = time.process_time()
    for turn in range(_LOOPS):
        total += values[turn & 3]
        if total > 1e9:
            total = 0.0
    return (time.process_time() - began) * 1_000_000 / _LOOPS
