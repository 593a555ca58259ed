"""`sentinel rules validate`, as a person, CI and an editor call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sentinel.cli.github import github_of_problem
from sentinel.cli.main import main
from sentinel.errors import Problem
from sentinel.resources import PACKS, TOGETHER, packs_dir
from sentinel.rules.lint.codes import codes

GOOD = """\
rules:
  - alert: kl-high
    symptom: kl-high
    warning: abs(kl.ref) > 0.1
    for: 3 steps
    keep_firing_for: 5 steps
    runbook: {do: [lower the learning rate]}
"""
ODD = GOOD.replace("    for: 3 steps\n", "").replace("abs(kl.ref)", "kl.ref")
BAD = "rules:\n  - alert: kl-high\n    symptom: kl-hgh\n    warning: mean(kl.rf, 3 steps) > 1\n"
TESTS = "tests:\n  - name: a jump fires\n    series: {kl: 0.01x5 0.3x5}\n    expect: [{alert: kl-high}]\n"


def sentinel(*arguments: str, color: bool = False) -> Result:
    return CliRunner().invoke(main, list(arguments), color=color)


def validate(*arguments: str) -> Result:
    return sentinel("rules", "validate", *arguments)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {"good": GOOD, "odd": ODD, "bad": BAD, "good.test": TESTS, "odd.test": TESTS}.items():
        (tmp_path / f"{name}.yaml").write_text(text)
    return tmp_path


def test_good_rules_exit_0(folder: Path) -> None:
    for arguments in ([], ["--info"], ["--strict"]):
        result = validate("good.yaml", *arguments)
        assert (result.exit_code, result.output) == (0, "1 rule can be used\n")


def test_every_error_is_shown_with_line_carets_remedy_and_page(folder: Path) -> None:
    result = validate("bad.yaml")
    assert result.exit_code == 1
    assert result.output == (
        "bad.yaml:3:14: error[unknown-symptom]: there is no such symptom\n"
        " 3 |     symptom: kl-hgh\n"
        "   |              ^^^^^^\n"
        "   = did you mean 'kl-high'?\n"
        "   = see: docs/checks/unknown-symptom.md\n"
        "\n"
        "bad.yaml:4:19: error[unknown-metric]: there is no metric 'kl.rf' in the dictionary\n"
        " 4 |     warning: mean(kl.rf, 3 steps) > 1\n"
        "   |                   ^^^^^\n"
        "   = did you mean 'kl.ref'? A trainer's own key goes in backticks: `kl.rf`\n"
        "   = see: docs/checks/unknown-metric.md\n"
        "\n"
        "2 errors\n"
    )


def test_a_warning_alone_exits_0_and_is_a_finding_when_strict(folder: Path) -> None:
    result = validate("odd.yaml")
    assert result.exit_code == 0
    assert "odd.yaml:4:14: warning[single-spike]: one odd value is enough for a warning\n" in result.output
    assert result.output.endswith("1 rule can be used, 1 warning, 1 remark (shown with --info)\n")
    assert validate("odd.yaml", "--strict").exit_code == 1


def test_remarks_are_shown_when_asked_for(folder: Path) -> None:
    assert "info[one-sided-kl]" not in validate("odd.yaml").output
    result = validate("odd.yaml", "--info", "--strict")
    assert "info[one-sided-kl]" in result.output
    assert result.output.endswith("1 rule can be used, 1 warning, 1 remark\n")
    # A remark is no finding.
    (folder / "odd.yaml").write_text(GOOD.replace("abs(kl.ref)", "kl.ref"))
    assert validate("odd.yaml", "--info", "--strict").exit_code == 0


def test_what_is_allowed_is_counted_and_told_with_its_reason(folder: Path) -> None:
    (folder / "odd.yaml").write_text("allow: {single-spike: our KL is smoothed}\n" + ODD)
    result = validate("odd.yaml", "--strict")
    assert (result.exit_code, result.output) == (0, "1 rule can be used, 1 remark (shown with --info), 1 allowed\n")
    (allowed,) = json.loads(validate("odd.yaml", "--output", "json").stdout)["allowed"]
    assert (allowed["code"], allowed["reason"]) == ("single-spike", "our KL is smoothed")
    (log,) = json.loads(validate("odd.yaml", "--output", "sarif").stdout)["runs"]
    (found,) = log["results"]
    assert found["suppressions"] == [{"kind": "inSource", "justification": "our KL is smoothed"}]


def test_tests_are_looked_for_beside_the_rules_and_where_they_are_named(folder: Path) -> None:
    (folder / "good.test.yaml").unlink()
    assert "good.yaml:2:12: warning[no-test]: the rules of this file have no tests" in validate("good.yaml").output
    (folder / "all.test.yaml").write_text("rules: [good.yaml]\n" + TESTS)
    assert "no-test" not in validate("good.yaml").output
    (folder / "all.test.yaml").write_text("rules: [good.yaml]\n" + TESTS.replace("kl-high", "kl-low"))
    assert "warning[no-test]: no test has seen this rule fire" in validate("good.yaml").output


def test_colors_are_for_terminals(folder: Path) -> None:
    assert "\x1b[" not in validate("odd.yaml").output
    assert "\x1b[" in sentinel("rules", "validate", "odd.yaml", color=True).output


def test_a_folder_stands_for_its_rule_files_and_not_its_tests(folder: Path) -> None:
    (folder / "bad.yaml").unlink()
    (folder / "odd.yaml").unlink()
    assert validate(".").output == "1 rule can be used\n"


def test_files_that_are_named_together_share_one_set_of_names(folder: Path) -> None:
    (folder / "again.yaml").write_text(GOOD)
    result = validate("good.yaml", "again.yaml")
    assert result.exit_code == 1
    assert "again.yaml:2:12: error[duplicate-alert]" in result.output
    assert "it stands at good.yaml:2" in result.output


def test_shipped_packs_that_stand_alone_may_share_names(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packs = folder / "packs"
    packs.mkdir()
    for number, name in enumerate(PACKS):
        alert = name if name in TOGETHER and name != "grpo" else "kl-high"
        # Alike in name, not in what they ask.
        text = GOOD.replace("alert: kl-high", f"alert: {alert}").replace("> 0.1", f"> 0.{number + 1}")
        (packs / f"{name}.yaml").write_text(text)
        (packs / f"{name}.test.yaml").write_text(TESTS.replace("kl-high", alert))
    monkeypatch.setattr("sentinel.cli.rules.packs_dir", lambda: packs)
    monkeypatch.setattr("sentinel.resources.packs_dir", lambda: packs)
    for arguments in ([], ["packs"]):
        result = validate(*arguments)
        assert (result.exit_code, result.output) == (0, f"{len(PACKS)} rules can be used\n")
    assert validate("packs/grpo.yaml", "packs/classic.yaml").exit_code == 1
    (packs / "infra.yaml").write_text(GOOD)
    assert "error[duplicate-alert]" in validate("packs").output


@pytest.mark.parametrize("paths", [["nowhere.yaml"], ["good.yaml", "nowhere.yaml"], ["empty"]])
def test_a_path_that_cannot_be_read_exits_2(folder: Path, paths: list[str]) -> None:
    (folder / "empty").mkdir()
    result = validate(*paths)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("sentinel: no ")


def test_json_lists_every_problem(folder: Path) -> None:
    result = validate("bad.yaml", "--output", "json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert (found["version"], found["ok"], found["rules"], found["allowed"]) == (1, False, 0, [])
    assert [(p["path"], p["line"], p["column"], p["width"], p["code"], p["page"]) for p in found["problems"]] == [
        ("bad.yaml", 3, 14, 6, "unknown-symptom", "docs/checks/unknown-symptom.md"),
        ("bad.yaml", 4, 19, 5, "unknown-metric", "docs/checks/unknown-metric.md"),
    ]


def test_github_gets_workflow_commands(folder: Path) -> None:
    first, _ = validate("bad.yaml", "--output", "github").stdout.splitlines()
    assert first == (
        "::error file=bad.yaml,title=unknown-symptom,line=3,endLine=3,col=14,endColumn=19"
        "::there is no such symptom (did you mean 'kl-high'?) see: docs/checks/unknown-symptom.md"
    )
    commands = [line.split(" ")[0] for line in validate("odd.yaml", "--info", "--output", "github").stdout.splitlines()]
    assert sorted(commands) == ["::notice", "::warning"]


def test_what_means_something_to_github_is_escaped() -> None:
    problem = Problem("a,b:c%.yaml", 1, 2, "x", "100%\nof it, see: ::error::", "", "line", 3)
    assert github_of_problem(problem) == (
        "::error file=a%2Cb%3Ac%25.yaml,title=x,line=1,endLine=1,col=2,endColumn=4::100%25%0Aof it, see: ::error::"
    )
    assert github_of_problem(Problem("a", 0, 0, "x", "m")) == "::error file=a,title=x::m"


def test_sarif_names_tool_rules_and_regions(folder: Path) -> None:
    log = json.loads(validate("bad.yaml", "--output", "sarif").stdout)
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["unknown-metric", "unknown-symptom"]
    first = run["results"][0]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("unknown-symptom", 1, "error")
    assert first["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "bad.yaml"},
        "region": {"startLine": 3, "startColumn": 14, "endColumn": 20},
    }


def test_sarif_has_what_its_specification_requires(folder: Path) -> None:
    """Sections 3.13 (log), 3.14 (run), 3.18 (tool), 3.49 (rules), 3.27 (results) of SARIF 2.1.0."""
    arguments = ["bad.yaml", "odd.yaml", "--info", "--output", "sarif", "--docs-url", "https://docs.example/checks/"]
    (folder / "bad.yaml").write_text(BAD.replace("alert: kl-high", "alert: b"))
    log = json.loads(validate(*arguments).stdout)
    assert log.keys() == {"$schema", "version", "runs"}
    (run,) = log["runs"]
    assert run.keys() == {"tool", "columnKind", "results"}
    driver = run["tool"]["driver"]
    assert driver.keys() == {"name", "version", "rules"}
    for rule in driver["rules"]:
        assert rule["helpUri"] == f"https://docs.example/checks/{rule['id']}.md"
        assert rule["help"]["markdown"].startswith(f"# {rule['id']}\n")
        assert rule["shortDescription"]["text"] == codes()[rule["id"]].meaning
        assert rule["defaultConfiguration"]["level"] in {"note", "warning", "error"}
    assert {result["level"] for result in run["results"]} == {"note", "warning", "error"}
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        region = result["locations"][0]["physicalLocation"]["region"]
        assert region["startLine"] >= 1
        assert region["endColumn"] > region["startColumn"] >= 1


def test_a_file_with_control_characters_cannot_move_the_cursor(folder: Path) -> None:
    (folder / "bad.yaml").write_text('rules:\n  - alert: "\\e[2Jx"\n')
    assert "\x1b" not in validate("bad.yaml").output


def test_checks_are_listed_and_their_pages_shown() -> None:
    assert "never-fires" in sentinel("rules", "checks").output
    assert sentinel("rules", "checks", "never-fires").output.startswith("# never-fires\n")
    result = sentinel("rules", "checks", "never-fire")
    assert result.exit_code == 2
    assert "did you mean 'never-fires'?" in result.stderr


def test_the_shipped_packs_have_no_warnings() -> None:
    result = validate(str(packs_dir()), "--strict")
    assert result.exit_code == 0, result.output


def test_a_newcomer_is_led_from_three_mistakes_to_a_working_rule(folder: Path) -> None:
    """Each change below is the one that a message asks for, in its words."""
    text = "rules:\n  - alert: KL too high\n    symptom: kl-high\n    warning: avg(kl, 5 samples) > 30%\n    for: 3\n"

    def messages() -> str:
        (folder / "mine.yaml").write_text(text)
        return validate("mine.yaml", "--info").output

    def follow(told: str, old: str, new: str) -> None:
        nonlocal text
        assert told in said, said
        assert old in text
        text = text.replace(old, new)

    said = messages()
    follow("for example kl-too-high", "KL too high", "kl-too-high")
    follow("write mean(x, window)", "avg(", "mean(")
    follow("the dictionary calls it 'kl.ref'", "(kl,", "(kl.ref,")
    follow("write 3 steps, 3 samples or 5m", "for: 3\n", "for: 3 samples\n")

    said = messages()
    follow("a percentage cannot be compared with nats/token", "30%", "0.3")

    said = messages()
    assert "1 rule can be used" in said
    (folder / "mine.test.yaml").write_text(TESTS.replace("kl-high", "kl-too-high").replace("0.3x5", "0.5x9"))
    follow("the rules of this file have no tests", "rules:", "rules:")
    follow("add runbook: {causes", "for: 3", "runbook: {causes: [x], look_at: [y], do: [z]}\n    for: 3")
    follow("add keep_firing_for: 5 samples", "for: 3", "keep_firing_for: 5 samples\n    for: 3")
    follow("or compare abs(kl.ref)", "mean(kl.ref, 5 samples)", "abs(mean(kl.ref, 5 samples))")

    assert messages() == "1 rule can be used\n"
    assert sentinel("rules", "test", "mine.yaml").exit_code == 0
