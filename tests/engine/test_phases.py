"""The phase of a run: said by its trainer, or by thirds of its planned steps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_builder import START, at, rule, rules, told

from sentinel.engine.engine import Engine
from sentinel.engine.phases import MOST_PHASES, Phases
from sentinel.events import Phase, RunStarted

PLANNED = {"max_steps": 30}


def play(engine, *events):
    return [transition for event in events for transition in engine.handle(event)]


def steps(first, last, value=2.0):
    return [at(step, kl_ref=value) for step in range(first, last + 1)]


def engine_of(*members, config=None):
    engine = Engine(rules(*members))
    engine.handle(RunStarted(run="r", config=config or {}))
    return engine


@pytest.mark.parametrize(
    ("step", "name"), [(0, "early"), (9, "early"), (10, "middle"), (19, "middle"), (20, "late"), (99, "late")]
)
def test_without_a_word_from_the_trainer_the_phases_are_thirds_of_the_planned_steps(step, name):
    engine = engine_of(rule(warning=f"phase == {name}"), config=PLANNED)
    assert told(play(engine, at(step, kl_ref=1.0))) == [("firing", "warning", step)]


def test_without_planned_steps_and_events_the_phase_is_unknown():
    engine = engine_of(
        rule(warning="phase == early"), rule("b", warning="phase != early"), rule("c", warning="phase_step >= 0")
    )
    assert play(engine, *steps(0, 9)) == []


@pytest.mark.parametrize(
    ("said", "name"), [("rl-math", "rl-math"), ("rl-math", '"rl-math"'), ("my stage", '"my stage"'), ("and", '"and"')]
)
def test_a_phase_event_sets_the_phase_from_its_step_on(said, name):
    engine = engine_of(rule(warning=f"phase == {name}"), rule("other", info=f"phase != {name}"), config=PLANNED)
    play(engine, *steps(0, 4), Phase(run="r", name=said, step=6))
    assert [(each.alert, each.state, each.step) for each in play(engine, *steps(5, 7))] == [
        ("alert", "firing", 6),
        ("other", "resolved", 6),
    ]


def test_a_phase_event_without_a_step_begins_now():
    engine = engine_of(rule(warning="phase_step >= 3"))
    assert told(play(engine, *steps(1, 5), Phase(run="r", name="a"), *steps(6, 9))) == [("firing", "warning", 8)]


def test_the_newest_word_counts_from_its_step_on():
    phases = Phases()
    for name, step in (("a", 0), ("b", 50), ("c", 20)):
        phases.begin(name, step, 60)
    assert [phases.at(step, float("nan")) for step in (0, 19, 20, 50, 99)] == ["a", "a", "c", "c", "c"]
    assert phases.since(60) == 40.0


@pytest.mark.parametrize(("resumed", "name"), [(70, "b"), (60, "b"), (59, "a"), (10, "early")])
def test_a_resumed_run_is_in_the_phase_that_held_where_it_goes_on(resumed, name):
    engine = engine_of(rule(warning=f"phase == {name}"), config={"max_steps": 300})
    play(engine, *steps(1, 20), Phase(run="r", name="a", step=20), *steps(21, 60), Phase(run="r", name="b", step=60))
    play(engine, *steps(61, 80), RunStarted(run="r", attempt=2, config={"max_steps": 300}))
    assert told(play(engine, at(resumed, kl_ref=1.0))) == [("firing", "warning", resumed)]


def test_a_resumed_trainer_may_say_again_where_it_is():
    engine = engine_of(rule(warning="phase_step >= 12"))
    play(engine, *steps(1, 5), Phase(run="r", name="a"), *steps(6, 9))
    play(engine, RunStarted(run="r", attempt=2), Phase(run="r", name="a"))
    assert told(play(engine, *steps(10, 20))) == [("firing", "warning", 17)]


def test_what_is_said_before_the_first_step_holds_from_there():
    engine = engine_of(rule(warning="phase == a"), rule("b", warning="phase == b"))
    play(engine, Phase(run="r", name="a"), Phase(run="r", name="b", step=5))
    assert [(each.alert, each.state, each.step) for each in play(engine, *steps(1, 6))] == [
        ("alert", "firing", 1),
        ("alert", "resolved", 5),
        ("b", "firing", 5),
    ]


def test_a_rule_is_evaluated_in_its_phases_only():
    engine = engine_of(rule(warning="kl.ref > 1", phases=("middle", "late")), config=PLANNED)
    assert told(play(engine, *steps(1, 12))) == [("firing", "warning", 10)]


def test_where_and_phase_both_have_to_fit():
    member = rule(warning="kl.ref > 1", phases=("late",), where={"team": "a"})
    engine = Engine(rules(member))
    play(engine, RunStarted(run="r", labels={"team": "a"}, config=PLANNED), RunStarted(run="s", config=PLANNED))
    said = play(engine, at(25, kl_ref=2.0), at(25, kl_ref=2.0, run="s"), at(1, kl_ref=2.0, run="t"))
    assert [(each.run, each.step) for each in said] == [("r", 25)]


def test_an_alert_that_fired_in_its_phase_resolves_on_evidence_alone():
    engine = engine_of(rule(warning="kl.ref > 1", critical="kl.ref > 5", phases=("early",)), config=PLANNED)
    said = play(engine, *steps(9, 14), at(15, kl_ref=9.0), at(16, kl_ref=0.0), at(17, kl_ref=9.0))
    assert told(said) == [("firing", "warning", 9), ("firing", "critical", 15), ("resolved", "critical", 16)]


def test_what_was_pending_when_its_phase_ended_never_fires():
    engine = engine_of(rule(warning="kl.ref > 1", hold="3 steps", phases=("early",)), config=PLANNED)
    assert told(play(engine, *steps(8, 14))) == [("pending", "warning", 8)]
    assert not list(engine.active())


def test_silence_outside_its_phase_is_none_of_a_rules_business():
    engine = engine_of(rule(warning="absent(kl.ref, 60s)", phases=("late",)), config=PLANNED)
    play(engine, at(5, 0, kl_ref=1.0), at(21, 10, kl_ref=1.0), at(22, 20, entropy=1.0))
    assert [(each.step, each.time) for each in engine.tick(START + 500)] == [(22, START + 70)]
    engine = engine_of(rule(warning="absent(kl.ref, 60s)", phases=("late",)), config=PLANNED)
    play(engine, at(5, 0, kl_ref=1.0))
    assert not engine.tick(START + 500)


def test_a_rule_for_nonfinite_values_knows_phases_too():
    engine = engine_of(rule(warning="nonfinite(*)", phases=("late",)), config=PLANNED)
    nan = float("nan")
    assert told(play(engine, at(5, kl_ref=nan), at(6, kl_ref=1.0), at(25, kl_ref=nan))) == [("firing", "warning", 25)]


def test_a_rule_for_a_phase_that_nobody_can_tell_is_not_evaluable():
    engine = engine_of(
        rule(warning="kl.ref > 1", phases=("late",)), rule("b", warning="grad_norm > 1", phases=("late",))
    )
    play(engine, *steps(1, 3))
    assert {each.rule: each.missing for each in engine.not_evaluable("r")} == {
        "alert": ("phase",),
        "b": ("grad_norm", "phase"),
    }
    play(engine, Phase(run="r", name="late"))
    assert [each.rule for each in engine.not_evaluable("r")] == ["b"]


def test_phases_survive_a_snapshot_and_other_rules():
    engine, restored = engine_of(rule(info="kl.ref > 9")), Engine(rules(rule(warning="phase == a and phase_step > 4")))
    play(engine, *steps(1, 5), Phase(run="r", name="a"), *steps(6, 7))
    restored.restore(engine.snapshot())
    assert told(play(restored, *steps(8, 12))) == [("firing", "warning", 10)]


def test_the_phases_of_a_run_are_bounded():
    phases = Phases()
    for step in range(MOST_PHASES + 50):
        phases.begin(f"p{step}", step, step)
        phases.begin(f"p{step}", None, -1)
    assert len(phases.begun) == len(phases.announced) == MOST_PHASES


@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from("ab")), max_size=8), st.integers(0, 40))
def test_a_phase_holds_from_its_step_until_the_next(said, step):
    phases = Phases()
    for begun, name in said:
        phases.begin(name, begun, 50)
    assert phases.begun == sorted(phases.begun)
    before = [name for begun, name in phases.begun if begun <= step]
    assert phases.at(step, float("nan")) == (before[-1] if before else None)
