"""Facts about a run rather than a series: its progress, its usual time per step, its configuration."""

import math

import pytest
from rule_builder import START, at, rule, rules, told

from sentinel.engine.context import configured, read_constants
from sentinel.engine.engine import Engine
from sentinel.events import RunStarted, Sample, StepMetrics


def play(engine, *events):
    return [transition for event in events for transition in engine.handle(event)]


CONFIG = {
    "beta": 0.04,
    "lr": "1e-6",
    "use_kl": True,
    "nothing": None,
    "actor": {"clip.low": 0.2, "deep": {"rate": 3}, "rate": "fast"},
    "actor.entropy": 0.5,
    "huge": 10**400,
}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("beta", 0.04),
        ("use_kl", 1.0),
        ("actor.clip.low", 0.2),
        ("actor.deep.rate", 3.0),
        ("actor.entropy", 0.5),
        ("lr", None),
        ("nothing", None),
        ("actor", None),
        ("actor.rate", None),
        ("beta.x", None),
        ("absent", None),
        ("huge", None),
    ],
)
def test_a_configured_number_is_found_by_its_path(path, value):
    assert configured(CONFIG, path) == pytest.approx(math.nan if value is None else value, nan_ok=True)
    assert read_constants(CONFIG, [f"config.{path}"]) == ({} if value is None else {f"config.{path}": value})


@pytest.mark.parametrize(
    ("config", "steps"),
    [
        ({"max_steps": 200}, 200.0),
        ({"max_steps": -1, "num_training_steps": 50}, 50.0),
        ({"trainer": {"total_training_steps": 300}}, 300.0),
        ({"grpo": {"max_num_steps": 40}}, 40.0),
        ({"max_steps": 0}, None),
        ({"grpo": {"max_num_steps": 1_000_000}}, None),
        ({"trainer": {"total_training_steps": None, "max_steps": 70}}, 70.0),
        ({"num_rollout": 3000}, 3000.0),
        ({}, None),
    ],
)
def test_the_planned_steps_are_found_where_trainers_keep_them(config, steps):
    assert read_constants(config, ["progress"]) == ({} if steps is None else {"progress": steps})


def test_progress_is_the_share_of_the_planned_steps():
    engine = Engine(rules(rule(warning="kl.ref > 1 and progress >= 50%")))
    said = play(engine, RunStarted(run="r", config={"max_steps": 20}), *(at(step, kl_ref=2.0) for step in range(15)))
    assert told(said) == [("firing", "warning", 10)]


def test_without_a_configuration_what_it_states_is_unknown():
    engine = Engine(rules(rule(warning="progress >= 0%"), rule("b", warning="not config.beta > 0.1")))
    assert play(engine, RunStarted(run="r"), *(at(step, kl_ref=2.0) for step in range(15))) == []


def test_a_configuration_that_comes_late_counts_from_then_on():
    engine = Engine(rules(rule(warning="kl.ref > config.beta")))
    assert play(engine, at(1, kl_ref=1.0)) == []
    assert told(play(engine, RunStarted(run="r", attempt=1, config={"beta": 0.5}), at(2, kl_ref=1.0))) == [
        ("firing", "warning", 2)
    ]


def test_a_value_and_its_configured_threshold_are_shown():
    engine = Engine(rules(rule(warning="kl.ref > 2 * config.beta")))
    (said,) = play(engine, RunStarted(run="r", config={"beta": 0.5}), at(1, kl_ref=3.0))
    assert (said.value, said.threshold) == (3.0, 1.0)


def test_what_the_configuration_states_survives_a_snapshot():
    engine, restored = (Engine(rules(rule(warning="kl.ref > config.beta"))) for _ in range(2))
    play(engine, RunStarted(run="r", config={"beta": 0.5}), at(1, kl_ref=0.1))
    restored.restore(engine.snapshot())
    assert told(play(restored, at(2, kl_ref=1.0))) == [("firing", "warning", 2)]


def test_the_usual_step_time_is_what_the_trainer_logs():
    engine = Engine(rules(rule(warning="time.step_s > 3 * step_time")))
    seconds = [10.0] * 9 + [40.0]
    (fired,) = play(
        engine,
        *(
            StepMetrics(run="r", step=step, time=START + step * 1000.0, metrics={"time.step_s": taken})
            for step, taken in enumerate(seconds)
        ),
    )
    assert (fired.step, fired.value, fired.threshold) == (9, 40.0, 30.0)


def test_without_a_logged_time_the_usual_step_time_is_the_one_between_steps():
    engine = Engine(rules(rule(warning="step_time > 15s")))
    times = [0.0, 10.0, 20.0, 30.0, 100.0, 200.0, 400.0, 500.0]
    said = play(engine, *(at(step, time, kl_ref=1.0) for step, time in enumerate(times)))
    assert told(said) == [("firing", "warning", 6)]  # of 10 10 10 70 100 200 the middle is 40
    assert said[0].unit == "s"


def test_steps_left_out_share_the_time_and_samples_are_no_steps():
    engine = Engine(rules(rule(warning="step_time > 15s")))
    for step in range(0, 100, 10):
        assert play(engine, at(step, step * 10.0, kl_ref=1.0)) == []
        assert play(engine, Sample(run="r", time=START + 1.0 + step * 10.0, metrics={"kl.ref": 1.0})) == []


def test_the_usual_step_time_is_unknown_without_times_and_at_an_attempts_start():
    engine = Engine(rules(rule(warning="step_time > 0s")))
    assert play(engine, *(at(step, kl_ref=1.0) for step in range(9))) == []
    engine = Engine(rules(rule(warning="step_time > 0s")))
    assert told(play(engine, *(at(step, step * 1.0, kl_ref=1.0) for step in range(4)))) == [("firing", "warning", 3)]
    said = play(engine, *(at(step, 100.0 + step, kl_ref=1.0) for step in range(3)))
    assert told(said) == [("superseded", "warning", 3)]


@pytest.mark.parametrize("condition", ["config.beta > 0 and kl.ref > 10 * config.beta", "step > 1 and kl.ref > 1"])
def test_the_comparison_that_is_told_is_about_a_metric(condition):
    engine = Engine(rules(rule(warning=condition)))
    said = play(engine, RunStarted(run="r", config={"beta": 0.1}), at(1, kl_ref=0.1), at(2, kl_ref=3.0))
    assert [(each.metric, each.value, each.threshold) for each in said if each.state == "firing"] == [
        ("kl.ref", 3.0, 1.0)
    ]


def test_a_comparison_of_the_configuration_is_told_when_there_is_no_other():
    engine = Engine(rules(rule(warning="nonfinite(kl.ref) or config.beta > 1")))
    said = play(engine, RunStarted(run="r", config={"beta": 2.0}), at(1, kl_ref=0.1))
    assert [(each.metric, each.value) for each in said if each.state == "firing"] == [("config.beta", 2.0)]
