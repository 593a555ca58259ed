"""Numbers that the rules of a file share."""

import pytest

from sentinel.rules.loader import load_rules, read_rules

FILE = """\
vars: {limit: 0.5, low: -0.1, share: 20%, wide: 5m, patience: 3 steps}
rules:
  - alert: a
    symptom: kl-high
    warning: kl.ref > vars.limit and drop(reward.mean, vars.patience) > vars.share or kl.ref < vars.low
    critical: age(kl.ref) > vars.wide or mean(kl.ref, vars.wide) > 2 * vars.limit
    for: vars.patience
    keep_firing_for: vars.wide
    after: vars.patience
"""

LITERAL = """\
rules:
  - alert: a
    symptom: kl-high
    warning: kl.ref > 0.5 and drop(reward.mean, 3 steps) > 20% or kl.ref < -0.1
    critical: age(kl.ref) > 5m or mean(kl.ref, 5m) > 2 * 0.5
    for: 3 steps
    keep_firing_for: 5m
    after: 3 steps
"""


def told(text):
    return list(read_rules([("x.yaml", text)]).problems)


def one(condition, variables="limit: 0.5", more=""):
    return f"vars: {{{variables}}}\nrules:\n  - {{alert: a, symptom: kl-high, warning: '{condition}'{more}}}\n"


def test_a_variable_is_the_number_itself():
    (shared,), (written,) = load_rules([("x", FILE)]), load_rules([("x", LITERAL)])
    assert shared.key == written.key
    assert list(shared.expressions()) == list(written.expressions())
    assert (shared.hold, shared.keep_firing, shared.after) == (written.hold, written.keep_firing, written.after)


def test_an_edited_variable_is_an_edited_condition():
    (before,), (after,) = (load_rules([("x", one("kl.ref > vars.limit", f"limit: {limit}"))]) for limit in (0.5, 0.6))
    assert before.key != after.key


def test_variables_are_the_files_own():
    with_it, without = (
        one("kl.ref > vars.limit"),
        one("kl.ref > vars.limit", "other: 1").replace("alert: a", "alert: b"),
    )
    found = read_rules([("a.yaml", with_it), ("b.yaml", without)]).problems
    assert [(problem.path, problem.code) for problem in found] == [("b.yaml", "unused-var"), ("b.yaml", "unknown-var")]


def test_an_unknown_variable_is_told_with_the_one_that_was_meant():
    (problem,) = [problem for problem in told(one("kl.ref > vars.limt")) if problem.severity == "error"]
    assert (problem.code, problem.line, problem.hint) == ("unknown-var", 3, "did you mean 'limit'?")


def test_without_variables_the_remedy_is_to_add_one():
    (problem,) = told("rules: [{alert: a, symptom: kl-high, warning: kl.ref > vars.limit}]")
    assert problem.hint == "Add it at the top of the file: vars: {limit: 0.5}"


@pytest.mark.parametrize(
    ("condition", "variables", "more", "code"),
    [
        ("kl.ref > vars.limit", "limit: 5m", "", "wrong-unit"),
        ("kl.ref > vars.limit", "limit: 20%", "", "wrong-unit"),
        ("kl.ref > vars.limit", "limit: 3 steps", "", "misplaced-window"),
        ("mean(kl.ref, vars.limit) > 1", "limit: 0.5", "", "bad-arguments"),
        ("reward.mean / vars.limit > 1", "limit: 0", "", "division-by-zero"),
        ("kl.ref > 1", "limit: 0.5", ", for: vars.limit", "bad-extent"),
        ("kl.ref > 1", "limit: 5m", ", after: vars.limit", "bad-extent"),
    ],
)
def test_a_fault_stands_at_the_use_and_names_the_line_of_the_variable(condition, variables, more, code):
    (problem,) = told(one(condition, variables, more))
    assert (problem.code, problem.line) == (code, 3)
    assert "vars.limit is " in problem.hint
    assert "(line 1)" in problem.hint


def test_a_value_that_cannot_be_read_is_told_once_and_at_its_place():
    (problem,) = told(one("kl.ref > vars.limit", "limit: kl.ref"))
    assert (problem.code, problem.line) == ("bad-var", 1)


@pytest.mark.parametrize("name", ["KL", "kl.limit", "kl-limit", "1st", "a" * 64])
def test_a_variables_name_is_a_plain_word(name):
    problems = told(one("kl.ref > 1", f"{name}: 1"))
    assert ("bad-name", 1) in [(problem.code, problem.line) for problem in problems]


def test_a_variable_that_nothing_uses_is_a_warning():
    reading = read_rules([("x.yaml", one("kl.ref > 1"))])
    assert [(problem.code, problem.severity) for problem in reading.problems] == [("unused-var", "warning")]
    assert len(reading.rules) == 1


def test_overrides_use_the_files_variables():
    text = one("kl.ref > 1", more=", overrides: [{where: {team: a}, warning: kl.ref > vars.limit}]")
    (rule,) = load_rules([("x", text)])
    assert str(rule.overrides[0].rule.conditions[0][1]) == "kl.ref > 0.5"
