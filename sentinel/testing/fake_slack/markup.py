"""Slack's mrkdwn: what is live in it, and how it looks as HTML."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from html import escape

_LIVE = re.compile(r"<([^<>\n]+)>")
_PING = re.compile(r"<(?:!(?!date\^)|@|#)[^<>\n]*>?")
_CODE_BLOCK = re.compile(r"```(.+?)```", re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_STYLES = (
    (re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])"), "b"),
    (re.compile(r"(?<![\w_])_(?=\S)([^_\n]+?)(?<=\S)_(?![\w_])"), "i"),
    (re.compile(r"(?<![\w~])~(?=\S)([^~\n]+?)(?<=\S)~(?![\w~])"), "s"),
)


def pings(text: str) -> list[str]:
    """The live mentions and broadcasts: `<!channel>`, `<@U1>`, `<#C1>`; not dates."""
    return _PING.findall(text)


def links(text: str) -> list[str]:
    """The live links: `<https://...|words>`."""
    return [match for match in _LIVE.findall(text) if match[0] not in "!@#"]


def to_html(text: str) -> str:
    """`text` as Slack shows it. Nothing of it reaches the page unescaped."""
    kept: list[str] = []

    def keep(html: str) -> str:
        kept.append(html)
        return f"\x00{len(kept) - 1}\x00"

    def code_block(match: re.Match[str]) -> str:
        return keep(f"<pre>{_escaped(match[1].strip(chr(10)))}</pre>")

    text = text.replace("\x00", "")
    text = _CODE_BLOCK.sub(code_block, text)
    text = _CODE.sub(lambda match: keep(f"<code>{_escaped(match[1])}</code>"), text)
    text = _LIVE.sub(lambda match: keep(_live(match[1])), text)
    html = _escaped(text)
    for pattern, tag in _STYLES:
        html = pattern.sub(rf"<{tag}>\1</{tag}>", html)
    html = "<br>".join(_quoted(line) for line in html.split("\n"))
    html = re.sub(r"\x00(\d+)\x00", lambda match: kept[int(match[1])], html)
    return html.replace("<br><pre>", "<pre>").replace("</pre><br>", "</pre>")


def _quoted(line: str) -> str:
    return f"<q>{line.removeprefix('&gt;').lstrip()}</q>" if line.startswith("&gt;") else line


def _escaped(text: str) -> str:
    """Slack's three entities undone, then everything escaped for HTML."""
    return escape(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def _live(inner: str) -> str:
    target, _, label = inner.partition("|")
    if target.startswith("!date^"):
        return f"<time>{_escaped(_date(target, label))}</time>"
    if target.startswith(("!", "@", "#")):
        shown = label or target.lstrip("!@#")
        mark = "#" if target.startswith("#") else "@"
        return f'<span class="mention">{_escaped(mark + shown)}</span>'
    if target.startswith(("http://", "https://", "mailto:")):
        return f'<a href="{_escaped(target)}" rel="noopener noreferrer">{_escaped(label or target)}</a>'
    return _escaped(f"<{inner}>")


def _date(target: str, fallback: str) -> str:
    """`!date^1790000000^{date_short} at {time}` in this machine's time zone."""
    parts = target.split("^")
    if len(parts) < 3:
        return fallback
    try:
        when = datetime.fromtimestamp(int(parts[1]), UTC).astimezone()
    except (ValueError, OverflowError, OSError):
        return fallback

    def shown(match: re.Match[str]) -> str:
        form = _DATE_FORMATS.get(match[1])
        return match[0] if form is None else form(when)

    return re.sub(r"\{(\w+)\}", shown, parts[2])


def clock_time(when: datetime) -> str:
    """`2:13 PM`, as Slack writes it."""
    return f"{when.hour % 12 or 12}:{when:%M %p}"


_DATE_FORMATS: dict[str, Callable[[datetime], str]] = {
    "date_num": lambda when: f"{when:%Y-%m-%d}",
    "date": lambda when: f"{when:%B} {when.day}, {when.year}",
    "date_short": lambda when: f"{when:%b} {when.day}, {when.year}",
    "date_long": lambda when: f"{when:%A}, {when:%B} {when.day}, {when.year}",
    "date_pretty": lambda when: f"{when:%B} {when.day}, {when.year}",
    "date_short_pretty": lambda when: f"{when:%b} {when.day}, {when.year}",
    "time": clock_time,
    "time_secs": lambda when: f"{when.hour % 12 or 12}:{when:%M:%S %p}",
}
