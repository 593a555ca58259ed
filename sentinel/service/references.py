"""Recorded runs that others are held against, read from their files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sentinel.bus.recording import run_of
from sentinel.engine.recorded import RecordedRun
from sentinel.engine.recorder import record
from sentinel.errors import UsageError
from sentinel.metrics import Dictionary
from sentinel.service.replay import Summary, events


def read_references(
    paths: Iterable[Path], dictionary: Dictionary, *, framework: str | None = None
) -> dict[str, RecordedRun]:
    """The runs recorded in `paths`, by the stems of their files.

    They are read as a replay reads them. Raises UsageError for a file that cannot be read, holds no step or several
    runs, and for two files of one name.
    """
    found: dict[str, RecordedRun] = {}
    places: dict[str, Path] = {}
    for path in paths:
        name = run_of(path)
        if path.is_dir() or not path.exists():
            raise UsageError(f"there is no reference file {path}")
        if name in found:
            raise UsageError(f"two reference runs are named '{name}': {places[name]} and {path}. Rename one")
        summary = Summary()
        try:
            found[name] = record(events(path, summary, framework), dictionary)
        except ValueError as error:
            raise UsageError(f"{path} cannot be a reference: {error}") from None
        if found[name].last < 0:
            why = f": {summary.rejected[0]}" if summary.rejected else ""
            raise UsageError(f"{path} cannot be a reference: it holds no step{why}")
        places[name] = path
    return found
