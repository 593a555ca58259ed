"""Other rules come into force while runs go on."""

from dataclasses import replace

from rule_builder import START, at, rule, rules, told

from sentinel.engine.engine import Engine
from sentinel.events import RunStarted


def play(engine, *events):
    return [transition for event in events for transition in engine.handle(event)]


def test_an_edited_sentence_keeps_the_state_and_is_told_from_then_on():
    old = rule(warning="kl.ref > 1", hold="3 steps", summary="old")
    engine = Engine(rules(old))
    play(engine, at(1, kl_ref=9.0), at(2, kl_ref=9.0))
    assert not engine.reload(rules(replace(old, summary="new")))
    (fired,) = play(engine, at(3, kl_ref=9.0))
    assert (fired.state, fired.summary) == ("firing", "new")


def test_an_edited_condition_begins_anew_and_ends_its_alert_as_removed():
    engine = Engine(rules(rule(warning="kl.ref > 1"), rule("other", info="kl.ref > 2")))
    play(engine, at(1, kl_ref=9.0))
    assert [
        (each.alert, each.state)
        for each in engine.reload(rules(rule(warning="kl.ref > 3"), rule("other", info="kl.ref > 2")))
    ] == [("alert", "removed")]
    assert [(each.alert, each.state) for each in play(engine, at(2, kl_ref=9.0))] == [("alert", "firing")]


def test_a_rule_that_no_longer_selects_the_run_ends_its_alert_as_removed():
    selected = rule(warning="kl.ref > 1", where={"team": "a"})
    engine = Engine(rules(selected))
    play(engine, RunStarted(run="r", labels={"team": "a"}), at(1, kl_ref=9.0))
    assert told(engine.reload(rules(replace(selected, where={"team": "b"})))) == [("removed", "warning", 1)]
    assert not list(engine.active())


def test_labels_that_no_longer_fit_end_an_alert_as_removed():
    engine = Engine(rules(rule(warning="kl.ref > 1", where={"team": "a"})))
    play(engine, RunStarted(run="r", labels={"team": "a"}, attempt=1), at(1, kl_ref=9.0))
    said = play(engine, RunStarted(run="r", labels={"team": "b"}, attempt=1))
    assert told(said) == [("removed", "warning", 1)]


def test_a_removed_rule_that_never_fired_leaves_without_a_word():
    engine = Engine(rules(rule(warning="kl.ref > 1", hold="3 steps")))
    play(engine, at(1, kl_ref=9.0))
    assert not engine.reload(rules())
    assert not list(engine.active())


def test_a_window_of_time_that_comes_and_goes_leaves_the_series_whole():
    steps, timed = rule("steps", warning="min(kl.ref, 3 steps) > 1"), rule("timed", info="min(kl.ref, 60s) > 1")
    engine, said = Engine(rules(steps)), []
    for step in range(1, 40):
        engine.reload(rules(steps, timed) if step // 5 % 2 else rules(steps))
        said += play(engine, at(step, 10 * step, kl_ref=9.0 if step > 30 else 0.0))
    assert [(each.alert, each.state, each.step) for each in said] == [("steps", "firing", 33)]
    engine.reload(rules(steps, timed))
    said = play(engine, *(at(step, 10 * step, kl_ref=9.0) for step in range(40, 50)))
    assert [(each.alert, each.step) for each in said] == [("timed", 40)]  # 60 s after step 34, when its times began


def test_silence_that_a_new_rule_asks_about_is_due_at_once_and_not_in_the_past():
    engine = Engine(rules(rule(warning="kl.ref > 1")))
    play(engine, at(1, 0, kl_ref=0.0), at(2, 1000, entropy=1.0))
    engine.reload(rules(rule(warning="absent(kl.ref, 5m)")))
    (fired,) = engine.tick(START + 1001)
    assert (fired.state, fired.time) == ("firing", START + 1000)


def test_rules_of_a_snapshot_that_are_gone_leave_nothing():
    before = Engine(rules(rule("gone", warning="kl.ref > 1"), rule("kept", warning="mean(kl.ref, 3 steps) > 1")))
    play(before, at(1, kl_ref=9.0), at(2, kl_ref=9.0))
    after = Engine(rules(rule("kept", warning="mean(kl.ref, 3 steps) > 1")))
    after.restore(before.snapshot())
    assert [(each.alert, each.step) for each in play(after, at(3, kl_ref=9.0))] == [("kept", 3)]


def test_a_rule_that_is_new_after_a_restart_looks_back_over_the_values_that_were_saved():
    before = Engine(rules(rule("kept", warning="mean(kl.ref, 9 steps) > 1")))
    play(before, *(at(step, kl_ref=9.0) for step in range(1, 6)))
    after = Engine(rules(rule("new", warning="median(kl.ref, 2 steps) > 1 and max(kl.ref, 2 steps) > 1")))
    after.restore(before.snapshot())
    assert [(each.alert, each.step) for each in play(after, at(6, kl_ref=9.0))] == [("new", 6)]
