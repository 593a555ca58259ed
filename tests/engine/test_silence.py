"""Unknown is not false, and silence has a time of its own."""

import math

import pytest
from rule_builder import START, at, rule, rules, told

from sentinel.engine.engine import FORGET_AFTER, STALE_AFTER, Engine
from sentinel.events import Heartbeat, RunFinished, RunStarted, Sample

NAN, INF = math.nan, math.inf


def play(engine, *events):
    return told(transition for event in events for transition in engine.handle(event))


def test_unknown_neither_fires_nor_resolves():
    engine = Engine(rules(rule(warning="mean(kl.ref, 3 steps) > 1", hold="2 steps")))
    assert play(engine, at(1, kl_ref=9.0), at(2, kl_ref=9.0)) == []  # not covered yet
    assert play(engine, at(3, kl_ref=9.0)) == [("pending", "warning", 3)]
    assert play(engine, at(4, kl_ref=NAN), at(5, reward_mean=1.0), at(6, kl_ref=None)) == []
    assert play(engine, at(7, kl_ref=9.0)) == [("firing", "warning", 7)]
    assert play(engine, *(at(step, kl_ref=NAN) for step in range(8, 20))) == []
    assert play(engine, at(20, kl_ref=0.0)) == [("resolved", "warning", 20)]


def test_unknown_stops_the_clock_of_a_for_and_does_not_set_it_back():
    engine = Engine(rules(rule(warning="kl.ref - reward.mean > 1", hold="3 steps")))
    assert play(engine, at(1, kl_ref=9.0, reward_mean=0.0), at(2, kl_ref=9.0)) == [("pending", "warning", 1)]
    assert play(engine, at(3, kl_ref=NAN, reward_mean=0.0)) == []
    assert play(engine, at(4, kl_ref=9.0, reward_mean=0.0)) == [("firing", "warning", 4)]


def test_a_for_in_minutes_does_not_run_out_on_an_unknown():
    engine = Engine(rules(rule(warning="kl.ref - reward.mean > 1", hold="5m")))
    play(engine, at(1, 0, kl_ref=9.0, reward_mean=0.0))
    assert play(engine, at(2, 400, kl_ref=NAN, reward_mean=0.0)) == []
    assert play(engine, at(3, 430, kl_ref=9.0)) == [("firing", "warning", 3)]


def test_one_nan_does_not_poison_a_window():
    engine = Engine(rules(rule(warning="mean(kl.ref, 3 steps) > 1")))
    assert play(engine, at(1, kl_ref=2.0), at(2, kl_ref=NAN), at(3, kl_ref=2.0)) == [("firing", "warning", 3)]


@pytest.mark.parametrize("value", [NAN, INF, -INF, 1e200])
def test_nonfinite_fires_at_once(value):
    engine = Engine(rules(rule(critical="nonfinite(grad_norm)")))
    assert play(engine, at(1, grad_norm=1.0, **{"grad.norm": 1.0})) == []
    engine = Engine(rules(rule(critical="nonfinite(*)")))
    assert play(engine, at(1, kl_ref=value)) == [("firing", "critical", 1)]
    assert play(engine, at(2, kl_ref=0.1)) == [("resolved", "critical", 2)]


def test_a_null_is_nonfinite_only_where_there_had_been_a_number():
    engine = Engine(rules(rule(critical="nonfinite(kl.ref)")))
    assert play(engine, at(1, kl_ref=None), at(2, kl_ref=None), at(3, kl_ref=0.1)) == []
    assert play(engine, at(4, kl_ref=None)) == [("firing", "critical", 4)]


def test_nonfinite_beside_another_condition_is_asked_at_every_event():
    engine = Engine(rules(rule(critical="nonfinite(kl.ref) or reward.mean < 0")))
    assert play(engine, at(1, kl_ref=0.1, reward_mean=1.0)) == []
    assert play(engine, at(2, kl_ref=NAN)) == [("firing", "critical", 2)]
    assert play(engine, at(3, kl_ref=0.1, reward_mean=1.0)) == [("resolved", "critical", 3)]


def test_not_nonfinite_holds_while_all_is_well():
    engine = Engine(rules(rule(info="not nonfinite(kl.ref)")))
    assert play(engine, at(1, kl_ref=0.1)) == [("firing", "info", 1)]


def test_a_rule_about_the_step_alone_is_evaluated():
    engine = Engine(rules(rule(info="step >= 3")))
    assert play(engine, at(2, kl_ref=0.1), at(3, kl_ref=0.1)) == [("firing", "info", 3)]


# --- what falls due -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("ticks", [[], [100.0, 299.0, 300.0, 301.0], [1000.0]])
@pytest.mark.parametrize("condition", ["absent(kl.ref, 5m)", "age(kl.ref) > 5m"])
@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.3, 0.7])
def test_silence_fires_at_exactly_its_due_time_whoever_ticks(condition, ticks, fraction):
    engine = Engine(rules(rule(warning=condition)))
    engine.handle(at(1, fraction, kl_ref=0.1))
    assert engine.next_wakeup() == START + fraction + 300
    said = [transition for now in ticks for transition in engine.tick(START + fraction + now)]
    said += engine.handle(at(2, fraction + 1200, reward_mean=1.0))
    assert [(each.state, each.time) for each in said] == [("firing", START + fraction + 300)]


def test_absent_before_the_first_value_counts_from_the_attempts_start():
    engine = Engine(rules(rule(warning="absent(kl.ref, 5m)")))
    engine.handle(at(1, 0, reward_mean=1.0))
    engine.handle(at(2, 200, reward_mean=1.0))
    (fired,) = engine.tick(START + 1000)
    assert (fired.state, fired.time) == ("firing", START + 300)


def test_absence_for_some_minutes_more_fires_without_an_event():
    engine = Engine(rules(rule(warning="absent(kl.ref, 5m)", hold="2m")))
    engine.handle(at(1, 0.3, kl_ref=0.1))
    said = engine.tick(START + 1000)
    assert [(each.state, each.time) for each in said] == [("pending", START + 300.3), ("firing", START + 420.3)]


def test_silence_that_ended_and_began_again_fires_again_though_another_alert_is_open():
    engine = Engine(rules(rule("kl", warning="kl.ref > 1"), rule("silent", warning="age(kl.ref) > 5m and entropy > 1")))
    engine.handle(at(1, 0, kl_ref=9.0, entropy=0.0))
    engine.tick(START + 350)
    engine.handle(at(2, 400, kl_ref=9.0, entropy=9.0))
    (fired,) = engine.tick(START + 1000)
    assert (fired.alert, fired.time) == ("silent", START + 700)


def test_a_rule_wakes_up_no_other():
    both = rules(
        rule("mean", warning="mean(reward.mean, 60s) < 0 or absent(entropy, 50m)"), rule(warning="absent(kl.ref, 30s)")
    )
    engine, alone = Engine(both), Engine(rules(*both.rules[:1]))
    for each in (engine, alone):
        each.said = [*each.handle(at(1, 0, kl_ref=1.0, entropy=1.0, reward_mean=9.0))]
        each.said += each.handle(at(2, 10, kl_ref=1.0, entropy=1.0, reward_mean=-2.0))
        each.said += each.handle(at(3, 71, entropy=1.0))
    mean = [each for each in engine.said if each.alert == "mean"]
    assert [(each.state, each.time) for each in mean] == [(each.state, each.time) for each in alone.said]


def test_windows_of_time_move_on_to_the_moment_that_is_judged():
    engine = Engine(rules(rule(warning="absent(kl.ref, 5m) and max(reward.mean, 4m) < 5")))
    engine.handle(at(1, 0, kl_ref=0.1, reward_mean=9.0))
    engine.handle(at(2, 100, reward_mean=1.0))
    (fired,) = engine.tick(START + 1000)
    assert (fired.time, fired.value) == (START + 300, 1.0)


def test_nothing_is_waited_for_without_a_rule_about_silence():
    engine = Engine(rules(rule(warning="kl.ref > 1")))
    engine.handle(at(1, 0, kl_ref=0.1))
    assert engine.next_wakeup() is None
    engine.handle(at(2, 10, kl_ref=9.0))
    assert engine.next_wakeup() == START + 10 + STALE_AFTER


def test_an_hour_of_silence_ends_alerts_as_stale_at_the_moment_it_was_due():
    engine = Engine(rules(rule(warning="kl.ref > 1"), rule("slow", warning="kl.ref > 1", hold="9 steps")))
    engine.handle(at(1, 0, kl_ref=9.0))
    engine.handle(Heartbeat(run="r", time=START + 500))
    (ended,) = engine.handle(at(2, 9000, reward_mean=1.0))
    assert (ended.alert, ended.state, ended.time, ended.step) == ("alert", "stale", START + 500 + STALE_AFTER, 1)
    assert not list(engine.active())


def test_for_five_minutes_is_measured_between_evaluations_that_held():
    engine = Engine(rules(rule(warning="kl.ref > 1", hold="5m")))
    assert play(engine, at(1, 0.1, kl_ref=9.0), at(2, 299, kl_ref=9.0)) == [("pending", "warning", 1)]
    assert play(engine, at(3, 300.1, kl_ref=9.0)) == [("firing", "warning", 3)]
    assert play(engine, at(4, 400, kl_ref=0.0), at(5, 410, kl_ref=9.0), at(6, 500, kl_ref=9.0)) == [
        ("resolved", "warning", 4),
        ("pending", "warning", 5),
    ]


def test_time_that_runs_backwards_is_held():
    engine = Engine(rules(rule(warning="kl.ref > 1", hold="5m")))
    said = [*engine.handle(at(1, 0, kl_ref=9.0)), *engine.handle(at(2, -5000, kl_ref=9.0))]
    said += engine.handle(at(3, 300, kl_ref=9.0))
    assert [(each.state, each.time) for each in said] == [("pending", START), ("firing", START + 300)]
    assert not engine.tick(START - 1)


def test_a_recording_without_times_knows_no_minutes():
    engine = Engine(rules(rule(warning="absent(kl.ref, 5m) or mean(kl.ref, 5m) > 1"), rule("s", info="kl.ref > 1")))
    assert play(engine, *(at(step, kl_ref=9.0) for step in range(1, 50))) == [("firing", "info", 1)]
    assert engine.next_wakeup() is None
    assert [transition.time for transition in engine.handle(at(50, kl_ref=0.0))] == [None]


# --- ends ---------------------------------------------------------------------------------------------------


def test_the_end_of_a_run_ends_its_alerts_and_what_its_host_says_later_raises_none():
    engine = Engine(rules(rule(warning="kl.ref > 1"), rule("gpu", warning="gpu.util < 30%")))
    engine.handle(RunStarted(run="r", time=START))
    engine.handle(Sample(run="r", time=START, metrics={"gpu.util": 90.0}))
    engine.handle(at(1, 0, kl_ref=9.0))
    (ended,) = engine.handle(RunFinished(run="r", time=START + 5))
    assert (ended.state, ended.time) == ("ended", START + 5)
    assert not engine.handle(Sample(run="r", time=START + 6, metrics={"gpu.util": 0.0}))
    assert not engine.tick(START + 1e6)


def test_runs_that_have_been_silent_for_two_days_are_forgotten_unless_something_is_open():
    engine = Engine(rules(rule(warning="kl.ref > 1")))
    engine.handle(at(1, 0, kl_ref=0.0, run="quiet"))
    engine.handle(at(1, 0, kl_ref=9.0, run="open"))
    assert engine.forget_idle(START + FORGET_AFTER) == 0
    assert engine.forget_idle(START + FORGET_AFTER + 1) == 1
    assert list(engine.runs) == ["open"]


def test_silence_is_measured_in_the_runs_own_steps():
    engine = Engine(rules(rule(warning="age(kl.ref) > 10 * step_time and age(kl.ref) > 90s")))
    for step in range(5):
        assert not engine.handle(at(step, step * 20, kl_ref=0.1))
    (fired,) = engine.tick(START + 1000)
    assert (fired.time, fired.step) == (START + 80 + 200, 4)
    engine = Engine(rules(rule(warning="age(kl.ref) > 10 * step_time and age(kl.ref) > 90s")))
    for step in range(5):
        assert not engine.handle(at(step, step * 2, kl_ref=0.1))
    (fired,) = engine.tick(START + 1000)
    assert fired.time == START + 8 + 90


def test_silence_in_steps_falls_never_due_before_the_time_of_a_step_is_known():
    engine = Engine(rules(rule(warning="age(kl.ref) > 10 * step_time")))
    assert not engine.handle(at(1, 0, kl_ref=0.1))
    assert not engine.handle(at(2, 1, kl_ref=0.1))
    assert engine.next_wakeup() is None
    assert not engine.tick(START + 3000)


def test_silence_in_steps_moves_with_the_time_of_a_step():
    engine = Engine(rules(rule(warning="2 * step_time + 1m < age(kl.ref)")))
    for step, time in enumerate((0, 10, 20, 30)):
        engine.handle(at(step, time, kl_ref=0.1))
    assert engine.next_wakeup() == START + 30 + 80
    for step, time in enumerate((60, 90, 120, 150), 4):
        engine.handle(at(step, time, entropy=1.0) if step > 4 else at(step, time, kl_ref=0.1))
    (fired,) = engine.tick(START + 1000)
    assert (fired.time, fired.metric, fired.unit) == (START + 60 + 120, "age(kl.ref)", "s")
