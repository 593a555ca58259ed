"""What the engine noticed that is no alert, for its owner to log and count: the engine itself writes no log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Notice:
    """`kind` is `noun.verb_past`, as log events are: `attempt.begun`, `metrics.refused`."""

    kind: str
    run: str
    facts: Mapping[str, object]
