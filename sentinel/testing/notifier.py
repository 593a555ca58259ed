"""A receiver in memory that remembers what it was told, and fails when asked to."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from sentinel.alerts.notification import HistoryLine, Notification
from sentinel.errors import DeliveryError, DeliveryRefused


@dataclass(slots=True)
class RecordedMessage:
    """One message as the receiver shows it now. `edits` counts how often it was brought up to date."""

    reference: str
    notification: Notification
    message_id: str
    lines: list[HistoryLine] = field(default_factory=list)
    edits: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """One request, whether it worked or not."""

    kind: Literal["post", "edit", "line"]
    incident: str
    message_id: str = ""
    text: str = ""


class RecordingNotifier:
    """Notifier in memory. `drops_repeats`: a message id that was seen before changes nothing, as with Slack.

    `messages` in order; `calls` is every request; `fail_next` makes the next requests raise.
    """

    def __init__(self, name: str = "recording", *, drops_repeats: bool = True) -> None:
        self.name = name
        self.messages: list[RecordedMessage] = []
        self.calls: list[Call] = []
        self.closed = False
        self._drops_repeats = drops_repeats
        self._failures: deque[tuple[DeliveryError, bool]] = deque()
        self._seen: dict[str, str] = {}

    def fail_next(self, error: DeliveryError, n: int = 1, *, accepted: bool = False) -> None:
        """The next `n` requests raise `error`; with `accepted` only after the receiver took them."""
        self._failures.extend([(error, accepted)] * n)

    def forget(self, reference: str) -> None:
        """The message was deleted: edits and lines of it are refused as lost."""
        self.messages = [message for message in self.messages if message.reference != reference]

    async def post(self, notification: Notification, message_id: str) -> str:
        self.calls.append(Call("post", notification.incident, message_id, notification.headline))
        failure = self._before()
        reference = self._seen.get(message_id) if self._drops_repeats else None
        if reference is None:
            reference = f"m{len(self._seen) + 1}"
            key = message_id if self._drops_repeats else f"{message_id}#{len(self._seen)}"
            self._seen[key] = reference
            self.messages.append(RecordedMessage(reference, notification, message_id))
        self._after(failure)
        return reference

    async def edit(self, reference: str, notification: Notification) -> None:
        self.calls.append(Call("edit", notification.incident, text=notification.headline))
        failure = self._before()
        message = self._message(reference)
        message.notification = notification
        message.edits += 1
        self._after(failure)

    async def line(self, reference: str, notification: Notification, line: HistoryLine, message_id: str) -> None:
        self.calls.append(Call("line", notification.incident, message_id, line.text))
        failure = self._before()
        message = self._message(reference)
        if not (self._drops_repeats and message_id in self._seen):
            self._seen[message_id] = reference
            message.lines.append(line)
        self._after(failure)

    async def close(self) -> None:
        self.closed = True

    def _before(self) -> DeliveryError | None:
        """The failure of this request, if there is one; raised here unless the request is to be taken first."""
        if not self._failures:
            return None
        error, accepted = self._failures.popleft()
        if accepted:
            return error
        raise error

    @staticmethod
    def _after(failure: DeliveryError | None) -> None:
        if failure is not None:
            raise failure

    def _message(self, reference: str) -> RecordedMessage:
        for message in self.messages:
            if message.reference == reference:
                return message
        raise DeliveryRefused("message_not_found", lost_reference=True)
