"""Rule tests: what a time-line says, how it is played through the real engine, what a difference looks like."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.errors import Problem, RuleError
from sentinel.events import Checkpoint, RunStarted, Sample, StepMetrics
from sentinel.rules.loader import load_rules
from sentinel.ruletest import START, Result, events, noise, parse_series, parse_steps, play, read_tests, values

RULES = """\
rules:
  - alert: kl-high
    symptom: kl-high
    warning: kl.ref > 0.1
    critical: kl.ref > 0.5
    for: 3 steps
    keep_firing_for: 2 steps
  - alert: entropy-low
    symptom: entropy-collapse
    info: entropy < 0.5
    warning: entropy < 0.1
  - alert: gpu-idle
    symptom: gpu-idle
    warning: max(gpu.util, 1m) < 30%
  - alert: silence
    symptom: missing-signal
    warning: age(entropy) > 5m
"""


def run(test: str) -> Result:
    """The first test of a file, played under RULES."""
    file = read_tests("x.test.yaml", "tests:\n" + test)
    return play(file, 0, load_rules([("x.yaml", RULES)]))


def refused(text: str) -> list[Problem]:
    with pytest.raises(RuleError) as caught:
        read_tests("x.test.yaml", text)
    return caught.value.problems


def written(text: str) -> list[object]:
    return list(values("kl", parse_series(text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5", [0.5]),
        ("0.02x3 0.6x2", [0.02, 0.02, 0.02, 0.6, 0.6]),
        ("1+2x3", [1.0, 3.0, 5.0]),
        ("1-0.5x3", [1.0, 0.5, 0.0]),
        ("-1e-3x2", [-0.001, -0.001]),
        ("_x2 1", ["_", "_", 1.0]),
        ("null Inf -Inf", [None, math.inf, -math.inf]),
        ("  1x1\n  2  ", [1.0, 2.0]),
    ],
)
def test_a_series_is_written_out(text: str, expected: list[object]) -> None:
    assert written(text) == expected
    assert math.isnan(float(str(written("NaN")[0])))


def test_noise_is_the_same_in_every_run_and_about_normal() -> None:
    drawn = [noise("kl", index) for index in range(2000)]
    # Pinned: another number here would change the outcome of tests that use noise.
    assert [round(x, 6) for x in drawn[:3]] == [0.544123, 1.574733, 0.468369]
    assert abs(statistics.fmean(drawn)) < 0.1
    assert 0.9 < statistics.stdev(drawn) < 1.1
    assert noise("entropy", 0) != noise("kl", 0)
    series = [float(str(x)) for x in written("0.5~0.01x50")]
    assert max(abs(x - 0.5) for x in series) <= 0.06
    assert len(set(series)) == 50


@pytest.mark.parametrize("text", ["", "x3", "0.5x0", "0.5y3", "nan+1x3", "_~1", "0.5x999999999", "1 2 abc", "1+x3"])
def test_what_is_no_series_is_refused_at_the_item(text: str) -> None:
    problems = refused(f"tests:\n  - name: a\n    series:\n      kl: '{text}'\n")
    assert [problem.code for problem in problems] == ["bad-series"]
    assert problems[0].line == 4


def test_steps_have_start_and_stride() -> None:
    assert list(parse_steps("5..20 by 5").numbers) == [5, 10, 15, 20]
    assert list(parse_steps("1..3").numbers) == [1, 2, 3]


@given(st.text(max_size=30))
def test_no_series_text_raises_anything_but_its_own_error(text: str) -> None:
    quoted = "'" + "".join(character for character in text if character.isprintable()).replace("'", "''") + "'"
    try:
        read_tests("x", f"tests:\n  - name: a\n    steps: {quoted}\n    series: {{kl: {quoted}}}\n")
    except RuleError as error:
        assert error.problems


def test_a_test_becomes_events_in_order_of_time() -> None:
    file = read_tests(
        "x",
        "tests:\n  - name: a\n    framework: trl\n    labels: {team: x}\n    steps: 10..20 by 10\n"
        "    series: {kl: 1 _, reward: null 2}\n    seconds_per_step: 30\n    checkpoints: [10]\n"
        "    samples: {every: 20s, series: {gpu.util: 5x2}, labels: {gpu: '0'}}\n",
    )
    started, *rest = events(file.tests[0])
    assert isinstance(started, RunStarted)
    assert (started.framework, started.labels) == ("trl", {"team": "x"})
    assert [(type(event), event.time) for event in rest] == [
        (Sample, START + 20),
        (StepMetrics, START + 30),
        (Checkpoint, START + 30),
        (Sample, START + 40),
        (StepMetrics, START + 60),
    ]
    rows = [event.metrics for event in rest if isinstance(event, StepMetrics)]
    assert rows == [{"kl": 1.0, "reward": None}, {"reward": 2.0}]


def test_a_time_line_that_does_what_it_says_passes() -> None:
    result = run(
        "  - name: a jump\n    steps: 1..60\n    series: {kl: 0.02~0.005x50 0.6x5 0.02x5}\n"
        "    checkpoints: every 25\n    expect:\n      - alert: kl-high\n        severity: critical\n"
        "        fires_at: 53\n        onset: 51\n        rollback: 50\n        resolved_at: 57\n"
    )
    assert result == Result("PASS", "a jump", "x.test.yaml", 2)


def test_each_difference_is_told_at_its_line() -> None:
    result = run(
        "  - name: a\n    series: {kl: 0.02x50 0.6x5}\n    expect:\n      - alert: kl-high\n"
        "        severity: critical\n        fires_at: 54\n        onset: 50\n"
        "        rollback: 50\n        resolved_at: 60\n"
    )
    assert result.outcome == "FAIL"
    told = [(problem.line, problem.message.partition(" (")[0]) for problem in result.problems]
    assert told == [
        (7, "kl-high fired at step 53, not 54"),
        (8, "the onset of kl-high was step 51, not 50"),
        (9, "kl-high advised no rollback, not that of step 50"),
        (10, "kl-high did not resolve, not at step 60"),
    ]


def test_no_rollback_can_be_expected() -> None:
    assert run(
        "  - name: a\n    series: {kl: 0.02x50 0.6x5}\n    expect: [{alert: kl-high, rollback: none}]\n"
    ).outcome == ("PASS")


def test_an_alert_that_did_not_fire_says_what_it_did() -> None:
    base = "  - name: a\n    series: {kl: %s}\n    expect: [{alert: %s%s}]\n"
    assert run(base % ("0.02x5", "kl-high", "")).problems[0].message == "kl-high did not fire"
    milder = run(base % ("0.2x5", "kl-high", ", severity: critical")).problems
    assert milder[0].message == "kl-high did not fire as critical; it fired as warning at step 3"
    missing = run(base % ("0.2x2", "entropy-low", "")).problems[0].message
    assert missing == "entropy-low could not be evaluated in this test: it needs entropy"


def test_an_alert_that_nobody_expects_fails_from_warning_on() -> None:
    base = "  - name: a\n    series: {entropy: %s}\n    expect: []\n"
    assert run(base % "1x5").outcome == "PASS"
    assert run(base % "1x5 0.3").outcome == "PASS"
    (problem,) = run(base % "1x5 0.05").problems
    assert (problem.code, problem.line) == ("unexpected", 2)
    assert problem.message.startswith("entropy-low fired at step 6 (warning): ")


def test_a_severity_above_the_expected_one_is_unexpected() -> None:
    base = "  - name: a\n    series: {kl: 0.2x5 0.9x5}\n    expect: [{alert: kl-high%s}]\n"
    assert run(base % "").outcome == "PASS"
    assert [problem.code for problem in run(base % ", severity: warning").problems] == ["unexpected"]


def test_a_silent_alert_may_not_even_inform() -> None:
    (problem,) = run("  - name: a\n    series: {entropy: 1x5 0.3}\n    silent: [entropy-low]\n").problems
    assert (problem.code, problem.line) == ("not-silent", 4)


def test_samples_fire_by_time() -> None:
    base = "  - name: a\n    samples: {every: 10s, series: {gpu.util: 95x10 5x60}}\n    expect:\n"
    assert run(base + "      - {alert: gpu-idle, fires_after: 160s}\n").outcome == "PASS"
    (problem,) = run(base + "      - {alert: gpu-idle, fires_after: 5m}\n").problems
    assert problem.message == "gpu-idle fired after 160s, not after 300s"


def test_quiet_lets_time_pass_after_the_last_event() -> None:
    base = "  - name: a\n    series: {entropy: 1x10}\n    seconds_per_step: 30\n    quiet: %s\n    expect: [%s]\n"
    assert run(base % ("4m", "")).outcome == "PASS"
    assert run(base % ("6m", "{alert: silence, fires_after: 10m}")).outcome == "PASS"


def test_a_name_that_no_rule_has_is_an_error_and_not_a_failure() -> None:
    result = run("  - name: a\n    series: {kl: 1}\n    expect: [{alert: kl-hgh}]\n    silent: [gpu-idel]\n")
    assert result.outcome == "ERROR"
    assert [(p.line, p.hint) for p in result.problems] == [
        (4, "did you mean 'kl-high'?"),
        (5, "did you mean 'gpu-idle'?"),
    ]


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("", "no-tests", 1),
        ("tests:\n  - series: {kl: 1}\n", "missing-key", 2),
        ("tests:\n  - name: a\n", "no-series", 2),
        ("tests:\n  - name: a\n    steps: 1..5\n    series: {kl: 1x4}\n", "series-length", 4),
        ("tests:\n  - name: a\n    steps: 5..1\n    series: {kl: 1x4}\n", "bad-steps", 3),
        ("tests:\n  - name: a\n    steps: 1-5\n    series: {kl: 1x4}\n", "bad-steps", 3),
        ("tests:\n  - name: a\n    sereis: {kl: 1x4}\n", "unknown-key", 3),
        ("tests:\n  - name: a\n    series: {kl: 1x4}\n    checkpoints: often\n", "bad-checkpoints", 4),
        ("tests:\n  - name: a\n    series: {kl: 1}\n    seconds_per_step: 5 steps\n", "bad-duration", 4),
        ("tests:\n  - name: a\n    series: {kl: 1}\n    expect: [{alert: a, severity: bad}]\n", "unknown-value", 4),
        ("tests:\n  - name: a\n    series: {kl: 1}\n    expect: [{alert: a, rollback: x}]\n", "bad-rollback", 4),
        ("tests:\n  - name: a\n    series: {kl: 1}\n    samples: {every: 1s, series: {x: 1}}\n", "no-times", 4),
    ],
)
def test_each_fault_of_a_test_file_is_told_at_its_place(text: str, code: str, line: int) -> None:
    assert (code, line) in [(problem.code, problem.line) for problem in refused(text)]


def test_a_test_tells_labels_configuration_and_phases() -> None:
    rules = load_rules(
        [
            (
                "x.yaml",
                """\
rules:
  - {alert: said, symptom: kl-high, warning: kl.ref > 1 and phase == rl-math and phase_step >= 2}
  - {alert: planned, symptom: kl-high, warning: kl.ref > config.beta, phase: late, where: {team: a}}
""",
            )
        ]
    )
    tests = """\
tests:
  - {name: said, series: {kl.ref: 2x9}, phases: {rl-math: 4}, expect: [{alert: said, fires_at: 6}]}
  - name: planned
    labels: {team: a}
    config: {max_steps: 9, beta: 0.5}
    series: {kl.ref: 2x9}
    expect: [{alert: planned, fires_at: 6}]
"""
    file = read_tests("x.test.yaml", tests)
    results = [play(file, index, rules) for index in (0, 1)]
    assert [result.outcome for result in results] == ["PASS", "PASS"], [result.problems for result in results]
