"""The vocabulary of symptoms: every rule names the one that it looks for.

`symptoms.tsv` beside this module holds it, tab-separated with one header line: `symptom, meaning, default_severity,
taints` (`yes` or `no`: whether checkpoints saved from the onset on are suspect).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

from sentinel.severity import SEVERITIES, Severity


@dataclass(frozen=True, slots=True)
class Symptom:
    """What a rule can look for. `taints` and `default_severity` are what it means unless a rule says otherwise."""

    name: str
    meaning: str
    default_severity: Severity
    taints: bool


@cache
def symptoms() -> dict[str, Symptom]:
    """All symptoms by name, in the table's order."""
    text = (resources.files(__package__) / "symptoms.tsv").read_text("utf-8")
    found = {}
    for line in text.splitlines()[1:]:
        name, meaning, default, taints = line.split("\t")
        severity = next(severity for severity in SEVERITIES if severity == default)
        found[name] = Symptom(name, meaning, severity, taints == "yes")
    return found
