"""Memory of one run whose windows are full: what Python allocated for it, and by how much the process grew."""

from __future__ import annotations

import gc
import subprocess
import sys
import tracemalloc
from pathlib import Path

from benchmarks.report import Figure
from benchmarks.workload import Workload, entry_id, rules
from sentinel.decode import decode, entry_time
from sentinel.engine.engine import Engine

_WARM = 3
"""Runs that go first: what all runs share is theirs."""


def memory(*, traced: int, resident: int) -> list[Figure]:
    """Two views of the same: over `traced` runs by tracemalloc, over `resident` runs by the process's own size."""
    figures = [Figure("one run of 30 metrics, windows of 100: allocated", _traced(traced), "kB")]
    code = f"from benchmarks.memory import grown; print(grown({resident}))"
    # A process of its own: in one that has freed a lot, growth would show too little.
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[1],
    )
    figures.append(Figure(f"one of {resident:,} runs: growth of the process", float(found.stdout), "kB"))
    return figures


def grown(runs: int) -> float:
    """Kilobytes by which this process grows for each run."""
    load, engine = Workload(), Engine(rules())
    _feed(engine, load, 0, _WARM)
    gc.collect()
    before = _resident()
    _feed(engine, load, _WARM, _WARM + runs)
    gc.collect()
    return (_resident() - before) / runs / 1000


def _traced(runs: int) -> float:
    load, engine = Workload(), Engine(rules())
    _feed(engine, load, 0, _WARM)
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    _feed(engine, load, _WARM, _WARM + runs)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return (after - before) / runs / 1000


def _feed(engine: Engine, load: Workload, first: int, last: int) -> None:
    for run in range(first, last):
        # Windows are full at 100; the arrays behind them have found their size by 250.
        for step in range(250):
            entry = entry_id(run, step)
            engine.handle(decode({b"event": load.event(run, step)}, position=entry, time=entry_time(entry)).event)


def _resident() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("this system does not say how large a process is; /proc/self/status has no VmRSS")
