"""A recorded run: JSONL in, events out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from sentinel.decode import MAX_RUN_LENGTH, Decoded, decode_line
from sentinel.errors import DecodeError, UsageError

BOM = b"\xef\xbb\xbf"
"""What some editors put before the first line."""


SAID_EVERY = 250_000
"""Bytes after which a reader says how far it has come: a progress bar moves ten times a second or so."""


def run_of(path: Path) -> str:
    """The run's id for lines that name none: the file's stem, made printable."""
    stem = "".join(character if character.isprintable() else "_" for character in path.stem)[:MAX_RUN_LENGTH]
    return stem if stem.strip() else "recording"


def read_recording(path: Path, on_read: Callable[[int], None] | None = None) -> Iterator[Decoded | DecodeError]:
    """The lines of a recording in order: an event with its dropped metrics, or the error of a line that is none.

    Errors are given and not raised, so that a replay counts them, says them and goes on; each message begins with
    `file:line`, which is also the position of each event. Blank lines count as lines only. `on_read` is told now and
    then how many bytes more have been read. Raises UsageError if the file cannot be read.
    """
    run = run_of(path)
    name = path.name
    unsaid = 0
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                unsaid += len(line)
                if unsaid >= SAID_EVERY and on_read is not None:
                    on_read(unsaid)
                    unsaid = 0
                text = (line.removeprefix(BOM) if number == 1 else line).strip()
                if not text:
                    continue
                position = f"{name}:{number}"
                try:
                    yield decode_line(text, run=run, position=position)
                except DecodeError as error:
                    yield DecodeError(error.reason, f"{path}:{number}: {error}")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
