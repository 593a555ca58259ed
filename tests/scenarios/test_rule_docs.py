"""What docs/rules.md says of the language is so."""

import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from sentinel.cli.main import main
from sentinel.engine.engine import Engine
from sentinel.engine.recorder import record
from sentinel.events import StepMetrics
from sentinel.metrics import default
from sentinel.resources import PACKS, TEST_SUFFIX
from sentinel.rules.document import RuleDocument, RunbookDocument
from sentinel.rules.expression.check import compile_text
from sentinel.rules.expression.parse import CONTEXT_NAMES
from sentinel.rules.loader import load_rules, read_rules
from sentinel.ruletest import play, read_tests
from sentinel.stats import FUNCTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "rules.md").read_text()
ROWS = re.findall(r"^\| `([^`|]+)` \| `([^`|]+)` \| ([0-9]+) \|$", PAGE, re.MULTILINE)
RECIPES = re.findall(r"^\| [^`|]+ \| `([^`]+)` \| (?:`([^`]+)`|-) \| `([^`]+)` \| ([0-9]+) \|$", PAGE, re.MULTILINE)
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def at(step, kl_ref):
    return StepMetrics(run="r", step=step, metrics={"kl.ref": kl_ref})


@pytest.mark.parametrize(("condition", "series", "step"), ROWS, ids=[row[0] for row in ROWS])
def test_each_example_fires_at_the_step_that_the_page_says(condition, series, step):
    rule = {"alert": "example", "symptom": "kl-high", "warning": condition}
    rules = load_rules([("example.yaml", yaml.safe_dump({"rules": [rule]}))])
    name = re.search(r"(?:reward|kl|length)\.\w+|entropy|grad_norm", condition)
    assert name is not None
    # A second metric keeps the run going where the first is not logged.
    count = sum(int(item.partition("x")[2] or 1) for item in series.split())
    logged = {name[0]: series, "lr": f"1x{count}"}
    expect = [{"alert": "example", "fires_at": int(step)}]
    tests = {"tests": [{"name": "row", "series": logged, "expect": expect}]}
    result = play(read_tests("example" + TEST_SUFFIX, yaml.safe_dump(tests)), 0, rules)
    assert result.outcome == "PASS", [problem.message for problem in result.problems]


@pytest.mark.parametrize(("condition", "hold", "series", "step"), RECIPES, ids=[recipe[0] for recipe in RECIPES])
def test_each_recipe_fires_at_the_step_that_the_page_says(condition, hold, series, step):
    rule = {"alert": "recipe", "symptom": "kl-high", "warning": condition} | ({"for": hold} if hold else {})
    rules = load_rules([("recipe.yaml", yaml.safe_dump({"rules": [rule]}))])
    logged = dict(part.split(": ") for part in series.split(", "))
    expect = [{"alert": "recipe", "fires_at": int(step)}]
    tests = {"tests": [{"name": "row", "series": logged, "expect": expect}]}
    result = play(read_tests("recipe" + TEST_SUFFIX, yaml.safe_dump(tests)), 0, rules)
    assert result.outcome == "PASS", [problem.message for problem in result.problems]


def test_there_are_recipes():
    assert len(RECIPES) == 16


def test_each_command_of_the_page_is_one_that_there_is():
    commands = re.findall(r"^    sentinel (\w+)(?: (\w+))?", PAGE, re.MULTILINE)
    assert ("rules", "show") in commands
    for group, name in commands:
        words = [group, name] if group == "rules" else [group]
        assert CliRunner().invoke(main, [*words, "--help"]).exit_code == 0


def test_a_copy_of_a_pack_stands_in_its_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = CliRunner()
    for pack in PACKS:
        for more, name in (([], f"my-{pack}.yaml"), (["--tests"], f"my-{pack}.test.yaml")):
            shown = run.invoke(main, ["rules", "show", pack, *more])
            assert shown.exit_code == 0
            Path(name).write_text(shown.output)
        assert run.invoke(main, ["rules", "validate", f"my-{pack}.yaml", "--strict"]).exit_code == 0
    assert run.invoke(main, ["rules", "validate", "my-grpo.yaml", "ppo", "infra"]).exit_code == 0
    both = run.invoke(main, ["rules", "validate", "my-grpo.yaml", "grpo"])
    assert both.exit_code == 1
    assert "sentinel rules show" in both.output


def test_each_function_has_an_example():
    shown = {name for condition, _, _ in ROWS for name in re.findall(r"(\w+)\(", condition)}
    # One needs time that passes, one a recording, and two another rule: the page shows them in prose.
    assert set(FUNCTIONS) - shown == {"age", "reference", "firing", "pending"}
    assert "`age(kl.ref) > 5m`" in PAGE
    assert "`pending(kl-high, critical)`" in PAGE


def test_the_rules_that_look_at_another_run_and_another_rule_do_as_the_page_says():
    (block,) = (block for block in BLOCKS if "firing(" in block)
    good = record((at(step, kl_ref=0.05) for step in range(1, 31)), default())
    engine = Engine(load_rules([("page.yaml", block)]), references={"good": good})
    values = [0.02] * 10 + [0.12] * 5 + [0.3] * 20
    said = [each for step, kl in enumerate(values, 1) for each in engine.handle(at(step, kl_ref=kl))]
    # Beyond the recording's last step, 30, nothing is known, and nothing resolves.
    assert [(each.alert, each.state, each.step) for each in said] == [
        ("kl-high", "firing", 11),
        ("kl-beyond-the-good-run", "firing", 16),
    ]
    smoothed = re.findall(r"`(kl.ref > 3 \* mean\(reference[^`]*)`", PAGE.replace("\n", " "))
    assert [str(compile_text(text, default())) for text in smoothed]


def test_each_fact_about_a_run_is_explained_and_its_examples_are_conditions():
    rows = re.findall(r"^\| `([a-z_]+)(?:\.NAME)?` \| (.*) \|$", PAGE.partition("## Windows")[0], re.MULTILINE)
    facts = {name: text for name, text in rows if name in (*CONTEXT_NAMES, "config")}
    assert facts.keys() == {*CONTEXT_NAMES, "config"}
    examples = [example for text in facts.values() for example in re.findall(r"`([^`]+[<>=][^`]+)`", text)]
    assert len(examples) == 6
    for example in examples:
        compile_text(example, default())


@pytest.mark.parametrize("block", BLOCKS)
def test_each_rule_on_the_page_loads_without_a_word(block):
    assert read_rules([("page.yaml", block)]).problems == ()


def test_each_key_of_a_rule_is_explained():
    keys = {field.alias or name for name, field in RuleDocument.model_fields.items()}
    assert not [key for key in keys | set(RunbookDocument.model_fields) | {"vars"} if f"`{key}`" not in PAGE]
