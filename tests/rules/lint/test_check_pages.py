"""Each code has its page, and what the page shows is so."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from sentinel.errors import Problem
from sentinel.resources import check_page
from sentinel.rules.footprint import state_problems
from sentinel.rules.lint.checks import RULE_CHECKS, SET_CHECKS
from sentinel.rules.lint.codes import Code, codes
from sentinel.rules.lint.linter import lint
from sentinel.rules.lint.tested import expected_alerts
from sentinel.rules.loader import read_rules

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "docs" / "checks"
REPORTERS = {"Fault", "fault", "Problem", "problem", "_problem", "PydanticCustomError", "wrong", "Finding"}
NOT_IN_RULE_FILES = {"unknown-value", "bad-value", "bad-text"}
"""Of the shared reader of documents: a rule file has no key that could raise them."""


def blocks(code: str) -> dict[str, str]:
    """Kind of block (`bad`, `good`, `test`, `allow`) → its text; Python blocks are evaluated."""
    found: dict[str, str] = {}
    page = (PAGES / f"{code}.md").read_text("utf-8")
    for language, kind, text in re.findall(r"^```(\w+) (\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        found[kind] = ast_eval(text) if language == "python" else text
    return found


def ast_eval(text: str) -> str:
    return eval(text)  # our own pages


@cache
def problems(text: str | bytes, tests: str | None = None) -> tuple[Problem, ...]:
    reading = read_rules([("page.yaml", text)])
    expected = expected_alerts("page.test.yaml", tests) if tests is not None else None
    beside = None if tests is None else {"page.yaml": expected}
    kept = [] if reading.errors else state_problems(reading.rules)
    return (*reading.problems, *lint(reading, beside).problems, *kept)


def loud(found: tuple[Problem, ...]) -> set[str]:
    return {problem.code for problem in found if problem.severity != "info"}


@pytest.mark.parametrize("code", codes().values(), ids=list(codes()))
def test_the_bad_example_has_the_code_and_the_mended_one_has_not(code: Code) -> None:
    shown = blocks(code.name)
    untested = "tests: []" if "test" in shown else None
    bad = problems(shown["bad"], untested)
    assert code.name in {problem.code for problem in bad}
    assert loud(bad) == ({code.name} if code.severity != "info" else set())
    assert all(problem.severity == code.severity for problem in bad if problem.code == code.name)
    good = problems(shown["good"], shown.get("test"))
    assert code.name not in {problem.code for problem in good}
    assert loud(good) == set()


@pytest.mark.parametrize(
    "code", [code for code in codes().values() if code.kind == "check"], ids=lambda code: code.name
)
def test_the_allowance_on_the_page_silences_the_bad_example(code: Code) -> None:
    shown = blocks(code.name)
    reading = read_rules([("page.yaml", shown["allow"] + shown["bad"])])
    report = lint(reading, {"page.yaml": frozenset()} if "test" in shown else None)
    assert {one.problem.code for one in report.allowed} == {code.name}
    assert all(one.reason for one in report.allowed)
    assert not {problem.code for problem in report.problems if problem.severity != "info"}


def test_each_code_has_a_page_and_each_page_a_code() -> None:
    assert {page.stem for page in PAGES.glob("*.md")} - {"README"} == set(codes())
    for code in codes().values():
        page = check_page(code.name)
        assert page.startswith(f"# {code.name}\n\n{code.severity.capitalize()}: {code.meaning}."[:60])


def test_the_table_of_pages_is_the_table_of_codes() -> None:
    rows = re.findall(
        r"^\| \[([a-z-]+[0-9]*)\]\(\1\.md\) \| (\w+) \| (.+) \|$", (PAGES / "README.md").read_text(), re.M
    )
    rows += re.findall(
        r"^\| \[(not-utf8)\]\(not-utf8\.md\) \| (\w+) \| (.+) \|$", (PAGES / "README.md").read_text(), re.M
    )
    assert sorted(set(rows)) == sorted((code.name, code.severity, code.meaning) for code in codes().values())


def test_every_code_that_reading_a_rule_file_can_give_is_in_the_table() -> None:
    said: set[str] = set()
    for file in [ROOT / "sentinel" / "documents.py", *(ROOT / "sentinel" / "rules").rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if name in REPORTERS:
                    said |= {word for argument in node.args for word in words(argument)}
    assert said - NOT_IN_RULE_FILES == set(codes())


def words(argument: ast.expr) -> list[str]:
    """The code that an argument is, or either of two."""
    parts = [argument.body, argument.orelse] if isinstance(argument, ast.IfExp) else [argument]
    texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return [text for text in texts if re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+|syntax", text)]


def test_each_check_is_a_file_of_the_name_of_its_code() -> None:
    names = {check.__name__.replace("_", "-") for check in (*RULE_CHECKS, *SET_CHECKS)}
    assert names == {code.name for code in codes().values() if code.kind == "check"}
    folder = ROOT / "sentinel" / "rules" / "lint" / "checks"
    assert names == {file.stem.replace("_", "-") for file in folder.glob("*.py")} - {"--init--"}
