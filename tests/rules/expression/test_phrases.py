"""What people write who come from other languages, or from English, is told how it is written here."""

from __future__ import annotations

import pytest

from sentinel.metrics import default
from sentinel.rules.expression.check import compile_text
from sentinel.rules.expression.parse import ExpressionError, Fault


def only_fault(text: str) -> Fault:
    with pytest.raises(ExpressionError) as caught:
        compile_text(text, default())
    (fault,) = caught.value.faults
    return fault


@pytest.mark.parametrize(
    ("text", "under", "remedy"),
    [
        ("gpu.util < 30 for 5m", "for 5m", "put `for: 5m` on a line of its own"),
        ("kl.ref > 1 FOR 5 minutes", "FOR 5 minutes", "`for: 5m`"),
        ("kl.ref > 1 for 3 consecutive steps", "for 3 consecutive steps", "`for: 3 steps`"),
        ("kl.ref > 1 over the last 3 steps", "over the last 3 steps", "mean(x, 3 steps)"),
        ("kl.ref over 3 steps > 1", "over 3 steps", "mean(kl.ref, 3 steps)"),
        ("entropy < 50% of baseline", "50% of baseline", "0.5 * baseline(entropy)"),
        ("entropy < 50% of its best", "50% of its best", "0.5 * best(entropy)"),
        ("entropy < 50% of initial(entropy)", "50% of initial(entropy)", "0.5 * initial(entropy)"),
        ("entropy < 50% of mean", "50% of mean", "0.5 * mean(entropy, 10 samples)"),
        ("kl.ref is high", "is high", "kl.ref > 0.5"),
        ("kl.ref is too low", "is too low", "kl.ref < 0.5"),
        ("kl.ref is nan", "is nan", "nonfinite(kl.ref)"),
        ("kl.ref is rising", "is rising", "rising(kl.ref, 10 samples)"),
        ("kl.ref is 5", "is", "compare with"),
        ("kl.ref drops below 1", "drops below", "write <"),
        ("kl.ref rises above 1", "rises above", "write >"),
        ("kl.ref exceeds 1", "exceeds", "write >"),
        ("kl.ref is at least 1", "is at least", "write >="),
        ("kl.ref less than 1", "less than", "write <"),
        ("entropy > 3 and reward.mean drops by 20%", "drops by 20%", "drop(reward.mean, 100 steps) > 20%"),
        ("length.mean grows by more than 20%", "grows by more than 20%", "rise(length.mean, 100 steps) > 20%"),
        ("kl.ref between 0.1 and 0.2", "between 0.1 and 0.2", "kl.ref > 0.1 and kl.ref < 0.2"),
        ("kl.ref > 1 unless step < 5", "unless", "`and not`"),
        ("kl.ref > 1 if step > 3", "if", "`and`"),
        ("kl.ref offset 5m > 3", "offset", "delta(x, 5m)"),
        ("sum by (gpu) (gpu.util) > 3", "sum by (", "each series with labels"),
        ("mean(gpu.util, 5m) by (gpu) > 3", "by (", "each series with labels"),
        ('gpu.util{gpu=~"0|1"} < 5', '{gpu=~"0|1"}', "one value: {gpu=0}"),
        ("gpu.util{gpu!=0} < 5", "{gpu!=0}", "one value: {gpu=0}"),
        ("kl.ref => 0.1", "=>", "write >="),
        ("kl.ref =< 0.1", "=<", "write <="),
        ("kl.ref <> 0.1", "<>", "write !="),
        ("kl.ref ≥ 0.1", "≥", "write >="),
        ("kl.ref > 0,1", "0,1", "write 0.1"),
        ("length.mean > 1,000", "1,000", "write 1000"),
        ("kl.ref > 2x baseline(kl.ref)", "2x baseline(kl.ref)", "2 * baseline(kl.ref)"),
        ("kl.ref > 3 times initial(kl.ref)", "3 times initial(kl.ref)", "3 * initial(kl.ref)"),
        ("kl.ref > 10x", "10x", "10 * baseline(x)"),
        ("length.mean > 10k", "10k", "write 10000"),
        ("step_time > 5 m", "5 m", "write 5m"),
        ("step_time > 5min", "5min", "write 5m"),
        ("kl.ref ** 2 > 1", "**", "no powers"),
        ("step % 10 == 0", " %", "no remainder"),
        ("phase in [early, late]", "in [", "phase == early or phase == late"),
    ],
)
def test_a_phrase_of_another_language_is_told_its_own_form_here(text: str, under: str, remedy: str) -> None:
    fault = only_fault(text)
    assert (fault.code, text[fault.start : fault.end]) == ("syntax", under)
    assert remedy in fault.hint


@pytest.mark.parametrize(
    ("text", "remedy", "mended"),
    [
        ("entropy < 50% of baseline", "0.5 * baseline(entropy)", "entropy < 0.5 * baseline(entropy)"),
        ("reward.mean < best(reward.mean) - 20%", "0.8 * best(reward.mean)", "reward.mean < 0.8 * best(reward.mean)"),
        ("delta(reward.mean, 9 steps) < -20%", "change(reward.mean, 9 steps) < -20%", ""),
        ("20% < reward.mean", "change(reward.mean, 100 steps) > 20%", ""),
        ("step_time > 60", "60s", "step_time > 60s"),
        ("rewards/format/mean < 0.1", "`rewards/format/mean`", "`rewards/format/mean` < 0.1"),
        ("mean(kl.ref, 10) > 1", "10 samples", "mean(kl.ref, 10 samples) > 1"),
        ("reward.mean == NaN", "nonfinite(reward.mean)", ""),
        ("reward.mean != inf", "not nonfinite(reward.mean)", ""),
        ("entropy < initial_entropy / 2", "initial(entropy)", "entropy < initial(entropy) / 2"),
        ("kl.ref drops by 20%", "drop(kl.ref, 100 steps) > 20%", ""),
        ("kl.ref between 1 and 2", "kl.ref > 1 and kl.ref < 2", ""),
        ("kl.ref is rising", "rising(kl.ref, 10 samples)", ""),
    ],
)
def test_what_the_remedy_says_can_be_written(text: str, remedy: str, mended: str) -> None:
    assert remedy in only_fault(text).hint
    compile_text(mended or remedy, default())


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        ("kl.ref > 10%", ["change(kl.ref, 100 steps) > 10%", "are written 0.1"]),
        ("mean(kl.ref, 10) > 1", ["10 steps, 10 samples or 10m"]),
        ("mean(kl.ref, 2000000 steps) > 1", ["at most 100,000 steps"]),
        ("true", ["a condition asks something of a metric"]),
        ("entropy_mean > 3", ["mean(entropy, window)"]),
        ("age(kl.ref) > 300", ["300s"]),
    ],
)
def test_the_remedy_is_what_was_meant(text: str, hints: list[str]) -> None:
    assert [hint for hint in hints if hint not in only_fault(text).hint] == []


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("rewards/format/mean < 0.1", "rewards/format/mean"),
        ("grpo/kl > 0.1", "grpo/kl"),
        ("actor/entropy > 0.1", "actor/entropy"),
        ("kl.ref > 1 and mean(rewards/format/mean, 10 steps) < 0.1", "rewards/format/mean"),
        ("val-core/gsm8k/acc/mean@1 > 0.5", "val-core/gsm8k/acc/mean@1"),
    ],
)
def test_a_trainers_key_that_is_written_plainly_is_one_fault(text: str, key: str) -> None:
    fault = only_fault(text)
    assert (fault.code, text[fault.start : fault.end]) == ("unknown-metric", key)
    assert f"`{key}`" in fault.hint


@pytest.mark.parametrize("text", ["kl.ref/entropy > 1", "kl.ref/initial(kl.ref) > 2", "`a/b`/kl.ref > 2"])
def test_a_quotient_is_no_key(text: str) -> None:
    compile_text(text, default())


def test_a_misspelled_metric_in_a_quotient_is_told_as_that() -> None:
    assert "entropy" in only_fault("entropi/kl.ref > 1").hint
    assert "`entropi/kl.ref`" not in only_fault("entropi/kl.ref > 1").hint
