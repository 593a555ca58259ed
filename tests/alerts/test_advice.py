"""Rollback advice: which checkpoint, why, what it costs, how to go back."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.alerts.advice import MOST_REFUSED, RESUME_COMMANDS, advise
from sentinel.alerts.incident import IncidentBook
from sentinel.alerts.notification import Notification
from sentinel.engine.engine import Engine
from sentinel.engine.run_state import RunState, SavedCheckpoint
from sentinel.events import Checkpoint, Event, StepMetrics
from sentinel.rules.loader import load_rules

RULES = b"""
rules:
  - alert: kl-high
    symptom: kl-high
    critical: kl.ref > 0.5
  - alert: nonfinite
    symptom: nonfinite
    critical: nonfinite(grad_norm)
  - alert: gpu-idle
    symptom: gpu-idle
    warning: gpu.util < 30%
"""


def saved(step: int, *, path: str | None = None, time: float | None = None, **fields: object) -> SavedCheckpoint:
    return SavedCheckpoint(step, path or f"out/checkpoint-{step}", time, 1, **fields)  # type: ignore[arg-type]


def run_with(*checkpoints: SavedCheckpoint, framework: str | None = "trl", step: int = 100) -> RunState:
    return RunState("r", framework=framework, step=step, checkpoints=list(checkpoints))


class Watched:
    """An engine and a book, fed with events of one run."""

    def __init__(self) -> None:
        self.engine = Engine(load_rules([("test.yaml", RULES)]))
        self.book = IncidentBook()
        self.told: list[Notification] = []

    def feed(self, *events: Event) -> Notification | None:
        for event in events:
            for transition in self.engine.handle(event):
                told = next(iter(self.book.apply([transition], self.engine.runs["r"])), None)
                if told is not None:
                    self.told.append(told)
        return self.told[-1] if self.told else None


def step(number: int, **metrics: float) -> StepMetrics:
    return StepMetrics(run="r", step=number, metrics={"kl": 0.01, "grad_norm": 0.1, **metrics})


def checkpoint(number: int, state: str = "saved") -> Checkpoint:
    return Checkpoint(run="r", step=number, path=f"out/checkpoint-{number}", state=state)  # type: ignore[arg-type]


def test_the_newest_checkpoint_from_before_the_onset_is_chosen_and_newer_ones_are_refused_with_reasons() -> None:
    advice = advise(run_with(saved(40), saved(60), saved(80)), 61, ["kl-high"], step=90, time=None)
    assert (advice.step, advice.path) == (60, "out/checkpoint-60")
    assert "before step 61, where kl-high began" in advice.reason
    assert [(one.step, one.reason) for one in advice.refused] == [(80, "saved after the trouble began at step 61")]


def test_a_checkpoint_of_the_onset_itself_is_suspect() -> None:
    assert advise(run_with(saved(40), saved(60)), 60, ["kl-high"], step=90, time=None).step == 40


def test_a_deleted_checkpoint_is_passed_over_and_a_pinned_one_is_as_good_as_any() -> None:
    advice = advise(run_with(saved(20, pinned=True), saved(40, deleted=True)), 61, ["kl-high"], step=90, time=None)
    assert advice.step == 20
    assert [(one.step, one.reason) for one in advice.refused] == [(40, "deleted")]


def test_a_checkpoint_that_is_pinned_after_it_was_saved_is_still_there() -> None:
    watched = Watched()
    told = watched.feed(step(1), checkpoint(1), checkpoint(1, "pinned"), step(2, kl=0.9))
    assert told is not None and told.rollback is not None
    assert told.rollback.step == 1


def test_only_the_newest_refused_ones_are_named() -> None:
    many = [saved(number) for number in range(10, 30)]
    advice = advise(run_with(saved(5), *many), 10, ["kl-high"], step=30, time=None)
    assert [one.step for one in advice.refused] == list(range(29, 29 - MOST_REFUSED, -1))
    assert advice.step == 5


@pytest.mark.parametrize(
    ("checkpoints", "words"),
    [
        ([], "told of no checkpoint"),
        ([saved(80)], "No checkpoint from before step 61, where kl-high and nonfinite began, is left"),
        ([saved(40, deleted=True)], "No checkpoint from before step 61"),
    ],
)
def test_with_nothing_safe_there_is_a_reason_and_no_path(checkpoints: list[SavedCheckpoint], words: str) -> None:
    advice = advise(run_with(*checkpoints), 61, ["kl-high", "nonfinite", "kl-high"], step=90, time=None)
    assert (advice.step, advice.path, advice.command) == (None, None, None)
    assert words in advice.reason


HOSTILE = ["out/my run/checkpoint-1", "out/$(id)", "out/`id`; rm -rf /", "out/it's", 'a "b"', "lr=1e-5/{x},[y]", "é"]


@pytest.mark.parametrize("framework", ["trl", "unsloth", "ms-swift"])
@pytest.mark.parametrize("path", HOSTILE)
def test_the_resume_argument_is_two_words_for_a_shell_whatever_the_path(framework: str, path: str) -> None:
    command = advise(run_with(saved(40, path=path), framework=framework), 61, [], step=90, time=None).command
    assert command is not None
    assert shlex.split(command) == ["--resume_from_checkpoint", path]


@pytest.mark.parametrize("path", HOSTILE)
def test_verls_override_is_quoted_for_the_shell_and_for_hydra(path: str) -> None:
    command = advise(run_with(saved(40, path=path), framework="verl"), 61, [], step=90, time=None).command
    assert command is not None
    mode, where = shlex.split(command)
    assert mode == "trainer.resume_mode=resume_path"
    escaped = path.replace('"', '\\"')
    assert where == f'trainer.resume_from_path="{escaped}"'


def test_a_plain_path_is_shown_without_quotes() -> None:
    commands = {name: build("out/checkpoint-50") for name, build in RESUME_COMMANDS.items()}
    assert commands["trl"] == "--resume_from_checkpoint out/checkpoint-50"
    assert commands["verl"] == "trainer.resume_mode=resume_path trainer.resume_from_path=out/checkpoint-50"


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1), st.sampled_from(sorted(RESUME_COMMANDS)))
def test_no_path_adds_a_word_to_the_command(path: str, framework: str) -> None:
    assert len(shlex.split(RESUME_COMMANDS[framework](path))) == 2


@pytest.mark.parametrize("framework", [None, "openrlhf"])
def test_for_other_frameworks_there_is_no_command(framework: str | None) -> None:
    assert advise(run_with(saved(40), framework=framework), 61, [], step=90, time=None).command is None


def test_the_cost_is_counted_from_the_checkpoint_to_the_transition() -> None:
    run = run_with(saved(40, time=1000.0), step=500)
    advice = advise(run, 61, ["kl-high"], step=90, time=1500.0)
    assert (advice.steps_lost, advice.seconds_lost) == (50, 500.0)


def test_without_times_the_trainers_own_step_time_stands_in() -> None:
    watched = Watched()
    told = watched.feed(step(1), checkpoint(1), step(11, kl=0.9, step_time=3.0))
    assert told is not None and told.rollback is not None
    assert (told.rollback.steps_lost, told.rollback.seconds_lost) == (10, 30.0)


def test_without_either_the_time_is_not_known() -> None:
    assert advise(run_with(saved(40)), 61, [], step=90, time=None).seconds_lost is None
    assert advise(run_with(saved(40)), 61, [], step=90, time=5.0).seconds_lost is None


def test_the_metrics_at_the_checkpoint_are_the_evidence() -> None:
    watched = Watched()
    told = watched.feed(step(1, kl=0.02, entropy=0.8), checkpoint(1), step(2, kl=0.9))
    assert told is not None and told.rollback is not None
    assert told.rollback.evidence == (("kl.ref", 0.02), ("entropy", 0.8), ("grad_norm", 0.1))


def test_the_earliest_onset_of_all_open_tainting_episodes_decides() -> None:
    watched = Watched()
    told = watched.feed(step(1), checkpoint(1), step(2, kl=0.9), checkpoint(2), step(3, kl=0.9, grad_norm=float("nan")))
    assert told is not None and told.rollback is not None
    assert len(told.episodes) == 2
    assert told.rollback.step == 1
    assert "where kl-high began" in told.rollback.reason


def test_an_alert_that_says_nothing_against_checkpoints_brings_no_advice() -> None:
    watched = Watched()
    told = watched.feed(
        step(1), checkpoint(1), StepMetrics(run="r", step=2, metrics={"gpu_util": 5.0, "gpu.util": 5.0})
    )
    assert told is not None and told.rollback is None


def test_after_a_rewind_only_checkpoints_of_the_surviving_branch_count() -> None:
    watched = Watched()
    told = watched.feed(
        *(step(number) for number in range(1, 31)),
        checkpoint(10),
        checkpoint(20),
        checkpoint(30),
        # The trainer went back to checkpoint-10: what was saved at 20 and 30 is another branch.
        *(step(number) for number in range(11, 26)),
        step(26, kl=0.9),
    )
    assert told is not None and told.rollback is not None
    assert told.attempt == 2
    assert told.rollback.step == 10


@pytest.mark.parametrize(("saved_at", "words"), [((), "told of no checkpoint"), ((30,), "this attempt began at")])
def test_a_later_attempt_without_a_checkpoint_says_whether_there_ever_was_one(
    saved_at: tuple[int, ...], words: str
) -> None:
    watched = Watched()
    told = watched.feed(
        *(step(number) for number in range(1, 31)),
        *map(checkpoint, saved_at),
        *(step(number) for number in range(11, 26)),
        step(26, kl=0.9),
    )
    assert told is not None and told.rollback is not None
    assert (told.attempt, told.rollback.step) == (2, None)
    assert words in told.rollback.reason
