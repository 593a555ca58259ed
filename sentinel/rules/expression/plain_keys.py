"""A trainer's key that is written plainly, `rewards/format/mean`, which reads as a division of unknown metrics."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sentinel.metrics import Dictionary
from sentinel.rules.expression.parse import Fault
from sentinel.suggestion import closest

_KEY = re.compile(r"`[^`\n]*`|\"[^\"\n]*\"|(?<![\w.)])(?P<key>[A-Za-z_][\w.@:-]*+(?:/[A-Za-z_][\w.@:-]*+)++)(?!\()")


def with_keys(faults: Sequence[Fault], text: str, dictionary: Dictionary) -> list[Fault]:
    """The faults of `text`, those within a plainly written key of a trainer as one, with the whole key to mend."""
    found = list(faults)
    for match in _KEY.finditer(text):
        key = match["key"]
        inside = [fault for fault in found if match.start() <= fault.start < match.end()]
        if key is None or not inside or not _looks_like_key(key, dictionary):
            continue
        meant = dictionary.meanings(key)
        hint = f"write all of it in backticks: `{key}`" + (
            f", or as the dictionary has it: {meant[0]}" if meant else ""
        )
        told = Fault(match.start(), match.end(), "unknown-metric", f"'{key}' looks like a trainer's key", hint)
        found = [fault for fault in found if fault not in inside]
        found.append(told)
    return sorted(found, key=lambda fault: fault.start)


def _looks_like_key(key: str, dictionary: Dictionary) -> bool:
    """No quotient: a trainer has it, none of its parts is a metric, or its first is not even like one."""
    if dictionary.meanings(key):
        return True
    parts = key.split("/")
    known = [part for part in parts if dictionary.describe(part) is not None]
    return not known or (parts[0] not in known and not closest(parts[0], dictionary.names(), near=0.8))
