"""What a rule is for some runs: from the file to the alert."""

import pytest
from rule_builder import at, told

from sentinel.engine.engine import Engine
from sentinel.events import RunStarted
from sentinel.rules.loader import load_rules, read_rules

RULE = """\
rules:
  - alert: kl
    symptom: kl-high
    warning: kl.ref > 1
    critical: kl.ref > 5
    for: 2 steps
    overrides:
      - {where: {team: math}, warning: kl.ref > 2, for: 1 step}
      - {where: {model: tiny}, enabled: false}
      - {where: {framework: verl}, critical: null, summary: 'verl says {value}'}
"""


def play(engine, *events):
    return [transition for event in events for transition in engine.handle(event)]


def fired(labels, value, framework=None):
    engine = Engine(load_rules([("x.yaml", RULE)]))
    started = RunStarted(run="r", labels=labels, framework=framework)
    return told(play(engine, started, *(at(step, kl_ref=value) for step in (1, 2, 3))))


@pytest.mark.parametrize(
    ("labels", "framework", "value", "said"),
    [
        ({}, None, 1.5, [("pending", "warning", 1), ("firing", "warning", 2)]),
        ({"team": "other"}, None, 1.5, [("pending", "warning", 1), ("firing", "warning", 2)]),
        ({"team": "math"}, None, 1.5, []),
        ({"team": "math"}, None, 2.5, [("firing", "warning", 1)]),
        ({"team": "math", "model": "tiny"}, None, 9.0, [("firing", "critical", 1)]),  # the first that matches
        ({"model": "tiny"}, None, 9.0, []),
        ({}, "verl", 9.0, [("pending", "warning", 1), ("firing", "warning", 2)]),
    ],
)
def test_a_run_is_judged_by_the_first_override_that_matches_its_labels(labels, framework, value, said):
    assert fired(labels, value, framework) == said


def test_the_sentence_is_the_overrides():
    engine = Engine(load_rules([("x.yaml", RULE)]))
    said = play(engine, RunStarted(run="r", framework="verl"), at(1, kl_ref=3.0), at(2, kl_ref=3.0))
    assert said[-1].summary == "verl says 3.0"


def test_an_edited_override_touches_no_run_that_it_is_not_for():
    engine = Engine(load_rules([("x.yaml", RULE)]))
    math, other = RunStarted(run="m", labels={"team": "math"}), RunStarted(run="o")
    play(engine, math, other, at(1, kl_ref=3.0, run="m"), at(1, kl_ref=3.0, run="o"))
    said = engine.reload(load_rules([("x.yaml", RULE.replace("kl.ref > 2", "kl.ref > 2.5"))]))
    assert [(each.run, each.state) for each in said] == [("m", "removed")]
    assert told(play(engine, at(2, kl_ref=3.0, run="o"))) == [("firing", "warning", 2)]


def test_an_override_of_the_sentence_alone_keeps_the_state():
    engine = Engine(load_rules([("x.yaml", RULE)]))
    started = RunStarted(run="r", labels={"team": "math"})
    play(engine, started, at(1, kl_ref=3.0))
    assert not engine.reload(load_rules([("x.yaml", RULE.replace("for: 1 step}", "for: 1 step, summary: new}"))]))
    (resolved,) = play(engine, at(2, kl_ref=0.0))
    assert (resolved.state, resolved.summary) == ("resolved", "new")


def test_labels_that_choose_another_variant_end_the_old_ones_alert_as_removed():
    engine = Engine(load_rules([("x.yaml", RULE)]))
    play(engine, RunStarted(run="r", attempt=1), at(1, kl_ref=3.0), at(2, kl_ref=3.0))
    said = play(engine, RunStarted(run="r", attempt=1, labels={"team": "math"}))
    assert told(said) == [("removed", "warning", 2)]
    assert told(play(engine, at(3, kl_ref=3.0))) == [("firing", "warning", 3)]


def test_labels_that_switch_the_rule_off_end_its_alert_as_removed():
    engine = Engine(load_rules([("x.yaml", RULE)]))
    play(engine, RunStarted(run="r", attempt=1), at(1, kl_ref=3.0), at(2, kl_ref=3.0))
    said = play(engine, RunStarted(run="r", attempt=1, labels={"model": "tiny"}), at(3, kl_ref=3.0))
    assert told(said) == [("removed", "warning", 2)]


def test_an_overridden_alert_survives_a_snapshot():
    engine, restored = (Engine(load_rules([("x.yaml", RULE)])) for _ in range(2))
    play(engine, RunStarted(run="r", labels={"team": "math"}), at(1, kl_ref=3.0))
    restored.restore(engine.snapshot())
    assert told(play(restored, at(2, kl_ref=0.0))) == [("resolved", "warning", 2)]


def test_a_rule_that_is_off_for_a_run_is_not_among_those_that_cannot_be_evaluated():
    engine = Engine(load_rules([("x.yaml", RULE)]))
    play(engine, RunStarted(run="r", labels={"model": "tiny"}), at(1, reward_mean=3.0))
    assert not engine.not_evaluable("r")


@pytest.mark.parametrize(
    ("override", "code"),
    [
        ("{where: {team: a}}", "idle-override"),
        ("{where: {team: a}, enabled: true}", "idle-override"),
        ("{where: {team: a}, warning: kl.ref > 1, for: 2 steps}", "idle-override"),
        ("{where: {team: a}, until: null}", "idle-override"),
        ("{where: {team: a}, warning: kl.ref > 3, enabled: false}", "idle-override"),
        ("{where: {team: math, model: big}, warning: kl.ref > 3}", "shadowed-override"),
        ("{where: {team: math}, enabled: false}", "shadowed-override"),
        ("{where: {kind: b}, warning: kl.ref > 3}", "shadowed-override"),
    ],
)
def test_an_override_without_effect_is_a_warning(override, code):
    text = RULE.replace("    overrides:", "    where: {kind: a}\n    overrides:") + f"      - {override}\n"
    reading = read_rules([("x.yaml", text)])
    assert [(problem.code, problem.severity, problem.line) for problem in reading.problems] == [(code, "warning", 12)]


def test_the_fingerprint_of_a_rule_knows_nothing_of_its_overrides():
    (rule,), (plain,) = load_rules([("x", RULE)]), load_rules([("x", RULE.partition("    overrides:")[0])])
    assert rule.key == plain.key
