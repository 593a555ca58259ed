"""Text from outside, made safe to show on one line.

Run ids, metric names, labels, paths and summaries come from whoever may publish an event. No channel shows them
before they went through here; its own escaping comes after.
"""

from __future__ import annotations

import unicodedata

LONGEST_VALUE = 200

# Cc control, Cf format (bidirectional overrides, zero width), Cs lone surrogates, Co private use, Cn unassigned, Zl and
# Zp line breaks that are not `\n`.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def one_line(text: str, limit: int = LONGEST_VALUE) -> str:
    """`text` on one line of at most `limit` characters: breaks become spaces, what cannot be seen becomes `\\xNN`.

    >>> one_line("a\\nb\\x1b[31m")
    'a b\\\\x1b[31m'
    """
    # Cut first: a value of 10 MB must not be walked through to show 200 characters of it.
    cut = text[: 4 * limit + 1]
    shown = visible(" ".join(cut.split()))
    return clip(shown, limit) if len(cut) == len(text) else clip(shown + "…", limit)


def several_lines(text: str, limit: int, lines: int) -> str:
    """`text` with its own line breaks kept, at most `lines` lines and `limit` characters."""
    rows = text[: 4 * limit].replace("\r\n", "\n").split("\n")
    shown = [visible(row.replace("\t", "    ")) for row in rows[:lines]]
    if len(rows) > lines:
        shown.append("…")
    return clip("\n".join(shown), limit)


def visible(text: str) -> str:
    """`text` with each character that is invisible or acts on a terminal written as its escape."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(char) if unicodedata.category(char) in _HIDDEN else char for char in text)


def clip(text: str, limit: int) -> str:
    """`text`, or its first `limit - 1` characters and an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
