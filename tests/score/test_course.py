"""A course is what was logged and what fired, in rows and steps."""

from sentinel.engine.engine import Engine
from sentinel.events import RunFinished, StepMetrics
from sentinel.rules.loader import load_rules
from sentinel.score.course import CourseRecorder, Ending, Moment, steps_covered
from tests.score.course_builder import course

RULES = """\
rules:
  - {alert: kl-high, symptom: kl-high, warning: kl.ref > 0.3, critical: kl.ref > 0.6, for: 2 samples}
"""


def test_steps_between_logged_rows_are_covered_and_steps_trained_again_count_again():
    assert steps_covered(()) == 0
    assert steps_covered((7,)) == 1
    assert steps_covered((1, 2, 3)) == 3
    assert steps_covered((5, 10, 15)) == 11
    assert steps_covered((1, 2, 3, 2, 3)) == 5


def test_a_step_that_was_not_logged_stands_at_the_next_row():
    found = course([5, 10, 15])
    assert [found.row_of(step) for step in (1, 5, 6, 15, 16)] == [0, 0, 1, 2, 3]


def recorded(rows):
    engine, recorder = Engine(load_rules([("r.yaml", RULES)])), CourseRecorder("run.jsonl")
    for event in rows:
        if isinstance(event, StepMetrics):
            recorder.row(event.run, event.step)
        for transition in engine.handle(event):
            recorder.take(transition)
    return recorder


def test_an_alert_that_rises_is_one_episode_with_two_moments_and_its_end():
    values = [0.1, 0.4, 0.4, 0.7, 0.7, 0.1]
    found = recorded(StepMetrics(run="r", step=10 * at, metrics={"kl": kl}) for at, kl in enumerate(values, 1))
    (episode,) = found.episodes()
    assert episode.moments == (Moment("warning", 30, 2), Moment("critical", 50, 4))
    assert (episode.severity, episode.step, episode.onset_step) == ("critical", 30, 20)
    assert episode.ending == Ending("resolved", 60, 5)
    assert found.steps == [10, 20, 30, 40, 50, 60]


def test_an_alert_that_never_fires_is_no_episode():
    found = recorded([StepMetrics(run="r", step=1, metrics={"kl": 0.4}), RunFinished(run="r")])
    assert found.episodes() == ()


def test_two_rows_of_one_step_are_one_row():
    found = recorded(
        [StepMetrics(run="r", step=1, metrics={"kl": 0.4}), StepMetrics(run="r", step=1, metrics={"reward": 0.4})]
    )
    assert (found.steps, list(found.runs)) == ([1], ["r"])
