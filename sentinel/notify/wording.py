"""What is said of an incident, in plain words, before any channel's markup.

Each function returns one line that has been through `plain.one_line`; a channel escapes it for its own markup.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime

from sentinel.alerts.notification import AlertState, EpisodeView, Notification, Rollback
from sentinel.notify.figures import SHARES, count, duration, quantity
from sentinel.notify.plain import clip, one_line

CLOSED_WORDS: dict[AlertState, str] = {
    "resolved": "RESOLVED",
    "stale": "STALE",
    "superseded": "SUPERSEDED",
    "ended": "RUN ENDED",
    "removed": "RULE REMOVED",
}

CLOSED_BECAUSE: dict[AlertState, str] = {
    "resolved": "The condition has cleared.",
    "stale": "The data stopped: whether it recovered is not known.",
    "superseded": "The run went back to an earlier step, so this branch is over.",
    "ended": "The run is over; the condition had not cleared.",
    "removed": "The rule was removed or its condition changed.",
}

_OPEN: frozenset[AlertState] = frozenset({"pending", "firing"})


def is_open(episode: EpisodeView) -> bool:
    return episode.state in _OPEN


def ending(notification: Notification) -> AlertState | None:
    """How a closed incident ended, None while it is open. Recovery is claimed only if every episode recovered."""
    if notification.state == "firing":
        return None
    states = [episode.state for episode in notification.episodes if not is_open(episode)]
    for state in states:
        if state != "resolved":
            return state
    return "resolved"


def state_word(notification: Notification) -> str:
    """`CRITICAL`, `WARNING`, `INFO`, or how it ended: `RESOLVED`, `STALE`..."""
    end = ending(notification)
    return notification.severity.upper() if end is None else CLOSED_WORDS[end]


def title(notification: Notification) -> str:
    """State and run: `CRITICAL · grpo-7b (attempt 2)`, without a shape."""
    attempt = f" (attempt {notification.attempt})" if notification.attempt > 1 else ""
    return f"{state_word(notification)} · {one_line(notification.run, 100)}{attempt}"


def headline(notification: Notification) -> str:
    """The headline without its full stop."""
    return one_line(notification.headline, 300).rstrip(". ")


def lock_screen(notification: Notification) -> str:
    """The whole matter in one sentence or two, for a phone that shows nothing else."""
    said = headline(notification)
    start = f"{state_word(notification)} {one_line(notification.run, 80)}: {clip(said, 220)}"
    if notification.state == "closed":
        return f"{start}. {_lasted(notification)}."
    since = f"since step {notification.onset_step}"
    if since not in start:
        start = f"{start}, {since}"
    rollback = notification.rollback
    if rollback is None:
        return f"{start}."
    return f"{start}. {advice_title(notification, rollback)}."


def so_far(notification: Notification) -> str:
    """What the trouble has cost until now: `4 steps, 12 min`."""
    return _span(notification.steps_since_onset, notification.seconds_since_onset)


def story(notification: Notification) -> str:
    """The sentence beneath the headline: since when, or how it ended."""
    end = ending(notification)
    if end is not None:
        return f"{CLOSED_BECAUSE[end]} {_lasted(notification)}."
    return f"Since step {notification.onset_step}, now step {notification.step}: {so_far(notification)} so far."


def _lasted(notification: Notification) -> str:
    last = max(notification.step, notification.onset_step)
    return f"It lasted from step {notification.onset_step} to {last}: {so_far(notification)}"


def _span(steps: int, seconds: float | None) -> str:
    words = count(steps, "step")
    return words if seconds is None else f"{words}, {duration(seconds)}"


def relation(episode: EpisodeView) -> str:
    """Where the value is, seen from the threshold: `above 0.5`, `below 0.2`, `threshold 0.5`; empty without one."""
    if episode.threshold is None or not math.isfinite(episode.threshold):
        return ""
    unit = episode.unit if episode.unit in SHARES else ""
    threshold = quantity(episode.threshold, unit)
    if episode.value is None or not math.isfinite(episode.value):
        return f"threshold {threshold}"
    if episode.value > episode.threshold:
        return f"above {threshold}"
    if episode.value < episode.threshold:
        return f"below {threshold}"
    return f"at {threshold}"


def measured(episode: EpisodeView) -> str:
    """The value beside its threshold: `kl.ref 4.52 nats/token, above 0.5`."""
    where = relation(episode)
    words = f"{one_line(episode.metric, 120)} {quantity(episode.value, one_line(episode.unit, 30))}"
    return f"{words}, {where}" if where else words


def fate(episode: EpisodeView) -> str:
    """`warning` while it is open; `resolved at step 190` and so on after."""
    if is_open(episode):
        return episode.severity if episode.state == "firing" else f"{episode.severity}, pending"
    word = CLOSED_WORDS[episode.state].lower()
    return word if episode.ended_step is None else f"{word} at step {episode.ended_step}"


def advice_title(notification: Notification, rollback: Rollback) -> str:
    """What to do about the checkpoint, in a few words. In the past once the trouble has cleared."""
    end = ending(notification)
    if rollback.step is None:
        return "No checkpoint to go back to" if end in (None, "stale", "ended") else "No rollback was advised"
    place = checkpoint_name(rollback.step, rollback.path)
    if end is None:
        return f"Go back to {place}"
    if end in ("stale", "ended"):
        # The trouble had not cleared, so whoever starts the run again still needs this.
        return f"Before going on, go back to {place}"
    return f"The advice was to go back to {place}"


def advice_cost(rollback: Rollback) -> str:
    """What going back costs: `24 steps (1 h 20 min) are lost`; empty when nothing is known."""
    if rollback.steps_lost is None:
        return ""
    words = count(rollback.steps_lost, "step")
    if rollback.seconds_lost is not None:
        words += f" ({duration(rollback.seconds_lost)})"
    return f"{words} of training"


def checkpoint_name(step: int | None, path: str | None) -> str:
    """The last part of the checkpoint's path, which says the step in most trainers; else `step 150`.

    >>> checkpoint_name(150, "out/checkpoint-150"), checkpoint_name(150, "out/latest/")
    ('checkpoint-150', 'latest (step 150)')
    """
    last = one_line((path or "").rstrip("/").rpartition("/")[2], 80)
    if step is None:
        return last or "the checkpoint"
    if not last:
        return f"step {step}"
    return last if str(step) in last else f"{last} (step {step})"


def moment(seconds: float | None) -> str:
    """`2026-09-21 14:13 UTC`; empty when unknown or not a time."""
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (ValueError, OverflowError, OSError):
        return ""
