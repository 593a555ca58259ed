"""The HTTP session under slack_sdk's client, with bounds that the SDK does not set.

The SDK follows redirects, reads an answer however long it is, and takes JSON that is not an object for one. This stands
where it expects an `aiohttp.ClientSession` and offers the two names that it uses: `request` and `closed`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

LONGEST_ANSWER = 256 * 1024
"""Bytes. Slack's answer repeats the message, whose characters it writes as `\\uXXXX`; ours are at most 12,000."""


class Answer:
    """An answer that has been read. `json` raises json.JSONDecodeError for everything but an object."""

    content_type = "application/json"

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    async def text(self) -> str:
        return self.body[:500].decode("utf-8", "replace")

    async def json(self) -> dict[str, Any]:
        text = self.body.decode("utf-8", "replace")
        try:
            value = json.loads(text)
        except RecursionError:
            value = None
        if not isinstance(value, dict):
            raise json.JSONDecodeError("not a JSON object", text[:100], 0)
        return value


class BoundedSession:
    """`timeout`: seconds for a whole request, from the connection to the last byte of the answer."""

    def __init__(self, timeout: float) -> None:
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._session: aiohttp.ClientSession | None = None

    @property
    def closed(self) -> bool:
        # The SDK makes a session of its own, without bounds, if this one says that it is closed.
        return False

    @asynccontextmanager
    async def request(self, method: str, url: str, **arguments: Any) -> AsyncIterator[Answer]:
        """Raises aiohttp.ClientError and TimeoutError."""
        if self._session is None:
            # Made here because a session belongs to the running loop. Cookies would make requests differ by history.
            self._session = aiohttp.ClientSession(timeout=self._timeout, cookie_jar=aiohttp.DummyCookieJar())
        # aiohttp has no such argument; the SDK sends it, always empty for JSON.
        arguments.pop("files", None)
        async with self._session.request(method, url, allow_redirects=False, **arguments) as response:
            body = await response.content.read(LONGEST_ANSWER + 1)
            while len(body) <= LONGEST_ANSWER and not response.content.at_eof():
                body += await response.content.read(LONGEST_ANSWER + 1 - len(body))
            if len(body) > LONGEST_ANSWER:
                response.close()
                raise aiohttp.ClientPayloadError(f"an answer of more than {LONGEST_ANSWER} bytes")
            yield Answer(response.status, response.headers, body)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None
