"""Words to systemd: sd_notify(3) over its datagram socket. Says nothing when systemd does not listen."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping


class Notifier:
    """READY, WATCHDOG, STOPPING and STATUS for `Type=notify` units.

    `watchdog_seconds`: how often systemd wants to hear WATCHDOG=1 at least (half of WATCHDOG_USEC), None for never.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._address = environment.get("NOTIFY_SOCKET", "")
        if self._address.startswith("@"):
            self._address = "\0" + self._address[1:]
        wanted_pid = environment.get("WATCHDOG_PID", str(os.getpid()))
        microseconds = environment.get("WATCHDOG_USEC", "")
        self.watchdog_seconds: float | None = None
        if microseconds.isdecimal() and int(microseconds) > 0 and wanted_pid == str(os.getpid()):
            self.watchdog_seconds = int(microseconds) / 2e6

    def ready(self, status: str) -> None:
        self._send(f"READY=1\nSTATUS={_line(status)}")

    def status(self, status: str) -> None:
        self._send(f"STATUS={_line(status)}")

    def watchdog(self) -> None:
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    def _send(self, message: str) -> None:
        if not self._address:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as channel:
            channel.setblocking(False)
            try:
                channel.sendto(message.encode(), self._address)
            except OSError:
                # systemd is gone or its queue is full: the watchdog will judge, we must not block or die.
                return


def _line(text: str) -> str:
    return " ".join(text.split())
