"""grpo.yaml on generated runs of other noise, lengths and onsets than the recordings: margins must be wide."""

import math
import random
from collections.abc import Callable

import pytest

from sentinel.alerts.advice import advise_on
from sentinel.alerts.notification import Rollback
from sentinel.engine.engine import Engine
from sentinel.engine.transition import Transition
from sentinel.events import Checkpoint, StepMetrics
from sentinel.severity import rank
from tests.scenarios.recordings import pack

SEEDS = range(4)
Row = dict[str, float]


def healthy(source: random.Random, length: int, noise: float) -> list[Row]:
    """A run that learns: saturating reward, climbing KL, sinking entropy; noise with a memory of 0.6 a step."""
    start, gain, pace = source.uniform(0.2, 0.4), source.uniform(0.25, 0.5), source.uniform(60, 200)
    entropy, kl, tokens = source.uniform(0.3, 1.3), source.uniform(0.02, 0.06), source.uniform(300, 700)
    waves, rows = [0.0] * 5, []
    for step in range(length):
        waves = [0.6 * wave + 0.8 * source.gauss(0, 1) for wave in waves]
        learned = 1 - math.exp(-step / pace)
        rows.append(
            {
                "reward.mean": start + gain * learned + noise * waves[0],
                "kl.ref": kl * (learned + 0.1) * math.exp(0.15 * waves[1]),
                "entropy": entropy * (1 - 0.3 * learned) * math.exp(0.06 * waves[2]),
                "length.mean": tokens * (1 + 0.1 * learned) * math.exp(0.03 * waves[3]),
                "clip_frac": 0.012 * math.exp(0.25 * waves[4]),
            }
        )
    return rows


def _collapse(row: Row, age: int, source: random.Random) -> None:
    gone = 1 / (1 + math.exp(-(age - 10) / 2.5))
    row["reward.mean"] = row["reward.mean"] * (1 - gone) + 0.05 * gone


def _nothing(row: Row, age: int, source: random.Random) -> None:
    row["reward.mean"] = 0.0


def _kl_jump(row: Row, age: int, source: random.Random) -> None:
    row["kl.ref"] = source.uniform(0.7, 1.4) * 1.02**age


def _kl_below_zero(row: Row, age: int, source: random.Random) -> None:
    row["kl.ref"] = -source.uniform(1.5, 3.5) * 1.03**age


def _cliff(row: Row, age: int, source: random.Random) -> None:
    row["entropy"] *= 0.15


def _decay(row: Row, age: int, source: random.Random) -> None:
    row["entropy"] = max(0.01, row["entropy"] * math.exp(-age / 12))


def _clip(row: Row, age: int, source: random.Random) -> None:
    row["clip_frac"] = source.uniform(0.48, 0.62)


def _nan(row: Row, age: int, source: random.Random) -> None:
    row["kl.ref"] = math.nan


# bend, alert, least severity, steps within which it must be told, steps by which the onset may be off
CASES: list[tuple[Callable[[Row, int, random.Random], None], str, str, int, int]] = [
    (_collapse, "reward-drop", "critical", 30, 10),
    (_nothing, "reward-drop", "critical", 8, 0),
    (_kl_jump, "kl-high", "critical", 5, 0),
    (_kl_below_zero, "kl-high", "critical", 5, 0),
    (_cliff, "entropy-collapse", "critical", 7, 0),
    (_decay, "entropy-collapse", "warning", 25, 12),
    (_clip, "clip-high", "warning", 5, 0),
    (_nan, "nonfinite", "critical", 0, 0),
]


def play(rows: list[Row], stride: int = 1) -> list[tuple[Transition, Rollback | None]]:
    """What fires as warning or worse, with the advice, when a row is logged and a checkpoint saved every `stride` and
    25 steps."""
    engine = Engine(pack("grpo"))
    said: list[tuple[Transition, Rollback | None]] = []
    for step, row in enumerate(rows, 1):
        if step % stride == 0:
            said += [
                (transition, advise_on(engine.runs["variant"], transition))
                for transition in engine.handle(StepMetrics(run="variant", step=step, metrics=row))
                if transition.state == "firing" and rank(transition.severity) >= rank("warning")
            ]
        if step % 25 == 0:
            engine.handle(Checkpoint(run="variant", step=step, path=f"out/{step}"))
    return said


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("bend", "alert", "least", "within", "off"), CASES, ids=lambda value: getattr(value, "__name__", None)
)
def test_trouble_is_told_in_time_and_dated(bend, alert, least, within, off, seed):
    source = random.Random(f"{bend.__name__} {seed}")
    rows = healthy(source, source.choice([220, 400]), source.uniform(0.02, 0.05))
    onset = source.randint(70, len(rows) - 60)
    for age, row in enumerate(rows[onset - 1 :], 1):
        bend(row, age, source)
    said = play(rows)
    assert not [transition.alert for transition, _ in said if transition.step < onset]
    answers = [
        (transition, advice)
        for transition, advice in said
        if transition.alert == alert and rank(transition.severity) >= rank(least)
    ]
    transition, advice = answers[0]
    assert transition.step <= onset + within
    assert abs(transition.onset_step - onset) <= off
    if not off:
        assert advice is not None and advice.step == (onset - 1) // 25 * 25


@pytest.mark.parametrize("stride", [1, 5, 10])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_generated_healthy_run_wakes_nobody(seed, stride):
    source = random.Random(f"healthy {seed}")
    said = play(healthy(source, 400, source.uniform(0.02, 0.08)), stride)
    assert not [transition.summary for transition, _ in said]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_healthy_reward_about_zero_wakes_nobody(seed):
    source = random.Random(f"zero {seed}")
    rows = healthy(source, 400, source.uniform(0.02, 0.06))
    for row in rows:
        row["reward.mean"] -= 0.5
    assert not [transition.summary for transition, _ in play(rows)]
