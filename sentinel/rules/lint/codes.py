"""The codes of all faults and findings: what each means, and whether a rule may allow it.

`codes.tsv` beside this module holds them, tab-separated with one header line: `code, severity, kind, meaning`. A
code of the kind `fault` says that a file cannot be used as it is. A `check` is a judgement, and an author may know
better: a rule that says why (`allow: {no-runbook: "..."}`) silences it. Each has a page, `docs/checks/CODE.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True)
class Code:
    """`severity`: error, warning or info. `kind`: fault or check. `meaning`: a clause for tables."""

    name: str
    severity: str
    kind: str
    meaning: str

    @property
    def page(self) -> str:
        """The short address of its page."""
        return f"docs/checks/{self.name}.md"


@cache
def codes() -> dict[str, Code]:
    """All codes by name, in the table's order."""
    text = (resources.files(__package__) / "codes.tsv").read_text("utf-8")
    found = (Code(*line.split("\t")) for line in text.splitlines()[1:])
    return {code.name: code for code in found}
