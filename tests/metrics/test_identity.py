"""Whose keys these are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.metrics import default
from sentinel.metrics.versions import ANY, Versions

PUBLISHED = Path(__file__).parent / "data" / "published_keys.jsonl"
"""The keys that published runs logged, each set once: numbers left out, `source` is repository, path, commit."""

COLLECTION = Path(__file__).resolve().parents[3] / "shared" / "corpus"

WRITES_THE_SAME = {"unsloth": {"unsloth", "trl"}, "trl": {"trl", "unsloth"}, "tinker": {"tinker", "trl"}}
"""A trainer built on another may log nothing of its own; a loop of two keys is anyone's."""


def published() -> list[dict[str, object]]:
    return [json.loads(line) for line in PUBLISHED.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("run", published(), ids=lambda run: str(run["source"])[:60])
def test_every_key_of_a_published_run_is_known(run: dict[str, object]) -> None:
    keys = run["keys"]
    assert isinstance(keys, list)
    identity = default().identify(keys)
    framework = str(run["framework"])
    assert identity.framework in WRITES_THE_SAME.get(framework, {framework})
    for used in {framework, identity.framework}:
        read = default().read(keys, used)
        assert [key for key, reading in read.items() if reading.standing == "unknown"] == []


@pytest.mark.skipif(not COLLECTION.is_dir(), reason="the collection of published runs does not lie beside the project")
def test_the_published_keys_are_all_that_the_collection_holds() -> None:
    known = {tuple(sorted(run["keys"])) for run in published() if isinstance(run["keys"], list)}
    for path in sorted(COLLECTION.glob("*.jsonl")):
        keys = {key for line in path.read_text("utf-8").splitlines() for key in json.loads(line)} - {"step"}
        assert tuple(sorted(keys)) in known, path.name


@pytest.mark.parametrize(
    ("keys", "framework", "versions"),
    [
        (["reward", "kl", "completions/mean_length"], "trl", "0.17.0.."),
        (["reward", "kl", "completion_length"], "trl", "..0.16"),
        (["reward", "entropy", "step_time"], "trl", "0.26.0.."),
        (["train/reward", "train/step_time"], "trl", "0.26.0.."),
        (["objective/kl", "policy/approxkl_avg", "loss/value_avg"], "trl", "..1.13"),
        (["actor/kl_loss", "critic/kl"], "verl", "..0.3"),
        (["actor/kl_loss", "response/aborted_ratio"], "verl", "0.6.0.."),
        (["train/pg_loss", "train/kl_loss", "rollout/raw_reward"], "slime", "-"),
        (["train/kl_penalty", "train/gen_kl_error", "train/reward"], "nemo-rl", "-"),
        (["policy/policy_kl", "reward/avg_raw_reward"], "skyrl", "-"),
        (["policy_loss", "ppo_kl", "response_length", "total_length"], "openrlhf", "-"),
        (["train/agg/all/a/reward/mean", "train/agg/all/a/num_turns/mean"], "prime-rl", "-"),
        (["objective/kl2_avg", "val/sequence_lengths"], "open-instruct", "-"),
        (["entropy/mean", "train_speed(s/it)", "reward"], "ms-swift", "-"),
        (["env/all/reward/total", "optim/kl_sample_train_v1"], "tinker", "-"),
        (["act_loss", "cri_loss"], "deepspeed-chat", "-"),
        (["reward_avg", "avg_response_len"], "scratch", "-"),
    ],
)
def test_the_framework_and_its_versions_are_told_by_the_keys(keys: list[str], framework: str, versions: str) -> None:
    identity = default().identify(keys)
    assert (identity.framework, identity.versions) == (framework, Versions.parse(versions))
    assert default().guess(keys) == framework


def test_keys_that_no_release_of_trl_writes_together_are_unsloths() -> None:
    identity = default().identify(["completion_length", "completions/mean_length", "kl", "reward"])
    assert identity.framework == "unsloth"
    assert any("no trl writes all of them" in reason for reason in identity.evidence)


def test_the_evidence_names_the_keys_that_tell() -> None:
    evidence = " ".join(default().identify(["actor/kl_loss", "critic/kl", "my/own"]).evidence)
    assert "2 of 3 keys are verl's" in evidence
    assert "critic/kl: 0.3 or earlier" in evidence


def test_nobody_is_guessed_from_nothing() -> None:
    assert default().identify([]).framework is None
    unknown = default().identify(["my/own"])
    assert (unknown.framework, unknown.versions, str(unknown)) == (None, ANY, "unknown")


def test_an_absent_key_proves_nothing() -> None:
    # A notebook's table has no step_time, whatever the version.
    assert default().identify(["Training Loss", "reward", "completions / mean_length"]).versions == Versions((0, 17, 0))


@given(st.lists(st.sampled_from(sorted(default().keys())), max_size=12, unique=True))
def test_the_order_of_the_keys_changes_nothing(keys: list[str]) -> None:
    assert default().identify(keys) == default().identify(keys[::-1])
