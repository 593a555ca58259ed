"""How bad an alert is, and where it stands in its life: the two vocabularies that rules, engine and notifiers share."""

from __future__ import annotations

from typing import Literal

Severity = Literal["info", "warning", "critical"]
AlertState = Literal["pending", "firing", "resolved", "stale", "superseded", "ended", "removed"]
"""See `sentinel.engine.lifecycle`. The last four are ends that are not recovery."""

SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")


def rank(severity: Severity) -> int:
    """0 for info, 1 for warning, 2 for critical."""
    return SEVERITIES.index(severity)
