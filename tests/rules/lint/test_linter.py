"""Findings, what rules allow, and that the shipped rules are clean."""

from __future__ import annotations

import pytest

from sentinel.resources import PACKS, pack_path, read_sources
from sentinel.rules.lint.linter import Report, lint
from sentinel.rules.lint.tested import expected_alerts, named_rules
from sentinel.rules.loader import read_rules

BOOK = "    runbook: {do: [look]}\n"


def rule(*lines: str, name: str = "a") -> str:
    return f"  - alert: {name}\n    symptom: kl-high\n" + "".join(f"    {line}\n" for line in lines) + BOOK


def report(*texts: str, tests: dict[str, frozenset[str] | None] | None = None) -> Report:
    reading = read_rules([(f"{index}.yaml", text) for index, text in enumerate(texts)])
    assert reading.problems == ()
    return lint(reading, tests)


def found(*lines: str, info: bool = False) -> set[str]:
    problems = report("rules:\n" + rule(*lines)).problems
    return {problem.code for problem in problems if info or problem.severity != "info"}


def test_the_carets_stand_under_what_is_odd() -> None:
    (problem,) = [
        one for one in report("rules:\n" + rule("warning: step > 5 and\n      clip_frac < 0", "for: 3 steps")).problems
        if one.severity == "warning"
    ]  # fmt: skip
    marked = problem.excerpt[problem.column - 1 : problem.column - 1 + problem.width]
    assert (problem.code, problem.line, marked) == ("never-fires", 5, "clip_frac < 0")
    assert problem.message == "this can never hold: clip_frac goes from 0 to 1"


@pytest.mark.parametrize(
    ("lines", "codes"),
    [
        (["warning: kl.ref > 0.5", "for: 3 steps"], set()),
        (["warning: kl.ref > 0.5"], {"single-spike"}),
        (["info: kl.ref > 0.5"], set()),
        (["warning: median(kl.ref, 5 samples) > 0.5"], set()),
        (["warning: max(kl.ref, 5 samples) > 0.5"], {"single-spike"}),
        (["warning: max(kl.ref, 5 samples) < 0.5"], set()),
        (["warning: min(kl.ref, 5 samples) > 0.5"], set()),
        (["warning: max(kl.ref, 20 samples) > 0.5", "for: 3 samples"], {"single-spike"}),
        (["warning: max(kl.ref, 3 samples) > 0.5", "for: 5 samples"], set()),
        (["warning: not kl.ref <= 0.5"], {"single-spike"}),
        (["warning: kl.ref > 0.5 and median(kl.ref, 5 samples) > 0.3"], set()),
        (["warning: kl.ref > 0.5 and step > 20"], {"single-spike"}),
        (["warning: kl.ref > 0.5 and phase == late"], {"single-spike"}),
        (["critical: nonfinite(*)"], set()),
        (["critical: gpu.xid > 0"], set()),
        (["warning: share(kl.ref > 0.1, 5 samples) >= 60%"], set()),
        (["warning: kl.ref > 5 * median(kl.ref, 50 samples)"], {"single-spike"}),
        (["warning: rise(length.mean, 99 steps) > 50% and change(reward.mean, 99 steps) < 5%", "for: 9 steps"], set()),
        (["warning: change(reward.mean, 10 steps) < -20%", "for: 50 steps"], {"for-outlasts-window"}),
        (["warning: change(reward.mean, 10 steps) < 5%", "for: 50 steps"], set()),
        (["warning: max(gpu.util, 5m) < 30%", "for: 50 steps"], set()),
        (["warning: rising(kl.ref, 4 steps)"], {"never-known"}),
        (["warning: rising(kl.ref, 5 steps)"], set()),
        (["warning: delta(kl.ref, 1 step) > 0.2", "for: 1 step"], set()),
        (["warning: std(kl.ref, 1 sample) > 0.2"], {"never-known"}),
        (["warning: grad_norm == 0", "for: 9 steps"], set()),
        (["warning: reward.solve_rate == 100%", "for: 9 steps"], set()),
        (["warning: kl.ref == 0.1", "for: 9 steps"], {"float-equality"}),
        (["warning: kl.ref > 0.1", "for: 9 steps", "until: kl.ref < 0.2"], {"until-overlaps"}),
        (["warning: kl.ref > 0.1", "for: 9 steps", "until: kl.ref < 0.1"], set()),
        (["warning: kl.ref > 0.1", "for: 9 steps", "until: entropy > 0.1"], set()),
        (["warning: kl.ref > 0.5", "critical: kl.ref > 0.1 or entropy < 0.1", "for: 9 steps"], {"threshold-order"}),
        (["warning: kl.ref > 4 * grad_norm", "critical: kl.ref > 5 * grad_norm", "for: 9 steps"], set()),
        (["warning: kl.ref > 5 * grad_norm", "critical: kl.ref > 4 * grad_norm", "for: 9 steps"], {"threshold-order"}),
        (["warning: kl.ref > 0.5 and kl.ref > 0.3", "for: 9 steps"], {"redundant-part"}),
        (["warning: kl.ref > 0.5 and kl.ref > 0.5", "for: 9 steps"], {"redundant-part"}),
        (["warning: kl.ref > 0.5 and clip_frac >= 0", "for: 9 steps"], {"redundant-part"}),
        (["warning: kl.ref > 0.5 or kl.ref < -0.2", "for: 9 steps"], set()),
        (["critical: gpu.xid > 0 and (gpu.xid == 48 or gpu.xid == 64)"], set()),
        (["warning: kl.ref > 0.5 or kl.ref < 0.6", "for: 9 steps"], {"always-fires"}),
        (["warning: value.explained_var < 0", "for: 9 steps", "where: {framework: trl, team: x}"], {"never-sent"}),
        (["warning: gpu.util < 3", "for: 9 steps", "where: {framework: trl}"], set()),
    ],
)  # fmt: skip
def test_what_is_found_and_what_is_not(lines: list[str], codes: set[str]) -> None:
    assert found(*lines) == codes


def test_overrides_are_linted_as_the_rules_that_they_make() -> None:
    overrides = [
        "overrides:",
        "  - {where: {team: a}, warning: clip_frac < 0}",
        "  - {where: {team: b}, warning: kl.ref > 9}",
        "  - {where: {team: c}, for: 9 samples}",
        "  - {where: {team: d}, enabled: false}",
        "  - {where: {team: e}, critical: 'drop(median(kl.ref, 5 samples), 8 samples) > 20%'}",
    ]
    lines = ["warning: drop(median(kl.ref, 5 samples), 8 samples) > 30%", "for: 2 samples", *overrides]
    told = [one for one in report("rules:\n" + rule(*lines)).problems if one.severity != "info"]
    marked = [(one.code, one.line, one.excerpt[one.column - 1 : one.column - 1 + one.width]) for one in told]
    assert marked.pop() == ("threshold-order", 11, "'drop(median(kl.ref, 5 samples), 8 samples) > 20%'")
    assert marked == [("never-fires", 7, "clip_frac < 0"), ("for-outlasts-window", 9, "where")]
    allowed = report("rules:\n" + rule(*lines, "allow: {never-fires: x, for-outlasts-window: y}"))
    assert {one.problem.code for one in allowed.allowed} == {"never-fires", "for-outlasts-window"}


def test_a_variable_s_use_is_what_is_marked() -> None:
    text = "vars: {low: 0}\nrules:\n" + rule("warning: kl.ref > 1 or clip_frac < vars.low", "for: 3 steps")
    (problem,) = [one for one in report(text).problems if one.severity != "info"]
    marked = problem.excerpt[problem.column - 1 : problem.column - 1 + problem.width]
    assert (problem.code, marked) == ("redundant-part", "clip_frac < vars.low")


def test_two_rules_with_one_condition_are_told_across_files() -> None:
    one = rule("warning: kl.ref > 0.5", "for: 3 steps")
    (problem,) = [
        problem
        for problem in report("rules:\n" + one, "rules:\n" + one.replace("alert: a", "alert: b")).problems
        if problem.severity == "warning"
    ]
    assert (problem.path, problem.code) == ("1.yaml", "duplicate-condition")
    assert "0.yaml:2" in problem.hint


def test_tests_that_nobody_looked_for_are_not_missed() -> None:
    text = "rules:\n" + rule("warning: kl.ref > 0.5", "for: 3 steps") + rule("info: kl.ref > 0.2", name="b")
    missed = {
        tests: [problem.line for problem in report(text, tests={"0.yaml": tests}).problems if problem.code == "no-test"]
        for tests in (None, frozenset[str](), frozenset({"a"}), frozenset({"a", "b"}))
    }
    assert missed == {None: [2], frozenset(): [2, 7], frozenset({"a"}): [7], frozenset({"a", "b"}): []}
    assert not [problem for problem in report(text).problems if problem.code == "no-test"]


def test_the_tests_of_a_file_are_read_whatever_is_wrong_with_them() -> None:
    text = "rules: [a.yaml, 3]\ntests:\n  - expect: [{alert: a}, {alert: 3}, x]\n  - 5\n  - expect: {}\n"
    assert expected_alerts("x", text) == {"a"}
    moments = "tests:\n  - at: {5: {b: pending, c: firing, d: {state: firing}, e: [x]}, 6: x}\n  - at: []\n"
    assert expected_alerts("x", moments) == {"c", "d"}
    assert named_rules("x", text) == ("a.yaml",)
    assert expected_alerts("x", "tests: [") == frozenset()
    assert named_rules("x", b"\xff") == ()


def test_what_a_file_allows_holds_for_its_rules_and_no_others() -> None:
    spiky = "rules:\n" + rule("warning: kl.ref > 0.5")
    other = "rules:\n" + rule("warning: kl.ref > 0.6", name="b")
    outcome = report("allow: {single-spike: we like it}\n" + spiky, other)
    assert [(one.problem.path, one.reason) for one in outcome.allowed] == [("0.yaml", "we like it")]
    assert [problem.path for problem in outcome.problems if problem.code == "single-spike"] == ["1.yaml"]


def test_an_allowance_is_told_when_it_is_of_no_use() -> None:
    outcome = report("rules:\n" + rule("warning: kl.ref > 0.5", "for: 3 steps", "allow: {single-spike: we like it}"))
    (problem,) = [one for one in outcome.problems if one.severity != "info"]
    assert (problem.code, problem.severity) == ("unused-allow", "warning")
    assert problem.excerpt[problem.column - 1 :].startswith("single-spike")


@pytest.mark.parametrize(
    ("allow", "code", "hint"),
    [
        ("{single-spik: x}", "unknown-check", "did you mean 'single-spike'?"),
        ("{xyz: x}", "unknown-check", "`sentinel rules checks` lists them"),
        ("{unknown-metric: x}", "unknown-check", "mend it; only checks can be allowed"),
        ("{single-spike: ' '}", "no-reason", 'say why it is right here: single-spike: "..."'),
    ],
)
def test_an_allowance_that_cannot_be_is_an_error(allow: str, code: str, hint: str) -> None:
    outcome = report("rules:\n" + rule("warning: kl.ref > 0.5", f"allow: {allow}"))
    (problem,) = [one for one in outcome.problems if one.severity == "error"]
    assert (problem.code, problem.hint) == (code, hint)


@pytest.mark.parametrize("pack", PACKS)
def test_the_shipped_rules_are_clean(pack: str) -> None:
    sources = read_sources([pack_path(pack)])
    beside = pack_path(pack).with_name(f"{pack}.test.yaml")
    tests = {sources[0][0]: expected_alerts(beside.name, beside.read_bytes())}
    outcome = lint(read_rules(sources), tests)
    assert [(one.code, one.line) for one in outcome.problems if one.severity != "info"] == []


@pytest.mark.parametrize(
    "condition",
    [
        "change(length.mean, 1 step) > 10%",
        "abs(change(length.mean, 1 step)) > 10%",
        "10% < abs(change(length.mean, 1 step))",
        "-change(length.mean, 1 step) > 10%",
        "100 * abs(change(length.mean, 1 step)) > 10",
        "abs(change(length.mean, 1 step)) / 2 > 5%",
        "abs(2 * change(length.mean, 1 step)) > 5%",
        "not abs(change(length.mean, 1 step)) <= 10%",
        "abs(zscore(length.mean, 4 samples)) > 4 and step > 3",
    ],
)
def test_a_change_is_seen_no_longer_than_its_window_whatever_stands_about_it(condition: str) -> None:
    assert "for-outlasts-window" in found(f"warning: {condition}", "for: 5 steps")


@pytest.mark.parametrize(
    "condition",
    [
        "abs(change(length.mean, 9 steps)) > 10%",
        "abs(change(length.mean, 1 step)) < 1%",
        "abs(change(length.mean, 1 step)) > -1%",
        "-abs(delta(length.mean, 1 step)) > -9",
    ],
)
def test_no_change_may_last_as_long_as_it_likes(condition: str) -> None:
    assert "for-outlasts-window" not in found(f"warning: {condition}", "for: 5 steps")


@pytest.mark.parametrize(
    ("condition", "told"),
    [
        ("mean(kl.ref, 3 steps) > 1", "has one value in 3 steps: nothing is smoothed"),
        ("max(abs(reward.mean), 3 steps) > 1", "has one value in 3 steps: nothing is smoothed"),
        ("mean(kl.ref, 10 steps) > 1", "has one value in 10 steps: nothing is smoothed"),
        ("held(kl.ref > 0.5, 10 steps)", "has one value in 10 steps: one answer decides"),
        ("share(kl.ref > 0.5, 10 steps) > 50%", "has one value in 10 steps: one answer decides"),
        ("sum(kl.ref, 5 steps) > 1", "has one value in 5 steps: it is about that one"),
        ("first(kl.ref, 5 steps) > 1", "has one value in 5 steps: the first is the newest"),
        ("slope(kl.ref, 20 steps) > 1", "has too few values for slope(kl.ref, 20 steps), which needs 3"),
        ("mean(kl.ref, 11 steps) > 1", ""),
        ("slope(kl.ref, 21 steps) > 1", ""),
        ("delta(kl.ref, 3 steps) > 1", ""),
        ("drop(kl.ref, 3 steps) > 50%", ""),
    ],
)
def test_what_a_run_that_logs_every_tenth_step_has_in_a_window(condition: str, told: str) -> None:
    problems = report("rules:\n" + rule(f"warning: {condition}", "for: 2 samples")).problems
    said = [problem.message for problem in problems if problem.code == "sparse-window"]
    assert said == ([f"a run that logs every 10th step {told}"] if told else [])


def test_the_remedy_of_a_fall_below_zero_is_a_fall_above_it() -> None:
    problems = report("rules:\n" + rule("warning: drop(reward.mean, 10 steps) < -20%")).problems
    assert [problem.hint for problem in problems if problem.code == "never-fires"] == [
        "drop() is never negative: write drop(reward.mean, 10 steps) > 20%"
    ]


def test_what_all_rules_of_a_file_lack_is_told_once() -> None:
    bare = "".join(rule(f"warning: kl.ref > {number}", name=f"r{number}") for number in range(1, 10))
    bare = bare.replace(BOOK, "")
    allowed = bare.replace("    warning: kl.ref > 3\n", '    warning: kl.ref > 3\n    allow: {no-runbook: "wiki"}\n')
    other = rule("warning: kl.ref > 99", name="other").replace(BOOK, "")
    problems = report("rules:\n" + allowed, "rules:\n" + other).problems
    said = [(problem.path, problem.message) for problem in problems if problem.code == "no-runbook"]
    assert said == [
        ("0.yaml", "the alert will not say what to do; the same of 7 more rules here: r2, r4, r5, r6, r7, …"),
        ("1.yaml", "the alert will not say what to do"),
    ]
    assert len([problem for problem in problems if problem.code == "no-hysteresis"]) == 2


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("where: {framwork: trl}", "framework"),
        ("where: {Framework: trl}", "framework"),
        ("where: {team: math}", ""),
        ("where: {framework: trl}", ""),
        ("phase: laet", "late"),
        ("phase: [early, midle]", "middle"),
        ("phase: Late", "late"),
        ("phase: [early, late, rl-math]", ""),
        ("critical: kl.ref > 5 and phase == erly", "early"),
        ("until: phase != latee", "late"),
        ("critical: kl.ref > 5 and phase == math", ""),
        ("overrides: [{where: {frameworks: trl}, warning: kl.ref > 2}]", "framework"),
    ],
)
def test_a_name_that_is_nearly_a_known_one_is_remarked(line: str, meant: str) -> None:
    problems = report("rules:\n" + rule("warning: kl.ref > 1", "for: 3 steps", line)).problems
    said = [problem.hint for problem in problems if problem.code == "likely-typo"]
    assert said == ([f"did you mean '{meant}'?"] if meant else [])


@pytest.mark.parametrize(
    ("condition", "sentence", "odd"),
    [
        ("gpu.util < 30", "{value:.0%}", True),
        ("max(gpu.util, 5m) < 30%", "under {threshold:.1%}", True),
        ("gpu.util < 30", "{value:.0f}%", False),
        ("clip_frac > 40%", "{value:.0%}", False),
        ("drop(gpu.util, 10 steps) > 40%", "{value:.0%}", False),
        ("share(gpu.util < 30, 10 steps) > 40%", "{value:.0%}", False),
    ],
)
def test_a_percentage_is_not_to_be_multiplied_by_a_hundred(condition: str, sentence: str, odd: bool) -> None:
    codes = found(f"warning: {condition}", "for: 3 samples", f'summary: "{sentence}"')
    assert ("percent-twice" in codes) is odd
