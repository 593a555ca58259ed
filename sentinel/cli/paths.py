"""What is wrong with a path that should name a recording."""

from __future__ import annotations

from pathlib import Path

from sentinel.cli.output import clean


def missing_file(path: Path) -> str:
    """Why nothing can be read from `path`, with a remedy; empty when it can be tried. A pipe counts as a file."""
    name = clean(str(path))
    if path.is_dir():
        return f"{name} is a directory: name the files in it, for example {name.rstrip('/')}/*.jsonl"
    return "" if path.exists() else f"there is no file {name}"
