"""Steps that come late, again or from before, and what of a run is kept bounded."""

import math

import pytest
from rule_builder import START, at, rule, rules, told

import sentinel.engine.engine as module
from sentinel.engine.engine import Engine
from sentinel.engine.run_state import Missing
from sentinel.events import Checkpoint, RunFinished, RunStarted, Sample, StepMetrics
from sentinel.rules.loader import load_rules


def play(engine, *events):
    return [transition for event in events for transition in engine.handle(event)]


def test_a_late_step_is_counted_and_left_out():
    engine = Engine(rules(rule(warning="kl.ref > 1")))
    assert not play(engine, at(10, kl_ref=0.0), at(8, kl_ref=9.0))
    run = engine.runs["r"]
    assert (run.counts.late, run.counts.steps, run.step, run.attempt) == (1, 1, 10, 1)


def test_a_repeated_row_is_counted_and_left_out():
    engine = Engine(rules(rule(warning="kl.ref > 1", hold="2 steps")))
    assert told(play(engine, at(1, kl_ref=9.0), at(1, kl_ref=9.0))) == [("pending", "warning", 1)]
    assert engine.runs["r"].counts.repeated == 1


def test_a_second_row_of_a_step_adds_its_keys_and_is_no_second_evaluation():
    engine = Engine(rules(rule(warning="kl.ref - reward.mean > 1", hold="2 steps")))
    said = play(engine, at(1, kl_ref=9.0), at(1, reward_mean=0.0), at(2, kl_ref=9.0), at(2, reward_mean=0.0))
    assert told(said) == [("pending", "warning", 1), ("firing", "warning", 2)]


def test_a_step_held_in_its_second_row_counts_though_the_first_was_unknown():
    engine = Engine(rules(rule(warning="kl.ref - reward.mean > 1", hold="2 steps")))
    said = play(engine, at(1, kl_ref=9.0, reward_mean=0.0), at(2, kl_ref=math.nan, reward_mean=0.0, entropy=1.0))
    said += play(engine, at(3, reward_mean=math.nan, kl_ref=9.0), at(4, kl_ref=9.0, reward_mean=0.0))
    assert told(said) == [("pending", "warning", 1), ("firing", "warning", 4)]


def test_skipped_steps_are_counted():
    engine = Engine(rules(rule(warning="kl.ref > 1", hold="2 steps")))
    said = play(engine, at(10, kl_ref=9.0), at(20, kl_ref=9.0))
    assert told(said) == [("pending", "warning", 10), ("firing", "warning", 20)]
    assert engine.runs["r"].counts.skipped == 1


@pytest.mark.parametrize("back", [95, 1, 0])
def test_a_step_far_back_opens_an_attempt_and_ends_alerts_as_superseded(back):
    engine = Engine(rules(rule(warning="mean(kl.ref, 3 steps) > 1")))
    assert told(play(engine, *(at(step, kl_ref=9.0) for step in (98, 99, 100)))) == [("firing", "warning", 100)]
    (ended,) = play(engine, at(back, kl_ref=9.0))
    assert (ended.state, ended.attempt, ended.step) == ("superseded", 1, 100)
    assert engine.runs["r"].attempt == 2
    said = play(engine, at(back + 1, kl_ref=9.0), at(back + 2, kl_ref=9.0))
    assert [(each.state, each.attempt, each.step) for each in said] == [("firing", 2, back + 2)]


def test_a_new_attempt_keeps_the_best_and_the_start_that_it_went_back_to():
    engine = Engine(
        rules(rule("best", warning="reward.mean < best(reward.mean) - 1"), rule(warning="kl.ref > 2 * initial(kl.ref)"))
    )
    play(engine, *(at(step, reward_mean=5.0, kl_ref=1.0) for step in range(1, 20)))
    play(engine, at(30, reward_mean=8.0, kl_ref=1.0), at(40, reward_mean=20.0, kl_ref=1.0))
    assert play(engine, at(31, reward_mean=7.5, kl_ref=1.0)) == []  # the best before 31 is 8, no longer 20
    said = play(engine, at(32, reward_mean=6.5, kl_ref=2.5))
    assert [(each.alert, each.threshold) for each in said] == [("best", 7.0), ("alert", 2.0)]


def test_an_attempt_from_the_beginning_learns_its_start_anew():
    engine = Engine(rules(rule(warning="kl.ref > 2 * initial(kl.ref)")))
    play(engine, *(at(step, kl_ref=1.0) for step in range(20)))
    assert play(engine, *(at(step, kl_ref=5.0) for step in range(20))) == []


@pytest.mark.parametrize("finished", [True, False])
def test_a_trainer_that_starts_again_opens_an_attempt(finished):
    engine = Engine(rules(rule(warning="kl.ref > 1")))
    play(engine, RunStarted(run="r"), at(5, kl_ref=9.0))
    said = play(engine, *([RunFinished(run="r", status="failed")] if finished else []), RunStarted(run="r"))
    assert told(said) == [("ended" if finished else "superseded", "warning", 5)]
    assert engine.runs["r"].attempt == 2
    assert [each.attempt for each in play(engine, at(6, kl_ref=9.0))] == [2]


def test_checkpoints_of_the_branch_left_behind_are_no_longer_offered():
    engine = Engine(rules(rule(warning="kl.ref > 1")))
    play(engine, at(50, kl_ref=0.0), Checkpoint(run="r", step=50, path="c50"))
    play(engine, at(100, kl_ref=0.0), Checkpoint(run="r", step=100, path="c100"), at(60, kl_ref=0.0))
    assert [saved.path for saved in engine.runs["r"].checkpoints] == ["c50"]


def test_a_checkpoint_carries_its_evidence_and_what_became_of_it():
    engine = Engine(rules(rule(warning="kl.ref > 1")))
    play(engine, at(50, 7, kl_ref=0.25, reward_mean=math.nan), Checkpoint(run="r", step=50, path="c50"))
    play(engine, Checkpoint(run="r", step=50, path="c50", state="pinned"))
    (saved,) = engine.runs["r"].checkpoints
    assert (saved.evidence, saved.pinned, saved.deleted, saved.time) == ({"kl.ref": 0.25}, True, False, START + 7)
    play(engine, Checkpoint(run="r", step=50, path="c50", state="deleted"))
    assert engine.runs["r"].checkpoints[0].deleted


# --- bounds -------------------------------------------------------------------------------------------------


def test_metrics_over_the_limit_are_counted_and_left_out(monkeypatch):
    monkeypatch.setattr(module, "MAX_METRICS", 3)
    engine = Engine(rules(rule(warning="kl.ref > 1")))
    said = play(engine, at(1, kl_ref=9.0, a=1.0, b=1.0, c=1.0, d=math.nan), at(2, e=1.0), at(3, kl_ref=0.0, f=1.0))
    assert told(said) == [("firing", "warning", 1), ("resolved", "warning", 3)]
    run = engine.runs["r"]
    assert (len(run.names), run.counts.metrics_refused) == (3, 4)


def test_runs_over_the_limit_that_were_silent_longest_are_forgotten_first(monkeypatch):
    monkeypatch.setattr(module, "MAX_RUNS", 40)
    engine = Engine(rules(rule(warning="kl.ref > 1")))
    play(engine, at(1, 0, kl_ref=9.0, run="open"))
    for number in range(50):
        play(engine, at(1, number, kl_ref=0.0, run=f"run-{number}"))
        assert len(engine.runs) <= 40
    assert engine.forgotten == 51 - len(engine.runs)
    assert "open" in engine.runs and "run-49" in engine.runs and "run-0" not in engine.runs


def test_checkpoints_over_the_limit_leave_oldest_first(monkeypatch):
    monkeypatch.setattr(module, "MAX_CHECKPOINTS", 2)
    engine = Engine(rules(rule(warning="kl.ref > 1")))
    play(engine, *(Checkpoint(run="r", step=step, path=f"c{step}") for step in (1, 2, 3)))
    assert [saved.path for saved in engine.runs["r"].checkpoints] == ["c2", "c3"]


# --- six ways not to be there -------------------------------------------------------------------------------


def test_every_way_for_a_number_not_to_be_there_is_told_apart():
    engine = Engine(rules(rule(warning="kl.ref > 1")))
    play(engine, at(10, kl_ref=0.5, entropy=1.0, reward_mean=1.0))
    play(engine, at(12, kl_ref=0.5, reward_mean=math.nan), at(11, entropy=1.0))
    run, found = engine.runs["r"], {}
    found["kl.ref"] = run.missing("kl.ref")
    assert found == {"kl.ref": None}
    reasons = [run.missing("grad_norm"), run.missing("reward.mean"), run.missing("entropy")]
    play(engine, at(13, kl_ref=0.5))
    reasons.append(run.missing("entropy"))
    run.lost_after = 13
    reasons.append(run.missing("entropy"))
    play(engine, RunFinished(run="r"))
    reasons.append(run.missing("kl.ref"))
    assert reasons == [
        Missing.NOT_APPLICABLE,
        Missing.NOT_FINITE,
        Missing.LATE,
        Missing.NOT_THIS_STEP,
        Missing.LOST,
        Missing.ENDED,
    ]
    assert set(reasons) == set(Missing)


def test_a_rule_whose_metric_the_run_does_not_log_is_named_with_what_it_misses():
    engine = Engine(
        rules(
            rule("kl", warning="kl.ref > 1"), rule("c", info="reward.component.* < 0"), rule("n", info="absent(lr, 5m)")
        )
    )
    play(engine, at(1, entropy=1.0))
    assert [(each.rule, each.missing) for each in engine.not_evaluable("r")] == [
        ("kl", ("kl.ref",)),
        ("c", ("reward.component.*",)),
    ]
    assert engine.not_evaluable("unknown") == ()


# --- one alert per series -----------------------------------------------------------------------------------


def test_a_wild_rule_makes_one_alert_per_series():
    engine = Engine(rules(rule(warning="reward.component.* < 0")))
    keys = {
        "reward.component.a": -1.0,
        "reward.component.b": 1.0,
        "reward.component.c": -1.0,
        "reward.component.a.std": -1.0,
    }
    row = at(1)
    row.metrics.update(keys)
    said = play(engine, row)
    assert [each.labels for each in said] == [{"metric": "reward.component.a"}, {"metric": "reward.component.c"}]


def test_a_rule_over_a_labelled_metric_makes_one_alert_per_label_set():
    engine = Engine(rules(rule(warning="max(gpu.util, 60s) < 30%")))
    said = []
    for second in range(0, 130, 30):
        for gpu, util in (("0", 10.0), ("1", 90.0), ("2", 20.0)):
            event = Sample(run="r", time=START + second, metrics={"gpu.util": util}, labels={"gpu": gpu})
            said += play(engine, event)
    assert [(each.state, each.labels, each.time) for each in said] == [
        ("firing", {"gpu": "0"}, START + 60),
        ("firing", {"gpu": "2"}, START + 60),
    ]


def test_an_alert_whose_series_is_named_otherwise_by_now_ends_as_removed():
    engine = Engine(rules(rule(warning="absent(gpu.util, 5m)")))
    play(engine, at(1, 0, kl_ref=0.0))
    said = [*engine.tick(START + 400)]
    said += play(engine, Sample(run="r", time=START + 500, metrics={"gpu.util": 1.0}, labels={"gpu": "0"}))
    assert [(each.state, each.labels) for each in said] == [("firing", {}), ("removed", {})]


def test_two_keys_that_would_share_a_name_keep_series_of_their_own():
    engine = Engine(rules(rule(critical="nonfinite(*)")))
    row = at(1)
    row.metrics.update({"gpu.util{gpu=0}": math.nan, "gpu.util{gpu=0,}": 1.0})
    play(engine, row)
    assert len({series.full for series in engine.runs["r"].names.values()}) == 2
    assert list(engine.runs["r"].bad) == ["gpu.util{gpu=0}"]


def test_what_is_no_alert_is_noticed_once_for_its_owner_to_log():
    engine = Engine(load_rules([("r.yaml", b"rules: [{alert: k, symptom: kl-high, critical: kl.ref > 1}]")]))
    for step in range(1, 30):
        engine.handle(StepMetrics(run="r", step=step, metrics={"reward": 0.5}))
    engine.handle(StepMetrics(run="r", step=3, metrics={"reward": 0.5}))
    engine.handle(StepMetrics(run="r", step=4, metrics={f"m{number}": 1.0 for number in range(600)}))
    engine.handle(StepMetrics(run="r", step=5, metrics={f"n{number}": 1.0 for number in range(600)}))
    assert [(notice.kind, notice.run) for notice in engine.notices] == [
        ("rules.found_not_evaluable", "r"),
        ("attempt.begun", "r"),
        ("metrics.refused", "r"),
    ]
    assert engine.notices[0].facts == {"needs": {"k": "kl.ref"}}
