"""One labelled run and what is to be said of its alerts, counted by hand."""

import pytest

from sentinel.score.index import Labelled
from sentinel.score.verdict import Terms, judge, misplaced_onset
from tests.score.course_builder import course, episode

STEPS = range(1, 101)
BROKEN = Labelled("run.jsonl", "broken", ("kl_explosion",), onset=50, fitting={"kl-high": "warning"})
HEALTHY = Labelled("run.jsonl", "healthy", ("healthy",))


def sorts(verdict):
    return [found.sort for found in verdict.findings]


def test_a_fitting_alert_from_the_onset_on_detects():
    verdict = judge(BROKEN, course(STEPS, episode("kl-high", ("warning", 53), steps=STEPS)))
    assert (verdict.outcome, sorts(verdict)) == ("detected", ["detected"])
    assert (verdict.first.delay_steps, verdict.first.delay_rows) == (3, 3)


def test_delays_are_told_in_steps_and_in_logged_rows():
    steps = range(5, 105, 5)
    verdict = judge(BROKEN, course(steps, episode("kl-high", ("warning", 65), steps=steps)))
    assert (verdict.first.delay_steps, verdict.first.delay_rows) == (15, 3)
    # Rows 5 to 45 are before the onset: nine rows, forty-one steps from the first to the last.
    assert (verdict.healthy_rows, verdict.healthy_steps) == (9, 41)


def test_an_alert_at_the_very_onset_has_no_delay():
    verdict = judge(BROKEN, course(STEPS, episode("kl-high", ("warning", 50), steps=STEPS)))
    assert (verdict.outcome, verdict.first.delay_rows) == ("detected", 0)


def test_an_alert_that_does_not_fit_detects_nothing():
    verdict = judge(BROKEN, course(STEPS, episode("reward-drop", ("critical", 60), steps=STEPS)))
    assert (verdict.outcome, sorts(verdict)) == ("missed", ["other"])


def test_an_alert_below_the_severity_that_is_asked_for_detects_nothing_until_it_rises():
    strict = Labelled("run.jsonl", "broken", onset=50, fitting={"kl-high": "critical"})
    mild = judge(strict, course(STEPS, episode("kl-high", ("warning", 51), steps=STEPS)))
    risen = judge(strict, course(STEPS, episode("kl-high", ("warning", 51), ("critical", 58), steps=STEPS)))
    assert (mild.outcome, sorts(mild)) == ("missed", ["other"])
    assert (risen.outcome, risen.first.delay_rows) == ("detected", 8)


@pytest.mark.parametrize(("deadline", "outcome"), [(60, "detected"), (59, "late")])
def test_after_its_deadline_an_alert_is_late(deadline, outcome):
    run = Labelled("run.jsonl", "broken", onset=50, deadline=deadline, fitting={"kl-high": "warning"})
    assert judge(run, course(STEPS, episode("kl-high", ("warning", 60), steps=STEPS))).outcome == outcome


@pytest.mark.parametrize(("within", "outcome"), [(10, "detected"), (9, "late")])
def test_within_counts_logged_rows_where_there_is_no_deadline(within, outcome):
    found = judge(BROKEN, course(STEPS, episode("kl-high", ("warning", 60), steps=STEPS)), Terms(within=within))
    assert found.outcome == outcome


def test_any_alarm_before_the_onset_is_early():
    verdict = judge(
        BROKEN,
        course(
            STEPS,
            episode("reward-drop", ("warning", 20), steps=STEPS, ended=30),
            episode("kl-high", ("warning", 40), steps=STEPS, ended=45),
            episode("length-jump", ("info", 41), steps=STEPS),
            episode("kl-high", ("warning", 60), steps=STEPS),
        ),
    )
    assert (verdict.outcome, sorts(verdict)) == ("detected", ["early", "early", "detected"])
    assert len(verdict.false_alarms) == 2


def test_a_fitting_alert_that_still_fires_at_the_onset_is_early_and_one_that_has_ended_is_missed():
    standing = judge(BROKEN, course(STEPS, episode("kl-high", ("warning", 40), steps=STEPS)))
    ended = judge(BROKEN, course(STEPS, episode("kl-high", ("warning", 40), steps=STEPS, ended=45)))
    assert (standing.outcome, ended.outcome) == ("early", "missed")


def test_an_early_alert_that_rises_after_the_onset_is_both_early_and_a_detection():
    found = judge(BROKEN, course(STEPS, episode("kl-high", ("warning", 40), ("critical", 55), steps=STEPS)))
    assert (found.outcome, sorts(found), found.first.delay_rows) == ("detected", ["early", "detected"], 5)


def test_tolerance_takes_an_alert_shortly_before_the_onset_as_in_time():
    one = course(STEPS, episode("kl-high", ("warning", 47), steps=STEPS))
    assert judge(BROKEN, one, Terms(tolerance=2)).outcome == "early"
    tolerant = judge(BROKEN, one, Terms(tolerance=3))
    assert (tolerant.outcome, sorts(tolerant), tolerant.first.delay_steps) == ("detected", ["detected"], 0)
    assert tolerant.healthy_rows == 46


def test_alarms_on_a_healthy_run_are_false_and_infos_are_none():
    noisy = course(
        STEPS, episode("kl-high", ("warning", 9), steps=STEPS), episode("length-jump", ("info", 9), steps=STEPS)
    )
    verdict = judge(HEALTHY, noisy)
    assert (verdict.outcome, sorts(verdict)) == ("alarmed", ["false"])
    assert (verdict.healthy_rows, verdict.healthy_steps) == (100, 100)
    assert judge(HEALTHY, course(STEPS)).outcome == "silent"


def test_a_run_that_is_healthy_in_spite_of_a_label_or_not_judged_counts_for_nothing():
    alarm = course(STEPS, episode("kl-high", ("warning", 9), steps=STEPS))
    benign = judge(Labelled("run.jsonl", "benign", ("healthy", "other")), alarm)
    unclear = judge(Labelled("run.jsonl", "unjudged", ("unclear",)), alarm)
    assert (benign.outcome, sorts(benign), benign.healthy_rows) == ("alarmed", ["benign"], 0)
    assert (unclear.outcome, sorts(unclear), unclear.healthy_rows) == ("unjudged", ["unjudged"], 0)


def test_after_a_run_went_back_the_rows_tell_before_from_after():
    steps = (*range(1, 61), *range(30, 91))
    again = course(steps, episode("kl-high", ("warning", 30), steps=(0, *range(1, 61), *range(61, 90))))
    # Fired at step 30 in row 30, in the first attempt: before the onset.
    assert judge(BROKEN, again).outcome == "early"


def test_an_onset_after_the_last_step_cannot_be_judged():
    assert misplaced_onset(BROKEN, course(STEPS)) is None
    assert misplaced_onset(HEALTHY, course(range(3))) is None
    late = misplaced_onset(BROKEN, course(range(1, 50)))
    assert late == "the onset 50 is after the last step that run.jsonl logs, 49"
