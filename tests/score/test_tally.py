"""Verdicts added up: figures counted by hand, and their independence of order."""

from hypothesis import given
from hypothesis import strategies as st

from sentinel.rules.loader import load_rules
from sentinel.score.index import Labelled
from sentinel.score.tally import Delays, delays_of, score
from sentinel.score.verdict import judge
from tests.score.course_builder import course, episode

RULES = load_rules(
    [
        ("a.yaml", "rules:\n  - {alert: kl-high, symptom: kl-high, warning: kl.ref > 1}\n"),
        ("b.yaml", "rules:\n  - {alert: nonfinite, symptom: nonfinite, critical: nonfinite(*)}\n"),
    ]
).rules
STEPS = range(1, 101)


def run(file, *labels, onset=None, **fitting):
    kind = (
        "healthy" if labels == ("healthy",) else "benign" if "healthy" in labels else "broken" if onset else "unjudged"
    )
    return Labelled(file, kind, labels, onset, None, {name.replace("_", "-"): "warning" for name in fitting})


def kl(step, **more):
    return episode("kl-high", ("warning", step), steps=STEPS, source="a.yaml:2", **more)


def nan(step, **more):
    return episode("nonfinite", ("critical", step), steps=STEPS, source="b.yaml:2", **more)


CASES = [
    (run("a", "kl_explosion", onset=41, kl_high=1), course(STEPS, kl(44))),
    (run("b", "kl_explosion", onset=41, kl_high=1), course(STEPS, kl(20, ended=25), kl(51))),
    (run("c", "kl_explosion", "nan", onset=21, kl_high=1, nonfinite=1), course(STEPS, nan(22))),
    (run("d", "nan", onset=11, nonfinite=1), course(STEPS, kl(30))),
    (run("e", "healthy"), course(STEPS, kl(50, ended=60), kl(70))),
    (run("f", "healthy"), course(STEPS)),
    (run("g", "healthy", "other"), course(STEPS, nan(5))),
    (run("h", "unclear"), course(STEPS, kl(5))),
]
VERDICTS = [judge(*case) for case in CASES]


def test_the_total_counts_every_run_and_every_alarm_once():
    found = score(VERDICTS, RULES)
    total = found.total
    assert found.kinds == {"broken": 4, "healthy": 2, "benign": 1, "unjudged": 1}
    assert (total.broken, total.detected, total.late, total.early, total.missed) == (4, 3, 0, 0, ("d",))
    assert total.share == 0.75
    assert total.rows == Delays(3.0, 10, 10)  # 3, 10 and 1
    assert (total.false_alarms, total.alarmed, total.early_alarms) == (2, 1, 1)
    assert (total.benign_alarms, total.other_alarms) == (1, 1)
    # 40 + 40 + 20 + 10 steps before an onset, and 200 of healthy runs.
    assert (total.healthy_steps, total.healthy_rows) == (310, 310)
    assert total.per_1000_steps == 1000 * 3 / 310
    healthy = found.healthy
    assert (healthy.runs, healthy.alarmed, healthy.alarms, healthy.steps, healthy.per_1000_steps) == (
        2,
        1,
        2,
        200,
        10.0,
    )


def test_each_file_of_rules_is_held_against_all_broken_runs():
    first, second = score(VERDICTS, RULES).files
    assert (first.name, first.detected, first.missed, first.false_alarms) == ("a.yaml", 2, ("c", "d"), 2)
    assert (second.name, second.detected, second.missed, second.false_alarms) == ("b.yaml", 1, ("a", "b", "d"), 0)


def test_each_rule_is_held_against_the_runs_that_its_symptom_fits_and_the_worst_comes_first():
    first, second = score(VERDICTS, RULES).rules
    assert (first.name, first.broken, first.detected, first.missed) == ("kl-high", 3, 2, ("c",))
    assert (first.false_alarms, first.early_alarms, first.other_alarms) == (2, 1, 1)
    assert (second.name, second.broken, second.detected, second.missed) == ("nonfinite", 2, 1, ("d",))
    assert (second.false_alarms, second.benign_alarms, second.rows) == (0, 1, Delays(1.0, 1, 1))


def test_a_label_is_held_against_the_symptoms_that_fit_it_alone():
    found = {tally.name: tally for tally in score(VERDICTS, RULES).labels}
    assert (found["kl_explosion"].detected, found["kl_explosion"].missed) == (2, ("c",))
    assert (found["nan"].detected, found["nan"].missed) == (1, ("d",))


def test_runs_come_worst_first():
    assert [verdict.run.file for verdict in score(VERDICTS, RULES).verdicts] == ["d", "e", "b", "a", "c", "f", "h", "g"]


def test_the_ninetieth_percentile_is_a_value_that_was_seen():
    assert delays_of([]) is None
    assert delays_of([7]) == Delays(7.0, 7, 7)
    assert delays_of(range(10, 0, -1)) == Delays(5.5, 9, 10)
    assert delays_of([1, 2]) == Delays(1.5, 2, 2)


def test_without_broken_runs_or_healthy_steps_there_is_no_share_and_no_rate():
    nothing = score([], RULES).total
    assert (nothing.share, nothing.per_1000_steps, nothing.per_1000_rows) == (None, None, None)


@given(st.permutations(VERDICTS))
def test_a_score_does_not_depend_on_the_order_of_the_runs(shuffled):
    assert score(shuffled, RULES) == score(VERDICTS, RULES)
