"""Writes what is told to a text stream."""

from __future__ import annotations

from typing import TextIO

from sentinel.alerts.notification import HistoryLine, Notification
from sentinel.errors import DeliveryRefused
from sentinel.notify.console.render import render, render_brief, render_line


class ConsoleNotifier:
    """Notifier for a terminal or a log file. What changed is a line of its own; an edit repeats only the first lines.

    A stream cannot be edited, and the whole message at each change would bury what is new.
    """

    def __init__(self, stream: TextIO, name: str = "console") -> None:
        self.name = name
        self._stream = stream

    async def post(self, notification: Notification, message_id: str) -> str:
        self._write(render(notification))
        return message_id

    async def edit(self, reference: str, notification: Notification) -> None:
        self._write(render_brief(notification))

    async def line(self, reference: str, notification: Notification, line: HistoryLine, message_id: str) -> None:
        self._write(render_line(notification, line))

    async def close(self) -> None:
        """The stream belongs to whoever opened it."""

    def _write(self, text: str) -> None:
        encoding = self._stream.encoding or "utf-8"
        try:
            # A terminal without UTF-8 gets `?` for the shapes, not a traceback.
            self._stream.write(text.encode(encoding, "replace").decode(encoding))
            self._stream.flush()
        except (OSError, ValueError) as error:
            raise DeliveryRefused("stream_closed", str(error)) from error
