"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def reference_option(help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`--reference FILE`, any number of times: recorded runs for `reference(x)`, as `reference_paths`."""
    return click.option(
        "--reference",
        "reference_paths",
        multiple=True,
        metavar="FILE",
        type=click.Path(path_type=Path),
        help=help,
    )
