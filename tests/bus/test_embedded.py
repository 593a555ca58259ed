import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
import redis

from sentinel.bus import embedded
from sentinel.bus.embedded import EmbeddedServer
from sentinel.errors import BusUnavailable, ConfigError

pytestmark = pytest.mark.process

PARENT = """
import sys
from pathlib import Path
from sentinel.bus.embedded import EmbeddedServer
server = EmbeddedServer.start(Path(sys.argv[1]))
print(server.pid, flush=True)
sys.stdin.read()
"""


def start_parent(folder: Path) -> tuple[subprocess.Popen, int]:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    return parent, int(parent.stdout.readline())


def end(parent: subprocess.Popen) -> None:
    parent.wait(20)
    parent.stdin.close()
    parent.stdout.close()


def test_data_survives_a_restart(tmp_path):
    with EmbeddedServer.start(tmp_path) as server, redis.Redis.from_url(server.url) as client:
        client.set("a", "1")
    assert not server.is_running
    with EmbeddedServer.start(tmp_path) as server, redis.Redis.from_url(server.url) as client:
        assert client.get("a") == b"1"


def test_a_folder_with_any_name_will_do(tmp_path):
    folder = tmp_path / "a b%20c#d?e'f"
    with EmbeddedServer.start(folder) as server, redis.Redis.from_url(server.url) as client:
        assert client.ping()
    assert folder.stat().st_mode & 0o077 == 0


def test_trainers_can_join_over_loopback(tmp_path, free_port):
    port = free_port
    with EmbeddedServer.start(tmp_path, tcp_port=port) as server:
        assert server.tcp_url == f"redis://127.0.0.1:{port}/0"
        with redis.Redis.from_url(server.tcp_url) as client:
            assert client.config_get("appendonly", "appendfsync") == {"appendonly": "yes", "appendfsync": "everysec"}


def test_without_a_port_it_listens_on_its_socket_alone(tmp_path):
    with EmbeddedServer.start(tmp_path) as server:
        assert server.tcp_url is None
        assert [c for c in psutil.Process(server.pid).net_connections("inet") if c.status == "LISTEN"] == []
        assert (tmp_path / "valkey.sock").stat().st_mode & 0o077 == 0


def test_a_port_that_is_taken_is_said(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BusUnavailable, match=r"did not start.*in use"):
            EmbeddedServer.start(tmp_path, tcp_port=taken.getsockname()[1])
    EmbeddedServer.start(tmp_path).stop()


def test_it_dies_with_its_parent_and_loses_nothing(tmp_path):
    parent, pid = start_parent(tmp_path)
    server = psutil.Process(pid)
    with redis.Redis.from_url(f"unix://{tmp_path}/valkey.sock") as client:
        for number in range(1000):
            client.rpush("list", number)
    parent.send_signal(signal.SIGKILL)
    end(parent)
    # At once: the successor waits until the orphan has let go of the data.
    with EmbeddedServer.start(tmp_path) as successor, redis.Redis.from_url(successor.url) as client:
        assert client.llen("list") == 1000
        assert not server.is_running() or server.status() == psutil.STATUS_ZOMBIE


def test_the_data_of_a_living_sentinel_are_left_alone(tmp_path):
    parent, pid = start_parent(tmp_path)
    with pytest.raises(BusUnavailable, match=f"process {parent.pid}"):
        EmbeddedServer.start(tmp_path)
    assert psutil.Process(pid).is_running()
    parent.stdin.close()
    parent.wait(20)
    parent.stdout.close()
    EmbeddedServer.start(tmp_path).stop()


def test_a_second_start_in_one_process_is_refused(tmp_path):
    with EmbeddedServer.start(tmp_path), pytest.raises(BusUnavailable, match=f"process {os.getpid()}"):
        EmbeddedServer.start(tmp_path)


def test_a_strangers_server_is_never_adopted(tmp_path):
    path = tmp_path / "valkey.sock"
    with socket.socket(socket.AF_UNIX) as stranger:
        stranger.bind(str(path))
        stranger.listen()
        with pytest.raises(BusUnavailable, match="did not start"):
            EmbeddedServer.start(tmp_path)
        assert path.exists()
    # The same file with nobody behind it is stale.
    EmbeddedServer.start(tmp_path).stop()


def test_control_c_in_the_terminal_does_not_reach_it(tmp_path):
    with EmbeddedServer.start(tmp_path) as server:
        assert os.getpgid(server.pid) != os.getpgid(0)


def test_it_is_started_from_the_main_thread_only(tmp_path):
    errors = []

    def start():
        try:
            EmbeddedServer.start(tmp_path)
        except RuntimeError as error:
            errors.append(str(error))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert "main thread" in errors[0]


def test_a_server_that_hangs_is_killed_in_the_end(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "_STOP_SECONDS", 0.2)
    server = EmbeddedServer.start(tmp_path)
    os.kill(server.pid, signal.SIGSTOP)
    server.stop()
    server.stop()
    assert not psutil.pid_exists(server.pid)


def test_no_server_to_start_is_said_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "_bundled_server", lambda: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match=r"rl-sentinel\[embedded\]"):
        EmbeddedServer.start(tmp_path)


def test_a_folder_whose_socket_has_no_room_is_a_configuration_error(tmp_path):
    with pytest.raises(ConfigError, match="too long"):
        EmbeddedServer.start(tmp_path / ("x" * 120))


def test_the_end_of_the_process_stops_it(tmp_path):
    parent, pid = start_parent(tmp_path)
    parent.stdin.close()
    assert parent.wait(20) == 0
    parent.stdout.close()
    deadline = time.monotonic() + 10
    while psutil.pid_exists(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not psutil.pid_exists(pid)
