"""`at`: where alerts stand at a moment, compared in part; and the newer words of `expect`."""

import pytest

from sentinel.errors import RuleError
from sentinel.events import Phase, RunStarted, StepMetrics
from sentinel.rules.loader import load_rules
from sentinel.ruletest import events, play, read_tests
from sentinel.ruletest.expected import parse_bounds, parse_states
from sentinel.ruletest.text import TextError

RULES = """\
rules:
  - alert: kl-high
    symptom: kl-high
    warning: kl.ref > 0.1
    critical: kl.ref > 0.5
    for: 3 steps
    keep_firing_for: 2 steps
  - alert: late
    symptom: entropy-collapse
    after: 5 steps
    info: mean(entropy, 3 steps) < 0.5
  - alert: gpu-idle
    symptom: gpu-idle
    warning: max(gpu.util, 1m) < 30%
  - alert: silence
    symptom: missing-signal
    info: age(entropy) > 5m
  - alert: broken
    symptom: nonfinite
    info: nonfinite(*)
  - alert: scaled
    symptom: kl-high
    info: kl.ref > 10 * config.beta
"""


def run(test):
    return play(read_tests("x.test.yaml", "tests:\n  - name: a\n" + test), 0, load_rules([("x.yaml", RULES)]))


def told(test):
    return [problem.message for problem in run(test).problems]


def problems(test):
    with pytest.raises(RuleError) as caught:
        read_tests("x.test.yaml", "tests:\n  - name: a\n" + test)
    return [(problem.code, problem.line, problem.column) for problem in caught.value.problems]


JUMP = "    series: {kl.ref: 0.02x5 0.6x5 0.02x5}\n    expect: [{alert: kl-high}]\n    at: {%s}\n"


@pytest.mark.parametrize(
    "at",
    [
        "5: {kl-high: inactive}",
        "6: {kl-high: pending}, 7: {kl-high: {state: pending, severity: critical}}",
        "8: {kl-high: {state: firing, severity: critical, value: 0.6, threshold: 0.5, onset: 6}}",
        "11: {kl-high: {state: firing, value: 0.02}}",
        "12: {kl-high: resolved}, end: {kl-high: inactive}",
        "3: {late: unknown, gpu-idle: inactive or unknown}",
        "5: {kl-high: {state: inactive, severity: critical, threshold: 0.5}}",
    ],
)
def test_an_alert_stands_where_the_test_says(at):
    assert told(JUMP % at) == []


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("6: {kl-high: firing}", "kl-high was pending at step 6, not firing"),
        ("6: {kl-high: inactive or unknown}", "kl-high was pending at step 6, not inactive or unknown"),
        ("8: {kl-high: {severity: warning}}", "kl-high was firing as critical at step 8, not warning"),
        ("5: {kl-high: {severity: warning}}", "kl-high was inactive at step 5, not warning"),
        ("8: {kl-high: {value: 0.7 +- 0.05}}", "kl-high at step 8 had value 0.6, not 0.7 +- 0.05"),
        ("8: {kl-high: {onset: 1..4}}", "kl-high at step 8 had its onset at step 6, not 1..4"),
        ("end: {kl-high: firing}", "kl-high was resolved at the end, not firing"),
        (
            "9: {gpu-idle: inactive}",
            "gpu-idle was unknown at step 9, not inactive (the run does not log gpu.util)",
        ),
    ],
)
def test_a_state_that_differs_is_told_at_its_place(at, message):
    result = run(JUMP % at)
    assert [problem.message for problem in result.problems] == [message]
    assert result.problems[0].line == 5


def test_what_is_not_said_is_not_compared():
    assert told(JUMP % "8: {kl-high: {}}") == []


def test_a_rule_that_sleeps_until_later_is_unknown_before():
    base = "    series: {entropy: 0.9x9}\n    at: {4: {late: unknown}, 6: {late: inactive}}\n"
    assert told(base) == []


def test_labels_pick_one_alert_of_a_rule():
    base = (
        "    series: {kl.ref: 0.02x4 NaN, grad_norm: 1x5}\n    at: {5: {broken: {state: %s, labels: {metric: %s}}}}\n"
    )
    assert told(base % ("firing", "kl.ref")) == []
    assert told(base % ("inactive", "grad_norm")) == []
    assert told("    series: {kl.ref: 0.02x4 NaN, grad_norm: 1x5}\n    at: {5: {broken: firing}}\n") == []


def test_a_time_is_a_moment_with_and_without_events():
    base = "    series: {entropy: 1x10}\n    seconds_per_step: 30\n    at: {%s}\n"
    assert told(base % "60s: {silence: inactive}, 9m: {silence: inactive}, 10m: {silence: firing}") == []
    samples = (
        "    samples: {every: 10s, series: {gpu.util: 95x10 5x60}}\n    at: {%s}\n    expect: [{alert: gpu-idle}]\n"
    )
    assert told(samples % "150s: {gpu-idle: inactive}, 160s: {gpu-idle: firing}") == []


def test_a_moment_within_the_quiet_is_seen_in_order():
    base = "    series: {entropy: 1x10}\n    seconds_per_step: 30\n    quiet: 8m\n    at: {%s}\n"
    assert told(base % "9m: {silence: inactive}, 11m: {silence: firing}, end: {silence: firing}") == []


def test_when_it_fires_can_be_bounded():
    base = "    series: {kl.ref: 0.02x5 0.6x5}\n    expect: [{alert: kl-high, %s}]\n"
    assert told(base % "fires_by: 8") == told(base % "fires_between: [6, 9]") == []
    assert told(base % "fires_by: 7") == ["kl-high fired at step 8, not by 7"]
    assert told(base % "fires_between: [1, 7]") == ["kl-high fired at step 8, not between 1 and 7"]
    assert told(base % "value: '> 0.5', threshold: 0.5, summary: beyond 0.5, attempt: 1, onset: 5..6") == []
    assert told(base % "value: 0.5..0.55") == ["kl-high fired at step 8 with value 0.6, not 0.5..0.55"]


def test_a_run_that_goes_back_begins_a_new_attempt():
    text = "    steps: 1..9, 5..12\n    series: {kl.ref: 0.02x9 0.6x8}\n    expect: [{alert: kl-high, attempt: 2}]\n"
    assert told(text) == []
    said = events(read_tests("x", "tests:\n  - name: a\n" + text).tests[0])
    assert [event.attempt for event in said if isinstance(event, RunStarted)] == [None, 2]
    assert [event.step for event in said if isinstance(event, StepMetrics)] == [*range(1, 10), *range(5, 13)]


def test_steps_that_only_skip_stay_in_one_attempt():
    text = "    steps: 1..5, 10..12\n    series: {kl.ref: 0.02x5 0.6x3}\n    expect: [{alert: kl-high, attempt: 1}]\n"
    assert told(text) == []


def test_configuration_and_phases_are_part_of_the_run():
    base = "    config: {beta: 0.01}\n    series: {kl.ref: 0.02 0.2}\n    at: {1: {scaled: %s}, 2: {scaled: %s}}\n"
    assert told(base % ("inactive", "firing")) == []
    said = events(read_tests("x", "tests:\n  - name: a\n    phases: {b: 2, a: 1}\n    series: {kl: 1x2}\n").tests[0])
    names = [event.name if isinstance(event, Phase) else type(event).__name__ for event in said]
    assert names == ["RunStarted", "a", "StepMetrics", "b", "StepMetrics"]


def test_a_name_that_nobody_knows_is_an_error_with_a_suggestion():
    result = run("    framework: trll\n    series: {kl: 1}\n    at: {1: {kl-hgh: firing}}\n")
    assert result.outcome == "ERROR"
    assert [(p.code, p.line, p.column, p.hint) for p in result.problems] == [
        ("unknown-alert", 5, 14, "did you mean 'kl-high'?"),
        ("unknown-framework", 3, 16, "did you mean 'trl'?"),
    ]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("    series: {kl: 1x3}\n    at: {7: {a: firing}}\n", ("no-step", 4, 10)),
        ("    series: {kl: 1x3}\n    at: {5m: {a: firing}}\n", ("no-times", 4, 10)),
        ("    series: {kl: 1x3}\n    at: {soon: {a: firing}}\n", ("bad-moment", 4, 10)),
        ("    series: {kl: 1x3}\n    at: {1: {a: fring}}\n", ("unknown-state", 4, 17)),
        ("    series: {kl: 1x3}\n    at: {1: {a: {stat: firing}}}\n", ("unknown-key", 4, 18)),
        ("    series: {kl: 1x3}\n    at: {1: {a: {value: high}}}\n", ("bad-number", 4, 25)),
        ("    series: {kl: 1x3}\n    at: {1: {a: firing}, 01: {a: firing}}\n", ("said-twice", 4, 5)),
        ("    series: {kl: 1x3}\n    phases: {a: 9}\n", ("no-step", 4, 17)),
        ("    series: {kl: 1x3}\n    expect: [{alert: a, fires_at: 1, fires_by: 2}]\n", ("said-twice", 4, 38)),
        ("    series: {kl: 1x3}\n    expect: [{alert: a, fires_between: [3, 1]}]\n", ("bad-steps", 4, 40)),
        ("    series: {kl: 1x3}\n    expect: [{alert: a, fires_between: [3]}]\n", ("too_short", 4, 40)),
        ("    series: {kl: 1x3}\n    steps: 1..2, 2-3\n", ("bad-steps", 4, 17)),
    ],
)
def test_each_fault_has_its_place(test, expected):
    found = problems(test)
    assert expected in found or (expected[0] == "too_short" and found[0][1:] == expected[1:])


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("0.6", [0.6, 0.6000001], [0.601, None]),
        ("0.6 ± 0.1", [0.55, 0.69], [0.8]),
        ("200 +- 10%", [185, 219], [221]),
        ("-1..-0.5", [-1, -0.7], [0.7]),
        ("> 0", [1e-9, 1e9], [0, float("nan")]),
        ("<= 0.5", [0.5, -9], [0.51]),
    ],
)
def test_a_number_is_compared_with_what_is_written(text, inside, outside):
    bounds = parse_bounds(text)
    assert all(bounds.hold(number) for number in inside)
    assert not any(bounds.hold(number) for number in outside)


def test_states_are_read_with_or_between_them():
    assert parse_states(" inactive or unknown ") == ("inactive", "unknown")
    with pytest.raises(TextError, match="'fring' is no state") as caught:
        parse_states("inactive or fring")
    assert (caught.value.start, caught.value.hint) == (12, "did you mean 'firing'?")
