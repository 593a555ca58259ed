"""How far a long piece of work has come: a bar on standard error, when that is a terminal, and nothing otherwise."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

WORTH_A_BAR = 2_000_000
"""Bytes of recordings below which the work is over before a bar could be read."""


class Bar(Protocol):
    """Takes what has been done, in the unit of the total."""

    def advance(self, amount: int) -> None: ...

    @contextmanager
    def aside(self) -> Iterator[None]:
        """While it lasts, the terminal belongs to whoever prints a line."""
        yield


class _NoBar:
    def advance(self, amount: int) -> None:
        pass

    @contextmanager
    def aside(self) -> Iterator[None]:
        yield


@contextmanager
def progress(what: str, total: int) -> Iterator[Bar]:
    """A bar for `total` bytes of work. It leaves nothing behind on the terminal."""
    if total < WORTH_A_BAR or not sys.stderr.isatty():
        yield _NoBar()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    drawn = Progress(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False
    )
    task = drawn.add_task(what, total=total)

    class _Bar:
        def advance(self, amount: int) -> None:
            drawn.advance(task, amount)

        @contextmanager
        def aside(self) -> Iterator[None]:
            # Standard output may be the same terminal: the bar steps back while a line is printed.
            if not sys.stdout.isatty():
                yield
                return
            drawn.stop()
            try:
                yield
            finally:
                drawn.start()

    with drawn:
        yield _Bar()
