"""Writes what is told to a text stream."""

from __future__ import annotations

from collections import OrderedDict
from typing import TextIO

from sentinel.alerts.notification import HistoryLine, Notification
from sentinel.errors import DeliveryRefused
from sentinel.notify.console.render import render, render_brief, render_line
from sentinel.severity import rank

MOST_REMEMBERED = 1_000
"""Messages of which is known what they last advised."""


class ConsoleNotifier:
    """Notifier for a terminal or a log file. What changed is a line of its own; an edit repeats only the first lines.

    A stream cannot be edited, and the whole message at each change would bury what is new. It is written again when a
    person must look again: the severity has risen, or another checkpoint is advised.
    """

    def __init__(self, stream: TextIO, name: str = "console") -> None:
        self.name = name
        self._stream = stream
        self._shown: OrderedDict[str, tuple[int, int | None]] = OrderedDict()

    async def post(self, notification: Notification, message_id: str) -> str:
        self._write(render(notification))
        self._remember(message_id, notification)
        return message_id

    async def edit(self, reference: str, notification: Notification) -> None:
        severity, advised = self._shown.get(reference, _gist(notification))
        now = _gist(notification)
        anew = notification.state == "firing" and (now[0] > severity or (now[1] is not None and now[1] != advised))
        self._write(render(notification) if anew else render_brief(notification))
        self._remember(reference, notification)

    def _remember(self, reference: str, notification: Notification) -> None:
        self._shown[reference] = _gist(notification)
        self._shown.move_to_end(reference)
        if len(self._shown) > MOST_REMEMBERED:
            self._shown.popitem(last=False)

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


def _gist(notification: Notification) -> tuple[int, int | None]:
    """How bad it is, and the step to go back to."""
    advice = notification.rollback
    return rank(notification.severity), None if advice is None else advice.step
