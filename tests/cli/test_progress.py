"""A bar is drawn on a terminal's standard error, and nowhere else."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sentinel.cli.progress import WORTH_A_BAR

RULES = "rules:\n  - {alert: kl-high, symptom: kl-high, warning: kl.ref > 0.3}\n"


@pytest.fixture
def long(tmp_path: Path) -> Path:
    (tmp_path / "rules.yaml").write_text(RULES)
    path = tmp_path / "long.jsonl"
    row = json.dumps({"step": 0, "kl": 0.1, "note": "x" * 4000}).replace('"step": 0', '"step": %d')
    path.write_text("".join(row % step + "\n" for step in range(WORTH_A_BAR // 4000)))
    with path.open("a") as lines:
        lines.write('{"step": 100000, "kl": 0.9}\n')
    return path


def replay(path: Path, stderr: int) -> bytes:
    command = [sys.executable, "-m", "sentinel", "replay", str(path), "--rules", str(path.with_name("rules.yaml"))]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    return subprocess.run(
        command, stdout=subprocess.PIPE, stderr=stderr, check=True, timeout=120, env=environment
    ).stdout


def test_the_bar_is_on_the_terminal_and_not_in_redirected_output(long: Path) -> None:
    ours, theirs = pty.openpty()
    drawn = bytearray()

    def read() -> None:
        try:
            while chunk := os.read(ours, 4096):
                drawn.extend(chunk)
        except OSError:  # how Linux says that the other end is closed
            return

    reader = threading.Thread(target=read)
    reader.start()
    on_terminal = replay(long, theirs)
    os.close(theirs)
    reader.join()
    os.close(ours)
    assert b"replaying" in drawn
    assert b"kl-high" not in drawn
    redirected = replay(long, subprocess.PIPE)
    assert redirected == on_terminal
    assert b"kl-high" in redirected
    assert b"\x1b" not in redirected and b"replaying" not in redirected


def test_nothing_is_drawn_when_standard_error_is_no_terminal(long: Path) -> None:
    command = [sys.executable, "-m", "sentinel", "replay", str(long), "--rules", str(long.with_name("rules.yaml"))]
    done = subprocess.run(command, capture_output=True, check=True, timeout=120)
    assert done.stderr == b""
