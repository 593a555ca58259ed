"""What happened in a rule test beside what was expected, as a small table on a terminal."""

from __future__ import annotations

from collections.abc import Iterator

import click

from sentinel.cli.output import clean, text_of_problem
from sentinel.ruletest import Moment, Result, Strip


def text_of_result(result: Result, *, verbose: bool = False) -> Iterator[str]:
    """The lines below a test's name: its problems and what the alerts in question did; `verbose`: all that happened."""
    for problem in result.problems:
        yield from text_of_problem(problem).splitlines()
    for strip in result.strips:
        yield ""
        yield from text_of_strip(strip)
    if result.strips:
        yield ""
    if verbose:
        for change in result.changes:
            when = f"step {change.step}" if change.seconds is None else f"step {change.step}, {change.seconds:g}s"
            yield f"{when:<16} {change.state:<10} {change.severity:<8} {clean(change.alert)}: {clean(change.summary)}"


def text_of_strip(strip: Strip) -> Iterator[str]:
    """A table with one row per moment; `>` marks where the two disagree, `...` what is left out."""
    timed = any(moment.seconds is not None for moment in strip.moments)
    metrics = {moment.metric for moment in strip.moments if moment.metric}
    heading = ["step", *(["time"] if timed else []), "value", "threshold", "happened", "expected"]
    rows = [[_cell(row.step), *([_time(row)] if timed else []), *_cells(row)] for row in strip.moments]
    if len(metrics) > 1:
        heading.append("compared")
        rows = [[*row, clean(moment.metric)] for row, moment in zip(rows, strip.moments, strict=True)]
    widths = [max(map(len, column)) for column in zip(heading, *rows, strict=True)]
    numbers = 4 if timed else 3
    of = f": {clean(metrics.pop())}" if len(metrics) == 1 else ""
    yield click.style(f"{clean(strip.alert)}{of}", bold=True)
    yield click.style("  " + _line(heading, widths, numbers), dim=True)
    for at, (cells, moment) in enumerate(zip(rows, strip.moments, strict=True)):
        if at in strip.gaps:
            yield click.style("  " + "...".rjust(widths[0]), dim=True)
        line = _line(cells, widths, numbers)
        yield click.style(f"> {line}", fg="red") if moment.expected else f"  {line}"


def _line(cells: list[str], widths: list[int], numbers: int) -> str:
    """Numbers stand to the right, words to the left."""
    placed = [
        cell.rjust(width) if at < numbers else cell.ljust(width)
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True))
    ]
    return "  ".join(placed).rstrip()


def _cells(moment: Moment) -> list[str]:
    # A transition says more than the state that it leads to.
    state = f"{moment.state} {moment.severity}" if moment.severity else moment.state
    return [_cell(moment.value), _cell(moment.threshold), moment.happened or state, clean(moment.expected)]


def _cell(number: float | None) -> str:
    return "-" if number is None else f"{number:.4g}" if isinstance(number, float) else str(number)


def _time(moment: Moment) -> str:
    return "-" if moment.seconds is None else f"{moment.seconds:g}s"
