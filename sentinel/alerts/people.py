"""What people have said about alerts: silences and acknowledgements. Facts only; the desk decides what follows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from sentinel.alerts.matcher import Matcher, all_match
from sentinel.alerts.notification import EpisodeView, Notification
from sentinel.errors import UsageError

MOST_MATCHERS = 20


class Silence(msgspec.Struct, frozen=True):
    """Alerts that match all `matchers` are not told from `starts` until `ends` (seconds since the epoch)."""

    id: str
    matchers: tuple[Matcher, ...]
    starts: float
    ends: float
    by: str
    reason: str

    def active(self, now: float) -> bool:
        return self.starts <= now < self.ends


class Acknowledgement(msgspec.Struct, frozen=True):
    """Somebody has seen an incident and takes care of it. `at`: seconds since the epoch."""

    incident: str
    by: str
    at: float
    reason: str = ""


class People(msgspec.Struct, frozen=True):
    """All that people have said and that still counts. `acks` by incident id."""

    silences: tuple[Silence, ...] = ()
    acks: dict[str, Acknowledgement] = {}


def new_silence(matchers: tuple[Matcher, ...], *, starts: float, ends: float, by: str, reason: str) -> Silence:
    """A silence whose id follows from what it says, so that pressing a button twice makes one.

    Raises UsageError when it would never hold, would hold for everything, or nobody stands for it.
    """
    if not matchers:
        raise UsageError("a silence needs a matcher, such as run=grpo-7b")
    if len(matchers) > MOST_MATCHERS:
        raise UsageError(f"a silence has at most {MOST_MATCHERS} matchers")
    if all_match(matchers, {}):
        # As in Alertmanager: one condition at least must ask for something to be there.
        raise UsageError("this silence would hold for everything; name an alert, a run or a label that must be there")
    if not ends > starts:
        raise UsageError("the silence ends before it begins")
    if not by.strip() or not reason.strip():
        raise UsageError("a silence needs who made it and why")
    words = [*map(str, matchers), repr(starts), repr(ends), by, reason]
    return Silence(_hashed(*words), matchers, starts, ends, by.strip(), reason.strip())


def labels_of(notification: Notification, episode: EpisodeView) -> Mapping[str, str]:
    """What a matcher is held against: the run's labels, the alert's own, and then `alert`, `run`, `severity`,
    `symptom`, `framework` and `incident`."""
    own = {
        "alert": episode.alert,
        "run": notification.run,
        "severity": episode.severity,
        "symptom": episode.symptom,
        "framework": notification.framework or "",
        "incident": notification.incident,
    }
    return notification.labels | episode.labels | own


def _hashed(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
