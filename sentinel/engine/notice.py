"""What the engine noticed that is no alert, for its owner to log and count: the engine itself writes no log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Notice:
    """`kind` is `noun.verb_past`, as log events are: `attempt.begun`, `metrics.refused`.

    `level`: `info` for what is worth knowing and no trouble.
    """

    kind: str
    run: str
    facts: Mapping[str, object]
    level: Literal["info", "warning"] = "warning"
