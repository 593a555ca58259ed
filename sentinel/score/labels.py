"""Which symptoms answer to which label of a recorded run.

`labels.tsv` beside this module holds it: tab-separated, `#` begins a comment line, one header line `label, kind,
symptoms, meaning`. `kind` is `broken`, `healthy` or `unjudged`; `symptoms` are separated by blanks, `-` is none.
The name of a symptom is a label, too: of a broken run that this symptom fits, and no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Literal

from sentinel.rules.symptoms import symptoms
from sentinel.severity import Severity

Kind = Literal["broken", "healthy", "benign", "unjudged"]
"""What is asked of a run. `benign`: healthy though another label applies."""


@dataclass(frozen=True, slots=True)
class Label:
    """One word for how a run went. `fitting`: the symptoms that answer to it."""

    name: str
    kind: Kind
    fitting: tuple[str, ...]
    meaning: str


@cache
def labels() -> dict[str, Label]:
    """All labels by name: those of the table in its order, then the symptoms."""
    text = (resources.files(__package__) / "labels.tsv").read_text("utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    found: dict[str, Label] = {}
    for line in lines[1:]:
        name, kind, fitting, meaning = line.split("\t")
        found[name] = Label(name, _KINDS[kind], () if fitting == "-" else tuple(fitting.split()), meaning)
    for symptom in symptoms().values():
        found.setdefault(symptom.name, Label(symptom.name, "broken", (symptom.name,), symptom.meaning))
    return found


_KINDS: dict[str, Kind] = {"broken": "broken", "healthy": "healthy", "unjudged": "unjudged"}


def least_severity(symptom: str) -> Severity:
    """From which severity on an alert counts as detection: warning, or info where the symptom's default is info."""
    return "info" if symptoms()[symptom].default_severity == "info" else "warning"
