"""Runs that are held against a recorded one."""

import math

import pytest
from rule_builder import at, rule, rules

from sentinel.engine.engine import Engine
from sentinel.engine.recorded import NOTHING, chosen
from sentinel.engine.recorder import record
from sentinel.events import RunStarted, Sample, StepMetrics
from sentinel.metrics import default


def recorded(*events):
    return record(events, default())


GOOD = recorded(*(at(step, kl_ref=step / 100) for step in range(10, 101, 10)))


@pytest.mark.parametrize(
    ("step", "value"), [(9, None), (10, 0.1), (19, 0.1), (20, 0.2), (100, 1.0), (101, None), (-1, None)]
)
def test_the_newest_value_at_or_before_a_step_counts_up_to_the_last_step(step, value):
    assert GOOD.at("kl.ref", step) == pytest.approx(math.nan if value is None else value, nan_ok=True)
    assert math.isnan(GOOD.at("entropy", step))


def test_a_series_ends_where_the_run_does_and_not_with_its_last_value():
    run = recorded(at(1, kl_ref=0.5), at(9, entropy=1.0))
    assert run.at("kl.ref", 9) == 0.5


def test_keys_are_named_as_those_of_a_live_run():
    rows = [StepMetrics(run="r", step=step, metrics={"kl": 0.1, "reward": math.nan, "own": 3.0}) for step in (1, 2)]
    run = recorded(RunStarted(run="r", framework="trl"), *rows)
    assert set(run.series) == {"kl.ref", "own"}


def test_what_can_be_derived_is_there_too():
    row = StepMetrics(run="r", step=1, metrics={"clip_frac.low": 0.1, "clip_frac.high": 0.2})
    assert recorded(row).at("clip_frac", 1) == pytest.approx(0.3)


def test_the_branch_that_was_left_does_not_count():
    run = recorded(*(at(step, kl_ref=1.0) for step in range(1, 40)), *(at(step, kl_ref=2.0) for step in (20, 21)))
    assert (run.last, run.at("kl.ref", 19), run.at("kl.ref", 21)) == (21, 1.0, 2.0)


def test_samples_and_late_rows_are_left_out():
    run = recorded(at(5, kl_ref=1.0), at(3, kl_ref=9.0), Sample(run="r", metrics={"gpu.util": 1.0}))
    assert {name: list(column.steps) for name, column in run.series.items()} == {"kl.ref": [5]}


def test_two_runs_are_no_reference():
    with pytest.raises(ValueError, match="several runs, a and b"):
        recorded(at(1, run="a", kl_ref=1.0), at(1, run="b", kl_ref=1.0))


def test_a_label_names_one_and_a_single_one_needs_no_name():
    assert chosen({"good": GOOD}, {}) is GOOD
    assert chosen({"good": GOOD, "other": NOTHING}, {}) is NOTHING
    assert chosen({"good": GOOD, "other": NOTHING}, {"reference": "good"}) is GOOD
    assert chosen({"good": GOOD}, {"reference": "misspelled"}) is NOTHING


RULE = rule(warning="kl.ref > 2 * reference(kl.ref)")


def test_a_rule_compares_with_the_same_step():
    engine = Engine(rules(RULE), references={"good": GOOD})
    said = [each for step in range(1, 40) for each in engine.handle(at(step, kl_ref=0.25 if step > 9 else 9.0))]
    assert [(each.state, each.step, each.threshold) for each in said] == [
        ("firing", 10, 0.2),
        ("resolved", 20, 0.4),
    ]


def test_a_window_may_lie_over_the_reference():
    engine = Engine(rules(rule(warning="kl.ref > 2 * mean(reference(kl.ref), 2 samples)")), references={"good": GOOD})
    (said,) = (each for step in (10, 20) for each in engine.handle(at(step, kl_ref=0.4)))
    assert (said.step, said.threshold) == (20, pytest.approx(0.3))


def test_a_label_that_comes_late_counts_from_then_on_and_after_a_restart():
    engines = [Engine(rules(RULE), references={"good": GOOD, "none": NOTHING}) for _ in range(2)]
    assert not engines[0].handle(at(10, kl_ref=5.0))
    engines[0].handle(RunStarted(run="r", attempt=1, labels={"reference": "good"}))
    engines[1].restore(engines[0].snapshot())
    assert [len(engine.handle(at(11, kl_ref=5.0))) for engine in engines] == [1, 1]
    assert b"kl.ref" in engines[1].snapshot()


def test_a_rule_without_what_it_compares_with_is_named():
    def missing(**references):
        engine = Engine(rules(RULE), references=references)
        engine.handle(at(1, kl_ref=0.1))
        return [each.missing for each in engine.not_evaluable("r")]

    assert missing() == [("a reference run",)]
    assert missing(other=recorded(at(1, entropy=1.0))) == [("kl.ref in the reference run",)]
    assert missing(good=GOOD) == []
