"""How much of a run the rules may keep."""

import pytest
from rule_builder import at, rule, rules

from sentinel.engine.engine import Engine
from sentinel.resources import PACKS, pack_path, read_source
from sentinel.rules.footprint import MIB, footprint, state_problems
from sentinel.rules.loader import load_rules, read_rules
from sentinel.rules.model import Override


@pytest.mark.parametrize(
    "condition",
    [
        "mean(kl.ref, 3000 steps) > 1",
        "median(kl.ref, 3000 samples) > 1",
        "drop(kl.ref, 40m) > 10%",
        "kl.ref > 1",
        "kl.ref > 99 * baseline(kl.ref, 3000 samples)",
    ],
)
def test_no_run_keeps_more_than_was_worked_out(condition):
    member = rule(warning=condition)
    engine = Engine(rules(member))
    for step in range(4000):
        engine.handle(at(step, step, kl_ref=float(step % 7)))
    held = [value for slot in engine.runs["r"].slots.values() for value in arrays(slot)]
    size = sum(value.itemsize * len(value) for value in held)
    assert 0.5 * size <= footprint([member])
    assert footprint([member]) <= 3 * size + 8192


def arrays(slot):
    names = {name for kind in type(slot).__mro__ for name in getattr(kind, "__slots__", ())}
    found = (getattr(slot, name, None) for name in names)
    return [value for value in found if hasattr(value, "itemsize")]


def test_what_is_only_asked_to_be_a_number_keeps_nothing():
    assert footprint([rule(warning="nonfinite(*)")]) == 0
    both = footprint([rule(warning="nonfinite(kl.ref) or kl.ref > 1")])
    assert both == footprint([rule(warning="kl.ref > 1")]) > 0


def test_what_rules_share_counts_once():
    one = rule("a", warning="mean(kl.ref, 5000 steps) > 1")
    other = rule("b", warning="mean(kl.ref, 5000 steps) > 2")
    assert footprint([one, other]) == footprint([one])


def test_a_baseline_counts_for_each_rule():
    members = [rule(name, warning="kl.ref > 99 * baseline(kl.ref, 5000 samples)") for name in "ab"]
    assert footprint(members) > 1.5 * footprint(members[:1])


def test_rules_that_keep_too_much_are_refused_and_the_costliest_named():
    small = rule("small", warning="mean(kl.ref, 10 steps) > 1")
    text = "\nrules: [{alert: large, symptom: kl-high, warning: 'mean(kl.ref, 30d) > 1'}]"
    (large,) = load_rules([("x.yaml", text)])
    (problem,) = state_problems(rules(small, large))
    assert (problem.path, problem.line, problem.code) == ("x.yaml", 2, "too-much-state")
    assert "the most: large 49.4 MiB, small" in problem.message
    assert "--max-state" in problem.hint
    assert not state_problems(rules(small, large), limit=60.0)


def test_a_rule_counts_as_the_costliest_of_its_overrides():
    plain = rule("a", warning="kl.ref > 1")
    costly = rule("a", warning="mean(kl.ref, 30d) > 1")
    member = rule("a", warning="kl.ref > 1", overrides=(Override({"team": "a"}, costly, ("warning",)),))
    assert not state_problems(rules(plain))
    assert state_problems(rules(member))


@pytest.mark.parametrize("pack", PACKS)
def test_the_shipped_packs_are_far_from_the_limit(pack):
    assert footprint(load_rules([read_source(pack_path(pack))])) < MIB


def test_a_million_steps_are_refused_at_once():
    text = "rules: [{alert: a, symptom: kl-high, warning: 'mean(kl.ref, 1000000 steps) > 1'}]"
    (problem,) = read_rules([("x", text)]).problems
    assert problem.message == "a window of 1,000,000 steps"
