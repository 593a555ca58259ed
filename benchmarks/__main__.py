"""`python -m benchmarks`: all figures in one run. `--quick` for a small one, `--json FILE` to keep them."""

from __future__ import annotations

import argparse
import asyncio
import logging
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog

from benchmarks.imports import imports
from benchmarks.latency import latency
from benchmarks.marginal import marginal
from benchmarks.memory import memory
from benchmarks.replay import replayed
from benchmarks.report import Figure, machine, save, show
from benchmarks.stopwatch import calibrate
from benchmarks.throughput import throughput
from benchmarks.validation import validated
from benchmarks.workload import Workload
from sentinel.bus.embedded import EmbeddedServer


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to FILE")
    parser.add_argument("--quick", action="store_true", help="a small size: shows that it works, not how fast it is")
    options = parser.parse_args(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    figures: list[Figure] = []
    on = machine()
    print(on)
    for title, found in _measures(quick=options.quick):
        show(title, found)
        figures += found
    if options.json is not None:
        save(options.json, figures, on=on)


def _measures(*, quick: bool) -> Iterable[tuple[str, list[Figure]]]:
    yield "A million turns of a plain Python loop", [Figure("calibration", calibrate(), "s")]
    load = Workload()
    rounds, events = (1, 500) if quick else (9, 5000)
    with TemporaryDirectory(prefix="sentinel-bench-") as folder, EmbeddedServer.start(Path(folder)) as server:
        for runs, window in ((10, 100), (20 if quick else 1000, 100), (10, 1000)):
            found = asyncio.run(throughput(server, load, runs=runs, window=window, rounds=rounds, events=events))
            yield "CPU per event: 30 metrics, 30 rules", found
        yield "Latency on an idle daemon", asyncio.run(latency(server, 2 if quick else 40))
    yield "Memory", memory(traced=2 if quick else 30, resident=100 if quick else 1000)
    yield "One more rule", marginal(load, rounds=rounds, events=events)
    yield "Validation", validated(60 if quick else 500, 1 if quick else 5)
    yield "Replay", replayed(load, 1000 if quick else 100_000)
    yield "Imports", imports(1 if quick else 7)


if __name__ == "__main__":
    main()
