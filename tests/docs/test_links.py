"""What the documents point at exists: files, headings, make words, and the layers as the linter knows them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + [*ROOT.glob("docs/**/*.md")]
)

FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!\\)\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
REFERENCE = re.compile(r"^\[[^\]]+\]:\s*<?(\S+?)>?\s*$", re.MULTILINE)
EXTERNAL = re.compile(r"^(https?|mailto):")


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def links(text: str) -> list[str]:
    prose = without_code(text)
    return [*LINK.findall(prose), *REFERENCE.findall(prose)]


def anchors(text: str) -> set[str]:
    """The ids that GitHub gives the headings of a page."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6}\s+(.+?)\s*#*$", FENCE.sub("", text), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = 1
        unique = slug
        while unique in found:
            unique = f"{slug}-{number}"
            number += 1
        found.add(unique)
    return found


def make_words(text: str) -> set[str]:
    """Words after `make` at the start of a command: in code spans and in code blocks, not in prose."""
    code = "\n".join([*re.findall(r"`([^`\n]+)`", FENCE.sub("", text)), *(m[0] for m in FENCE.finditer(text))])
    return set(re.findall(r"(?:^|[;&|$]\s*)\s*make ([a-z][a-z-]*)", code, re.MULTILINE))


def makefile_words() -> dict[str, bool]:
    """Target → is it a word for people, that is, listed by `make help`."""
    text = (ROOT / "Makefile").read_text("utf-8")
    return {m[1]: "## " in m[2] for m in re.finditer(r"^([a-z][a-z-]*):(?!=)(.*)$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    broken = []
    for link in links(page.read_text("utf-8")):
        if EXTERNAL.match(link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if not target.is_relative_to(ROOT) or not target.exists():
            broken.append(f"{link}: no such file")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text("utf-8")):
            broken.append(f"{link}: no such heading")
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_every_make_word_is_in_the_makefile(page: Path) -> None:
    assert make_words(page.read_text("utf-8")) <= makefile_words().keys()


def test_contributing_explains_every_word_that_make_help_lists() -> None:
    listed = {word for word, public in makefile_words().items() if public}
    assert {"venv", "demo", "test", "check", "bench", "docs", "format", "clean"} <= listed
    assert listed - {"help"} <= make_words((ROOT / "CONTRIBUTING.md").read_text("utf-8"))


def test_every_make_word_is_phony() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    phony = {word for line in re.findall(r"^\.PHONY:(.*)$", text, re.MULTILINE) for word in line.split()}
    assert makefile_words().keys() == phony


def test_picture_of_the_layers_is_the_one_that_the_linter_holds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = next(c for c in project["tool"]["importlinter"]["contracts"] if c["type"] == "layers")
    expected = [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    picture = next(m[0] for m in FENCE.finditer(text) if m[0].startswith("```layers"))
    drawn = [
        [name.strip() for name in line.split("  ")[0].split("|")]
        for line in re.sub(r"\s\|\s", "|", picture).splitlines()[1:-1]
        if line.strip()
    ]
    assert drawn == expected


def test_architecture_describes_every_package_of_the_house() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    rooms = set(re.findall(r"^\| `([a-z]+(?:\.py)?)/?` \|", text, re.MULTILINE))
    house = {
        path.name
        for path in (ROOT / "sentinel").iterdir()
        if not path.name.startswith("_") and (path.suffix == ".py" or (path / "__init__.py").exists())
    }
    assert house <= rooms, f"not described: {sorted(house - rooms)}"


def test_decisions_are_numbered_without_gaps_and_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    records = sorted(p.name for p in folder.glob("[0-9]*.md"))
    assert [int(name[:4]) for name in records] == list(range(1, len(records) + 1))
    assert records == sorted(set(re.findall(r"\((\d{4}-[a-z-]+\.md)\)", (folder / "README.md").read_text("utf-8"))))
    for name in records:
        headings = re.findall(r"^## (.+)$", (folder / name).read_text("utf-8"), re.MULTILINE)
        assert headings[0] == "Decision", name
        assert headings[-1] == "What it costs", name


def test_glossary_terms_are_in_alphabetical_order() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    terms = [t.lower() for t in re.findall(r"^\*\*(.+?)\*\*", text, re.MULTILINE)]
    assert len(terms) > 30
    assert terms == sorted(terms)


def test_link_finder_sees_links_and_spares_code() -> None:
    text = "[a](b.md#c) and `[no](x.md)`\n```\n[no](y.md)\n```\n![pic](p.png 'title')\n[r]: z.md\n"
    assert links(text) == ["b.md#c", "p.png", "z.md"]
    assert anchors("# A `b` (c)!\n## A b c\n") == {"a-b-c", "a-b-c-1"}
    assert make_words("make sure; `make test`\n```\nmake demo && make bench\n```\n") == {"test", "demo", "bench"}
