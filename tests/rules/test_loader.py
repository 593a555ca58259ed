"""Rule files: what they become, and every way in which they can be wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.errors import Problem, RuleError
from sentinel.metrics import default
from sentinel.rules.document import json_schema
from sentinel.rules.expression.nodes import Extent
from sentinel.rules.lint.linter import lint
from sentinel.rules.loader import load_rules, read_rules
from sentinel.rules.symptoms import symptoms
from sentinel.rules.template import DEFAULT_SUMMARY
from sentinel.stats.window import Axis

RULE = "rules:\n  - alert: kl-high\n    symptom: kl-high\n    warning: kl.ref > 0.1\n"

FULL = """\
rules:
  - alert: kl-high
    symptom: kl-high
    info: kl.ref > 0.05
    warning: kl.ref > 0.1
    critical: kl.ref > 0.5
    for: 3 steps
    keep_firing_for: 5m
    until: kl.ref < 0.08
    after: 50 steps
    where: {framework: trl, team: "a b"}
    taints: false
    summary: "KL is {value:.3g}"
    runbook:
      causes: [learning rate too high]
      look_at: [reward.mean, entropy]
      do: [roll back]
  - alert: gpu-idle
    symptom: gpu-idle
    warning: max(gpu.util, 5m) < 30%
"""


def problems(*texts: str | bytes) -> list[Problem]:
    return list(read_rules([(f"{index}.yaml", text) for index, text in enumerate(texts)]).problems)


def under(problem: Problem) -> str:
    return problem.excerpt[problem.column - 1 : problem.column - 1 + problem.width]


def test_a_file_becomes_rules_in_file_order() -> None:
    rules = load_rules([("r/a.yaml", FULL)], default())
    kl, gpu = rules
    assert (kl.name, kl.symptom, kl.source) == ("kl-high", "kl-high", "r/a.yaml:2")
    assert [(severity, str(condition)) for severity, condition in kl.conditions] == [
        ("info", "kl.ref > 0.05"),
        ("warning", "kl.ref > 0.1"),
        ("critical", "kl.ref > 0.5"),
    ]
    assert (kl.hold, kl.keep_firing) == (Extent(Axis.STEPS, 3), Extent(Axis.TIME, 300.0))
    assert (str(kl.until), kl.after, dict(kl.where)) == ("kl.ref < 0.08", 50, {"framework": "trl", "team": "a b"})
    assert (kl.taints, kl.summary) == (False, "KL is {value:.3g}")
    assert kl.runbook.look_at == ("reward.mean", "entropy")
    assert (gpu.hold, gpu.until, gpu.after, gpu.summary, gpu.source) == (None, None, 0, DEFAULT_SUMMARY, "r/a.yaml:18")


def test_whether_a_rule_taints_comes_from_its_symptom_unless_it_says() -> None:
    taints = {rule.name: rule.taints for rule in load_rules([("x", RULE.replace("alert: kl-high", "alert: a"))])}
    assert taints == {"a": symptoms()["kl-high"].taints} == {"a": True}
    assert not load_rules([("x", FULL)]).rules[1].taints


def test_the_same_text_gives_the_same_fingerprints() -> None:
    first, second = load_rules([("x", FULL)]), load_rules([("y", "# moved\n" + FULL)])
    assert [rule.key for rule in first] == [rule.key for rule in second]


@pytest.mark.parametrize(
    ("old", "new", "code", "line", "marked"),
    [
        ("alert: kl-high", "alert: KL high", "bad-name", 2, "KL high"),
        ("alert: kl-high", "alert: " + "a" * 64, "bad-name", 2, "a" * 64),
        ("alert: kl-high", "alert: [x]", "wrong-type", 2, "[x]"),
        ("alert: kl-high", "alert: true", "", 0, ""),
        ("alert: kl-high", "name: kl-high", "unknown-key", 2, "name"),
        ("symptom: kl-high", "symptom: kl-hgh", "unknown-symptom", 3, "kl-hgh"),
        ("    symptom: kl-high\n", "", "missing-key", 2, "alert: kl-high"),
        ("    warning: kl.ref > 0.1\n", "", "no-condition", 2, "alert: kl-high"),
        ("kl.ref > 0.1", "kl.rf > 0.1", "unknown-metric", 4, "kl.rf"),
        ("kl.ref > 0.1", "'kl.rf > 0.1'", "unknown-metric", 4, "kl.rf"),
        ("kl.ref > 0.1", '"0.1 < kl.rf"', "unknown-metric", 4, "kl.rf"),
        ("kl.ref > 0.1", "|\n      step > 3\n      and kl.rf > 0.1", "unknown-metric", 6, "kl.rf"),
        ("kl.ref > 0.1", ">-\n      step > 3 and\n      kl.rf > 0.1", "unknown-metric", 6, "kl.rf"),
        ("kl.ref > 0.1", "step > 3 and\n      kl.rf > 0.1", "unknown-metric", 5, "kl.rf"),
        ("kl.ref > 0.1", "maen(kl.ref, 3 steps) > 1", "unknown-function", 4, "maen"),
        ("kl.ref > 0.1", "kl.ref > 5% / 5m", "wrong-unit", 4, "5% / 5m"),
        ("kl.ref > 0.1", "true", "unknown-metric", 4, "true"),
        ("kl.ref > 0.1", "[kl.ref > 0.1]", "wrong-type", 4, "[kl.ref > 0.1]"),
        ("kl.ref > 0.1", "", "empty-value", 4, "warning"),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    for: 3", "bad-extent", 5, "3"),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    after: 5m", "bad-extent", 5, "5m"),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    taints: yes", "wrong-type", 5, "yes"),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    phase: []", "bad-phase", 5, "[]"),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    phase: [late, true]", "bad-phase", 5, "[late, true]"),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    phase: {late: 1}", "bad-phase", 5, "{late: 1}"),
        ("kl.ref > 0.1", "phase == 'late'", "syntax", 4, "'"),
        ("kl.ref > 0.1", "phase > late", "bad-phase", 4, "phase > late"),
        ("kl.ref > 0.1", "kl.ref * phase > 1", "bad-phase", 4, "phase"),
        ("kl.ref > 0.1", "phase == kl.ref + 1", "bad-phase", 4, "kl.ref + 1"),
        ("kl.ref > 0.1", "kl.ref > vars.limit", "unknown-var", 4, "vars.limit"),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    for: vars.patience", "unknown-var", 5, "vars.patience"),
        (
            "kl.ref > 0.1",
            "kl.ref > 0.1\n    overrides: [{warning: kl.ref > 1}]",
            "missing-key",
            5,
            "{warning: kl.ref > 1}",
        ),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    overrides: [{where: {}}]", "no-labels", 5, "{}"),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    overrides: [{where: {a: b}, symptom: x}]", "unknown-key", 5, "symptom"),
        (
            "kl.ref > 0.1",
            "kl.ref > 0.1\n    overrides: [{where: {a: b}, info: kl.rf > 1}]",
            "unknown-metric",
            5,
            "kl.rf",
        ),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    overrides: [{where: {a: b}, warning: ~}]", "no-condition", 5, "where"),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    where: {gpu: 0}", "wrong-type", 5, "0"),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    where: [trl]", "wrong-type", 5, "[trl]"),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    summary: 'it''s {valu}'", "unknown-template-key", 5, "valu"),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    runbook: {do: x}", "wrong-type", 5, "x"),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    runbook: {doo: [x]}", "unknown-key", 5, "doo"),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    warning: kl.ref > 2", "duplicate-key", 5, "warning"),
        ("kl.ref > 0.1", "kl.ref > 0.1\n    where: {framework: trll}", "unknown-framework", 5, "{framework: trll}"),
        ("kl.ref > 0.1", "clip_frac > 40", "wrong-scale", 4, "40"),
        ("kl.ref > 0.1", "clip_frac > 40%", "", 0, ""),
        ("kl.ref > 0.1", "drop(reward.mean, 9 steps) > 20", "wrong-scale", 4, "20"),
        ("kl.ref > 0.1", "rise(kl.ref, 9 steps) > 2", "", 0, ""),
        ("kl.ref > 0.1", "0.3 > gpu.util", "wrong-scale", 4, "0.3"),
        ("kl.ref > 0.1", "gpu.util{gpu=0,gpu=1} < 3", "duplicate-label", 4, "{gpu=0,gpu=1}"),
        ("kl.ref > 0.1", "3 > `a/*`", "raw-wildcard", 4, "`a/*`"),
        ("rules:", "rulez:", "unknown-key", 1, "rulez"),
        ("rules:", "groups: []\nrules:", "unknown-key", 1, "groups"),
    ],
)
def test_each_fault_is_told_at_its_place(old: str, new: str, code: str, line: int, marked: str) -> None:
    text = RULE.replace(old, new, 1)
    found = [(problem.code, problem.line, under(problem)) for problem in problems(text)]
    if not code:
        assert found == []
        return
    assert (code, line, marked) in found


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "no-rules"),
        ("# nothing\n", "no-rules"),
        ("rules:\n", "wrong-type"),
        ("rules: {}\n", "wrong-type"),
        ("- alert: x\n", "wrong-type"),
        ("rules: [3]\n", "wrong-type"),
        ("just words\n", "wrong-type"),
        (b"rules: \xff\n", "not-utf8"),
        ("rules: &a []\n", "yaml-anchor"),
        ("rules: !!set {}\n", "yaml-tag"),
    ],
)
def test_a_file_that_is_no_rule_file_gets_one_clear_error(text: str | bytes, code: str) -> None:
    assert [problem.code for problem in problems(text)] == [code]


def test_an_empty_list_of_rules_is_fine() -> None:
    assert len(load_rules([("x", "rules: []\n")])) == 0


def test_all_problems_of_all_files_come_at_once_in_file_order() -> None:
    broken = RULE.replace("kl.ref", "kl.rf").replace("symptom: kl-high", "symptom: x")
    with pytest.raises(RuleError) as caught:
        load_rules(
            [("a.yaml", broken), ("b.yaml", "rules: [\n"), ("c.yaml", broken.replace("alert: kl-high", "alert: c"))]
        )
    found = [(problem.path, problem.line) for problem in caught.value.problems]
    assert [place for place in found if place[0] != "b.yaml"] == [
        ("a.yaml", 3),
        ("a.yaml", 4),
        ("c.yaml", 3),
        ("c.yaml", 4),
    ]
    assert "and 4 more" in str(caught.value)


def test_a_name_may_stand_once_in_all_files() -> None:
    (within,) = problems(RULE + RULE.removeprefix("rules:\n"))
    assert (within.code, within.line, within.hint) == (
        "duplicate-alert",
        5,
        "it stands at 0.yaml:2: rename one of them",
    )
    (across,) = problems(RULE, RULE)
    assert (across.path, across.code) == ("1.yaml", "duplicate-alert")


@pytest.mark.parametrize(
    ("warning", "critical", "warned"),
    [
        ("kl.ref > 0.1", "kl.ref > 0.5", False),
        ("kl.ref > 0.5", "kl.ref > 0.1", True),
        ("kl.ref > 0.5", "kl.ref > 0.5", True),
        ("entropy < 0.1", "entropy < 0.5", True),
        ("entropy < 0.5", "entropy < 0.1", False),
        ("kl.ref > 0.5", "entropy < 0.1", False),
    ],
)
def test_thresholds_in_the_wrong_order_are_a_warning(warning: str, critical: str, warned: bool) -> None:
    reading = read_rules([("x", RULE.replace("kl.ref > 0.1", f"{warning}\n    critical: {critical}"))])
    assert len(reading.rules) == 1
    assert reading.errors == []
    told = [(p.code, p.severity, p.line) for p in lint(reading).problems if p.code == "threshold-order"]
    assert told == [("threshold-order", "warning", 5)] * warned


def test_the_schema_names_every_key_and_symptom() -> None:
    schema = json_schema()
    rule = schema["$defs"]["RuleDocument"]
    assert {"alert", "symptom", "warning", "for", "keep_firing_for", "until", "after", "where"} <= set(
        rule["properties"]
    )
    assert rule["properties"]["symptom"]["enum"] == list(symptoms())
    assert rule["additionalProperties"] is False
    assert "'null'" not in str(rule)
    assert set(schema["$defs"]["OverrideDocument"]["properties"]) == {
        *("where", "info", "warning", "critical", "for", "keep_firing_for", "until", "after", "taints", "summary"),
        "enabled",
    }
    assert rule["properties"]["phase"]["anyOf"][1]["items"]["type"] == "string"
    assert schema["properties"]["vars"]["propertyNames"]


@given(st.text(max_size=300))
def test_no_text_makes_the_loader_raise_anything_but_its_own_error(text: str) -> None:
    try:
        load_rules([("x", text)])
    except RuleError as error:
        assert error.problems


values = st.one_of(
    st.sampled_from(
        ["kl.ref > 1", "3 steps", "yes", "true", "5", "~", "", "[x]", "{a: b}", "'it''s {value}'", "{", "- x"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
keys = st.sampled_from(
    ["alert", "symptom", "info", "warning", "critical", "for", "keep_firing_for", "until", "after", "where", "taints",
     "summary", "runbook", "phase", "x"]
)  # fmt: skip


@given(st.lists(st.lists(st.tuples(keys, values), min_size=1, max_size=6), max_size=3))
def test_no_rule_makes_the_loader_raise_anything_but_its_own_error(rules: list[list[tuple[str, str]]]) -> None:
    lines = ["rules:"]
    for rule in rules:
        lines += [f"  {'- ' if index == 0 else '  '}{key}: {value}" for index, (key, value) in enumerate(rule)]
    try:
        load_rules([("x", "\n".join(lines))])
    except RuleError as error:
        for problem in error.problems:
            assert problem.message
            assert problem.width >= 1
