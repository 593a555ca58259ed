"""A rule test that is about nothing is an error: whatever is misspelt in it, and whatever its rules could not see."""

from __future__ import annotations

import pytest
import yaml

from sentinel.metrics import default
from sentinel.resources import PACKS, TEST_SUFFIX, pack_path
from sentinel.rules.loader import load_rules
from sentinel.ruletest import Result, Stage, play, read_tests, read_timelines
from sentinel.ruletest.names import is_known

RULES = """\
rules:
  - {alert: k, symptom: kl-high, warning: kl.ref > 0.5}
  - {alert: either, symptom: kl-high, warning: kl.ref > 0.5 or entropy < 0.1}
  - {alert: both, symptom: kl-high, warning: kl.ref > 0.5 and entropy < 0.1}
  - {alert: own, symptom: kl-high, warning: "`my key` > 1"}
  - {alert: any, symptom: nonfinite, critical: nonfinite(*)}
  - {alert: beta, symptom: kl-high, warning: kl.ref > config.beta}
  - {alert: late, symptom: kl-high, warning: kl.ref > 0.5, phase: late}
  - {alert: gpu, symptom: gpu-idle, warning: gpu.util < 1%}
"""


def run(test: str) -> Result:
    file = read_tests("x.test.yaml", f"tests:\n  - name: a\n    {test}\n")
    return play(file, 0, load_rules([("x.yaml", RULES)]))


@pytest.mark.parametrize(
    ("test", "says", "hint"),
    [
        (
            "series: {entropy: 1x9}\n    silent: [k]",
            "k could not be evaluated in this test: it needs kl.ref",
            "entropy",
        ),
        ("series: {entropy: 1x9}\n    silent: [both]", "both could not be evaluated in this test: it needs kl.ref", ""),
        ("series: {entropy: 1x9}\n    expect: [{alert: k}]", "k could not be evaluated in this test: it needs", ""),
        ("series: {kl.ref: _x9, entropy: 1x9}\n    silent: [k]", "k could not be evaluated", ""),
        ("series: {kl.old: 1x9}\n    silent: [k]", "k could not be evaluated", "the test logs kl.old; "),
        ("series: {kl.ref: 0x9}\n    silent: [beta]", "it needs beta in the configuration", "say `at:"),
        ("series: {kl.ref: 0x9}\n    silent: [late]", "late could not be evaluated", ""),
        ("series: {kl.ref: 0x9}\n    silent: [gpu]", "it needs gpu.util", ""),
        ("series: {kl.ref: 0x9}\n    silent: [own]", "it needs my key", ""),
    ],
)
def test_an_alert_that_the_test_gave_no_chance_to_fire_is_an_error(test: str, says: str, hint: str) -> None:
    result = run(test)
    assert result.outcome == "ERROR"
    (problem,) = result.problems
    assert problem.code == "not-evaluable"
    assert says in problem.message
    assert hint in problem.hint


@pytest.mark.parametrize(
    "test",
    [
        "series: {kl.ref: 0x9}\n    silent: [k, either]",
        "series: {entropy: 1x9}\n    silent: [either]",
        "series: {'my key': 0x9}\n    silent: [own]",
        "series: {'my key{rank=3}': 0x9}\n    silent: [own]",
        "series: {whatever: 0x9}\n    silent: [any]",
        "series: {kl.ref: 0x9}\n    config: {beta: 1}\n    silent: [beta]",
        "series: {kl.ref: 0x9}\n    phases: {late: 5}\n    silent: [late]",
        "samples: {every: 10s, series: {gpu.util: 50x9}, labels: {gpu: '0'}}\n    silent: [gpu]",
        "series: {entropy: 1x9}\n    at: {end: {k: unknown}}",
        "series: {entropy: 1x9}\n    silent: [k]\n    at: {end: {k: unknown}}",
        "series: {kl: 0x9, entropy: 1x9}\n    silent: [either]",
    ],
)
def test_an_alert_that_could_speak_or_is_said_to_be_unknown_passes(test: str) -> None:
    assert run(test).outcome == "PASS", run(test).problems


def test_a_series_that_nobody_knows_is_an_error_with_the_nearest_name() -> None:
    (problem,) = run("series: {kl.rf: 0.02x50 0.6x10}\n    silent: [k]").problems
    assert (problem.code, problem.line, problem.column, problem.width) == ("unknown-series", 3, 14, 5)
    assert problem.message == "no metric is named 'kl.rf', and no rule here reads it"
    assert problem.hint == "did you mean 'kl.ref'?"
    (problem,) = run("series: {my kei: 1}\n    silent: [own]").problems
    assert problem.hint == "did you mean 'my key'?"
    sampled = "samples: {every: 1s, series: {gpu.utl: 5x2}}\n    silent: [gpu]"
    assert [problem.hint for problem in run(sampled).problems] == ["did you mean 'gpu.util'?"]


@pytest.mark.parametrize("pack", PACKS)
def test_no_shipped_test_passes_when_a_series_of_it_is_misspelt(pack: str) -> None:
    path = pack_path(pack).with_name(pack + TEST_SUFFIX)
    rules = load_rules([(f"{pack}.yaml", pack_path(pack).read_text())])
    written = yaml.load(path.read_text(), yaml.BaseLoader)
    tested = 0
    for test in written["tests"]:
        series = test.get("series") or test["samples"]["series"]
        for key in list(series):
            wrong = f"{key.partition('{')[0]}q"
            series[wrong] = series.pop(key)
            if not is_known(wrong, default()):
                file = read_timelines(path.name, yaml.safe_dump({"tests": [test]}))
                named = {*test.get("silent", []), *(entry["alert"] for entry in test.get("expect", []))}
                wild = any("nonfinite(*)" in str(rules.named(name)) or _is_wild(rules.named(name)) for name in named)
                if not wild:
                    assert play(file, 0, rules, stage=Stage(file, rules)).outcome == "ERROR", (test["name"], wrong)
                    tested += 1
            series[key] = series.pop(wrong)
    assert tested


def _is_wild(rule: object) -> bool:
    return any(metric.name == "*" for metric in rule.metrics())  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["0x50", "0x5", "-0x5", "0x10 1", "0o17", "1e3", "17", "1_0", "true", "~"])
def test_a_series_is_read_as_it_is_written_whatever_yaml_takes_it_for(text: str) -> None:
    def outcome(quoted: str) -> tuple[object, int]:
        form = "tests:\n  - {name: a, series: {kl: %s}}\n  - {name: a, samples: {every: 1s, series: {kl: %s}}}\n"
        file = read_timelines("x", form % (quoted, quoted))
        one, two = file.tests
        return (one.series, two.samples.series if two.samples else None), len(file.faults)

    if text in ("true", "~"):
        assert outcome(text)[1] == 2
    else:
        assert outcome(text) == outcome(f"'{text}'")


def test_one_bad_test_hides_nothing_of_the_others() -> None:
    text = """\
tests:
  - {name: bad, series: {kl.ref: 1y3}}
  - {name: short, steps: 1..9, series: {kl.ref: 1x3}}
  - {name: strange, series: {kl.ref: 1x3}, silent: [kk]}
  - {series: {kl.ref: 0x3}}
  - {name: good, series: {kl.ref: 0x3}, silent: [k]}
"""
    rules = load_rules([("x.yaml", RULES)])
    file = read_timelines("x.test.yaml", text)
    results = [play(file, index, rules) for index in range(5)]
    assert [(result.name, result.outcome, result.line) for result in results] == [
        ("bad", "ERROR", 2),
        ("short", "ERROR", 3),
        ("strange", "ERROR", 4),
        ("test 4", "ERROR", 5),
        ("good", "PASS", 6),
    ]
    codes = [[problem.code for problem in result.problems] for result in results]
    assert codes == [["bad-series"], ["series-length"], ["unknown-alert"], ["missing-key"], []]


@pytest.mark.parametrize(
    ("item", "remedy"),
    [
        ("0.02*50", "write 0.02*50x60, or 0.02x50 for the same 50 times"),
        ("0.02*1.1", "write 0.02*1.1x60"),
        ("0.3+0.01", "write 0.3+0.01x60"),
        ("0.3-0.01~0.1", "write 0.3-0.01~0.1x60"),
        ("0.3..0.9", "write 0.3..0.9x60"),
    ],
)
def test_every_ramp_needs_a_count(item: str, remedy: str) -> None:
    file = read_timelines("x", f"tests:\n  - name: a\n    series: {{kl: {item}}}\n")
    assert [problem.hint for problem in file.faults[0]] == [remedy]
