"""Text from outside, made inert in Slack's mrkdwn.

Slack's rule: `&`, `<` and `>` are sent as entities; then nothing can become a mention, a link or a broadcast. The
characters that only change how text looks (`*`, `~`, backtick) have no escape in mrkdwn, so look-alikes stand for them.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sentinel.notify.plain import LONGEST_VALUE, clip, one_line, several_lines

_LOOKALIKES = str.maketrans({"*": "∗", "~": "∼", "`": "ˋ"})
_ENTITIES = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;"}
_NO_BACKTICKS = str.maketrans({"`": "ˋ"})


def entities(text: str, limit: int | None = None) -> str:
    """`&`, `<` and `>` as entities, nothing else; cut between two of them to at most `limit` characters as sent.

    Slack counts an entity by its own length, so a text that fits may not fit once it is escaped.
    """
    escaped = text.translate(_ENTITIES)
    if limit is None or len(escaped) <= limit:
        return escaped
    kept: list[str] = []
    room = limit - 1
    for char in text:
        piece = _ENTITIES.get(ord(char), char)
        room -= len(piece)
        if room < 0:
            break
        kept.append(piece)
    return "".join(kept) + "…"


def words(text: str, limit: int = LONGEST_VALUE) -> str:
    """One line of running text: no mention, link, bold, strike or code can begin in it."""
    return entities(one_line(text, limit).translate(_LOOKALIKES), limit)


def bold(text: str, limit: int = LONGEST_VALUE) -> str:
    """One line in bold; nothing for empty text, as `**` shows two asterisks."""
    inner = words(text, limit)
    return f"*{inner}*" if inner else ""


def code(text: str, limit: int = LONGEST_VALUE) -> str:
    """One line in a code span; nothing for empty text."""
    inner = entities(one_line(text, limit).translate(_NO_BACKTICKS), limit)
    return f"`{inner}`" if inner else ""


def code_block(text: str, limit: int = 2000, lines: int = 12) -> str:
    """A code block that is copied as it is, with its own line breaks."""
    return f"```{entities(several_lines(text, limit, lines).translate(_NO_BACKTICKS), limit)}```"


def date(seconds: float | None) -> str:
    """A time in the reader's own zone (`<!date^...>`), the one live markup that we build; empty when unknown."""
    if seconds is None:
        return ""
    try:
        fallback = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return ""
    return f"<!date^{int(seconds)}^{{date_short_pretty}} {{time}}|{fallback}>"


def plain(text: str, limit: int) -> str:
    """One line for a `plain_text` object, in which Slack interprets nothing."""
    return clip(one_line(text, limit), limit)
