"""Figures as people and programs read them."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number. `low` and `high`: its range over the rounds, where there was more than one."""

    name: str
    value: float
    unit: str
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        spread = "" if self.low is None or self.high is None else f"   ({self.low:,.4g} to {self.high:,.4g})"
        return f"  {self.name:<58} {self.value:>10,.4g} {self.unit}{spread}"


def show(title: str, figures: Iterable[Figure]) -> None:
    print(f"\n{title}")
    for figure in figures:
        print(figure)


def machine() -> str:
    """One line: what these figures were measured on."""
    return f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start"


def save(path: Path, figures: Iterable[Figure], *, on: str) -> None:
    path.write_text(json.dumps({"machine": on, "figures": [asdict(figure) for figure in figures]}, indent=1) + "\n")
