"""Incidents: what is wrong with one run now, as one thing to tell.

A run's open episodes form one incident, from the first that fires until the last has ended; what fires after that is
a new incident. The cause leads and its consequences hang under it. A message about an incident is made at
each transition, from what is true at that moment: feeding the same events in other batches tells the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Sequence

import msgspec

from sentinel.alerts.advice import advise
from sentinel.alerts.notification import EpisodeView, HistoryLine, LineKind, Notification, Rollback
from sentinel.engine.run_state import RunState
from sentinel.engine.transition import Transition
from sentinel.errors import SnapshotError
from sentinel.rules.model import Rule, Runbook
from sentinel.severity import SEVERITIES, AlertState, Severity, rank

CAUSES = (
    "nonfinite",
    "verifier-outage",
    "truncation",
    "entropy-collapse",
    "entropy-explosion",
    "kl-spike",
    "kl-high",
    "kl-drift",
    "clip-high",
    "grad-divergence",
    "length-collapse",
    "length-growth",
    "reward-zero",
    "reward-drop",
    "throughput-drop",
)
"""Symptoms from cause to consequence: the first that is open leads the message. The rest come after, in order of
onset."""

ENDED: dict[AlertState, str] = {
    "resolved": "resolved",
    "stale": "ended without recovery: the data stopped",
    "superseded": "ended without recovery: the run went back and began a new attempt",
    "ended": "ended without recovery: the run is over",
    "removed": "ended: its rule was removed",
}


class Episode(msgspec.Struct):
    """One alert of the incident. `view` is what is shown of it; `taints`: checkpoints from its onset on are suspect."""

    view: EpisodeView
    taints: bool
    onset_time: float | None

    @property
    def open(self) -> bool:
        return self.view.state == "firing"


class Incident(msgspec.Struct):
    """A run's episodes from the first to fire until the last has ended.

    `firing`, `nonfinite`: ids of the open episodes, and of those among them about values that are no numbers; `said`:
    ids of the history's lines. Kept beside the episodes, because a row of 500 NaNs changes 500 of them at once.
    """

    id: str
    run: str
    attempt: int
    episodes: dict[str, Episode]
    history: list[HistoryLine]
    rollback: Rollback | None = None
    firing: set[str] = set()
    nonfinite: set[str] = set()
    said: set[str] = set()

    @property
    def open(self) -> bool:
        return bool(self.firing)


class IncidentBook:
    """The open incidents of all runs. `apply` takes the transitions of an event and says what is to be told."""

    def __init__(self) -> None:
        self.open: dict[str, Incident] = {}

    def apply(self, transitions: Sequence[Transition], run: RunState) -> list[Notification]:
        """What is to be told of a run's transitions at one event: each incident they change, as it stands after them.

        Nothing for pending alerts. More than one only when an incident ends and another begins.
        """
        told: list[Notification] = []
        fired = False
        changed: tuple[Incident, Transition] | None = None
        for transition in transitions:
            incident = self._note(transition)
            if incident is None:
                continue
            fired = fired or transition.state == "firing"
            changed = incident, transition
            if not incident.open:
                told.append(_told(incident, transition, run, fired=fired))
                del self.open[run.id]
                fired, changed = False, None
        if changed is not None:
            told.append(_told(*changed, run, fired=fired))
        return told

    def _note(self, transition: Transition) -> Incident | None:
        """Bring the run's incident up to date; None when the transition changes none."""
        if transition.state == "pending":
            return None
        incident = self.open.get(transition.run)
        if transition.state == "firing":
            if incident is None:
                incident = self.open[transition.run] = Incident(
                    _hashed("incident", transition.id), transition.run, transition.attempt, {}, []
                )
        elif incident is None or (episode := incident.episodes.get(transition.id)) is None or not episode.open:
            return None
        line = self._take(incident, transition)
        if line is not None:
            incident.history.append(line)
            incident.said.add(line.id)
        return incident

    def removed(self, run: RunState, alive: Container[str]) -> list[Transition]:
        """The ends of a run's open episodes that the engine no longer has on record, to be applied.

        `alive`: the ids of the alerts that it has. After a restart under other rules, nothing else would ever end
        the episodes of a rule that is gone.
        """
        incident = self.open.get(run.id)
        if incident is None:
            return []
        lost = [episode for episode in incident.episodes.values() if episode.open and episode.view.id not in alive]
        return [_removal(episode, incident, run) for episode in lost]

    def _take(self, incident: Incident, transition: Transition) -> HistoryLine | None:
        """Bring the episode up to date; the line to add to the history, None when the thread stays as it is."""
        before = incident.episodes.get(transition.id)
        firing = transition.state == "firing"
        # A NaN explains whatever else goes wrong after it, other NaNs too: the message shows the rest, the thread
        # stays quiet.
        hidden = bool(incident.nonfinite - {transition.id})
        view = EpisodeView(
            id=transition.id,
            alert=transition.alert,
            symptom=transition.symptom,
            severity=transition.severity,
            state=transition.state,
            summary=transition.summary if firing or before is None else before.view.summary,
            metric=transition.metric,
            value=transition.value if firing or before is None else before.view.value,
            threshold=transition.threshold if firing or before is None else before.view.threshold,
            unit=transition.unit,
            onset_step=transition.onset_step,
            fired_step=transition.step if before is None else before.view.fired_step,
            fired_time=transition.time if before is None else before.view.fired_time,
            ended_step=None if firing else transition.step,
            ended_time=None if firing else transition.time,
            labels=transition.labels,
            condition=transition.condition,
            source=transition.rule.source,
            runbook={
                name: steps for name in ("causes", "look_at", "do") if (steps := getattr(transition.rule.runbook, name))
            },
        )
        incident.episodes[transition.id] = Episode(view, transition.rule.taints, transition.onset_time)
        for ids, belongs in ((incident.firing, True), (incident.nonfinite, transition.symptom == "nonfinite")):
            if firing and belongs:
                ids.add(transition.id)
            else:
                ids.discard(transition.id)
        name = transition.alert + (f" ({labels})" if (labels := _labels(transition)) else "")
        kind: LineKind
        introduced = any(_hashed(transition.id, "firing", severity) in incident.said for severity in SEVERITIES)
        if not firing and not incident.open:
            recovered = all(episode.view.state == "resolved" for episode in incident.episodes.values())
            kind, text = (
                "closed" if recovered else "ended",
                f"{name} {ENDED[transition.state]} at step {transition.step}",
            )
        elif not firing:
            if not introduced:
                return None  # the thread never heard of it
            kind, text = "eased", f"{name} {ENDED[transition.state]} at step {transition.step}"
        elif len(incident.episodes) == 1 and before is None:
            kind, text = "opened", f"{name} ({transition.severity}): {transition.summary}"
        elif hidden:
            return None
        elif introduced:
            kind, text = "worse", f"{name} is now {transition.severity}: {transition.summary}"
        else:
            kind, text = "joined", f"also {name} ({transition.severity}): {transition.summary}"
        identity = _hashed(transition.id, transition.state, transition.severity)
        if identity in incident.said:
            return None
        return HistoryLine(identity, kind, text, transition.step, transition.time)

    def snapshot(self) -> bytes:
        return _encoder.encode(self.open)

    def restore(self, data: bytes) -> None:
        """Raises SnapshotError and changes nothing."""
        try:
            self.open = _decoder.decode(data)
        except msgspec.DecodeError as error:
            raise SnapshotError(f"the incidents cannot be read: {error}") from error


def forgotten(notification: Notification) -> Notification:
    """An incident of which nothing is known any more, as it is told for the last time."""
    episodes = tuple(
        msgspec.structs.replace(view, state="stale", ended_step=notification.step, ended_time=notification.time)
        if view.state == "firing"
        else view
        for view in notification.episodes
    )
    text = "sentinel lost its state and the stream no longer tells: whether this has recovered is not known"
    line = HistoryLine(_hashed(notification.incident, "forgotten"), "ended", text, notification.step, notification.time)
    return msgspec.structs.replace(
        notification, state="closed", episodes=episodes, history=(*notification.history, line)
    )


def _removal(episode: Episode, incident: Incident, run: RunState) -> Transition:
    """The transition that the engine would have made when the rule went away. What is left of the rule is what is
    shown of the alert."""
    view = episode.view
    runbook = Runbook(**view.runbook)
    rule = Rule(view.alert, view.symptom, (), "", taints=episode.taints, runbook=runbook, source=view.source)
    return Transition(
        id=view.id,
        run=incident.run,
        attempt=incident.attempt,
        alert=view.alert,
        symptom=view.symptom,
        severity=view.severity,
        state="removed",
        step=max(run.step, 0),
        time=run.clock,
        onset_step=view.onset_step,
        onset_time=episode.onset_time,
        value=view.value,
        threshold=view.threshold,
        metric=view.metric,
        unit=view.unit,
        labels=view.labels,
        summary=view.summary,
        condition=view.condition,
        rule=rule,
        previous=view.severity,
    )


def _told(incident: Incident, transition: Transition, run: RunState, *, fired: bool) -> Notification:
    """The incident as it stands, with advice that is up to date if something has fired."""
    tainting = [episode for episode in incident.episodes.values() if episode.open and episode.taints]
    if tainting and fired:
        onset = min(episode.view.onset_step for episode in tainting)
        causes = [episode.view.alert for episode in tainting if episode.view.onset_step == onset]
        incident.rollback = advise(run, onset, causes, step=transition.step, time=transition.time)
    return _notification(incident, transition, run)


def _notification(incident: Incident, transition: Transition, run: RunState) -> Notification:
    episodes = ordered(incident.episodes.values())
    lead = episodes[0]
    worst: Severity = max(
        (episode.view.severity for episode in episodes if episode.open or not incident.open), key=rank
    )
    first = min(episodes, key=lambda episode: episode.view.onset_step)
    time = transition.time
    since = None if time is None or first.onset_time is None else max(time - first.onset_time, 0.0)
    return Notification(
        incident=incident.id,
        run=incident.run,
        attempt=incident.attempt,
        state="firing" if incident.open else "closed",
        severity=worst,
        headline=lead.view.summary,
        step=transition.step,
        time=time,
        onset_step=first.view.onset_step,
        steps_since_onset=max(transition.step - first.view.onset_step, 0),
        seconds_since_onset=since,
        episodes=tuple(episode.view for episode in episodes),
        history=tuple(incident.history),
        rollback=incident.rollback,
        labels=dict(run.labels),
        framework=run.framework,
    )


def ordered(episodes: Iterable[Episode]) -> Sequence[Episode]:
    """Open before ended, causes before consequences, then by onset."""

    def place(episode: Episode) -> tuple[bool, int, int, str]:
        symptom = episode.view.symptom
        cause = CAUSES.index(symptom) if symptom in CAUSES else len(CAUSES)
        return (not episode.open, cause, episode.view.onset_step, episode.view.id)

    return sorted(episodes, key=place)


def _labels(transition: Transition) -> str:
    return ", ".join(f"{key}={value}" for key, value in transition.labels.items())


def _hashed(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(dict[str, Incident])
