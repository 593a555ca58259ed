"""The Web API and the page, on one loopback port."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from aiohttp import web

from sentinel.notify.bucket import TokenBucket
from sentinel.ports import Clock
from sentinel.testing.fake_slack import limits, markup, page
from sentinel.testing.fake_slack.faults import KINDS, Fault
from sentinel.testing.fake_slack.workspace import Channel, Message

Fields = dict[str, Any]

_FIRST_SECOND = 1_790_000_000


@dataclass(slots=True)
class Request:
    """One API request: its method (`chat.postMessage`), its fields, and what it was answered.

    `answer`: `ok`, Slack's error word, `http_503`, or the fault's kind. `at`: seconds by the loop's clock.
    """

    method: str
    fields: Fields
    at: float
    answer: str = ""


class ApiError(Exception):
    """An answer with `"ok": false`."""

    def __init__(self, error: str, messages: list[str] | None = None) -> None:
        super().__init__(error)
        self.error = error
        self.messages = messages or []

    def as_json(self) -> Fields:
        body: Fields = {"ok": False, "error": self.error}
        if self.messages:
            body["errors"] = self.messages
            body["response_metadata"] = {"messages": [f"[ERROR] {message}" for message in self.messages]}
        return body


class RateLimitError(Exception):
    """An answer with status 429."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"{seconds} s")
        self.seconds = seconds


class FakeSlack:
    """A workspace with one app in it.

    `channels`: id → name, `{"C1": "rl-alerts"}` unless given. `rate`: messages a second and channel before 429, with
    `burst` at once; None never. `clock` dates the messages; without one each is a second after the last, from a fixed
    start, so that tests are repeatable.

    `requests` is every API request in order; `pings` is every live mention or broadcast that reached a channel:
    `(channel id, markup)`. `token` may be changed at any time, to revoke the old one.
    """

    def __init__(
        self,
        *,
        token: str = "xoxb-fake-token",  # noqa: S107 - opens nothing but this stand-in
        channels: Mapping[str, str] | None = None,
        app: str = "sentinel",
        rate: float | None = None,
        burst: int = 5,
        clock: Clock | None = None,
    ) -> None:
        self.token = token
        self.app = app
        self.requests: list[Request] = []
        self.pings: list[tuple[str, str]] = []
        self.channels: dict[str, Channel] = {}
        for channel_id, name in (channels or {"C1": "rl-alerts"}).items():
            self.add_channel(channel_id, name)
        self._rate = rate
        self._burst = burst
        self._buckets: dict[str, TokenBucket] = {}
        self._clock = clock
        self._serial = 0
        self._version = 0
        self._faults: list[Fault] = []
        self._told: dict[tuple[str, str], Message] = {}
        self._stopped = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self._origin = ""

    # -- life ------------------------------------------------------------------------------------------------------

    async def start(self, port: int = 0) -> None:
        """Listen on 127.0.0.1; port 0 takes a free one. Raises OSError when the port is taken."""
        self._stopped.clear()
        app = web.Application(client_max_size=4 * 1024 * 1024)
        app.router.add_route("*", "/api/{method}", self._answer)
        page.add_routes(app, self)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        address = self._runner.addresses[0]
        self._origin = f"http://{address[0]}:{address[1]}"

    async def stop(self) -> None:
        """Close all connections, those that hang too."""
        self._stopped.set()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def url(self) -> str:
        """For the client's `base_url`."""
        return f"{self._origin}/api/"

    @property
    def page_url(self) -> str:
        """For a browser."""
        return f"{self._origin}/"

    # -- what tests do and ask --------------------------------------------------------------------------------------

    def add_channel(
        self, channel_id: str, name: str, *, topic: str = "", member: bool = True, archived: bool = False
    ) -> Channel:
        channel = Channel(channel_id, name, topic, member, archived)
        self.channels[channel_id] = channel
        return channel

    def channel(self, name: str) -> list[Message]:
        """The channel's messages, oldest first, each with its `thread`. `name`: id, or name with or without `#`."""
        return self._channel(name).messages

    def transcript(self, name: str) -> list[tuple[str, list[Any], list[str]]]:
        """What a reader sees, without timestamps: `(text, blocks, replies)` of each message."""
        return [
            (message.text, message.blocks, [reply.text for reply in message.thread]) for message in self.channel(name)
        ]

    def export(self, name: str) -> str:
        """The channel's page as one HTML file that needs no server."""
        return page.standalone(self, self._channel(name))

    def fail_next(
        self, kind: str, n: int = 1, *, retry_after: float | str | None = None, method: str | None = None
    ) -> None:
        """The next `n` requests (of `method`, if given) fail: see `Fault`."""
        header = None if retry_after is None else str(retry_after)
        self._faults.extend([Fault(kind, header, method)] * n)

    def mend(self) -> None:
        """Forget the failures that are still to come."""
        self._faults.clear()

    def say(self, channel: str, text: str, *, author: str = "ada", thread_ts: str | None = None) -> Message:
        """A person writes something."""
        message = Message(self._next_ts(), text, author=author, thread_ts=thread_ts)
        self._place(self._channel(channel), message)
        return message

    def delete(self, channel: str, ts: str) -> None:
        """A person deletes a message. Raises KeyError if it is not there."""
        if not self._channel(channel).remove(ts):
            raise KeyError(ts)
        self._version += 1

    @property
    def version(self) -> int:
        """Grows with every change that a reader could see."""
        return self._version

    # -- the API ----------------------------------------------------------------------------------------------------

    async def _answer(self, http: web.Request) -> web.StreamResponse:
        method = http.match_info["method"]
        request = Request(method, {}, asyncio.get_running_loop().time())
        self.requests.append(request)
        fault = self._next_fault(method)
        try:
            request.fields = await _fields(http)
            if fault is not None and fault.kind != "drop-after":
                return await self._fail(http, request, fault)
            body = self._call(http, method, request.fields)
            request.answer = "ok"
        except RateLimitError as limited:
            request.answer = "ratelimited"
            return _rate_limited(str(max(round(limited.seconds), 1)))
        except ApiError as refused:
            request.answer = refused.error
            body = refused.as_json()
        if fault is not None:
            request.answer = fault.kind
            return _cut(http)
        return web.json_response(body)

    def _next_fault(self, method: str) -> Fault | None:
        for index, fault in enumerate(self._faults):
            if fault.method in (None, method):
                return self._faults.pop(index)
        return None

    async def _fail(self, http: web.Request, request: Request, fault: Fault) -> web.StreamResponse:
        request.answer = fault.kind
        match fault.kind:
            case "429":
                return _rate_limited(fault.retry_after)
            case "ratelimited-in-200":
                headers = {} if fault.retry_after is None else {"Retry-After": fault.retry_after}
                return web.json_response({"ok": False, "error": "ratelimited"}, headers=headers)
            case "500" | "502" | "503":
                request.answer = f"http_{fault.kind}"
                return web.Response(status=int(fault.kind), text="upstream trouble")
            case "hang":
                await self._stopped.wait()
                return _cut(http)
            case "drop-before":
                return _cut(http)
            case "garbage":
                return web.Response(text="<html>login</html>", content_type="text/html")
            case "redirect":
                return web.Response(status=302, headers={"Location": f"{self._origin}/api/auth.test"})
            case "huge":
                return web.Response(body=b'{"ok": true, "padding": "' + b"x" * 2_000_000 + b'"}')
        assert fault.kind not in KINDS, f"{fault.kind} is listed and not handled"
        return web.json_response(ApiError(fault.kind).as_json())

    def _call(self, http: web.Request, method: str, fields: Fields) -> Fields:
        self._authorize(http, fields)
        match method:
            case "auth.test" | "api.test":
                return {
                    "ok": True,
                    "url": f"{self._origin}/",
                    "team": "RL Lab",
                    "team_id": "T0LAB",
                    "user": self.app,
                    "user_id": "U0APP",
                    "bot_id": "B0APP",
                }
            case "chat.postMessage":
                return self._post(fields)
            case "chat.update":
                return self._update(fields)
            case "chat.delete":
                return self._delete(fields)
            case "conversations.history":
                return self._history(fields)
            case "conversations.replies":
                return self._replies(fields)
        raise ApiError("unknown_method")

    def _authorize(self, http: web.Request, fields: Fields) -> None:
        header = http.headers.get("Authorization", "")
        token = header.removeprefix("Bearer ") if header.startswith("Bearer ") else fields.get("token")
        if not token:
            raise ApiError("not_authed")
        if token != self.token:
            raise ApiError("invalid_auth")

    def _post(self, fields: Fields) -> Fields:
        channel = self._writable(fields)
        text, blocks = _content(fields)
        self._take_token(channel)
        client_msg_id = fields.get("client_msg_id")
        if client_msg_id is not None:
            _require_uuid(client_msg_id)
            earlier = self._told.get((channel.id, client_msg_id))
            if earlier is not None:
                if channel.find(earlier.ts) is None:
                    raise ApiError("duplicate_message_not_found")
                return self._posted(channel, earlier)
        thread_ts = fields.get("thread_ts")
        if thread_ts is not None:
            parent = channel.find(str(thread_ts))
            if parent is None:
                raise ApiError("thread_not_found")
            thread_ts = parent.thread_ts or parent.ts
        message = Message(self._next_ts(), text, blocks, thread_ts=thread_ts, client_msg_id=client_msg_id)
        if client_msg_id is not None:
            self._told[channel.id, client_msg_id] = message
        self._place(channel, message)
        return self._posted(channel, message)

    def _posted(self, channel: Channel, message: Message) -> Fields:
        return {"ok": True, "channel": channel.id, "ts": message.ts, "message": message.as_json(self.app)}

    def _update(self, fields: Fields) -> Fields:
        # chat.update takes ids only; a channel's name is an error there.
        if str(fields.get("channel")) not in self.channels:
            raise ApiError("channel_not_found")
        channel = self._writable(fields)
        message = channel.find(str(fields.get("ts")))
        if message is None:
            raise ApiError("message_not_found")
        if message.author is not None:
            raise ApiError("cant_update_message")
        text, blocks = _content(fields)
        message.text = text
        # Text alone, without `blocks`, leaves the old blocks in place.
        if "blocks" in fields:
            message.blocks = blocks
        message.versions += 1
        self._notice(channel, message)
        return {
            "ok": True,
            "channel": channel.id,
            "ts": message.ts,
            "text": text,
            "message": message.as_json(self.app),
        }

    def _delete(self, fields: Fields) -> Fields:
        channel = self._writable(fields)
        message = channel.find(str(fields.get("ts")))
        if message is None:
            raise ApiError("message_not_found")
        if message.author is not None:
            raise ApiError("cant_delete_message")
        self.delete(channel.id, message.ts)
        return {"ok": True, "channel": channel.id, "ts": message.ts}

    def _history(self, fields: Fields) -> Fields:
        channel = self._writable(fields, archived_too=True)
        newest_first = [m for m in reversed(channel.messages) if _within(m, fields)]
        return self._listing(newest_first, fields)

    def _replies(self, fields: Fields) -> Fields:
        channel = self._writable(fields, archived_too=True)
        parent = channel.find(str(fields.get("ts")))
        if parent is None:
            raise ApiError("thread_not_found")
        return self._listing([parent, *parent.thread], fields)

    def _listing(self, messages: list[Message], fields: Fields) -> Fields:
        try:
            limit = int(fields.get("limit", 100))
        except (TypeError, ValueError):
            raise ApiError("invalid_limit") from None
        shown = [message.as_json(self.app) for message in messages[:limit]]
        return {"ok": True, "messages": shown, "has_more": len(messages) > limit}

    def _writable(self, fields: Fields, *, archived_too: bool = False) -> Channel:
        try:
            channel = self._channel(str(fields.get("channel", "")))
        except KeyError:
            raise ApiError("channel_not_found") from None
        if channel.archived and not archived_too:
            raise ApiError("is_archived")
        if not channel.member:
            raise ApiError("not_in_channel")
        return channel

    def _take_token(self, channel: Channel) -> None:
        if self._rate is None:
            return
        bucket = self._buckets.setdefault(channel.id, TokenBucket(self._rate, self._burst))
        wait = bucket.take(asyncio.get_running_loop().time())
        if wait > 0:
            raise RateLimitError(wait)

    def _channel(self, name: str) -> Channel:
        """Raises KeyError."""
        if name in self.channels:
            return self.channels[name]
        for channel in self.channels.values():
            if channel.name == name.removeprefix("#"):
                return channel
        raise KeyError(name)

    def _place(self, channel: Channel, message: Message) -> None:
        if message.thread_ts is None:
            channel.messages.append(message)
        else:
            parent = channel.find(message.thread_ts)
            if parent is None:
                raise KeyError(message.thread_ts)
            parent.thread.append(message)
        self._notice(channel, message)

    def _notice(self, channel: Channel, message: Message) -> None:
        self._version += 1
        for text in (message.text, *limits.markup_text(message.blocks)):
            self.pings.extend((channel.id, ping) for ping in markup.pings(text))

    def _next_ts(self) -> str:
        self._serial += 1
        if self._clock is None:
            return f"{_FIRST_SECOND + self._serial}.{self._serial:06d}"
        return f"{int(self._clock.now())}.{self._serial:06d}"


async def _fields(http: web.Request) -> Fields:
    """The arguments, from the query and a JSON or form body. `blocks` may be JSON in a form field."""
    fields: Fields = dict(http.query)
    if http.method == "POST" and http.content_type == "application/json":
        try:
            body = json.loads(await http.text() or "{}")
        except (ValueError, RecursionError):
            raise ApiError("invalid_json") from None
        if not isinstance(body, dict):
            raise ApiError("json_not_object")
        fields |= body
    elif http.method == "POST":
        fields |= dict(await http.post())
    return fields


def _content(fields: Fields) -> tuple[str, list[Any]]:
    """Text and blocks, within Slack's limits. Raises ApiError."""
    text = fields.get("text") or ""
    blocks = fields.get("blocks") or []
    if isinstance(blocks, str):
        try:
            blocks = json.loads(blocks)
        except (ValueError, RecursionError):
            raise ApiError("invalid_blocks_format") from None
    if not isinstance(text, str):
        raise ApiError("invalid_arguments")
    if not text and not blocks:
        raise ApiError("no_text")
    if len(text) > limits.MOST_TEXT:
        raise ApiError("msg_too_long")
    wrong = limits.problems(blocks)
    if wrong:
        raise ApiError("invalid_blocks", wrong)
    if sum(map(len, limits.block_text(blocks))) > limits.MOST_BLOCK_TEXT:
        raise ApiError("msg_blocks_too_long")
    return text, blocks


def _require_uuid(value: object) -> None:
    try:
        canonical = str(UUID(str(value)))
    except ValueError:
        canonical = ""
    if canonical != str(value).lower():
        raise ApiError("invalid_arguments", ["client_msg_id must be a UUID"])


def _within(message: Message, fields: Fields) -> bool:
    try:
        oldest = float(fields.get("oldest", 0))
        latest = float(fields.get("latest", "inf"))
    except (TypeError, ValueError):
        raise ApiError("invalid_ts_oldest") from None
    return oldest < message.seconds < latest


def _rate_limited(retry_after: str | None) -> web.Response:
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return web.json_response({"ok": False, "error": "ratelimited"}, status=429, headers=headers)


def _cut(http: web.Request) -> web.Response:
    """Close the connection without an answer."""
    if http.transport is not None:
        http.transport.abort()
    return web.Response()
