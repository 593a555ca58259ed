"""The page: a channel as Slack shows it, refreshed by itself.

It loads nothing from elsewhere, and its Content-Security-Policy allows no inline script or style.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from aiohttp import web

from sentinel.testing.fake_slack.emoji import drawn
from sentinel.testing.fake_slack.markup import clock_time, to_html
from sentinel.testing.fake_slack.workspace import Block, Channel, Message

if TYPE_CHECKING:
    from sentinel.testing.fake_slack.server import FakeSlack

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}

_LOGO = (
    '<svg viewBox="0 0 36 36" aria-hidden="true"><rect width="36" height="36" rx="8" fill="#1d2b3a"/>'
    '<path d="M6 18c4-6.5 8-9 12-9s8 2.5 12 9c-4 6.5-8 9-12 9s-8-2.5-12-9z" fill="#fff"/>'
    '<circle cx="18" cy="18" r="5.8" fill="#e0402f"/><circle cx="18" cy="18" r="2.3" fill="#1d2b3a"/></svg>'
)


def add_routes(app: web.Application, slack: FakeSlack) -> None:
    """`/` and `/channel/NAME` are pages; the rest is theirs."""

    def found(request: web.Request) -> Channel:
        name = request.match_info.get("name")
        for channel in slack.channels.values():
            if name is None or name in (channel.id, channel.name):
                return channel
        raise web.HTTPNotFound(text="no such channel")

    async def whole(request: web.Request) -> web.Response:
        channel = found(request)
        return web.Response(text=_page(slack, channel), content_type="text/html", headers=_HEADERS)

    async def messages(request: web.Request) -> web.Response:
        channel = found(request)
        version = str(slack.version)
        if request.query.get("seen") == version:
            return web.Response(status=204, headers=_HEADERS)
        return web.Response(
            text=_messages(slack, channel),
            content_type="text/html",
            headers=_HEADERS | {"X-Version": version},
        )

    async def asset(request: web.Request) -> web.Response:
        name = "page.js" if request.path.endswith(".js") else "page.css"
        kind = "text/javascript" if name == "page.js" else "text/css"
        text = (files("sentinel.testing.fake_slack") / name).read_text("utf-8")
        return web.Response(text=text, content_type=kind, headers=_HEADERS)

    app.router.add_get("/", whole)
    app.router.add_get("/channel/{name}", whole)
    app.router.add_get("/channel/{name}/messages", messages)
    app.router.add_get("/page.js", asset)
    app.router.add_get("/page.css", asset)


def standalone(slack: FakeSlack, channel: Channel) -> str:
    """The page as one file that needs no server: the style in it, no script."""
    style = (files("sentinel.testing.fake_slack") / "page.css").read_text("utf-8")
    page = _page(slack, channel).replace('<script src="/page.js" defer></script>\n', "")
    return page.replace('<link rel="stylesheet" href="/page.css">', f"<style>\n{style}</style>")


def _page(slack: FakeSlack, channel: Channel) -> str:
    names = "".join(
        f'<li><a href="/channel/{escape(other.id)}"{" class=here" if other is channel else ""}>'
        f"<span>#</span> {escape(other.name)}</a></li>"
        for other in slack.channels.values()
    )
    topic = f"<p>{escape(channel.topic)}</p>" if channel.topic else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>#{escape(channel.name)} | RL Lab</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/page.css">
<script src="/page.js" defer></script>
</head>
<body>
<nav>
<h1>RL Lab</h1>
<h2>Channels</h2>
<ul>{names}</ul>
<h2>Apps</h2>
<ul><li><a><i class="dot"></i> {escape(slack.app)}</a></li></ul>
</nav>
<main>
<header><h2><span>#</span> {escape(channel.name)}</h2>{topic}</header>
<div id="messages" data-channel="{escape(channel.id)}" data-version="{slack.version}" aria-live="polite">
{_messages(slack, channel)}
</div>
<footer>A stand-in for Slack on this machine. Nothing was sent anywhere.</footer>
</main>
</body>
</html>
"""


def _messages(slack: FakeSlack, channel: Channel) -> str:
    return drawn("\n".join(_rows(slack, channel)))


def _rows(slack: FakeSlack, channel: Channel) -> Iterator[str]:
    if not channel.messages:
        yield f'<p class="empty">This is the very beginning of <b>#{escape(channel.name)}</b>. All is quiet.</p>'
    day = None
    for message in channel.messages:
        when = _local(message)
        if when.date() != day:
            day = when.date()
            yield f'<div class="day"><span>{when:%A}, {when:%B} {when.day}</span></div>'
        yield _message(slack, message, "message")


def _message(slack: FakeSlack, message: Message, kind: str) -> str:
    when = _local(message)
    mine = message.author is None
    name = escape(slack.app if message.author is None else message.author)
    badge = '<span class="app">APP</span>' if mine else ""
    picture = _LOGO if mine else f'<span class="initial">{name[:1].upper()}</span>'
    edited = ' <span class="edited">(edited)</span>' if message.edited else ""
    body = "".join(_block(block) for block in message.blocks)
    if not body:
        body = f'<div class="text">{to_html(message.text)}{edited}</div>'
        edited = ""
    replies = ""
    if message.thread:
        many = "1 reply" if len(message.thread) == 1 else f"{len(message.thread)} replies"
        inner = "".join(_message(slack, reply, "reply") for reply in message.thread)
        replies = f'<div class="thread"><p class="many">{many}</p>{inner}</div>'
    return (
        f'<article class="{kind}" id="m{escape(message.ts)}"><div class="avatar">{picture}</div><div class="body">'
        f'<p class="who"><b>{name}</b>{badge}<time title="{when:%Y-%m-%d %H:%M:%S}">{clock_time(when)}</time></p>'
        f"{body}{edited}{replies}</div></article>"
    )


def _block(block: Block) -> str:
    match block.get("type"):
        case "header":
            return f'<h3 class="header">{_text(block["text"])}</h3>'
        case "section":
            return _section(block)
        case "divider":
            return "<hr>"
        case "context":
            inner = "".join(f"<span>{_element(element)}</span>" for element in block["elements"])
            return f'<div class="context">{inner}</div>'
        case "actions":
            return f'<div class="actions">{"".join(_element(element) for element in block["elements"])}</div>'
        case "image":
            return f'<p class="image">[{escape(str(block.get("alt_text", "image")))}]</p>'
    return ""


def _section(block: Block) -> str:
    text = f"<div>{_text(block['text'])}</div>" if "text" in block else ""
    fields = "".join(f"<div>{_text(field)}</div>" for field in block.get("fields", ()))
    if fields:
        fields = f'<div class="fields">{fields}</div>'
    accessory = _element(block["accessory"]) if "accessory" in block else ""
    return f'<div class="section"><div class="text">{text}{fields}</div>{accessory}</div>'


def _element(element: dict[str, Any]) -> str:
    match element.get("type"):
        case "button":
            style = f" {element['style']}" if element.get("style") in ("primary", "danger") else ""
            return f'<button type="button" class="button{style}" disabled>{_text(element["text"])}</button>'
        case "image":
            return f"[{escape(str(element.get('alt_text', 'image')))}]"
    return _text(element)


def _text(value: dict[str, Any]) -> str:
    return to_html(value["text"]) if value["type"] == "mrkdwn" else escape(value["text"])


def _local(message: Message) -> datetime:
    return datetime.fromtimestamp(message.seconds, UTC).astimezone()
