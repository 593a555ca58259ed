"""infra.yaml and ppo.yaml on recordings: healthy runs say nothing, and trouble is told in time."""

import pytest

from tests.scenarios.recordings import COLLECTIONS, DATA, fired, grave, labelled, pack, scenarios, told

LOOKED_FOR = {"lr-anomaly", "throughput-drop"}
"""Symptoms of infra.yaml that the recordings show."""

LOUD = [one for one in scenarios() if one.deadline is not None and one.accepted & LOOKED_FOR]
HEALTHY = [run for run in labelled(DATA / "runs" / "INDEX.tsv", DATA / "runs") if run.healthy]


@pytest.mark.parametrize("name", ["infra", "ppo"])
@pytest.mark.parametrize("scenario", scenarios(), ids=lambda one: one.path.stem)
def test_nothing_is_told_that_has_not_begun(scenario, name):
    begins = scenario.onset if scenario in LOUD else float("inf")
    early = [one for one in grave(fired(scenario.path, pack(name))) if one.transition.step < begins]
    assert not early, told(early)


@pytest.mark.parametrize("scenario", LOUD, ids=lambda one: one.path.stem)
def test_trouble_is_told_in_time_without_advice_to_go_back(scenario):
    found = [one for one in grave(fired(scenario.path, pack("infra"))) if one.transition.symptom in scenario.accepted]
    assert found and found[0].transition.step <= scenario.deadline, told(found)
    assert abs(found[0].transition.onset_step - scenario.onset) <= 2
    assert found[0].rollback is None or found[0].rollback.step is None


@pytest.mark.parametrize("name", ["infra", "ppo"])
@pytest.mark.parametrize("run", HEALTHY, ids=lambda run: run.path.stem)
def test_a_healthy_published_run_wakes_nobody(run, name):
    found = grave(fired(run.path, pack(name)))
    assert not found, told(found)


@pytest.mark.skipif(not (COLLECTIONS / "corpus" / "INDEX.tsv").is_file(), reason="the collection of runs is not here")
def test_no_healthy_run_of_the_whole_collection_is_alarmed_and_drifting_samplers_are():
    runs = labelled(COLLECTIONS / "corpus" / "INDEX.tsv", COLLECTIONS / "corpus")
    found = {run: {one.transition.alert for one in grave(fired(run.path, pack("infra")))} for run in runs}
    assert not [run.path.stem for run, alerts in found.items() if run.healthy and alerts]
    drifting = {run.path.stem for run, alerts in found.items() if "rollout-mismatch" in alerts}
    assert drifting == {"trl-0039", "trl-0044", "trl-0047"}


@pytest.mark.skipif(not (COLLECTIONS / "corpus" / "INDEX.tsv").is_file(), reason="the collection of runs is not here")
def test_strict_alarms_as_many_healthy_runs_as_its_first_lines_say():
    runs = [run for run in labelled(COLLECTIONS / "corpus" / "INDEX.tsv", COLLECTIONS / "corpus") if run.healthy]
    alerts = [[one.transition.alert for one in grave(fired(run.path, pack("strict")))] for run in runs]
    assert (len(runs), sum(map(bool, alerts)), sum(map(len, alerts))) == (26, 14, 21)
