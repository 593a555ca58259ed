"""Notifications with sensible parts, for tests that care about one of them.

Every keyword is a field of the struct that is built; those that are not given tell of one run, `grpo-7b`, whose KL to
the reference went from 0.04 at step 150 to 4.52 at step 174.
"""

from __future__ import annotations

from typing import Any

from sentinel.alerts.notification import EpisodeView, HistoryLine, Notification, RefusedCheckpoint, Rollback

START = 1_790_000_000.0
"""Seconds since the epoch at step 0; a step takes 30 s."""

STEP_SECONDS = 30.0


def at(step: int) -> float:
    """When a step of the built run happened."""
    return START + step * STEP_SECONDS


def episode(**fields: Any) -> EpisodeView:
    """A critical `kl-high` that fired at step 173 and began at step 171."""
    values: dict[str, Any] = {
        "id": "a1f3c09d22b1",
        "alert": "kl-high",
        "symptom": "kl-high",
        "severity": "critical",
        "state": "firing",
        "summary": "KL to the reference is 4.52, critical above 0.5",
        "metric": "kl.ref",
        "value": 4.517,
        "threshold": 0.5,
        "unit": "nats/token",
        "onset_step": 171,
        "fired_step": 173,
        "fired_time": at(173),
        "condition": "kl.ref > 0.5",
        "source": "rules/grpo.yaml:31",
        "runbook": {
            "look_at": (
                "Entropy and clip fraction around step 171",
                "The learning rate schedule: did warm-up end there?",
                "Samples: has the policy left the reference's language?",
            ),
            "do": ("Lower the learning rate by half, or raise beta", "Resume from the checkpoint above"),
            "causes": ("Learning rate too high", "beta too small for this reward"),
        },
    }
    return EpisodeView(**(values | fields))


def rollback(**fields: Any) -> Rollback:
    """Advice for checkpoint-150; checkpoint-172 was refused."""
    values: dict[str, Any] = {
        "step": 150,
        "path": "out/grpo-7b/checkpoint-150",
        "reason": "The newest complete checkpoint saved before the KL began to rise at step 171.",
        "steps_lost": 24,
        "seconds_lost": 24 * STEP_SECONDS,
        "command": "python train.py --resume_from_checkpoint out/grpo-7b/checkpoint-150",
        "refused": (RefusedCheckpoint(172, "out/grpo-7b/checkpoint-172", "saved after the trouble began at step 171"),),
        "evidence": (("kl.ref", 0.0412), ("reward.mean", 0.612), ("entropy", 0.873)),
    }
    return Rollback(**(values | fields))


def history_line(**fields: Any) -> HistoryLine:
    """The line that opens an incident. Its id follows from its kind and step."""
    values: dict[str, Any] = {
        "kind": "opened",
        "text": "kl-high fired: KL to the reference is 4.52, critical above 0.5",
        "step": 173,
        "time": at(173),
    }
    values |= fields
    values.setdefault("id", f"{values['kind']}-{values['step']}")
    return HistoryLine(**values)


def notification(**fields: Any) -> Notification:
    """A firing incident with one episode, its opening line and rollback advice."""
    values: dict[str, Any] = {
        "incident": "grpo-7b/1/171",
        "run": "grpo-7b",
        "attempt": 1,
        "state": "firing",
        "severity": "critical",
        "headline": "KL to the reference is 4.52, critical above 0.5",
        "step": 174,
        "time": at(174),
        "onset_step": 171,
        "steps_since_onset": 3,
        "seconds_since_onset": 3 * STEP_SECONDS,
        "episodes": (episode(),),
        "history": (history_line(),),
        "rollback": rollback(),
        "labels": {"model": "qwen2.5-7b", "team": "reasoning"},
        "framework": "trl",
    }
    return Notification(**(values | fields))
