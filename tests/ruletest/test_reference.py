"""A test may give the run that its run is held against."""

from __future__ import annotations

import pytest

from sentinel.errors import RuleError
from sentinel.rules.loader import load_rules
from sentinel.ruletest import Coverage, Result, play, read_tests

RULES = """\
rules:
  - alert: beyond
    symptom: kl-high
    warning: kl.ref > 3 * reference(kl.ref)
    overrides:
      - where: {team: math}
        warning: kl.ref > 9 * reference(kl.ref) or kl.ref > 0.7
      - where: {team: code}
        enabled: false
"""


def file_of(*tests: str):
    return read_tests("x.test.yaml", "tests:\n" + "".join(f"  - {test}\n" for test in tests))


def run(test: str) -> Result:
    return play(file_of(test), 0, load_rules([("x.yaml", RULES)]))


def test_a_run_is_held_against_its_reference_step_by_step():
    test = (
        "{name: t, steps: 10..50 by 10, series: {kl.ref: 0.1x5}, reference: {kl.ref: 0.1x2 0.01x3},"
        " expect: [{alert: beyond, fires_at: 30, threshold: 0.03}]}"
    )
    assert run(test).outcome == "PASS"


def test_a_reference_is_read_as_the_run_itself_is():
    test = (
        "{name: t, framework: trl, series: {kl: 0.1x5}, reference: {kl: 0.01x5}, labels: {reference: good},"
        " expect: [{alert: beyond, fires_at: 1}]}"
    )
    assert run(test).outcome == "PASS"


def test_the_reference_run_may_end_first_and_may_leave_steps_out():
    test = (
        "{name: t, series: {kl.ref: 0.1x6}, reference: {kl.ref: _ 0.1 _ 0.1},"
        " silent: [beyond], at: {1: {beyond: unknown}, 3: {beyond: inactive}, 5: {beyond: unknown}}}"
    )
    assert run(test).outcome == "PASS"


def test_a_run_that_went_back_is_held_against_the_same_run():
    test = (
        "{name: t, steps: '1..10, 5..10', series: {kl.ref: 0.1x16}, reference: {kl.ref: 0.1x9 0.01},"
        " expect: [{alert: beyond, fires_at: 10, attempt: 1}, {alert: beyond, fires_at: 10, attempt: 2}]}"
    )
    assert run(test).outcome == "PASS"


def test_noise_of_the_reference_is_not_that_of_the_run():
    # With the same noise the one would be exactly half of the other, and no alert could fire.
    test = "{name: t, series: {kl.ref: 1~0.5x50}, reference: {kl.ref: 0.5~0.25x50}, expect: [{alert: beyond}]}"
    assert run(test).outcome == "PASS"


def test_a_reference_that_goes_on_after_the_run_is_told_at_its_place():
    with pytest.raises(RuleError) as error:
        file_of("{name: t, series: {kl.ref: 1x5}, reference: {kl.ref: 1x6}}")
    (problem,) = error.value.problems
    assert (problem.line, problem.code) == (2, "series-length")
    assert problem.message == "the reference run has 6 values for 5 steps"


def test_the_conditions_of_an_override_are_parts_of_their_own():
    rules = load_rules([("x.yaml", RULES)])
    tests = (
        "{name: a, series: {kl.ref: 0.1x5}, reference: {kl.ref: 0.01x5}, expect: [{alert: beyond}]}",
        "{name: b, series: {kl.ref: 0.1x5}, labels: {team: math}, reference: {kl.ref: 0.02x5}, silent: [beyond]}",
        "{name: c, series: {kl.ref: 0.8x5}, labels: {team: math}, expect: [{alert: beyond}]}",
    )
    file, coverage = file_of(*tests), Coverage(rules)
    (found,) = coverage.rules
    names = ["warning where team=math", "warning where team=math, branch 1", "warning where team=math, branch 2"]
    assert [part.name for part in found.parts] == ["warning", *names]
    assert [play(file, at, rules, coverage=coverage).outcome for at in range(2)] == ["PASS", "PASS"]
    assert [part.name for part in found.never_true] == names
    assert play(file, 2, rules, coverage=coverage).outcome == "PASS"
    assert [part.name for part in found.never_true] == [names[1]]
