"""What the workspace holds: channels, messages, replies."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

Block = dict[str, Any]


@dataclass(slots=True)
class Message:
    """One message as the channel shows it now.

    `ts` is its id; `thread` are the replies beneath it; `thread_ts` is set on a reply. `author` is None for the app
    that holds the token. `versions` counts how often it was written: 1, and one more for each edit.
    """

    ts: str
    text: str
    blocks: list[Block] = field(default_factory=list)
    author: str | None = None
    thread: list[Message] = field(default_factory=list)
    thread_ts: str | None = None
    client_msg_id: str | None = None
    versions: int = 1

    @property
    def edited(self) -> bool:
        return self.versions > 1

    @property
    def seconds(self) -> float:
        """When it was posted, in seconds since the epoch."""
        return float(self.ts)

    def as_json(self, app: str) -> dict[str, Any]:
        """The message as the Web API returns it."""
        body: dict[str, Any] = {"type": "message", "ts": self.ts, "text": self.text}
        if self.author is None:
            body |= {"user": "U0APP", "bot_id": "B0APP", "app_id": "A0APP", "username": app}
        else:
            body |= {"user": self.author}
        if self.blocks:
            body["blocks"] = copy.deepcopy(self.blocks)
        if self.client_msg_id is not None:
            body["client_msg_id"] = self.client_msg_id
        if self.edited:
            body["edited"] = {"user": "U0APP", "ts": self.ts}
        if self.thread_ts is not None:
            body["thread_ts"] = self.thread_ts
        elif self.thread:
            body |= {"thread_ts": self.ts, "reply_count": len(self.thread)}
        return body


@dataclass(slots=True)
class Channel:
    """A channel: `id` as `C1`, `name` without `#`. `member`: whether the app was invited."""

    id: str
    name: str
    topic: str = ""
    member: bool = True
    archived: bool = False
    messages: list[Message] = field(default_factory=list)

    def find(self, ts: str) -> Message | None:
        """The message or reply with this timestamp."""
        for message in self.messages:
            if message.ts == ts:
                return message
            for reply in message.thread:
                if reply.ts == ts:
                    return reply
        return None

    def remove(self, ts: str) -> bool:
        """Delete a message with its thread, or a reply. False if there is none."""
        before = sum(1 + len(message.thread) for message in self.messages)
        self.messages = [message for message in self.messages if message.ts != ts]
        for message in self.messages:
            message.thread = [reply for reply in message.thread if reply.ts != ts]
        return before != sum(1 + len(message.thread) for message in self.messages)
