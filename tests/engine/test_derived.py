"""Metrics that are calculated from what a run logs."""

import math

import pytest
from rule_builder import START, rule, rules

from sentinel.engine.engine import Engine
from sentinel.engine.run_state import Missing
from sentinel.events import Sample, StepMetrics

CLIP = rule("clip", warning="clip_frac > 0.3", hold="2 steps")


def step(number, **metrics):
    named = {"low": "clip_frac.low", "high": "clip_frac.high", "whole": "clip_frac", "kl": "kl.ref"}
    return StepMetrics(run="r", step=number, metrics={named.get(key, key): x for key, x in metrics.items()})


def said_by(engine, *events):
    return [(said.alert, said.state, said.step) for event in events for said in engine.handle(event)]


FIRES = [("clip", "pending", 2), ("clip", "firing", 3)]


def test_a_rule_on_a_sum_works_for_a_run_that_logs_the_parts():
    engine = Engine(rules(CLIP))
    said = said_by(engine, step(1, low=0.1, high=0.1), *(step(number, low=0.2, high=0.2) for number in (2, 3)))
    assert said == FIRES
    assert engine.not_evaluable("r") == ()
    assert engine.runs["r"].value("clip_frac") == pytest.approx(0.4)


def test_the_parts_may_come_in_several_rows_of_a_step():
    engine = Engine(rules(CLIP, rule("count", info="count(clip_frac, 9 samples) >= 9")))
    rows = [(step(n, low=0.2), step(n, high=0.2), step(n, kl=0.1)) for n in range(2, 10)]
    assert said_by(engine, step(1, low=0.0, high=0.0, kl=0.1), *(row for three in rows for row in three)) == [
        *FIRES,
        ("count", "firing", 9),
    ]


def test_a_part_that_is_no_number_makes_no_number():
    engine = Engine(rules(CLIP, rule("bad", critical="nonfinite(clip_frac)")))
    assert said_by(engine, step(1, low=0.2, high=0.2), step(2, low=0.2, high=math.nan), step(3, low=0.1, high=0.1)) == [
        ("clip", "pending", 1),
        ("bad", "firing", 2),
        ("bad", "resolved", 3),
    ]
    assert engine.runs["r"].missing("clip_frac") is None


def test_a_star_stands_for_what_is_logged():
    engine = Engine(rules(CLIP, rule("bad", critical="nonfinite(*)")))
    said = [each.labels for row in (step(1, low=0.1, high=math.nan),) for each in engine.handle(row)]
    assert said == [{"metric": "clip_frac.high"}]


def test_a_division_by_zero_gives_nothing():
    engine = Engine(rules(rule(warning="absent(throughput.tokens_per_s, 2 steps)")))
    rows = [
        StepMetrics(run="r", step=n, metrics={"tokens.step": 9.0, "time.step_s": 0.0 if n > 3 else 3.0})
        for n in range(1, 7)
    ]
    assert said_by(engine, *rows) == [("alert", "firing", 5)]


def test_what_is_derived_from_what_is_derived_is_there():
    engine = Engine(rules(rule(warning="reward.zero_std_frac > 70%")))
    rows = [StepMetrics(run="r", step=n, metrics={"reward.mixed_pct": x}) for n, x in ((1, 50.0), (2, 20.0))]
    assert said_by(engine, *rows) == [("alert", "firing", 2)]


def test_each_gpu_has_its_own():
    engine = Engine(rules(rule(warning="gpu.mem_used_frac > 90%")))
    rows = [
        Sample(run="r", time=START + number, metrics={"gpu.mem_used_pct": used}, labels={"gpu": gpu})
        for number, (gpu, used) in enumerate((("0", 50.0), ("1", 95.0)))
    ]
    assert [each.labels for row in rows for each in engine.handle(row)] == [{"gpu": "1"}]


def test_a_metric_that_is_logged_later_takes_the_place_of_the_derived_one():
    engine = Engine(rules(rule("clip", warning="min(clip_frac, 3 samples) > 0.3")))
    rows = [step(1, low=0.2, high=0.2), step(2, low=0.2, high=0.2, whole=0.5), step(3, low=0.0, high=0.0, whole=0.6)]
    assert said_by(engine, *rows) == [("clip", "firing", 3)]
    assert engine.runs["r"].derived == ()


def test_nothing_is_calculated_that_no_rule_asks_for():
    engine = Engine(rules(rule(warning="kl.ref > 1")))
    said_by(engine, step(1, low=0.1, high=0.1, kl=0.1))
    run = engine.runs["r"]
    assert run.derived == () and run.series is run.names


def test_rules_that_come_and_go_bring_and_take_what_they_ask_for():
    engine = Engine(rules(rule(warning="kl.ref > 1")))
    said_by(engine, step(1, low=0.2, high=0.2))
    engine.reload(rules(CLIP))
    assert (
        said_by(engine, *(step(number, low=0.2, high=math.nan if number > 3 else 0.2) for number in (2, 3, 4))) == FIRES
    )
    engine.reload(rules(rule(warning="kl.ref > 1")))
    assert engine.runs["r"].derived == () and engine.runs["r"].bad == {"clip_frac.high"}


@pytest.mark.parametrize("cut", [1, 2, 70, 130])
def test_a_restart_changes_nothing(cut):
    rows = [step(number, low=0.1, high=0.1 + 0.001 * number, kl=0.1) for number in range(1, 150)]
    members = rules(CLIP, rule(info="mean(clip_frac, 5 steps) > 0.25"))
    whole, before, after = Engine(members), Engine(members), Engine(members)
    expected = said_by(whole, *rows)
    said = said_by(before, *rows[:cut])
    after.restore(before.snapshot())
    assert [*said, *said_by(after, *rows[cut:])] == expected
    assert after.snapshot() == whole.snapshot()


def test_under_other_rules_a_snapshot_brings_nothing_that_nobody_asks_for():
    before, after = Engine(rules(CLIP)), Engine(rules(rule(critical="nonfinite(*)")))
    said_by(before, *(step(number, low=0.1, high=0.1) for number in range(70)), step(70, low=math.nan, high=0.1))
    after.restore(before.snapshot())
    assert after.runs["r"].bad == {"clip_frac.low"}
    assert said_by(after, step(71, low=0.1, high=0.1)) == []


def test_why_a_derived_metric_is_not_there_is_why_its_part_is_not():
    engine = Engine(rules(CLIP))
    said_by(engine, step(1, low=0.1, high=0.1), step(2, low=0.1))
    assert engine.runs["r"].missing("clip_frac") is Missing.NOT_THIS_STEP
    assert engine.runs["r"].value("clip_frac") is None
