"""The only reader of a clock: the time of Redis, carried on by our monotonic clock.

Events are stamped by Redis (their ids), so silence must be measured on the same clock. Between two looks at Redis the
monotonic clock counts, which nobody can set back: changing the system's time fires no alert.
"""

from __future__ import annotations

import time


class SteadyClock:
    """Seconds since the epoch by this machine's clock at the start, and steadily on from there.

    For pauses and rates: whoever sets a clock, ours or that of Redis, neither stops nor hurries them.
    """

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        return time.monotonic() + self._offset


class RedisClock:
    """`now()` in seconds since the epoch, by the clock of Redis once `anchor` was told its time.

    Until then it is this machine's guess, which the first anchor may correct in either direction.
    """

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()
        self._newest = 0.0
        self._anchored = False

    def anchor(self, server_time: float) -> None:
        """Redis says that it is `server_time` now."""
        self._offset = server_time - time.monotonic()
        if not self._anchored:
            # A guess that was ahead must not hold the clock still until Redis has caught up.
            self._anchored, self._newest = True, 0.0

    def now(self) -> float:
        """Never less than what it said before, from the first anchor on."""
        self._newest = max(self._newest, time.monotonic() + self._offset)
        return self._newest


def monotonic() -> float:
    """Seconds on a clock that only measures differences."""
    return time.monotonic()


def cpu_seconds() -> float:
    """CPU time of this process, for benchmarks and metrics."""
    return time.process_time()
