"""A clock that moves only when told to, with a sleep that waits for it."""

from __future__ import annotations

import asyncio
import heapq
from itertools import count


class ManualClock:
    """Seconds since the epoch, starting at `start`. Fits the port `Clock`; `sleep` takes the place of asyncio.sleep.

    With `self_advancing` a sleep moves the clock itself and returns at once: an hour of backoff is tested in no time.
    `slept` lists the seconds of each sleep that was asked for.
    """

    def __init__(self, start: float = 1_790_000_000.0, *, self_advancing: bool = False) -> None:
        self._now = start
        self._self_advancing = self_advancing
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self.slept: list[float] = []

    def now(self) -> float:
        return self._now

    @property
    def sleepers(self) -> int:
        """How many sleeps wait for the clock."""
        return sum(1 for _, _, sleeper in self._sleepers if not sleeper.done())

    def advance(self, seconds: float) -> None:
        """Move on; sleeps that are over end, in order of their time, when the loop runs next."""
        if seconds < 0:
            raise ValueError(f"time does not run backwards: {seconds}")
        self._now += seconds
        while self._sleepers and self._sleepers[0][0] <= self._now:
            sleeper = heapq.heappop(self._sleepers)[2]
            if not sleeper.done():
                sleeper.set_result(None)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        if self._self_advancing:
            self.advance(max(seconds, 0.0))
            await asyncio.sleep(0)
            return
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), sleeper))
        await sleeper
