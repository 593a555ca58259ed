"""What docs/testing-rules.md says is so."""

import math
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from sentinel.cli.main import main
from sentinel.rules.loader import load_rules
from sentinel.ruletest import TimelineDocument, TimelinesDocument, parse_series, play, read_tests, values
from sentinel.ruletest.document import ExpectDocument, StateDocument
from sentinel.ruletest.expected import STATES

PAGE = (Path(__file__).parents[2] / "docs" / "testing-rules.md").read_text()
ALL_RULES = re.findall(r"^```yaml rules\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
RULES = ALL_RULES[0]
FILES = re.findall(r"^```yaml tests\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SHOWN = re.findall(r"^```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
ITEMS = re.findall(r"^\| `([^`|]+)` \| `([^`|]+)` \|$", PAGE, re.MULTILINE)

CASES = [(text, index, test.name) for text in FILES for index, test in enumerate(read_tests("page", text).tests)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.yaml").write_text(RULES)
    (tmp_path / "my.test.yaml").write_text(FILES[0])
    return tmp_path


@pytest.mark.parametrize(("text", "index", "name"), CASES, ids=[name for *_, name in CASES])
def test_each_time_line_on_the_page_passes(text, index, name):
    sources = [(f"page{at}.yaml", rules) for at, rules in enumerate(ALL_RULES)]
    result = play(read_tests("page.test.yaml", text), index, load_rules(sources))
    assert result.outcome == "PASS", [problem.message for problem in result.problems]


@pytest.mark.parametrize(("item", "meant"), ITEMS)
def test_each_item_means_the_values_beside_it(item, meant):
    for found, word in zip(values("kl", parse_series(item)), meant.split(), strict=True):
        if word in ("_", "null"):
            assert found == ("_" if word == "_" else None)
        else:
            assert found == pytest.approx(float(word), nan_ok=math.isnan(float(word)))


def test_a_failing_test_looks_as_on_the_page(folder):
    first = FILES[0].partition("\n\n")[0].replace("fires_at: 53", "fires_at: 52")
    (folder / "my.test.yaml").write_text(first + "\n")
    assert CliRunner().invoke(main, ["rules", "test", "my.yaml"]).output == SHOWN[0]


def test_the_coverage_looks_as_on_the_page(folder):
    output = CliRunner().invoke(main, ["rules", "test", "my.yaml", "--coverage"]).output
    assert output.endswith("\n\n" + SHOWN[1])


def test_each_key_and_state_is_explained():
    models = (TimelinesDocument, TimelineDocument, ExpectDocument, StateDocument)
    words = {name for model in models for name in model.model_fields} - {"tests"} | set(STATES)
    assert not [word for word in words if f"`{word}`" not in PAGE and f"`{word}:" not in PAGE]
