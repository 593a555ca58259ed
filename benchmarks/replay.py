"""Replay: a recording from a file through the whole of `sentinel replay`, but for printing."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

from benchmarks.report import Figure
from benchmarks.stopwatch import calibrate
from benchmarks.workload import Workload, rules
from sentinel.bus.recording import read_recording
from sentinel.metrics import default
from sentinel.resources import pack_path, read_source
from sentinel.rules.loader import load_rules
from sentinel.service.replay import Summary, replay


def replayed(load: Workload, steps: int) -> list[Figure]:
    """CPU seconds for a recording of so many rows of one run, as a trainer logs them.

    The floor is reading and decoding the same file; it is measured before and after, and so is the plain loop.
    """
    figures = []
    with TemporaryDirectory(prefix="sentinel-bench-") as folder:
        path = Path(folder) / "run.jsonl"
        with path.open("wb") as lines:
            for step in range(steps):
                lines.write(b'{"step":%d,%b\n' % (step, load.rows[step % len(load.rows)][1:]))
        packs = (("30 rules", rules()), ("the pack grpo", load_rules([read_source(pack_path("grpo"))])))
        for name, watched in packs:
            loop, floor = calibrate(), _read(path)
            summary = Summary()
            began = process_time()
            for _ in replay(path, watched, summary, dictionary=default()):
                pass
            spent = process_time() - began
            assert summary.steps == steps, summary.rejected[:3]
            floor, loop = (floor + _read(path)) / 2, (loop + calibrate()) / 2
            figures += [
                Figure(f"replay of {steps:,} steps through {name}", spent, "s"),
                Figure(f"replay through {name} / floor", spent / floor, "x"),
                Figure(f"replay through {name}, a step in turns of the loop", spent / steps / loop * 1e6, "turns"),
            ]
    return figures


def _read(path: Path) -> float:
    began = process_time()
    for _ in read_recording(path):
        pass
    return process_time() - began
