"""The load: thirty metrics as TRL's GRPO trainer names them, thirty rules of mixed kinds, any number of healthy runs.

Rows are drawn once, from a fixed seed, and given to the runs in turn from different places: a million events cost
little to make, and each has digits of its own as a trainer would log them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import msgspec

from sentinel.rules.loader import load_rules
from sentinel.rules.model import RuleSet

START_MS = 1_790_000_000_000
"""When step 0 is, in milliseconds since the epoch; a step takes a second."""

METRICS: dict[str, tuple[float, float]] = {
    "loss": (0.02, 0.5),
    "grad_norm": (0.8, 0.3),
    "learning_rate": (1e-6, 0.01),
    "num_tokens": (5e6, 0.1),
    "reward": (0.6, 0.15),
    "reward_std": (0.3, 0.2),
    "rewards/format/mean": (0.9, 0.05),
    "rewards/answer/mean": (0.5, 0.15),
    "rewards/answer/std": (0.3, 0.2),
    "frac_reward_zero_std": (0.3, 0.2),
    "kl": (0.04, 0.3),
    "entropy": (0.7, 0.1),
    "completions/mean_length": (400.0, 0.1),
    "completions/min_length": (60.0, 0.3),
    "completions/max_length": (900.0, 0.1),
    "completions/clipped_ratio": (0.1, 0.3),
    "completions/mean_terminated_length": (380.0, 0.1),
    "tools/call_frequency": (1.5, 0.2),
    "tools/failure_frequency": (0.1, 0.3),
    "clip_ratio/region_mean": (0.02, 0.5),
    "clip_ratio/low_mean": (0.01, 0.5),
    "clip_ratio/high_mean": (0.012, 0.5),
    "clip_ratio/high_max": (0.05, 0.5),
    "policy_loss": (0.01, 0.5),
    "sampling/sampling_logp_difference/mean": (0.02, 0.3),
    "sampling/sampling_logp_difference/max": (1.5, 0.3),
    "sampling/importance_sampling_ratio/mean": (1.0, 0.02),
    "sampling/importance_sampling_ratio/max": (3.0, 0.3),
    "step_time": (30.0, 0.1),
    "epoch": (0.5, 0.01),
}
"""Key → level and relative spread. None of them goes anywhere: windows fill with noise, the usual case."""

_ROWS = 997
"""Different rows; prime, so that runs and steps never fall into step with it."""


class Workload:
    """The events of healthy runs. `rows[i]` is the JSON of one row's metrics."""

    def __init__(self, seed: int = 1) -> None:
        rng = random.Random(seed)
        self.rows = [msgspec.json.encode(_row(rng)) for _ in range(_ROWS)]

    def event(self, run: int, step: int) -> bytes:
        """One event in the wire's JSON."""
        row = self.rows[(run * 389 + step) % _ROWS]
        return b'{"v":1,"type":"step","run":"run-%d","step":%d,"metrics":%b}' % (run, step, row)

    def entries(self, runs: int, first: int, last: int) -> Iterator[tuple[str, bytes]]:
        """Stream ids and events of the steps `first` to `last - 1`, all runs in turn in each step."""
        for step in range(first, last):
            for run in range(runs):
                yield entry_id(run, step), self.event(run, step)


def entry_id(run: int, step: int) -> str:
    """The stream id of an event: its step's second, the run's number as the sequence."""
    return f"{START_MS + 1000 * step}-{run}"


def rules(window: int = 100) -> RuleSet:
    """The thirty rules over windows of so many steps."""
    text = Path(__file__).with_name("rules.yaml").read_text("utf-8").replace("100 steps", f"{window} steps")
    return load_rules([("benchmarks/rules.yaml", text)])


def _row(rng: random.Random) -> dict[str, float]:
    """Six digits, as trainers log them."""
    return {key: float(f"{level * (1 + spread * _noise(rng)):.6g}") for key, (level, spread) in METRICS.items()}


def _noise(rng: random.Random) -> float:
    # Bounded, so that no draw, however rare, crosses a threshold and makes one seed dearer than another.
    return max(-2.5, min(2.5, rng.gauss(0.0, 1.0)))
