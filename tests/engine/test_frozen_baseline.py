"""A baseline stands still while the alert that asks for it lasts."""

import math

from rule_builder import at, rule, rules, told

from sentinel.engine.engine import Engine
from sentinel.events import RunFinished

RULE = rule(warning="kl.ref > 5 * baseline(kl.ref, 20 samples)", hold="3 steps")


def play(engine, values, first=1, key="kl_ref"):
    return [said for step, x in enumerate(values, first) for said in engine.handle(at(step, **{key: x}))]


def level(engine, owner=0):
    run = engine.runs["r"]
    (key,) = run.compiled.plan.owned[owner]
    return run.slots[key].read()


def test_a_bad_stretch_does_not_become_the_usual_level_and_end_the_alert():
    engine = Engine(rules(RULE))
    said = play(engine, [0.1] * 30 + [1.0] * 200)
    assert told(said) == [("pending", "warning", 31), ("firing", "warning", 33)]
    assert level(engine) == 0.1
    assert told(play(engine, [0.1], first=231)) == [("resolved", "warning", 231)]


def test_it_thaws_after_the_episode():
    engine = Engine(rules(RULE))
    play(engine, [0.1] * 30 + [1.0] * 10 + [0.1])
    play(engine, [0.4] * 30, first=50)
    assert level(engine) == 0.4


def test_a_breach_that_was_given_up_has_left_no_trace():
    engine = Engine(rules(RULE))
    said = play(engine, [0.1] * 11 + ([1.0] * 2 + [0.1] * 2) * 20)
    assert "firing" not in {state for state, _, _ in told(said)}
    assert max(engine.runs["r"].slots[engine.runs["r"].compiled.plan.owned[0][0]].values) == 0.1


def test_a_slow_climb_is_taken_back_to_its_onset():
    engine = Engine(rules(rule(warning="kl.ref > 2 * baseline(kl.ref, 20 samples)", hold="5 steps")))
    climb = [0.1 + 0.01 * math.sin(step) for step in range(60)] + [0.1 * 1.12**step for step in range(40)]
    said = play(engine, climb)
    firing = next(each for each in said if each.state == "firing")
    assert 55 <= firing.onset_step <= 70
    assert firing.threshold > 2 * 0.105  # the level had crept up when the rule decided
    assert level(engine) < 0.102


def test_the_reset_condition_looks_at_the_same_frozen_level():
    engine = Engine(
        rules(rule(warning="kl.ref > 5 * baseline(kl.ref)", until="kl.ref < 1.5 * baseline(kl.ref) and step > 1"))
    )
    said = play(engine, [0.1] * 20 + [1.0] * 60 + [0.3] * 60 + [0.12])
    assert told(said) == [("firing", "warning", 21), ("resolved", "warning", 141)]


def test_each_rule_has_one_of_its_own():
    calm = rule("calm", warning="kl.ref > 500 * baseline(kl.ref, 20 samples)")
    engine = Engine(rules(RULE, calm))
    play(engine, [0.1] * 30 + [1.0] * 60)
    assert (level(engine, 0), level(engine, 1)) == (0.1, 1.0)


def test_each_alert_of_a_rule_has_one_of_its_own():
    engine = Engine(rules(rule(warning="reward.component.* < 0.5 * baseline(reward.component.*, 10 samples)")))
    for step in range(1, 60):
        row = at(step)
        row.metrics.update({"reward.component.a": 1.0 if step < 30 else 0.2, "reward.component.b": 3.0})
        engine.handle(row)
    assert (level(engine, 0), level(engine, 1)) == (1.0, 3.0)


def test_it_outlives_an_attempt_up_to_the_step_gone_back_to():
    engine = Engine(rules(RULE))
    play(engine, [0.1] * 30 + [1.0] * 10)
    play(engine, [0.3] * 3, first=25)
    run = engine.runs["r"]
    slot = run.slots[run.compiled.plan.owned[0][0]]
    assert (run.attempt, list(slot.steps)) == (2, [*range(1, 26), 26])


def test_a_run_that_ends_and_begins_again_has_thawed():
    engine = Engine(rules(RULE))
    play(engine, [0.1] * 30 + [1.0] * 10)
    engine.handle(RunFinished(run="r", status="failed"))
    play(engine, [0.2] * 30, first=41)
    assert level(engine) == 0.2


def test_it_is_frozen_also_after_a_restart():
    whole, before, after = (Engine(rules(RULE)) for _ in range(3))
    play(whole, [0.1] * 30 + [1.0] * 60)
    play(before, [0.1] * 30 + [1.0] * 20)
    after.restore(before.snapshot())
    play(after, [1.0] * 40, first=51)
    assert after.snapshot() == whole.snapshot()
    assert level(after) == 0.1


def test_what_it_is_compared_with_may_be_smoothed():
    engine = Engine(rules(rule(warning="kl.ref > 5 * baseline(median(kl.ref, 5 samples), 10 samples)")))
    said = play(engine, [0.1, 0.1, 9.0, 0.1] * 3 + [0.1] * 5 + [1.0] * 40)
    assert told(said) == [("firing", "warning", 18)]
