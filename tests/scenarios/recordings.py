"""Recordings with known answers: copies in tests/data, or whole collections that lie beside the repository."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sentinel.metrics import default
from sentinel.resources import pack_path, read_source
from sentinel.rules.loader import load_rules
from sentinel.rules.model import RuleSet
from sentinel.service.replay import Found, Summary, replay
from sentinel.severity import Severity, rank

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
COLLECTIONS = ROOT.parent / "shared"


@dataclass(frozen=True)
class Scenario:
    """One synthetic recording and what must come of it. `deadline` None: no alert of warning or worse at all."""

    path: Path
    onset: int
    deadline: int | None
    accepted: frozenset[str]
    least: Severity

    @property
    def kind(self) -> str:
        return self.path.stem.rsplit("-", 2)[0]


@dataclass(frozen=True)
class Labelled:
    """One published run and how it was judged by eye."""

    path: Path
    labels: frozenset[str]
    onset: int | None

    @property
    def healthy(self) -> bool:
        return "healthy" in self.labels


def scenarios() -> list[Scenario]:
    folder = COLLECTIONS / "scenarios"
    if not (folder / "EXPECT.tsv").is_file():
        folder = DATA / "scenarios"
    found = []
    with (folder / "EXPECT.tsv").open() as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            fires = row["kind"] == "must-fire"
            found.append(
                Scenario(
                    folder / row["file"],
                    int(row["onset"]) if fires else 0,
                    int(row["deadline"]) if fires else None,
                    frozenset(row["accepted"].split()),
                    row["least_severity"],  # type: ignore[arg-type]
                )
            )
    return found


def labelled(index: Path, folder: Path) -> list[Labelled]:
    with index.open() as lines:
        return [
            Labelled(
                folder / row["file"],
                frozenset(row["labels"].split(";")),
                int(row["onset_step"]) if row["onset_step"] else None,
            )
            for row in csv.DictReader(lines, delimiter="\t")
        ]


@cache
def pack(name: str) -> RuleSet:
    return load_rules([read_source(pack_path(name))], default())


def fired(path: Path, rules: RuleSet) -> list[Found]:
    """The firings of a recording, with the advice that came with them."""
    found = replay(path, rules, Summary(), dictionary=default())
    return [one for one in found if one.transition.state == "firing"]


def grave(found: Sequence[Found], least: Severity = "warning") -> list[Found]:
    return [one for one in found if rank(one.transition.severity) >= rank(least)]


def told(found: Sequence[Found]) -> list[str]:
    """What fired, for the message of a failing test."""
    return [f"{one.transition.alert} {one.transition.severity} at {one.transition.step}" for one in found]
