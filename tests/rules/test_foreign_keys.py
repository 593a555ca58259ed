"""A rule file in the manner of another tool is told, at each place, what stands there instead."""

from __future__ import annotations

import pytest

from sentinel.errors import Problem
from sentinel.rules.document import OverrideDocument, RuleDocument, RuleFile
from sentinel.rules.foreign_keys import KEYS
from sentinel.rules.loader import read_rules


def problems(text: str) -> tuple[Problem, ...]:
    return read_rules([("my.yaml", text)]).problems


def hint(text: str, code: str) -> str:
    return next(problem.hint for problem in problems(text) if problem.code == code)


RULE = "rules:\n  - alert: kl-high\n    symptom: kl-high\n    warning: kl.ref > 0.1\n    {}\n"


@pytest.mark.parametrize(("key", "told"), KEYS.items())
def test_a_key_of_another_tool_is_told_what_stands_here_instead(key: str, told: str) -> None:
    assert hint(RULE.format(f"{key}: x"), "unknown-key") == told
    assert hint(RULE.format(f"{key.title()}: x"), "unknown-key") == told
    assert hint(f"{key}: x\nrules: []", "unknown-key") == told


def test_no_key_of_another_tool_is_one_of_ours() -> None:
    ours = {
        field.alias or name
        for model in (RuleFile, RuleDocument, OverrideDocument)
        for name, field in model.model_fields.items()
    }
    assert set(KEYS) & ours <= {"enabled"}


def test_a_misspelled_key_is_still_told_the_nearest_one() -> None:
    assert hint(RULE.format("sumary: x"), "unknown-key") == "did you mean 'summary'?"


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("- alert: kl-high", "wrong-type", "begins with the line rules:"),
        ("rules: {alert: kl-high}", "wrong-type", "begins with a hyphen"),
        ("rules: [kl-high]", "wrong-type", "- alert: kl-high"),
        (RULE.format("overrides: {where: {team: a}}"), "wrong-type", "- where:"),
        (RULE.format("where: [trl]"), "wrong-type", "framework: trl"),
        (RULE.format("runbook: look at it"), "wrong-type", "do: [...]"),
        (RULE.format("runbook: {do: look at it}"), "wrong-type", "do: [...]"),
        (RULE.format("allow: [no-runbook]"), "wrong-type", "with the reason"),
        ("vars: [0.5]\nrules: []", "wrong-type", "vars: {kl_limit: 0.5}"),
        ("vars: {a: 1}", "missing-key", "below the line rules:"),
        ("rules:\n  - symptom: kl-high\n    warning: kl.ref > 1", "missing-key", "alert: kl-high"),
        ("rules:\n  - alert: a\n    warning: kl.ref > 1", "missing-key", "sentinel rules symptoms"),
        (
            RULE.format("").replace("symptom: kl-high", "symptom: hallucination"),
            "unknown-symptom",
            "sentinel rules symptoms",
        ),
    ],
)
def test_a_wrong_shape_is_told_the_right_one(text: str, code: str, told: str) -> None:
    assert told in hint(text, code)
