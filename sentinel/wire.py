"""What travels over Redis: the names of the keys, the partition of a run, the text of an event.

Both ends use this module, so it needs nothing but the standard library: a trainer that imports it loads no part of
the daemon. The format itself is a contract; it is described in the documentation of the wire format.
"""

from __future__ import annotations

import json
import math
import os
import re
import zlib
from collections.abc import Mapping
from typing import SupportsFloat
from urllib.parse import quote

PROTOCOL_VERSION = 1

EVENT_FIELD = "event"
"""The one field of an entry in the compact encoding: the event as JSON."""

PARTITIONS_KEY = "sentinel:partitions"
"""A string: how many partitions there are. Missing means 1."""

MAX_EVENT_BYTES = 256 * 1024
"""A larger entry is refused before it is decoded."""


SOCKET = "valkey.sock"
"""The embedded Valkey's socket, in the daemon's state folder."""


def default_url(environment: Mapping[str, str] = os.environ) -> str:
    """Where a publisher that was told no address sends to.

    `SENTINEL_URL`; else the embedded Valkey of this user's daemon, if its socket is there; else Redis on this machine.
    """
    if given := environment.get("SENTINEL_URL"):
        return given
    # Plain string functions: a trainer that imports this should not have to load pathlib for it.
    base = environment.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")  # noqa: PTH111
    socket = os.path.join(base, "sentinel", SOCKET)  # noqa: PTH118
    if os.path.exists(socket):  # noqa: PTH110
        return f"unix://{quote(socket)}"
    return "redis://127.0.0.1:6379/0"


SILENCES_KEY = "sentinel:silences"
"""Hash: silence id → JSON. Written by people through the command line and Slack, read by every daemon."""

ACKS_KEY = "sentinel:acks"
"""Hash: incident id → JSON of who has seen it. Written and read as the silences."""


def events_key(partition: int) -> str:
    """Stream: the events. The braces keep all keys of a partition in one Redis Cluster slot."""
    return f"sentinel:{{{partition}}}:events"


def rejected_key(partition: int) -> str:
    """Stream, capped: entries that could not be understood, with the reason."""
    return f"sentinel:{{{partition}}}:rejected"


def state_key(partition: int) -> str:
    """Hash: the committed position."""
    return f"sentinel:{{{partition}}}:state"


def alerts_key(partition: int) -> str:
    """Hash: alert id → JSON record."""
    return f"sentinel:{{{partition}}}:alerts"


def outbox_key(partition: int) -> str:
    """Hash: `incident|receiver` → JSON of what should be told."""
    return f"sentinel:{{{partition}}}:outbox"


def told_key(partition: int) -> str:
    """Hash: `incident|receiver` → JSON of what has been told."""
    return f"sentinel:{{{partition}}}:told"


def unusable_key(partition: int) -> str:
    """Hash: rows of outbox and told that could not be read, kept for a person."""
    return f"sentinel:{{{partition}}}:unusable"


def snapshot_key(partition: int) -> str:
    """Hash: `position` and `data` of the newest snapshot of the engine."""
    return f"sentinel:{{{partition}}}:snapshot"


def unusable_snapshot_key(partition: int) -> str:
    """Hash: a snapshot that was set aside, with `reason`."""
    return f"sentinel:{{{partition}}}:snapshot:unusable"


def partition_of(run: str, partitions: int) -> int:
    """The partition of a run, 0 to `partitions` - 1: CRC-32 (zlib's) of the id's UTF-8, modulo `partitions`.

    It never changes for the same two arguments: `partition_of("grpo-7b", 8) == 6`. Raises ValueError below 1.
    """
    if partitions < 1:
        raise ValueError(f"partitions must be 1 or more, not {partitions}")
    return zlib.crc32(run.encode("utf-8", "surrogatepass")) % partitions


# Python's own float() also takes "1_000", " 1 " and digits of other scripts, none of which a trainer means.
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LONGEST_NUMBER = 400
_WORDS: dict[str, float | None] = {
    "nan": math.nan,
    "+nan": math.nan,
    "-nan": math.nan,
    "inf": math.inf,
    "+inf": math.inf,
    "-inf": -math.inf,
    "infinity": math.inf,
    "+infinity": math.inf,
    "-infinity": -math.inf,
    "null": None,
    "none": None,
}
OUT_OF_RANGE = "not a number of double range"
NOT_A_NUMBER = "not a number"


def number_of_text(text: str) -> float | None:
    """The number that a text spells: a plain decimal, or NaN, Infinity, null in any case (`None` is null too).

    Raises ValueError with a short reason: no such number, or one beyond the range of a double.
    """
    if len(text) <= _LONGEST_NUMBER and _DECIMAL.fullmatch(text):
        value = float(text)
        if math.isinf(value):
            raise ValueError(OUT_OF_RANGE)
        return value
    # No word is longer, and lower() of a long text would be wasted work.
    if len(text) <= 9:
        word = text.lower()
        if word in _WORDS:
            return _WORDS[word]
    raise ValueError(OUT_OF_RANGE if text[:_LONGEST_NUMBER].isdigit() and text.isascii() else NOT_A_NUMBER)


def number_of(value: object) -> float | None:
    """A metric's value as a trainer may hold it, as a double; None stays None (a null).

    Accepted: int, float, text as in `number_of_text`, and whatever `float()` converts on its own (numpy and torch
    scalars, tensors of one element, Decimal). Refused with ValueError: booleans, which are no measurement,
    other text, anything else, and integers beyond the range of a double. For a tensor on an accelerator
    `float()` waits for the device, so pass numbers that the trainer has fetched anyway.
    """
    if value is None:
        return None
    kind = type(value)
    if kind is float:
        return value  # type: ignore[return-value]  # mypy does not narrow on `kind`
    if isinstance(value, str):
        return number_of_text(value)
    # numpy spells its boolean bool_ (1.x) or bool (2.x); neither is a subclass of ours.
    if kind.__name__ in ("bool", "bool_") or not isinstance(value, SupportsFloat):
        raise ValueError(f"{NOT_A_NUMBER}, but {kind.__name__}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(OUT_OF_RANGE) from None
    except Exception as error:
        # Foreign __float__: a tensor of many elements raises whatever its library likes.
        raise ValueError(f"{NOT_A_NUMBER}, but {kind.__name__}: {error}"[:200]) from None


def encode(event: Mapping[str, object]) -> bytes:
    """The JSON of an event, `{"v":1,...}`, as the value of the entry's one field.

    Doubles that are not finite become the tokens NaN, Infinity and -Infinity, which strict JSON does not have and
    our decoder takes. Anything that JSON does not know becomes its `str()`. Raises ValueError on a circular structure.
    """
    document = {"v": PROTOCOL_VERSION, **event}
    text = json.dumps(document, separators=(",", ":"), ensure_ascii=False, default=str)
    return text.encode("utf-8", "backslashreplace")
