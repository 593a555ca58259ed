"""Replay: a recording from a file through the whole of `sentinel replay`, but for printing."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.report import Figure
from benchmarks.workload import Workload, rules
from sentinel.metrics import default
from sentinel.service.replay import Summary, replay


def replayed(load: Workload, steps: int) -> list[Figure]:
    """Wall seconds for a recording of so many steps of one run."""
    with TemporaryDirectory(prefix="sentinel-bench-") as folder:
        path = Path(folder) / "run.jsonl"
        with path.open("wb") as lines:
            for step in range(steps):
                lines.write(load.event(0, step) + b"\n")
        watched, summary = rules(), Summary()
        began = perf_counter()
        for _ in replay(path, watched, summary, dictionary=default()):
            pass
        spent = perf_counter() - began
    assert summary.steps == steps, summary.rejected[:3]
    return [
        Figure(f"replay of {steps:,} steps through 30 rules", spent, "s"),
        Figure("replay, for each step", spent / steps * 1e6, "µs"),
    ]
