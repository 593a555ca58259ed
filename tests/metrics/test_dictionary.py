"""The metric dictionary: two tables, and what they say about trainers' keys."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.metrics import default


@pytest.mark.parametrize(
    ("framework", "key", "name"),
    [
        ("trl", "kl", "kl.ref"),
        ("trl", "train/kl", "kl.ref"),
        ("trl", "completions / mean_length", "length.mean"),
        ("trl", "rewards/accuracy_reward/mean", "reward.component.accuracy_reward"),
        ("verl", "actor/kl_loss", "kl.ref"),
        ("nemo-rl", "train/kl_penalty", "kl.ref"),
        ("slime", "train/kl_loss", "kl.ref"),
        ("verl", "critic/rewards/mean", "reward.mean"),
    ],
)
def test_a_trainers_key_has_one_canonical_name(framework: str, key: str, name: str) -> None:
    assert default().translate([key], framework) == {key: name}


def test_a_key_that_nobody_knows_is_left_out() -> None:
    assert default().translate(["my/own"], "trl") == {}


def test_a_canonical_name_keeps_itself() -> None:
    assert default().translate(["kl.ref", "entropy"], None) == {"kl.ref": "kl.ref", "entropy": "entropy"}


def test_the_framework_is_guessed_from_its_keys() -> None:
    assert default().guess(["actor/kl_loss", "critic/rewards/mean"]) == "verl"
    assert default().guess(["reward", "kl", "completions/mean_length"]) == "trl"
    assert default().guess(["my/own"]) is None


def test_every_key_leads_to_a_described_metric() -> None:
    dictionary = default()
    for info in dictionary.metrics.values():
        for _framework, key in dictionary.keys_of(info.name):
            filled = key.replace("<name>", "abc").replace("<rest>", "abc")
            if "<" not in filled:
                assert any(dictionary.describe(name) for name in dictionary.meanings(filled)), key


def test_keys_and_meanings_are_the_two_ways_round() -> None:
    dictionary = default()
    assert ("trl", "kl") in dictionary.keys_of("kl.ref")
    assert "kl.ref" in dictionary.meanings("kl")
    assert dictionary.meanings("train/kl") == dictionary.meanings("kl")
    assert {"kl", "train/kl_penalty"} <= dictionary.keys()
    assert dictionary.meanings("nobody/knows") == []


def test_names_with_free_parts_are_described_by_the_most_specific_entry() -> None:
    dictionary = default()
    plain, spread = dictionary.describe("reward.component.format"), dictionary.describe("reward.component.format.std")
    assert plain is not None
    assert spread is not None
    assert (plain.name, spread.name) == ("reward.component.<name>", "reward.component.<name>.std")
    assert dictionary.describe("nonsense") is None


def test_lower_is_better_only_where_the_table_says_so() -> None:
    dictionary = default()
    assert dictionary.higher_is_better("reward.mean")
    assert not dictionary.higher_is_better("kl.ref")
    assert dictionary.higher_is_better("unknown")


@given(st.lists(st.text(max_size=30), max_size=6, unique=True), st.sampled_from([None, "trl", "verl", "nobody"]))
def test_translation_gives_each_name_to_one_key(keys: list[str], framework: str | None) -> None:
    found = default().translate(keys, framework)
    assert set(found) <= set(keys)
    assert len(set(found.values())) == len(found)


def test_a_second_key_for_a_name_is_told_from_an_unknown_one() -> None:
    read = default().read(["completions/mean_length", "completion_length", "my/own"], "unsloth")
    assert [reading.standing for reading in read.values()] == ["named", "second", "unknown"]
    assert read["completion_length"].name == "length.mean"


def test_exports_and_notebooks_spell_the_same_keys() -> None:
    for key in ("train/kl", "train.kl", "kl"):
        assert default().translate([key], "trl") == {key: "kl.ref"}
    assert default().translate(["Training Loss"], "trl") == {"Training Loss": "loss.total"}
    assert default().translate(["eval/reward", "eval_rewards/acc/mean"], "trl") == {
        "eval/reward": "eval.reward",
        "eval_rewards/acc/mean": "eval.rewards.acc.mean",
    }
    assert default().translate(["train/policy_loss"], "openrlhf") == {"train/policy_loss": "loss.policy"}


def test_the_prefix_of_one_trainer_is_part_of_the_keys_of_another() -> None:
    assert default().translate(["train/loss"], "slime") == {"train/loss": "loss.total"}
    assert default().translate(["loss"], "slime") == {}


def test_systems_keys_are_known_beside_any_trainers() -> None:
    for framework in default().frameworks:
        assert default().translate(["DCGM_FI_DEV_GPU_UTIL"], framework) == {"DCGM_FI_DEV_GPU_UTIL": "gpu.util"}
    assert "dcgm" not in default().frameworks


def test_a_framework_that_nobody_knows_reads_as_trl() -> None:
    assert default().translate(["kl"], "my-trainer") == {"kl": "kl.ref"}


def test_what_a_key_usually_means_comes_first() -> None:
    assert default().meanings("kl")[0] == "kl.ref"
    assert default().meanings("reward_std")[0] in ("reward.spread", "reward.group_std")


def test_the_canonical_names_are_read_without_any_trainers_file() -> None:
    from sentinel.metrics.dictionary import Dictionary

    lazy = Dictionary(default().metrics, list(default().sources.values()))
    assert lazy.describe("kl.ref") is not None
    assert lazy.names()
    assert lazy._tables == {}


@given(
    st.lists(st.sampled_from(sorted(default().keys())), max_size=8, unique=True),
    st.sampled_from(sorted(default().frameworks)),
    st.randoms(use_true_random=False),
)
def test_which_key_gets_a_name_does_not_hang_on_their_order(keys: list[str], framework: str, random: object) -> None:
    shuffled = list(keys)
    getattr(random, "shuffle")(shuffled)  # noqa: B009 - hypothesis gives an object of no public type
    assert default().read(keys, framework) == default().read(shuffled, framework)
