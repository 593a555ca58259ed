"""Logs: one JSON object a line on stderr. An event is `noun.verb_past`; facts are keys; sentences are for people."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


def configure(level: str = "info", *, pretty: bool = False) -> None:
    """Set up structlog for the process. `pretty`: colored lines for a terminal instead of JSON."""
    renderer: Any = structlog.dev.ConsoleRenderer() if pretty else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
        cache_logger_on_first_use=False,
    )
    # Libraries that use the standard module speak up only when something is wrong.
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s %(message)s", force=True
    )


class Throttle:
    """Lets one of each kind through in `seconds`, and counts the rest, so that a broken server cannot flood the log."""

    def __init__(self, seconds: float = 10.0) -> None:
        self.seconds = seconds
        self._last: dict[str, float] = {}
        self._held: dict[str, int] = {}

    def admit(self, kind: str, now: float) -> int | None:
        """How many were held back since the last one that was let through; None to hold this one back too."""
        last = self._last.get(kind)
        if last is not None and now - last < self.seconds:
            self._held[kind] = self._held.get(kind, 0) + 1
            return None
        self._last[kind] = now
        return self._held.pop(kind, 0)
