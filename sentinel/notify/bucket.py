"""A token bucket: how soon the next message may go."""

from __future__ import annotations

_ROUNDING = 1e-5


class TokenBucket:
    """`rate` messages a second on average, up to `burst` at once. Time is an argument, in seconds.

    >>> bucket = TokenBucket(rate=1.0, burst=2)
    >>> [bucket.take(0.0), bucket.take(0.0), bucket.take(0.0), bucket.take(1.0)]
    [0.0, 0.0, 1.0, 0.0]
    """

    def __init__(self, rate: float, burst: int) -> None:
        if rate <= 0 or burst < 1:
            raise ValueError(f"a bucket needs a rate above 0 and a burst of at least 1, not {rate} and {burst}")
        self._rate = rate
        self._burst = burst
        self._tokens = float(burst)
        self._at: float | None = None

    def take(self, now: float) -> float:
        """Take a token and return 0.0, or take none and return the seconds until there is one."""
        if self._at is not None and now > self._at:
            self._tokens = min(float(self._burst), self._tokens + (now - self._at) * self._rate)
        self._at = now if self._at is None else max(now, self._at)
        # A float of seconds since the epoch is exact to 2.4e-7 only: without the allowance a sleep of exactly the time
        # named could end a rounding error short, and then name a time that is too short to move the clock.
        if self._tokens >= 1.0 - _ROUNDING:
            self._tokens = max(self._tokens - 1.0, 0.0)
            return 0.0
        return (1.0 - self._tokens) / self._rate
