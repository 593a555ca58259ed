"""docs/coverage.md says which shipped rules answer which demand, and says it of the rules there are."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from sentinel.rules.symptoms import symptoms

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "coverage_table.py"))


@pytest.fixture(scope="module")
def rows(script: dict[str, Any]) -> list[Any]:
    found: list[Any] = script["read"]((DOCS / "coverage.tsv").read_text("utf-8"))
    return found


def test_the_generated_tables_are_current(script: dict[str, Any], rows: list[Any]) -> None:
    page = (DOCS / "coverage.md").read_text("utf-8")
    assert page == script["current"](page, rows, script["shipped"]()), "run: python docs/coverage_table.py"


def test_each_demand_has_a_rule_or_a_reason(script: dict[str, Any], rows: list[Any]) -> None:
    rules = script["shipped"]()
    assert not script["problems"](rows, rules)
    assert not script["silent"](rules)


def test_no_demand_is_left_out(rows: list[Any]) -> None:
    wanted = [f"A{n}" for n in (2, 3, *range(5, 30))]
    wanted += [f"B{n}" for n in range(1, 11)] + [f"C{n}" for n in range(4, 18)]
    assert [row.name for row in rows] == wanted


def test_each_symptom_is_asked_for(rows: list[Any]) -> None:
    asked = {symptom for row in rows for symptom in row.symptoms}
    # Two are asked for elsewhere in the guides, not by a threshold, an alert or a joint judgement.
    assert set(symptoms()) - asked == {"rollout-mismatch", "phase-shift"}


def test_a_rule_that_is_gone_and_a_demand_without_rules_are_found(script: dict[str, Any]) -> None:
    row, rules = script["Row"], {("grpo", "kl"): "kl-high", ("strict", "noise"): "reward-noise"}
    rows = [
        row("A1", "covered", ("kl-high",), (), ""),
        row("A2", "named", (), ("gone",), "a reason"),
        row("A3", "only by a pack that is not in force", ("reward-noise",), (), ""),
        row("A4", "misspelled", ("kl-hgih",), ("kl",), ""),
        row("A5", "bare", (), (), ""),
    ]
    assert script["problems"](rows, rules) == [
        "A2: there is no rule gone",
        "A4: there is no symptom kl-hgih",
        "A5: no rule covers it and no reason is given",
        "reward-noise: no default rule looks for it, and A3 ask for it",
    ]
