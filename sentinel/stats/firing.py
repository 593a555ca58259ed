"""`firing`: whether another rule's alert of this run is firing."""

from __future__ import annotations

from typing import Any

from sentinel.stats.function import Standing


class Firing(Standing):
    """As it stood before this event: rules do not wait for one another, so their order does not matter and a circle of
    them does no harm. Of a rule with several alerts in a run, any counts. False, never unknown, where there is none.
    """

    name = "firing"
    signature = "firing(ALERT) or firing(ALERT, SEVERITY)"
    summary = "another rule's alert was firing before this event, with at least that severity"

    @staticmethod
    def read(record: Any, level: int) -> bool:
        return record is not None and record.level >= level
