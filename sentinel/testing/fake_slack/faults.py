"""How the stand-in can be told to fail."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = frozenset(
    {
        "429",
        "ratelimited-in-200",
        "500",
        "502",
        "503",
        "hang",
        "drop-before",
        "drop-after",
        "garbage",
        "redirect",
        "huge",
    }
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One failure to come.

    `kind` is one of `KINDS`, or an error word of Slack's (`channel_not_found`), answered as it is. `drop-before`: the
    connection closes and nothing was taken; `drop-after`: the message was taken, the answer is lost. `retry_after` is
    the header of a `429` (any text, None for none). `method`: only for calls of that method.
    """

    kind: str
    retry_after: str | None = None
    method: str | None = None
