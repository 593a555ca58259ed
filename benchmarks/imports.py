"""Imports: what a trainer pays for the publisher, and how long the command line takes to say its version."""

from __future__ import annotations

import subprocess
import sys
from statistics import median
from time import perf_counter

from benchmarks.report import Figure

_TIMED = "import time; began = time.perf_counter(); {}; print(time.perf_counter() - began)"


def imports(rounds: int) -> list[Figure]:
    """Milliseconds of wall time, each in fresh processes."""
    figures = []
    for name, statement in (
        ("import sentinel", "import sentinel"),
        ("from sentinel import Publisher", "from sentinel import Publisher"),
        ("import redis (the publisher's one dependency)", "import redis"),
        ("import of the whole daemon", "import sentinel.service.app"),
    ):
        found = [float(_run("-c", _TIMED.format(statement))) * 1e3 for _ in range(rounds)]
        figures.append(Figure(name, median(found), "ms", min(found), max(found)))
    for name, arguments in (
        ("python -c pass, the whole process", ("-c", "pass")),
        ("sentinel --version, the whole process", ("-m", "sentinel", "--version")),
        ("sentinel rules validate grpo, the whole process", ("-m", "sentinel", "rules", "validate", "grpo")),
    ):
        found = []
        for _ in range(rounds):
            began = perf_counter()
            _run(*arguments)
            found.append((perf_counter() - began) * 1e3)
        figures.append(Figure(name, median(found), "ms", min(found), max(found)))
    return figures


def _run(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout
