"""`sentinel rules test`, as a person and as CI call it: what is shown, what is counted, what exits how."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from sentinel.cli.main import main

RULES = """\
rules:
  - alert: kl-high
    symptom: kl-high
    warning: kl.ref > 0.1
    critical: kl.ref > 0.5 or mean(kl.ref, 3 steps) > 0.4
    for: 3 steps
    until: kl.ref < 0.05
  - alert: entropy-low
    symptom: entropy-collapse
    warning: entropy < 0.1
"""

TESTS = """\
tests:
  - name: a jump fires
    series: {kl.ref: 0.01x5 0.3x5}
    expect: [{alert: kl-high, fires_at: 8}]
  - name: a small value is fine
    series: {kl.ref: 0.02x10}
    silent: [kl-high]
"""


def sentinel(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["rules", "test", *arguments])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.yaml").write_text(RULES)
    (tmp_path / "my.test.yaml").write_text(TESTS)
    return tmp_path


def test_a_failure_shows_what_happened_beside_what_was_expected(folder: Path) -> None:
    (folder / "my.test.yaml").write_text(TESTS.replace("fires_at: 8", "fires_at: 7"))
    output = sentinel("my.yaml").output
    rows = [line.strip() for line in output.splitlines() if line.startswith("       ")]
    assert ">    7    0.3        0.1  pending warning  fires" in rows
    assert "8    0.3        0.1  fires warning" in rows


def test_a_value_stands_beside_its_threshold_when_silence_is_broken(folder: Path) -> None:
    (folder / "my.test.yaml").write_text(TESTS.replace("0.02x10", "0.02x5 0.2x5"))
    rows = [line.strip() for line in sentinel("my.yaml").output.splitlines()]
    assert ">    8    0.2        0.1  fires warning    silent" in rows


def test_what_a_run_does_at_each_sample_is_shown_by_time(folder: Path) -> None:
    (folder / "my.test.yaml").write_text(
        "tests:\n  - name: a\n    samples: {every: 10s, series: {entropy: 1x3 0.05}}\n    silent: [entropy-low]\n"
    )
    rows = [line.split() for line in sentinel("my.yaml").output.splitlines()]
    assert [">", "-", "40s", "0.05", "0.1", "fires", "warning", "silent"] in rows


def test_a_terminal_gets_color_and_a_pipe_does_not(folder: Path) -> None:
    (folder / "my.test.yaml").write_text(TESTS.replace("fires_at: 8", "fires_at: 7"))
    assert "\x1b" not in sentinel("my.yaml").output
    assert "\x1b[31m" in CliRunner().invoke(main, ["rules", "test", "my.yaml"], color=True).output


def test_verbose_shows_all_that_happened(folder: Path) -> None:
    lines = [line.split() for line in sentinel("my.yaml", "-v").output.splitlines()]
    assert ["step", "6", "pending", "warning", "kl-high:"] in [line[:5] for line in lines]
    assert ["step", "8", "firing", "warning", "kl-high:"] in [line[:5] for line in lines]


@pytest.mark.parametrize(("only", "count"), [("JUMP", 1), ("kl-high", 2), ("fine", 1)])
def test_only_the_tests_that_are_about_a_name_are_played(folder: Path, only: str, count: int) -> None:
    assert sentinel("my.yaml", "--only", only).output.endswith(f"{count} of {count} test{'s' * (count > 1)} passed\n")


def test_a_name_that_no_test_is_about_exits_2(folder: Path) -> None:
    result = sentinel("my.yaml", "--only", "nothing")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no test is about 'nothing'" in result.stderr


def test_coverage_names_what_was_never_true(folder: Path) -> None:
    output = sentinel("my.yaml", "--coverage").output
    assert output.partition("\n\n")[2] == (
        "Coverage of my.test.yaml\n"
        "    3/7  kl-high  warning in 1, silent in 1\n"
        "         critical is never true: (kl.ref > 0.5) or (mean(kl.ref, 3 steps) > 0.4)\n"
        "         critical, branch 1 is never true: kl.ref > 0.5\n"
        "         critical, branch 2 is never true: mean(kl.ref, 3 steps) > 0.4\n"
        "         until is never true: kl.ref < 0.05\n"
        "    0/3  entropy-low\n"
        "         fires in no test\n"
        "         no test demands its silence\n"
        "         warning is never true: entropy < 0.1\n"
        "30.0% covered: 3 of 10 parts\n"
    )


def test_a_branch_and_the_reset_condition_are_covered_once_they_were_true(folder: Path) -> None:
    (folder / "my.test.yaml").write_text(
        TESTS + "  - name: b\n    series: {kl.ref: 0.02x5 0.45x5 0.02x5}\n"
        "    expect: [{alert: kl-high, severity: critical}]\n"
    )
    found = json.loads(sentinel("my.yaml", "--coverage", "--output", "json").stdout)["coverage"]
    first = found["rules"][0]
    assert [part["part"] for part in first["never_true"]] == ["critical, branch 1"]
    assert first["fired"] == {"warning": ["a jump fires", "b"], "critical": ["b"]}
    assert first["silent"] == ["a small value is fine"]
    assert (found["covered"], found["total"], found["percent"]) == (6, 10, 60.0)


def test_too_little_coverage_exits_1(folder: Path) -> None:
    result = sentinel("my.yaml", "--fail-under", "31")
    assert (result.exit_code, result.stderr) == (1, "sentinel: 30.0% is covered, less than 31%\n")
    assert sentinel("my.yaml", "--fail-under", "30").exit_code == 0


def test_json_holds_strips_and_changes(folder: Path) -> None:
    (folder / "my.test.yaml").write_text(TESTS.replace("fires_at: 8", "fires_at: 7"))
    found = json.loads(sentinel("my.yaml", "--output", "json").stdout)
    assert "coverage" not in found
    failed, passed = found["tests"]
    (strip,) = failed["strips"]
    (row,) = [moment for moment in strip["moments"] if moment["expected"]]
    assert (row["step"], row["state"], row["value"], row["threshold"]) == (7, "pending", 0.3, 0.1)
    assert [(change["state"], change["step"]) for change in failed["changes"]] == [("pending", 6), ("firing", 8)]
    assert (passed["strips"], passed["changes"]) == ([], [])


def test_junit_counts_cases_failures_and_errors(folder: Path) -> None:
    (folder / "my.test.yaml").write_text(
        TESTS.replace("fires_at: 8", "fires_at: 7").replace("a jump fires", '"a <jump> \\e[2J & \\x00 fires"')
        + "  - name: c\n    series: {kl.ref: 1}\n    silent: [nobody]\n"
    )
    result = sentinel("my.yaml", "--output", "junit")
    assert result.exit_code == 1
    assert result.stdout.startswith('<?xml version="1.0" encoding="UTF-8"?>\n')
    root = ElementTree.fromstring(result.stdout.encode())
    assert conforms(root) == []
    (suite,) = root
    counts = {"tests": "3", "failures": "1", "errors": "1"}
    assert dict(suite.items()) == {"name": "my.test.yaml", **counts}
    failed, passed, wrong = suite
    assert failed.get("name") == "a <jump> \\x1b[2J & \\x00 fires"
    assert failed.get("classname") == "my.test.yaml"
    assert failed[0].get("message") == "kl-high fired at step 8, not 7"
    assert ">    7    0.3        0.1  pending warning  fires" in (failed[0].text or "")
    assert list(passed) == []
    assert (wrong[0].tag, wrong[0].get("type")) == ("error", "unknown-alert")


def test_beside_junit_the_coverage_goes_to_stderr(folder: Path) -> None:
    result = sentinel("my.yaml", "--output", "junit", "--coverage")
    ElementTree.fromstring(result.stdout.encode())
    assert result.stderr.endswith("30.0% covered: 3 of 10 parts\n")


SCHEMA: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "tests", "failures", "errors", "disabled", "time"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors"}, {"time", "timestamp", "skipped", "id"}, {"testcase"}),
    "testcase": ({"name", "classname"}, {"time", "assertions", "status"}, {"failure", "error", "skipped"}),
    "failure": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
}
"""Jenkins' junit-10.xsd, as far as we use it: element → attributes it must and may have, elements it may hold."""


def conforms(element: ElementTree.Element) -> list[str]:
    """What of an element and those in it the schema does not allow."""
    must, may, inside = SCHEMA[element.tag]
    wrong = [f"{element.tag} lacks {name}" for name in must - set(element.keys())]
    wrong += [f"{element.tag} has {name}" for name in set(element.keys()) - must - may]
    for child in element:
        wrong += [f"{child.tag} in {element.tag}"] if child.tag not in inside else conforms(child)
    return wrong


@pytest.mark.parametrize(
    "tests",
    [
        pytest.param(f"rules: [nosuch.yaml]\n{TESTS}", id="rules that are not there"),
        pytest.param("tests: [", id="no YAML"),
        pytest.param("testz: []", id="no test file"),
        pytest.param("", id="empty"),
    ],
)
@pytest.mark.parametrize("output", ["text", "json", "junit"])
def test_what_cannot_be_read_is_an_error_and_exits_2(folder: Path, tests: str, output: str) -> None:
    Path("my.test.yaml").write_text(tests)
    result = sentinel("my.yaml", "--output", output)
    assert result.exit_code == 2
    assert "cannot be read" in result.stdout


def test_rules_that_are_wrong_exit_1(folder: Path) -> None:
    Path("my.yaml").write_text("rules: [{alert: a}]")
    assert sentinel("my.yaml").exit_code == 1
