"""The shipped packs: what they hold, and that their own time-lines pass."""

import re

import pytest

from sentinel.metrics import default
from sentinel.resources import DEFAULT_PACKS, PACKS, TEST_SUFFIX, TOGETHER, pack_path, read_source
from sentinel.rules.loader import load_rules
from sentinel.rules.symptoms import symptoms
from sentinel.ruletest import play, read_tests
from tests.scenarios.recordings import pack

FIVE = {"reward-drop", "kl-high", "clip-high", "length-jump", "gpu-idle"}


def _timelines(name):
    path = pack_path(name).with_name(name + TEST_SUFFIX)
    return read_tests(path.name, path.read_bytes())


CASES = [(name, index, test.name) for name in PACKS for index, test in enumerate(_timelines(name).tests)]


def test_the_classic_pack_holds_the_five_rules_of_the_guides():
    assert {rule.name for rule in pack("classic")} == FIVE


def test_the_default_pack_looks_for_what_the_five_rules_look_for():
    assert {rule.symptom for rule in pack("grpo")} >= FIVE - {"gpu-idle"}


def _texts(name):
    """Each rule of a pack as its file has it, comment and all, by name."""
    blocks = pack_path(name).read_text().partition("rules:\n")[2].split("\n\n")
    found = [(re.search(r"^  - alert: (\S+)$", block, re.MULTILINE), block.strip()) for block in blocks]
    return {match[1]: block for match, block in found if match}


def test_the_essential_pack_is_part_of_the_default_one_word_for_word():
    essential, grpo = _texts("essential"), _texts("grpo")
    assert {rule.symptom for rule in pack("essential")} < {rule.symptom for rule in pack("grpo")}
    assert essential.keys() == {rule.name for rule in pack("essential")}
    assert essential.items() <= grpo.items()


def test_the_default_packs_and_strict_can_be_in_force_together():
    assert set(DEFAULT_PACKS) < TOGETHER <= set(PACKS)
    assert load_rules([read_source(pack_path(name)) for name in PACKS if name in TOGETHER], default())


@pytest.mark.parametrize("name", ["grpo", "essential", "infra", "ppo", "strict"])
def test_each_rule_says_where_to_look_in_the_order_of_examination(name):
    order = ["diagnostic", "constraint", "objective", "earlier runs", "verify"]
    for rule in pack(name):
        assert [line.partition(":")[0] for line in rule.runbook.look_at] == order, rule.name


@pytest.mark.parametrize("name", PACKS)
def test_each_rule_says_what_it_sees_and_what_to_do(name):
    for rule in pack(name):
        assert "{value" in rule.summary or "{metric}" in rule.summary, rule.name
        assert rule.runbook.causes and rule.runbook.look_at and rule.runbook.do, rule.name
        assert rule.taints == symptoms()[rule.symptom].taints, rule.name


@pytest.mark.parametrize("name", PACKS)
def test_each_rule_has_a_time_line_that_fires_and_one_that_stays_silent(name):
    tests = _timelines(name).tests
    names = {rule.name for rule in pack(name)}
    assert {entry.alert for test in tests for entry in test.expect} == names
    assert {alert for test in tests for alert in test.silent} == names


@pytest.mark.parametrize(("name", "index", "title"), CASES, ids=[f"{name}: {title}" for name, _, title in CASES])
def test_time_line(name, index, title):
    result = play(_timelines(name), index, pack(name))
    assert result.outcome == "PASS", [problem.message for problem in result.problems]
