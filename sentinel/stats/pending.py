"""`pending`: whether another rule's alert of this run has begun and not fired yet."""

from __future__ import annotations

from typing import Any

from sentinel.stats.function import Standing


class Pending(Standing):
    """As it stood before this event. With a severity: whether a condition of at least that severity has begun to hold
    and not held long enough, also while the alert fires with a lower one.
    """

    name = "pending"
    signature = "pending(ALERT) or pending(ALERT, SEVERITY)"
    summary = "another rule's alert had begun before this event and had not fired"

    @staticmethod
    def read(record: Any, level: int) -> bool:
        if record is None or record.level >= level:
            return False
        return any(clock.count for clock in record.clocks[level:])
