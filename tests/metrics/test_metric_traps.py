"""The same word with other meanings: no two kinds of number share a name."""

from __future__ import annotations

import pytest

from sentinel.metrics import default

ASYNC = ["sample/staleness_mean", "sample/rollout_queue_size"]


def name_of(key: str, framework: str, *others: str, version: str | None = None, **config: object) -> str | None:
    return default().translate([key, *others], framework, version, config).get(key)


@pytest.mark.parametrize(
    ("framework", "key", "name"),
    [
        # KL: to whom, per token or per sequence, which way round.
        ("trl", "kl", "kl.ref"),
        ("trl", "objective/kl", "kl.ref.seq_sum"),
        ("ms-swift", "teacher_kl", "kl.teacher"),
        ("openrlhf", "logprobs_diff", "kl.ref.k1"),
        ("openrlhf", "ppo_kl", "kl.old"),
        ("openrlhf", "vllm_kl", "kl.rollout.k1"),
        ("open-instruct", "objective/kl0_avg", "kl.ref.k1"),
        ("open-instruct", "objective/kl1_avg", "kl.ref.k2"),
        ("open-instruct", "objective/kl2_avg", "kl.ref"),
        ("open-instruct", "objective/kl3_avg", "kl.ref.k1_iw"),
        ("verl", "actor/kl_loss", "kl.ref"),
        ("verl", "actor/ppo_kl", "kl.old"),
        ("verl", "rollout_corr/kl", "kl.rollout.k1"),
        ("verl", "rollout_corr/k3_kl", "kl.rollout"),
        ("prime-rl", "ref_kl/mean", "kl.ref.neg"),
        ("prime-rl", "mismatch_kl/all/mean", "kl.rollout"),
        ("nemo-rl", "train/policy_kl_error", "kl.rollout.reverse"),
        ("scratch", "kl_loss", "loss.kl"),
        ("tinker", "optim/kl_sample_train_v1", "kl.rollout.k1"),
        # Entropy: of tokens or of whole sequences.
        ("trl", "objective/entropy", "entropy.sampled.seq_sum"),
        ("trl", "policy/entropy_avg", "entropy"),
        ("openrlhf", "entropy_loss", "entropy"),
        ("slime", "train/entropy_loss", "entropy"),
        # Reward: raw, shaped, normalized, filtered.
        ("verl", "critic/score/mean", "reward.mean"),
        ("slime", "rollout/rewards", "reward.normalized_mean"),
        ("slime", "rollout/raw_reward", "reward.mean"),
        ("openrlhf", "reward", "reward.shaped.mean"),
        ("openrlhf", "return", "return.mean"),
        ("nemo-rl", "train/filtered_reward", "reward.filtered_mean"),
        ("nemo-rl", "validation/accuracy", "eval.accuracy"),
        ("prime-rl", "train/agg/all/a/reward/mean", "reward.mean"),
        ("prime-rl", "train/agg/effective/a/reward/mean", "reward.filtered_mean"),
        # Truncated answers and clipped ratios.
        ("trl", "completions/clipped_ratio", "length.clipped_frac"),
        ("trl", "clip_ratio", "clip_frac"),
        ("verl", "response_length/clip_ratio", "length.clipped_frac"),
        ("verl", "prompt_length/clip_ratio", "prompt_length.clipped_frac"),
        ("verl", "actor/pg_clipfrac_lower", "clip_frac.dual"),
        ("openrlhf", "response_clip_ratio", "length.overlong_frac"),
        ("open-instruct", "val/stop_rate", "length.eos_frac"),
        ("skyrl", "policy/response_length", "batch.padded_len"),
        # `val` is not validation everywhere.
        ("trl", "val/ratio", "ratio.mean"),
        ("trl", "val/clipfrac_avg", "value.clip_frac"),
        ("trl", "val/contain_eos_token", "length.eos_frac"),
        ("open-instruct", "val/sequence_lengths", "length.mean"),
        ("verl", "val-core/gsm8k/acc/mean@1", "eval.gsm8k.acc.mean_1"),
        # Percent or fraction, and other units.
        ("nemo-rl", "train/baseline_reward/pct_mixed", "reward.mixed_pct"),
        ("prime-rl", "perf/mfu", "mfu_pct"),
        ("verl", "perf/mfu/actor", "mfu"),
        ("openrlhf", "dynamic_filtering_pass_rate", "filter.pass_pct"),
        ("open-instruct", "batch/filtered_prompts_pct", "reward.zero_std_frac"),
        ("skyrl", "vllm/train/kv_cache_usage_perc", "infer.kv_usage"),
        ("verl", "perf/cpu_memory_used_gb", "host.mem_used_gib"),
        ("nemo-rl", "ray/node.0.mem_gb", "host.mem_used_gb"),
        ("verl", "actor/lr(1e-4)", "lr.e4"),
        ("trl", "system.gpu.0.memory", "gpu.mem_util"),
        ("trl", "system.gpu.0.memoryAllocated", "gpu.mem_used_pct"),
        ("trl", "nvmlDeviceGetPowerUsage(h)", "gpu.power_mw"),
        ("trl", "system.gpu.0.powerWatts", "gpu.power_w"),
        ("trl", "DCGM_FI_DEV_FB_USED", "gpu.mem_used_mib"),
        # Rates and counts among the seconds.
        ("verl", "perf/throughput", "throughput.tokens_per_s_per_gpu"),
        ("nemo-rl", "timing/train/valid_tokens_per_sec_per_gpu", "throughput.valid_tokens_per_s_per_gpu"),
        ("verl", "timing_s/agent_loop/num_preempted/mean", "infer.preempted"),
        # Of the whole run, not of the step.
        ("trl", "train_loss", "run.loss_mean"),
        ("trl", "eps", "throughput.samples_per_s_overall"),
    ],
)
def test_a_key_means_what_its_trainer_means(framework: str, key: str, name: str) -> None:
    assert name_of(key, framework) == name


def test_async_grpo_writes_other_things_under_the_keys_of_grpo() -> None:
    assert name_of("kl", "trl", *ASYNC) == "kl.old"
    assert name_of("reward_std", "trl", *ASYNC) == "reward.group_std"


def test_reward_std_of_trl_changed_its_meaning_at_0_27() -> None:
    assert name_of("reward_std", "trl", version="0.26.2") == "reward.group_std"
    assert name_of("reward_std", "trl", version="0.27.0") == "reward.std"
    assert name_of("reward_std", "trl", version="1.16.0") == "reward.std"
    assert name_of("reward_std", "trl", version="0.20.0", scale_rewards="batch") == "reward.std"


def test_reward_std_of_an_unknown_trl_has_the_neutral_name() -> None:
    assert name_of("reward_std", "trl") == "reward.spread"
    assert name_of("reward_std", "trl", "completions/mean_length") == "reward.spread"
    assert name_of("reward_std", "trl", "step_time") == "reward.spread"  # 0.26 or later: both are possible
    assert name_of("reward_std", "trl", version="a fork") == "reward.spread"
    assert name_of("reward_std", "unsloth", version="2026.10.9") == "reward.spread"


def test_reward_std_is_told_by_keys_that_date_the_trainer() -> None:
    assert name_of("reward_std", "trl", "completion_length") == "reward.group_std"
    assert name_of("reward_std", "trl", "policy_loss") == "reward.std"


def test_the_config_tells_what_ms_swift_writes() -> None:
    assert name_of("kl", "ms-swift") == "kl.ref"
    assert name_of("reward", "ms-swift") == "reward.mean"
    assert name_of("kl", "ms-swift", kl_in_reward=True) == "kl.ref.seq_sum"
    assert name_of("reward", "ms-swift", kl_in_reward=True) == "reward.shaped.mean"
    assert name_of("kl", "ms-swift", kl_in_reward=False) == "kl.ref"


def test_verls_reward_is_the_plain_one_only_while_no_penalty_is_taken_off() -> None:
    assert name_of("critic/rewards/mean", "verl") == "reward.mean"
    assert name_of("critic/rewards/mean", "verl", "critic/score/mean") == "reward.shaped.mean"
    assert name_of("critic/rewards/mean", "verl", "actor/reward_kl_penalty") == "reward.shaped.mean"
    assert name_of("critic/rewards/mean", "verl", "critic/kl") == "reward.shaped.mean"


def test_verls_two_kls_to_the_reference_keep_apart() -> None:
    assert name_of("actor/reward_kl_penalty", "verl") == "kl.ref"
    assert name_of("actor/reward_kl_penalty", "verl", "actor/kl_loss") == "kl.ref.penalty"
    assert name_of("actor/kl_loss", "verl", "actor/reward_kl_penalty") == "kl.ref"


def test_verls_two_entropies_keep_apart() -> None:
    assert name_of("actor/entropy_loss", "verl") == "entropy"
    assert name_of("actor/entropy_loss", "verl", "actor/entropy") == "entropy.update"


def test_the_kl_of_a_ppo_update_is_per_token_and_that_of_the_old_rloo_per_sequence() -> None:
    assert name_of("policy/approxkl_avg", "trl", "loss/value_avg") == "kl.old"
    assert name_of("policy/approxkl_avg", "trl", "policy/clipfrac_avg") == "kl.old.seq"


def test_the_orchestrators_step_is_not_the_trainers() -> None:
    assert name_of("time/step", "prime-rl", "progress/rollouts") == "time.rollout_s"
    assert name_of("time/step", "prime-rl", "optim/lr") == "time.step_s"


@pytest.mark.parametrize(
    ("framework", "key"),
    [
        ("open-instruct", "global_step"),
        ("scratch", "kl"),
        ("scratch", "acc"),
        ("verl", "actor/token_kl/mean"),
        ("verl", "timing_s/agent_loop/slowest/prompt_length"),
        ("ms-swift", "elapsed_time"),
        ("trl", "node_cpu_seconds_total"),
        ("trl", "_timestamp"),
    ],
)
def test_what_cannot_be_told_is_refused_with_a_reason(framework: str, key: str) -> None:
    reading = default().read([key], framework)[key]
    assert (reading.standing, reading.name) == ("refused", None)
    assert reading.row is not None
    assert reading.row.note


def test_gpus_are_told_apart_by_a_label() -> None:
    read = default().read(["system.gpu.0.gpu", "system.gpu.3.gpu"], "verl")
    assert [(one.name, one.labels) for one in read.values()] == [
        ("gpu.util", (("gpu", "0"),)),
        ("gpu.util", (("gpu", "3"),)),
    ]
