"""Sends to Slack's Web API: chat.postMessage, chat.update, and replies in the thread."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

import aiohttp
import structlog
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sentinel.alerts.notification import HistoryLine, Notification
from sentinel.errors import DeliveryError, DeliveryRefused, DeliveryRetry
from sentinel.notify.plain import one_line
from sentinel.notify.slack.blocks import render, render_line
from sentinel.notify.slack.failure import BAD_BLOCKS, from_answer
from sentinel.notify.slack.session import Answer, BoundedSession

TIMEOUT_SECONDS = 10.0

log = structlog.get_logger(__name__)


class SlackNotifier:
    """Notifier for one channel, with a bot token that has the scope `chat:write`.

    `channel`: its id, or its name with `#`. A reference is `"C123/1790000000.000100"`: the channel's id and the
    message's timestamp. `base_url` is for tests and the demo.
    """

    def __init__(
        self,
        token: str,
        channel: str,
        base_url: str | None = None,
        name: str = "slack",
        *,
        timeout: float = TIMEOUT_SECONDS,
    ) -> None:
        self.name = name
        self.channel = channel
        self._session = BoundedSession(timeout)
        base_url = base_url or AsyncWebClient.BASE_URL
        self._client = AsyncWebClient(
            token=token,
            base_url=base_url,
            session=cast(aiohttp.ClientSession, self._session),
            # The SDK's own retries post twice when the connection drops after Slack accepted; retrying is the
            # pipeline's, with the message's id.
            retry_handlers=[],
        )
        if _is_loopback(base_url):
            # The SDK takes a proxy from the environment without regard to NO_PROXY.
            self._client.proxy = None

    def __repr__(self) -> str:
        return f"SlackNotifier(name={self.name!r}, channel={self.channel!r})"

    async def post(self, notification: Notification, message_id: str) -> str:
        answer = await self._with_blocks(
            "chat.postMessage",
            render(notification),
            channel=self.channel,
            client_msg_id=message_id,
            unfurl_links=False,
            unfurl_media=False,
        )
        return _reference(answer)

    async def edit(self, reference: str, notification: Notification) -> None:
        channel, ts = _split(reference)
        await self._with_blocks("chat.update", render(notification), channel=channel, ts=ts)

    async def line(self, reference: str, notification: Notification, line: HistoryLine, message_id: str) -> None:
        channel, ts = _split(reference)
        await self._call(
            "chat.postMessage",
            render_line(notification, line),
            channel=channel,
            thread_ts=ts,
            client_msg_id=message_id,
            unfurl_links=False,
            unfurl_media=False,
        )

    async def check(self) -> dict[str, str]:
        """Ask Slack whether the token is good: team and user it belongs to. Raises as the sends do."""
        answer = await self._call("auth.test", {})
        return {key: str(answer.get(key, "")) for key in ("team", "user", "url")}

    async def close(self) -> None:
        await self._session.close()

    async def _with_blocks(self, method: str, message: Mapping[str, Any], **arguments: Any) -> Mapping[str, Any]:
        """Send a message with its layout; if Slack does not take the layout, once more as text alone."""
        try:
            return await self._call(method, message, **arguments)
        except DeliveryRefused as error:
            if error.code not in BAD_BLOCKS:
                raise
            log.error("slack.blocks_refused", receiver=self.name, code=error.code, reason=error.message)
        # An empty list, not a missing one: chat.update would leave the old blocks in place.
        return await self._call(method, {"text": message["text"], "blocks": []}, **arguments)

    async def _call(self, method: str, message: Mapping[str, Any], **arguments: Any) -> Mapping[str, Any]:
        """Slack's answer. Raises DeliveryRetry or DeliveryRefused."""
        try:
            response = await self._client.api_call(method, json={**message, **arguments})
        except SlackApiError as error:
            raise _from_sdk(error) from None
        except aiohttp.ClientConnectorError as error:
            # No connection, so nothing can have been taken.
            raise DeliveryRetry("unreachable", one_line(str(error))) from None
        except TimeoutError:
            raise DeliveryRetry("timeout", "no answer in time", ambiguous=True) from None
        except (aiohttp.ClientError, OSError) as error:
            raise DeliveryRetry(
                "connection_lost", one_line(f"{type(error).__name__}: {error}"), ambiguous=True
            ) from None
        return cast(Mapping[str, Any], response.data)


def _from_sdk(error: SlackApiError) -> DeliveryError:
    """The SDK's error holds its own response, or, for an answer that was no JSON object, the session's."""
    response = error.response
    if isinstance(response, Answer):
        return from_answer(response.status, response.headers, {})
    body = response.data
    return from_answer(response.status_code, response.headers, body if isinstance(body, Mapping) else {})


def _reference(answer: Mapping[str, Any]) -> str:
    channel, ts = answer.get("channel"), answer.get("ts")
    if not isinstance(channel, str) or not isinstance(ts, str):
        raise DeliveryRetry("unreadable_answer", "no channel or timestamp in it", ambiguous=True)
    return f"{channel}/{ts}"


def _split(reference: str) -> tuple[str, str]:
    channel, slash, ts = reference.partition("/")
    if not slash:
        raise DeliveryRefused("bad_reference", f"not one of ours: {one_line(reference)}", lost_reference=True)
    return channel, ts


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
