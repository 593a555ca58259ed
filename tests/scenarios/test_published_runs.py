"""grpo.yaml on real training runs that their authors published, judged by eye."""

import pytest

from tests.scenarios.recordings import COLLECTIONS, DATA, Labelled, fired, grave, labelled, pack, told

COPIES = labelled(DATA / "runs" / "INDEX.tsv", DATA / "runs")
COLLAPSED = {"reward_collapse", "entropy_collapse", "kl_explosion", "nan"}
"""Labels of what a run does not survive."""


@pytest.mark.parametrize("run", [run for run in COPIES if run.healthy], ids=lambda run: run.path.stem)
def test_a_healthy_published_run_wakes_nobody(run):
    found = grave(fired(run.path, pack("grpo")))
    assert not found, told(found)


@pytest.mark.parametrize("run", [run for run in COPIES if not run.healthy], ids=lambda run: run.path.stem)
def test_a_broken_published_run_is_told(run):
    assert run.labels & COLLAPSED
    assert grave(fired(run.path, pack("grpo")))


@pytest.mark.parametrize(
    ("name", "alert", "latest"),
    [
        ("trl-0042", "reward-drop", 85),
        ("trl-0044", "reward-drop", 175),
        ("trl-0049", "reward-drop", 115),
        ("trl-0060", "nonfinite", 165),
        ("trl-0072", "kl-high", 6),
        ("trl-0080", "entropy-collapse", 75),
        ("verl-0094", "kl-high", 12),
        ("unsloth-0020", "reward-drop", 41),
    ],
)
def test_what_broke_is_named_within_some_rows(name, alert, latest):
    run = next(run for run in COPIES if run.path.stem == name)
    steps = [one.transition.step for one in grave(fired(run.path, pack("grpo"))) if one.transition.alert == alert]
    assert steps and min(steps) <= latest, steps


@pytest.mark.parametrize(("name", "onset"), [("trl-0042", 40), ("trl-0044", 130), ("trl-0049", 70)])
def test_the_onset_of_a_real_collapse_is_found_to_one_row(name, onset):
    run = next(run for run in COPIES if run.path.stem == name)
    found = [one.transition for one in fired(run.path, pack("grpo")) if one.transition.alert == "reward-drop"]
    assert abs(found[0].onset_step - onset) <= 5


@pytest.mark.skipif(not (COLLECTIONS / "corpus" / "INDEX.tsv").is_file(), reason="the collection of runs is not here")
def test_few_healthy_runs_of_the_whole_collection_are_alarmed_and_most_collapses_are_caught():
    runs = labelled(COLLECTIONS / "corpus" / "INDEX.tsv", COLLECTIONS / "corpus")
    alarmed = [run.path.stem for run in runs if run.healthy and grave(fired(run.path, pack("grpo")))]
    collapsed = [run for run in runs if not run.healthy and run.labels & COLLAPSED and _is_read(run)]
    missed = [run.path.stem for run in collapsed if not grave(fired(run.path, pack("grpo")))]
    assert len(alarmed) <= 2, alarmed
    assert len(missed) <= 1, missed


def _is_read(run: Labelled) -> bool:
    """Whether the run's trainer is one whose keys the dictionary knows."""
    return run.path.stem.partition("-")[0] in ("trl", "unsloth", "verl")
