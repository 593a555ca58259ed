"""Incidents: what is wrong with one run now, as one thing to tell."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from sentinel.alerts.incident import IncidentBook
from sentinel.alerts.notification import Notification, to_wire
from sentinel.engine.engine import Engine
from sentinel.engine.run_state import RunState, SavedCheckpoint
from sentinel.engine.transition import Transition
from sentinel.errors import SnapshotError
from sentinel.events import Event, RunFinished, StepMetrics
from sentinel.rules.loader import load_rules
from sentinel.rules.model import Rule, Runbook
from sentinel.severity import SEVERITIES, AlertState

RULE = Rule("kl-high", "kl-high", (), "", taints=True, runbook=Runbook(do=("lower the learning rate",)), source="x:3")


def transition(symptom: str = "kl-high", state: AlertState = "firing", **fields: object) -> Transition:
    """One of run `r`, whose alert is named like its symptom. Its id follows from its alert unless it is given."""
    values: dict[str, object] = {
        "id": f"id-{symptom}",
        "run": "r",
        "attempt": 1,
        "alert": symptom,
        "symptom": symptom,
        "severity": "warning",
        "state": state,
        "step": 10,
        "time": 1000.0,
        "onset_step": 8,
        "onset_time": 900.0,
        "value": 0.9,
        "threshold": 0.5,
        "metric": "kl.ref",
        "unit": "",
        "labels": {},
        "summary": f"{symptom} is bad",
        "condition": "kl.ref > 0.5",
        "rule": RULE,
    }
    return Transition(**(values | fields))  # type: ignore[arg-type]


def run(**fields: object) -> RunState:
    return RunState("r", step=10, checkpoints=[SavedCheckpoint(5, "out/5", None, 1)], **fields)  # type: ignore[arg-type]


def after(book: IncidentBook, one: Transition, state: RunState) -> Notification | None:
    """What one transition alone leads to."""
    return next(iter(book.apply([one], state)), None)


def applied(book: IncidentBook, *transitions: Transition) -> Notification:
    told = [after(book, one, run()) for one in transitions][-1]
    assert told is not None
    return told


def lines(told: Notification) -> list[tuple[str, str]]:
    return [(line.kind, line.text) for line in told.history]


def test_a_pending_alert_is_nothing_to_tell() -> None:
    book = IncidentBook()
    assert after(book, transition(state="pending"), run()) is None
    assert book.open == {}


def test_the_first_alert_that_fires_opens_an_incident_with_advice() -> None:
    told = applied(IncidentBook(), transition())
    assert (told.state, told.severity, told.headline) == ("firing", "warning", "kl-high is bad")
    assert (told.onset_step, told.steps_since_onset, told.seconds_since_onset) == (8, 2, 100.0)
    assert lines(told) == [("opened", "kl-high (warning): kl-high is bad")]
    assert told.rollback is not None and told.rollback.step == 5
    (episode,) = told.episodes
    assert (episode.fired_step, episode.ended_step, episode.source) == (10, None, "x:3")
    assert episode.runbook == {"do": ("lower the learning rate",)}


def test_a_second_alert_joins_the_incident_and_the_cause_leads() -> None:
    book = IncidentBook()
    first = applied(book, transition("reward-drop", onset_step=4))
    told = applied(book, transition("entropy-collapse", onset_step=7))
    assert told.incident == first.incident
    assert [episode.alert for episode in told.episodes] == ["entropy-collapse", "reward-drop"]
    assert told.headline == "entropy-collapse is bad"
    assert told.onset_step == 4
    assert lines(told)[1] == ("joined", "also entropy-collapse (warning): entropy-collapse is bad")


def test_symptoms_without_a_place_among_the_causes_come_last_in_order_of_onset() -> None:
    told = applied(
        IncidentBook(),
        transition("gpu-idle", onset_step=3),
        transition("stall", onset_step=2),
        transition("reward-drop", onset_step=9),
    )
    assert [episode.alert for episode in told.episodes] == ["reward-drop", "stall", "gpu-idle"]


def test_a_rise_of_severity_is_said_in_the_thread() -> None:
    book = IncidentBook()
    told = applied(book, transition(), transition(severity="critical", previous="warning", summary="now 4.5"))
    assert told.severity == "critical"
    assert lines(told)[1] == ("worse", "kl-high is now critical: now 4.5")
    assert told.episodes[0].fired_step == 10


def test_the_incident_eases_when_one_ends_and_closes_with_the_last() -> None:
    book = IncidentBook()
    opened = applied(book, transition("kl-high", severity="critical"), transition("reward-drop"))
    eased = applied(book, transition("kl-high", "resolved", severity="critical", step=20, time=2000.0))
    assert (eased.state, eased.severity, eased.headline) == ("firing", "warning", "reward-drop is bad")
    assert [episode.alert for episode in eased.episodes] == ["reward-drop", "kl-high"]
    assert eased.episodes[1].ended_step == 20
    closed = applied(book, transition("reward-drop", "resolved", step=30))
    assert closed.incident == opened.incident
    assert (closed.state, closed.severity) == ("closed", "critical")
    assert [line.kind for line in closed.history] == ["opened", "joined", "eased", "closed"]
    assert book.open == {}


def test_an_end_that_is_not_recovery_never_says_so() -> None:
    for state in ("stale", "superseded", "ended", "removed"):
        book = IncidentBook()
        told = applied(book, transition(), transition(state=state))
        assert told.state == "closed"
        kind, text = lines(told)[-1]
        assert kind == "ended"
        assert "resolved" not in text


def test_what_ends_keeps_the_words_and_numbers_it_fired_with() -> None:
    book = IncidentBook()
    told = applied(book, transition(), transition(state="resolved", value=0.01, summary="KL is 0.01"))
    assert (told.episodes[0].value, told.episodes[0].summary) == (0.9, "kl-high is bad")


def test_what_fires_after_the_last_has_ended_is_a_new_incident() -> None:
    book = IncidentBook()
    first = applied(book, transition())
    applied(book, transition(state="resolved"))
    second = applied(book, transition(id="another"))
    assert second.incident != first.incident
    assert [line.kind for line in second.history] == ["opened"]


def test_the_end_of_an_alert_that_was_never_told_is_nothing_to_tell() -> None:
    book = IncidentBook()
    assert after(book, transition(state="resolved"), run()) is None
    applied(book, transition())
    assert after(book, transition("reward-drop", "resolved"), run()) is None


def test_beside_a_value_that_is_not_a_number_the_thread_stays_quiet() -> None:
    book = IncidentBook()
    told = applied(
        book,
        transition("kl-high"),
        transition("nonfinite", severity="critical"),
        transition("reward-drop"),
        transition("kl-high", severity="critical"),
        transition("reward-drop", severity="critical"),
        transition("reward-drop", "resolved", severity="critical"),
    )
    assert [line.kind for line in told.history] == ["opened", "joined"]
    assert [(episode.alert, episode.state) for episode in told.episodes] == [
        ("nonfinite", "firing"),
        ("kl-high", "firing"),
        ("reward-drop", "resolved"),
    ]
    # What the thread knows of is also ended there.
    told = applied(book, transition("kl-high", "resolved", severity="critical"))
    assert lines(told)[-1] == ("eased", "kl-high resolved at step 10")


def test_labels_tell_series_of_one_rule_apart() -> None:
    told = applied(
        IncidentBook(),
        transition("kl-high", id="a", labels={"gpu": "0"}),
        transition("kl-high", id="b", labels={"gpu": "1"}),
    )
    assert len(told.episodes) == 2
    assert lines(told)[1][1].startswith("also kl-high (gpu=1) (warning)")


def test_the_same_transition_twice_changes_nothing() -> None:
    book = IncidentBook()
    once = applied(book, transition())
    assert applied(book, transition()) == once


def test_alerts_whose_rules_went_away_while_nobody_watched_end_as_removed() -> None:
    book = IncidentBook()
    applied(book, transition("kl-high"), transition("reward-drop"))
    assert book.removed(run(), alive={"id-kl-high", "id-reward-drop"}) == []
    (gone,) = book.removed(run(), alive={"id-kl-high"})
    told = applied(book, gone)
    assert lines(told)[-1] == ("eased", "reward-drop ended: its rule was removed at step 10")
    assert told.state == "firing"
    assert book.removed(RunState("another"), alive=set()) == []


def test_a_snapshot_that_cannot_be_read_changes_nothing() -> None:
    book = IncidentBook()
    applied(book, transition())
    before = dict(book.open)
    with pytest.raises(SnapshotError):
        book.restore(b"\xc1")
    assert book.open == before


# --- properties --------------------------------------------------------------------------------------------

STATES: tuple[AlertState, ...] = ("pending", "firing", "resolved", "stale", "superseded", "ended", "removed")

any_transition = st.builds(
    transition,
    st.sampled_from(["kl-high", "nonfinite", "reward-drop", "stall"]),
    st.sampled_from(STATES),
    id=st.sampled_from(["a", "b", "c"]),
    run=st.sampled_from(["r", "q"]),
    severity=st.sampled_from(SEVERITIES),
    step=st.integers(0, 50),
    onset_step=st.integers(0, 50),
)


@given(st.lists(any_transition, max_size=40))
def test_whatever_comes_history_lines_are_unique_and_only_grow_and_a_run_has_one_incident(
    transitions: list[Transition],
) -> None:
    book = IncidentBook()
    known: dict[tuple[str, str], tuple[str, ...]] = {}
    for one in transitions:
        told = after(book, one, RunState(one.run))
        assert all(incident.run == run_id for run_id, incident in book.open.items())
        if told is None:
            continue
        ids = tuple(line.id for line in told.history)
        assert len(set(ids)) == len(ids)
        before = known.pop((one.run, told.incident), ())
        assert ids[: len(before)] == before
        if told.state == "firing":
            known[one.run, told.incident] = ids
        assert told.history[0].kind == "opened"
        assert (told.state == "firing") == (one.run in book.open)
        assert to_wire(told)


@given(st.lists(any_transition, max_size=30), st.integers(0, 30))
def test_a_snapshot_anywhere_changes_no_id_and_no_word(transitions: list[Transition], at: int) -> None:
    undisturbed, restarted = IncidentBook(), IncidentBook()
    for index, one in enumerate(transitions):
        if index == at:
            data, restarted = restarted.snapshot(), IncidentBook()
            restarted.restore(data)
        assert undisturbed.apply([one], RunState(one.run)) == restarted.apply([one], RunState(one.run))


RULES = b"""
rules:
  - alert: kl-high
    symptom: kl-high
    warning: kl.ref > 0.3
    critical: kl.ref > 0.6
    for: 2 steps
  - alert: nonfinite
    symptom: nonfinite
    critical: nonfinite(*)
  - alert: stall
    symptom: stall
    critical: age(kl.ref) > 30s
    taints: true
"""


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.1, 0.5, 0.9, float("nan")]),
            st.sampled_from([1.0, 10.0, 31.0, 50.0]),
            st.booleans(),
        ),
        max_size=25,
    ),
    st.lists(st.booleans(), min_size=25, max_size=25),
)
def test_what_is_told_does_not_depend_on_who_ticks_when(
    rows: list[tuple[float, float, bool]], ticks: list[bool]
) -> None:
    def told(ticking: list[bool]) -> list[tuple[str, bytes]]:
        engine, book = Engine(load_rules([("x", RULES)])), IncidentBook()
        said: list[tuple[str, bytes]] = []

        def note(transitions: object) -> None:
            for one in transitions:  # type: ignore[attr-defined]
                notification = after(book, one, engine.runs[one.run])
                if notification is not None:
                    said.append((notification.incident, to_wire(notification)))

        time = 1000.0
        for index, (kl, pause, finished) in enumerate(rows):
            if ticking[index]:
                note(engine.tick(time + pause / 2))
            time += pause
            # As the partition does: first the time, then the event.
            note(engine.tick(time))
            event: Event = StepMetrics(run="r", step=index, metrics={"kl": kl}, time=time)
            note(engine.handle(event))
            if finished:
                note(engine.handle(RunFinished(run="r", time=time)))
        note(engine.tick(time + 10_000.0))
        return said

    assert told(ticks) == told([False] * 25)


def test_the_advice_counts_its_cost_up_to_the_transition_and_not_to_the_newest_step() -> None:
    state = run()
    told = after(IncidentBook(), replace(transition(), step=10), state)
    state.step = 500
    late = after(IncidentBook(), replace(transition(), step=10), state)
    assert told == late


def test_a_row_of_many_nans_is_told_as_one_incident_once() -> None:
    book = IncidentBook()
    bad = [transition("nonfinite", id=f"n{number}") for number in range(500)]
    (told,) = book.apply(bad, run())
    assert len(told.episodes) == 500
    assert [line.kind for line in told.history] == ["opened"]
    over = [replace(one, state="resolved") for one in bad]
    (told,) = book.apply(over, run())
    assert told.state == "closed"
    assert [line.kind for line in told.history] == ["opened", "eased", "closed"]


def test_an_incident_that_ends_and_one_that_begins_at_the_same_event_are_both_told() -> None:
    book = IncidentBook()
    book.apply([transition(id="a")], run())
    told = book.apply([transition(id="a", state="resolved"), transition("reward-drop", id="b")], run())
    assert [(one.state, len(one.episodes)) for one in told] == [("closed", 1), ("firing", 1)]
