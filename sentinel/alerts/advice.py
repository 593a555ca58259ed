"""Rollback advice: the checkpoint to go back to, why that one, what it costs, and how.

From the run's own ledger of checkpoint events. Recommended is the newest checkpoint that is still there and was saved
before the onset of every tainting trouble; each newer one is named with the reason it was refused.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence

from sentinel.alerts.notification import RefusedCheckpoint, Rollback
from sentinel.engine.run_state import RunState, SavedCheckpoint
from sentinel.engine.transition import Transition

MOST_REFUSED = 5
"""Refused checkpoints that are named; the newest ones."""


def _resume_argument(path: str) -> str:
    return f"--resume_from_checkpoint {shlex.quote(path)}"


def _resume_override(path: str) -> str:
    # Hydra reads the value once more after the shell: `=`, brackets and blanks need quotes of Hydra's own.
    if not _PLAIN_FOR_HYDRA.fullmatch(path):
        path = '"' + path.replace('"', '\\"') + '"'
    return "trainer.resume_mode=resume_path " + shlex.quote(f"trainer.resume_from_path={path}")


_PLAIN_FOR_HYDRA = re.compile(r"[A-Za-z0-9_./+@%-]+")

RESUME_COMMANDS: dict[str, Callable[[str], str]] = {
    # transformers' own argument, which TRL, unsloth and ms-swift hand on to Trainer.train().
    "trl": _resume_argument,
    "unsloth": _resume_argument,
    "ms-swift": _resume_argument,
    # verl.trainer.config.ppo_trainer: trainer.resume_mode is disable, auto or resume_path.
    "verl": _resume_override,
}
"""By framework: what to add to the command that started the run, given the checkpoint's path, fit for a shell. Others
resume in ways that need their config."""


def advise(run: RunState, onset_step: int, causes: Sequence[str], *, step: int, time: float | None) -> Rollback:
    """Advice for a run whose checkpoints are suspect from `onset_step` on.

    `causes`: the alerts that say so, for the reason. `step` and `time`: up to when the cost is counted; the moment of
    the transition and not the run's newest, so that the same events say the same however they are batched. The
    advice's `step` and `path` are None when nothing safe is left; `reason` says so then.
    """
    ledger = sorted(run.checkpoints, key=lambda saved: (saved.step, saved.attempt))
    trouble = f"step {onset_step}, where {_listed(causes)} began"
    chosen: SavedCheckpoint | None = None
    refused: list[RefusedCheckpoint] = []
    for saved in reversed(ledger):
        if saved.step >= onset_step:
            why = f"saved after the trouble began at step {onset_step}"
            refused.append(RefusedCheckpoint(saved.step, saved.path, why))
        elif saved.deleted:
            refused.append(RefusedCheckpoint(saved.step, saved.path, "deleted"))
        else:
            chosen = saved
            break
    refused = refused[:MOST_REFUSED]
    if chosen is None:
        if not ledger:
            reason = "The run has told of no checkpoint; publish checkpoint events to get advice"
            if run.counts.checkpoints:
                reason = "There is no checkpoint from before the step that this attempt began at; start again"
        else:
            reason = f"No checkpoint from before {trouble}, is left; start again from the beginning or from another run"
        return Rollback(None, None, reason, refused=tuple(refused))
    command = RESUME_COMMANDS.get(run.framework or "")
    return Rollback(
        step=chosen.step,
        path=chosen.path,
        reason=f"The newest checkpoint that is still there and was saved before {trouble}",
        steps_lost=max(step - chosen.step, 0),
        seconds_lost=_seconds_lost(run, chosen, step, time),
        command=None if command is None else command(chosen.path),
        refused=tuple(refused),
        evidence=tuple(chosen.evidence.items()),
    )


def advise_on(run: RunState, transition: Transition) -> Rollback | None:
    """Advice for one alert alone; None when it has not just fired, or says nothing against checkpoints."""
    if transition.state != "firing" or not transition.rule.taints:
        return None
    return advise(run, transition.onset_step, [transition.alert], step=transition.step, time=transition.time)


def _seconds_lost(run: RunState, chosen: SavedCheckpoint, step: int, time: float | None) -> float | None:
    """Time since the checkpoint; from the trainer's own step time when the recording has no times."""
    if time is not None and chosen.time is not None:
        return max(time - chosen.time, 0.0)
    step_seconds = run.value("time.step_s")
    return None if step_seconds is None else step_seconds * max(step - chosen.step, 0)


def _listed(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))
    if len(unique) <= 1:
        return "".join(unique) or "the trouble"
    return f"{', '.join(unique[:-1])} and {unique[-1]}"
