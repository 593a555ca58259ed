"""What docs/ci.md and the hooks tell other repositories to run can be run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from sentinel.cli.main import main
from sentinel.rules.loader import load_rules

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")
BLOCKS: list[Any] = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.M | re.S)]
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))

RULES = """\
rules:
  - alert: kl-high
    symptom: kl-high
    warning: kl.ref > 0.5
    for: 3 steps
    runbook: {do: [look]}
"""
TESTS = "tests:\n  - name: a jump\n    series: {kl.ref: 0.01x5 0.6x5}\n    expect: [{alert: kl-high}]\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "mine.yaml").write_text(RULES)
    (tmp_path / "rules" / "mine.test.yaml").write_text(TESTS)
    return tmp_path


def run(command: str) -> int:
    words = shlex.split(command.partition(">")[0])
    assert words[0] == "sentinel"
    return CliRunner().invoke(main, words[1:]).exit_code


def test_the_workflow_has_what_a_workflow_needs() -> None:
    workflow = BLOCKS[0]
    # YAML 1.1 reads the key `on` as true; GitHub does not.
    assert workflow.keys() == {"name", True, "permissions", "jobs"}
    assert workflow["permissions"]["security-events"] == "write"
    (job,) = workflow["jobs"].values()
    assert all(step.keys() & {"uses", "run"} for step in job["steps"])
    (upload,) = [step for step in job["steps"] if "upload-sarif" in step.get("uses", "")]
    assert any(step.get("run", "").endswith(f"> {upload['with']['sarif_file']}") for step in job["steps"])
    # Findings make the step before it fail, and are what it is for.
    assert upload["if"] == "${{ !cancelled() }}"


def test_each_command_of_the_page_works(project: Path) -> None:
    (job,) = BLOCKS[0]["jobs"].values()
    steps = [*job["steps"], *BLOCKS[1]]
    commands = [step["run"] for step in steps if step.get("run", "").startswith("sentinel")]
    shown = re.findall(r"^    (sentinel rules \S+(?: \S+)*?)(?:  .*)?$", PAGE, re.M)
    assert len(commands) == 3
    assert len(shown) == 5
    for command in [*commands, *shown]:
        assert run(command) == 0, command


def test_the_message_on_the_page_is_the_real_one(project: Path) -> None:
    (project / "rules" / "mine.yaml").write_text(RULES.replace("    for: 3 steps\n", ""))
    output = CliRunner().invoke(main, ["rules", "validate", "rules"]).output
    (shown,) = re.findall(r"^```\n(rules/mine.*?)^```$", PAGE, re.M | re.S)
    assert shown in output


def test_each_key_of_the_json_is_on_the_page(project: Path) -> None:
    (project / "rules" / "mine.yaml").write_text(RULES.replace("    for: 3 steps\n", ""))
    output = CliRunner().invoke(main, ["rules", "validate", "rules", "--output", "json"]).output
    found = yaml.safe_load(output)
    assert not [key for key in found if f"`{key}`" not in PAGE]
    assert f"`{' '.join(found['problems'][0])}`" in PAGE


def test_the_hooks_on_the_page_are_those_there_are() -> None:
    (repository,) = BLOCKS[2]["repos"]
    assert [hook["id"] for hook in repository["hooks"]] == [hook["id"] for hook in HOOKS]
    assert [hook["args"] for hook in repository["hooks"]] == [hook["args"] for hook in HOOKS]


def test_the_hooks_look_at_all_rules_whichever_file_changes(project: Path) -> None:
    """A rule may ask about one of a file that did not change, and must not take its name."""
    assert [hook["pass_filenames"] for hook in HOOKS] == [False, False]
    validate = " ".join([HOOKS[0]["entry"], *HOOKS[0]["args"]])
    asks = RULES.replace("alert: kl-high", "alert: kl-asks").replace("kl.ref > 0.5", "firing(kl-high)")
    (project / "rules" / "asks.yaml").write_text(asks)
    assert run(validate) == 0
    (project / "rules" / "asks.yaml").write_text(RULES)
    assert run(validate) == 1


def test_each_hook_has_what_pre_commit_needs() -> None:
    """The keys that https://pre-commit.com/#new-hooks requires, and no others than it knows."""
    for hook in HOOKS:
        assert {"id", "name", "entry", "language"} <= hook.keys()
        assert hook.keys() <= {
            "id", "name", "entry", "language", "files", "exclude", "args", "description", "pass_filenames"
        }  # fmt: skip
        assert hook["language"] == "python"


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_each_hook_does_its_work_on_the_files_that_it_selects(project: Path, hook: dict[str, Any]) -> None:
    files = [file.relative_to(project).as_posix() for file in sorted(project.rglob("*.yaml"))]
    chosen = [name for name in files if re.search(hook["files"], name)]
    chosen = [name for name in chosen if not hook.get("exclude") or not re.search(hook["exclude"], name)]
    assert chosen
    given = chosen if hook.get("pass_filenames", True) else []
    command = " ".join([hook["entry"], *hook.get("args", []), *given])
    assert run(command) == 0
    (project / "rules" / "mine.yaml").write_text(RULES.replace("> 0.5", "> 50%"))
    assert run(command) == 1


def test_the_line_for_editors_is_one_that_a_rule_file_may_begin_with() -> None:
    (block,) = re.findall(r"^```yaml\n(# yaml-language-server.*?)^```$", PAGE, re.M | re.S)
    assert re.match(r"# yaml-language-server: \$schema=\S+\n", block)
    assert len(load_rules([("x", block)])) == 0
