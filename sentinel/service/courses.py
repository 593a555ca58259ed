"""The courses of many recordings: each played through the rules, on as many cores as there are.

Each recording has an engine of its own, so it makes no difference which process plays it, nor beside which others:
courses come in the order of the files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from sentinel.engine.engine import Engine
from sentinel.engine.program import Program
from sentinel.errors import UsageError
from sentinel.events import StepMetrics
from sentinel.metrics import default
from sentinel.resources import Source
from sentinel.rules.loader import load_rules
from sentinel.score.course import Course, CourseRecorder
from sentinel.service.replay import Summary, events

WORTH_A_PROCESS = 50_000_000
"""Bytes of recordings below which another process costs more than it brings: it imports and loads the rules anew."""

BEGINNING = 1_000_000
"""Bytes that it costs as much to play as to compile the rules for a recording's metrics."""


@dataclass(frozen=True, slots=True)
class Job:
    """One recording to be played. `rules`: which of the sets of rules, by number."""

    path: Path
    name: str
    rules: int = 0

    @property
    def size(self) -> int:
        """Bytes; 0 for what is no plain file."""
        return self.path.stat().st_size if self.path.is_file() else 0


def courses(
    jobs: Sequence[Job],
    rules: Sequence[Sequence[Source]],
    *,
    framework: str | None = None,
    processes: int = 0,
    on_read: Callable[[int], None] = lambda size: None,
) -> Iterator[Course]:
    """The course of each job, in order. `rules`: sets of rule files. `processes`: 0 lets the size of the work decide.
    `on_read` is told now and then how many bytes more have been read.

    Raises RuleError for rules that cannot be used, UsageError for a recording that cannot be read.
    """
    players = [_Player(sources, framework) for sources in rules]
    count = min(processes or _worthwhile(jobs), len(jobs))
    if count <= 1:
        for job in jobs:
            yield players[job.rules].play(job, on_read)
        return
    # A fresh interpreter for each: forking one that draws a progress bar from a thread is not safe.
    with ProcessPoolExecutor(count, get_context("spawn"), _prepare, (rules, framework)) as pool:
        try:
            for job, course in zip(jobs, pool.map(_play, jobs), strict=True):
                on_read(job.size)
                yield course
        except BrokenProcessPool:
            message = "a process that played recordings was killed, perhaps for want of memory: try --jobs 1"
            raise UsageError(message) from None
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def play(
    job: Job, program: Program, framework: str | None = None, on_read: Callable[[int], None] | None = None
) -> Course:
    """Play one recording. Raises UsageError when it cannot be read."""
    engine = Engine(program.rules, program=program)
    recorder, summary = CourseRecorder(job.name), Summary()
    handle, take = engine.handle, recorder.take
    for event in events(job.path, summary, framework, on_read):
        if type(event) is StepMetrics:
            recorder.row(event.run, event.step)
        for transition in handle(event):
            take(transition)
    missing = {found.rule for run in recorder.runs for found in engine.not_evaluable(run)}
    return Course(
        file=job.name,
        steps=tuple(recorder.steps),
        episodes=recorder.episodes(),
        runs=tuple(recorder.runs),
        rejected=len(summary.rejected),
        fault=summary.rejected[0] if summary.rejected else "",
        not_evaluable=tuple(sorted(missing)),
    )


class _Player:
    """One set of rules; runs that log the same metrics share what is compiled."""

    def __init__(self, sources: Sequence[Source], framework: str | None) -> None:
        dictionary = default()
        self.program = Program(load_rules(sources, dictionary), dictionary)
        self.framework = framework

    def play(self, job: Job, on_read: Callable[[int], None] | None = None) -> Course:
        return play(job, self.program, self.framework, on_read)


def _worthwhile(jobs: Sequence[Job]) -> int:
    work = sum(job.size + BEGINNING for job in jobs)
    return max(min(_cores(), work // WORTH_A_PROCESS), 1)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_players: list[_Player] = []
"""In a process of the pool: its rules, compiled once."""


def _prepare(rules: Sequence[Sequence[Source]], framework: str | None) -> None:
    _players[:] = [_Player(sources, framework) for sources in rules]


def _play(job: Job) -> Course:
    return _players[job.rules].play(job)
