"""Write what each requirement is covered by into coverage.md, between its marks: `python docs/coverage_table.py`."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sentinel.metrics import default
from sentinel.resources import DEFAULT_PACKS, PACKS, pack_path, read_source
from sentinel.rules.loader import load_rules
from sentinel.rules.symptoms import symptoms

PAGE = Path(__file__).with_name("coverage.md")
TABLE = Path(__file__).with_name("coverage.tsv")
BEGIN = "<!-- begin: written by docs/coverage_table.py -->"
END = "<!-- end -->"

Rules = Mapping[tuple[str, str], str]
"""(pack, rule) → its symptom, in the order of the packs and of their files."""


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that is asked for: the symptoms that answer it, rules named one by one, or why there is no rule."""

    name: str
    asks: str
    symptoms: tuple[str, ...]
    also: tuple[str, ...]
    reason: str


def read(text: str) -> list[Row]:
    """The rows of the table, in order."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = []
    for cells in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
        plain = {key: "" if cell == "-" else cell for key, cell in cells.items()}
        named = tuple(plain["symptoms"].split()), tuple(plain["also"].split())
        found.append(Row(plain["row"], plain["asks"], *named, plain["reason"]))
    return found


def shipped() -> dict[tuple[str, str], str]:
    """All rules of all packs."""
    return {
        (pack, rule.name): rule.symptom
        for pack in PACKS
        for rule in load_rules([read_source(pack_path(pack))], default())
    }


def covering(row: Row, rules: Rules) -> list[tuple[str, str]]:
    """The rules that answer a row, by symptom or by name."""
    return [key for key, symptom in rules.items() if symptom in row.symptoms or key[1] in row.also]


def silent(rules: Rules) -> list[str]:
    """The symptoms that no rule of the default packs looks for, in the order of their table."""
    seen = {symptom for (pack, _), symptom in rules.items() if pack in DEFAULT_PACKS}
    return [name for name in symptoms() if name not in seen]


def problems(rows: Sequence[Row], rules: Rules) -> list[str]:
    """What the table says and the packs do not. Empty when it is sound."""
    found = []
    names = {name for _, name in rules}
    for row in rows:
        found += [f"{row.name}: there is no symptom {name}" for name in row.symptoms if name not in symptoms()]
        found += [f"{row.name}: there is no rule {name}" for name in row.also if name not in names]
        if not row.symptoms and not row.also and not row.reason:
            found.append(f"{row.name}: no rule covers it and no reason is given")
    for symptom in silent(rules):
        wanted = ", ".join(row.name for row in rows if symptom in row.symptoms)
        if wanted:
            found.append(f"{symptom}: no default rule looks for it, and {wanted} ask for it")
    return found


def render(rows: Sequence[Row], rules: Rules) -> str:
    """The generated part of the page: each row with its rules by pack, then each symptom."""
    lines = ["| row | what it asks | rules |", "| --- | --- | --- |"]
    lines += [f"| {row.name} | {row.asks} | {_answer(row, rules)} |" for row in rows]
    lines += ["", "### By symptom", "", "| symptom | what it means | rules |", "| --- | --- | --- |"]
    for symptom in symptoms().values():
        named = [key for key, found in rules.items() if found == symptom.name]
        lines.append(f"| `{symptom.name}` | {symptom.meaning} | {_rules(named) or '**none yet**'} |")
    return "\n".join(lines)


def _answer(row: Row, rules: Rules) -> str:
    missing = [f"`{symptom}`" for symptom in row.symptoms if symptom in silent(rules)]
    parts = [_rules(covering(row, rules)), row.reason, f"**none yet for** {', '.join(missing)}" if missing else ""]
    return " · ".join(part for part in parts if part)


def _rules(keys: Sequence[tuple[str, str]]) -> str:
    """`grpo: kl-high · classic: kl-high`"""
    packs = list(dict.fromkeys(pack for pack, _ in keys))
    return " · ".join(f"{pack}: {', '.join(f'`{name}`' for one, name in keys if one == pack)}" for pack in packs)


def current(page: str, rows: Sequence[Row], rules: Rules) -> str:
    """The page with its generated part as it should be."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{render(rows, rules)}\n\n{END}{tail}"


if __name__ == "__main__":
    table = read(TABLE.read_text("utf-8"))
    PAGE.write_text(current(PAGE.read_text("utf-8"), table, shipped()), "utf-8")
