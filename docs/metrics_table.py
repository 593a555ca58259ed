"""Write the table of canonical metrics into metrics.md, between its marks: `python docs/metrics_table.py`."""

from __future__ import annotations

from pathlib import Path

from sentinel.metrics import Dictionary, default

PAGE = Path(__file__).with_name("metrics.md")
BEGIN = "<!-- begin: written by docs/metrics_table.py -->"
END = "<!-- end -->"


def render(dictionary: Dictionary) -> str:
    """The generated part of the page: who is known, and the canonical names by layer."""
    lines = ["| source | kind | keys | read from |", "| --- | --- | --- | --- |"]
    for source in dictionary.sources.values():
        count = len({row.key for row in dictionary.table(source.name).rows})
        lines.append(f"| `{source.name}` | {source.kind} | {count} | {source.read} |")
    layers = list(dict.fromkeys(info.layer for info in dictionary.metrics.values()))
    for layer in layers:
        lines += ["", f"### Layer: {layer}", "", "| name | what it is | unit | range | stage | bad |"]
        lines.append("| --- | --- | --- | --- | --- | --- |")
        for info in dictionary.metrics.values():
            if info.layer == layer:
                cells = (info.definition, info.unit, info.range, info.stage, info.bad)
                lines.append(f"| `{info.name}` | {' | '.join(_cell(cell) for cell in cells)} |")
    lines += ["", "### Derived", "", "| name | formula | note |", "| --- | --- | --- |"]
    for one in dictionary.all_derivations():
        lines.append(f"| `{one.name}` | `{one.formula}` | {_cell(one.note)} |")
    return "\n".join(lines)


def current(page: str, dictionary: Dictionary) -> str:
    """The page with its generated part as it should be."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{render(dictionary)}\n\n{END}{tail}"


def _cell(text: str) -> str:
    """A text in a cell of a Markdown table."""
    if text == "-":
        return ""
    for plain, escaped in (("\\", "\\\\"), ("|", "\\|"), ("<", "&lt;"), ("*", "\\*"), ("[", "\\[")):
        text = text.replace(plain, escaped)
    return text


if __name__ == "__main__":
    PAGE.write_text(current(PAGE.read_text("utf-8"), default()), "utf-8")
