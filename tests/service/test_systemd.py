"""sd_notify over a real datagram socket."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from sentinel.service.systemd import Notifier


@pytest.fixture(params=["path", "abstract"])
def listening(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        if request.param == "path":
            address = shown = str(tmp_path / "notify")
        else:
            name = f"sentinel-test-{os.getpid()}"
            address, shown = f"\0{name}", f"@{name}"
        channel.bind(address)
        channel.settimeout(5.0)
        yield channel, shown


def test_systemd_hears_ready_watchdog_and_stopping(listening: tuple[socket.socket, str]) -> None:
    channel, address = listening
    notifier = Notifier({"NOTIFY_SOCKET": address})
    notifier.ready("watching,\n 7 rules\x0b in force")
    notifier.watchdog()
    notifier.status("fine")
    notifier.stopping()
    heard = [channel.recv(1000).decode() for _ in range(4)]
    assert heard == ["READY=1\nSTATUS=watching, 7 rules in force", "WATCHDOG=1", "STATUS=fine", "STOPPING=1"]


def test_without_systemd_nothing_is_said() -> None:
    notifier = Notifier({})
    notifier.ready("x")
    notifier.stopping()
    assert notifier.watchdog_seconds is None


def test_a_systemd_that_has_gone_does_not_matter(tmp_path: Path) -> None:
    Notifier({"NOTIFY_SOCKET": str(tmp_path / "gone")}).watchdog()


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 15.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({"WATCHDOG_USEC": "²"}, None),
        ({}, None),
    ],
)
def test_the_watchdog_is_fed_twice_as_often_as_systemd_asks(environment: dict[str, str], seconds: float | None) -> None:
    assert Notifier(environment).watchdog_seconds == seconds
