"""`sentinel rules`, as a person and as CI call it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sentinel.cli.main import main

GOOD = "rules:\n  - alert: kl-high\n    symptom: kl-high\n    warning: kl.ref > 0.1\n    for: 3 steps\n"
BAD = "rules:\n  - alert: kl-high\n    symptom: kl-hgh\n    warning: mean(kl.rf, 3 steps) > 1\n"
TESTS = "tests:\n  - name: a jump fires\n    series: {kl: 0.01x5 0.3x5}\n    expect: [{alert: kl-high, fires_at: 8}]\n"


def sentinel(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text(BAD)
    return tmp_path


def test_rules_are_listed(folder: Path) -> None:
    lines = sentinel("rules", "list", "good.yaml").stdout.splitlines()
    assert lines[0] == "kl-high  kl-high, for 3 steps  (good.yaml:2)"
    assert lines[1].split() == ["warning", "kl.ref", ">", "0.1"]
    (rule,) = json.loads(sentinel("rules", "list", "good.yaml", "--output", "json").stdout)["rules"]
    assert (rule["name"], rule["conditions"], rule["for"]) == ("kl-high", {"warning": "kl.ref > 0.1"}, "3 steps")
    assert rule["source"] == "good.yaml:2"


def test_bad_rules_cannot_be_listed(folder: Path) -> None:
    result = sentinel("rules", "list", "bad.yaml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "bad.yaml:3:14: error[unknown-symptom]" in result.stderr


def test_the_schema_is_json(folder: Path) -> None:
    schema = json.loads(sentinel("rules", "schema").stdout)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert schema["required"] == ["rules"]


@pytest.mark.parametrize("path", ["good.yaml", "good.test.yaml", "."])
def test_tests_are_found_beside_their_rules(folder: Path, path: str) -> None:
    (folder / "good.test.yaml").write_text(TESTS)
    result = sentinel("rules", "test", path)
    assert result.exit_code == 0
    assert result.output == "PASS   good.test.yaml:2  a jump fires\n1 of 1 test passed\n"


def test_a_failing_test_exits_1_and_says_where(folder: Path) -> None:
    (folder / "good.test.yaml").write_text(TESTS.replace("fires_at: 8", "fires_at: 7"))
    result = sentinel("rules", "test", "good.yaml")
    assert result.exit_code == 1
    assert "FAIL   good.test.yaml:2  a jump fires\n" in result.output
    assert "good.test.yaml:4:41: error[fired-differently]: kl-high fired at step 8, not 7" in result.output
    found = json.loads(sentinel("rules", "test", "good.yaml", "--output", "json").stdout)
    assert (found["passed"], found["failed"], found["errors"]) == (0, 1, 0)
    assert found["tests"][0]["problems"][0]["line"] == 4


def test_rules_that_cannot_be_used_are_an_error_of_the_test(folder: Path) -> None:
    (folder / "bad.test.yaml").write_text(TESTS)
    result = sentinel("rules", "test", "bad.yaml")
    assert result.exit_code == 1
    assert "ERROR  bad.test.yaml  the rules cannot be used" in result.output
    (folder / "bad.test.yaml").write_text("rules: [nowhere.yaml]\n" + TESTS)
    assert "bad.test.yaml:1:8: error[no-rules]: no such file" in sentinel("rules", "test", "bad.yaml").output
    (folder / "bad.test.yaml").write_text("tests: [\n")
    assert "ERROR  bad.test.yaml  the tests cannot be read" in sentinel("rules", "test", "bad.yaml").output


@pytest.mark.parametrize("path", ["nowhere", "good.yaml", "."])
def test_no_tests_exit_2(folder: Path, path: str) -> None:
    assert sentinel("rules", "test", path).exit_code == 2


def test_checking_rules_loads_no_client_of_anything(folder: Path) -> None:
    heavy = {"redis", "aiohttp", "slack_sdk", "structlog", "apscheduler", "asyncio", "sentinel.engine"}
    script = (
        "import sys\nfrom sentinel.cli.main import main\n"
        "try:\n    main(['rules', 'validate', 'good.yaml'])\nexcept SystemExit as end:\n    assert not end.code\n"
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_rules_that_would_keep_too_much_are_refused_and_the_limit_can_be_raised(folder: Path) -> None:
    text = "rules: [{alert: long, symptom: kl-high, warning: 'mean(kl.ref, 30d) > 1'}]"
    (folder / "long.yaml").write_text(text)
    refused = sentinel("rules", "validate", "long.yaml")
    assert refused.exit_code == 1
    assert "long.yaml:1:1: error[too-much-state]: the rules may keep 49.4 MiB of each run" in refused.output
    assert sentinel("rules", "validate", "--max-state", "50", "long.yaml").exit_code == 0
    assert sentinel("rules", "validate", "--max-state", "0", "long.yaml").exit_code == 2


def test_what_a_rule_is_for_some_runs_is_listed(folder: Path) -> None:
    (folder / "some.yaml").write_text(
        """\
rules:
  - alert: kl
    symptom: kl-high
    phase: [early, rl-math]
    warning: kl.ref > 1
    critical: kl.ref > 5
    overrides:
      - {where: {team: math}, warning: kl.ref > 2, critical: null, for: 3 steps}
      - {where: {model: tiny}, enabled: false}
"""
    )
    text = sentinel("rules", "list", "some.yaml").output
    assert "kl  kl-high, phase early, rl-math  (some.yaml:2)" in text
    assert "  where team=math: warning kl.ref > 2; no critical; for 3 steps\n  where model=tiny: off\n" in text
    (rule,) = json.loads(sentinel("rules", "list", "--output", "json", "some.yaml").output)["rules"]
    assert rule["phase"] == ["early", "rl-math"]
    math = {"where": {"team": "math"}, "enabled": True, "source": "some.yaml:8", "for": "3 steps"}
    assert rule["overrides"] == [
        {**math, "conditions": {"warning": "kl.ref > 2.0"}},
        {"where": {"model": "tiny"}, "enabled": False, "source": "some.yaml:9"},
    ]
