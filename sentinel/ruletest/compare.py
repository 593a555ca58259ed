"""What a test expects beside what happened: each difference, and the alert and steps that it is about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sentinel.documents import Loc, printable
from sentinel.engine.transition import Transition
from sentinel.errors import Problem
from sentinel.ruletest.document import ExpectDocument, StateDocument, TimelineDocument
from sentinel.ruletest.expected import Bounds, When
from sentinel.ruletest.performance import Firing, Performance
from sentinel.ruletest.reading import Timelines
from sentinel.ruletest.script import START
from sentinel.ruletest.watch import Identity, Sight
from sentinel.severity import rank


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as expected.

    `alert`: which alert, by its rule's name and labels. `expected`: moments at which something else should have been,
    with what, in a word or two; `where`: other moments worth showing.
    """

    problem: Problem
    alert: Identity
    expected: tuple[tuple[When, str], ...] = ()
    where: tuple[When, ...] = ()


def compare(file: Timelines, index: int, played: Performance) -> Iterator[Difference]:
    """Every difference between a test and what came of it."""
    test = file.tests[index]
    left = list(played.firings)
    for at, entry in enumerate(test.expect):
        loc = ("tests", index, "expect", at)
        candidates = [firing for firing in left if _is_meant(entry, firing)]
        if not candidates:
            yield _missed(file, (*loc, "alert"), entry, played)
            continue
        best = min(candidates, key=lambda firing: len(list(_differences(entry, firing))))
        left.remove(best)
        for key, message, expected in _differences(entry, best):
            problem = _problem(file, (*loc, key), "fired-differently", message)
            yield Difference(problem, _identity(best.transition), expected, (_moment(best.transition),))
    for at, name in enumerate(test.silent):
        for firing in played.firings:
            if firing.transition.alert == name:
                problem = _problem(file, ("tests", index, "silent", at), "not-silent", told(firing.transition))
                yield _instead(problem, firing.transition, "silent")
    for firing in left:
        if _is_unexpected(firing.transition, test):
            message, hint = told(firing.transition), "expect it, or mend the rule"
            problem = _problem(file, ("tests", index, "name"), "unexpected", message, hint)
            yield _instead(problem, firing.transition, "nothing")
    yield from _states(file, index, played)


def told(transition: Transition) -> str:
    """A firing in a sentence."""
    labels = ",".join(f"{key}={value}" for key, value in transition.labels.items())
    which = f"{transition.alert}{{{labels}}}" if labels else transition.alert
    return f"{which} fired at step {transition.step} ({transition.severity}): {printable(transition.summary, 200)}"


def _problem(file: Timelines, loc: Loc, code: str, message: str, hint: str = "") -> Problem:
    return file.document.problem(file.document.place(loc), code, message, hint)


def _identity(transition: Transition) -> Identity:
    return transition.alert, tuple(transition.labels.items())


def _moment(transition: Transition) -> When:
    return When(transition.step, None if transition.time is None else transition.time - START)


def _instead(problem: Problem, transition: Transition, expected: str) -> Difference:
    return Difference(problem, _identity(transition), ((_moment(transition), expected),))


# ---- expect and silent --------------------------------------------------------------------------------------


def _is_meant(entry: ExpectDocument, firing: Firing) -> bool:
    transition = firing.transition
    return (
        transition.alert == entry.alert
        and entry.severity in (None, transition.severity)
        and entry.labels.items() <= transition.labels.items()
    )


def _is_unexpected(transition: Transition, test: TimelineDocument) -> bool:
    """Whether an alert is neither expected (at this severity or a higher one) nor merely informative."""
    if rank(transition.severity) < rank("warning") or transition.alert in test.silent:
        return False
    expected = [entry.severity or "critical" for entry in test.expect if entry.alert == transition.alert]
    return not any(rank(transition.severity) <= rank(severity) for severity in expected)


Expected = tuple[tuple[When, str], ...]


def _differences(entry: ExpectDocument, firing: Firing) -> Iterator[tuple[str, str, Expected]]:
    """(key of the expectation, sentence, what was expected where) of each thing that is not as expected."""
    transition, name = firing.transition, entry.alert
    fires = f"fires {entry.severity}" if entry.severity else "fires"
    if entry.fires_at is not None and transition.step != entry.fires_at:
        wanted = ((When(entry.fires_at), fires),)
        yield "fires_at", f"{name} fired at step {transition.step}, not {entry.fires_at}", wanted
    if entry.fires_by is not None and transition.step > entry.fires_by:
        wanted = ((When(entry.fires_by), f"{fires} by now"),)
        yield "fires_by", f"{name} fired at step {transition.step}, not by {entry.fires_by}", wanted
    if entry.fires_between is not None:
        first, last = entry.fires_between
        if not first <= transition.step <= last:
            ends = ((When(first), f"{fires} from here"), (When(last), f"{fires} by now"))
            yield "fires_between", f"{name} fired at step {transition.step}, not between {first} and {last}", ends
    if entry.fires_after is not None:
        after = None if transition.time is None else transition.time - START
        if after is None or abs(after - entry.fires_after) > 1e-6:
            when = "at an unknown time" if after is None else f"after {after:g}s"
            wanted = ((When(seconds=entry.fires_after), fires),)
            yield "fires_after", f"{name} fired {when}, not after {entry.fires_after:g}s", wanted
    if entry.onset is not None and not entry.onset.hold(transition.onset_step):
        near = entry.onset.low if transition.onset_step < entry.onset.low else entry.onset.high
        wanted = ((When(int(near)), "onset"),)
        yield "onset", f"the onset of {name} was step {transition.onset_step}, not {entry.onset}", wanted
    if entry.resolved_at is not None and firing.resolved_at != entry.resolved_at:
        when = "did not resolve" if firing.resolved_at is None else f"resolved at step {firing.resolved_at}"
        wanted = ((When(entry.resolved_at), "resolves"),)
        yield "resolved_at", f"{name} {when}, not at step {entry.resolved_at}", wanted
    for key, message in _facts(entry, firing):
        yield key, message, ()


def _facts(entry: ExpectDocument, firing: Firing) -> Iterator[tuple[str, str]]:
    """Differences that are about no step."""
    transition, name = firing.transition, entry.alert
    if "rollback" in entry.model_fields_set:
        step = firing.advice.step if firing.advice is not None else None
        if step != entry.rollback:
            why = f" ({firing.advice.reason})" if firing.advice is not None and firing.advice.reason else ""
            advised = "no rollback" if step is None else f"the checkpoint of step {step}"
            wanted = "none" if entry.rollback is None else f"that of step {entry.rollback}"
            yield "rollback", f"{name} advised {advised}, not {wanted}{why}"
    if entry.attempt is not None and transition.attempt != entry.attempt:
        yield "attempt", f"{name} fired in attempt {transition.attempt}, not {entry.attempt}"
    yield from _numbers(f"{name} fired at step {transition.step} with", entry, transition)
    if entry.summary is not None and entry.summary not in transition.summary:
        yield "summary", f"the summary of {name} reads '{printable(transition.summary, 200)}'"


def _numbers(
    sentence: str, entry: ExpectDocument | StateDocument, seen: Transition | Sight
) -> Iterator[tuple[str, str]]:
    wanted: tuple[tuple[str, Bounds | None, float | None], ...]
    wanted = (("value", entry.value, seen.value), ("threshold", entry.threshold, seen.threshold))
    for key, bounds, number in wanted:
        if bounds is not None and not bounds.hold(number):
            shown = "unknown" if number is None else f"{number:.6g}"
            yield key, f"{sentence} {key} {shown}, not {bounds}"


def _missed(file: Timelines, loc: Loc, entry: ExpectDocument, played: Performance) -> Difference:
    """An alert that is expected and did not fire."""
    wanted = [step for step in (entry.fires_at, entry.fires_by) if step is not None]
    wanted += entry.fires_between or []
    fires = f"fires {entry.severity}" if entry.severity else "fires"
    moments = [When(step) for step in wanted]
    if entry.fires_after is not None:
        moments.append(When(seconds=entry.fires_after))
    expected = tuple((moment, fires) for moment in moments)
    own = [transition for transition in played.said if transition.alert == entry.alert]
    problem = _problem(file, loc, "did-not-fire", _silence(entry, played))
    identity = (entry.alert, tuple(entry.labels.items()))
    return Difference(problem, identity, expected, tuple(map(_moment, own[:3])))


def _silence(entry: ExpectDocument, played: Performance) -> str:
    """Why an expected alert is not there, as far as it is known."""
    fired = [firing.transition for firing in played.firings if firing.transition.alert == entry.alert]
    if fired:
        severities = ", ".join(dict.fromkeys(transition.severity for transition in fired))
        steps = f"at step {fired[0].step}"
        wanted = f" as {entry.severity}" if entry.severity else " once more"
        return f"{entry.alert} did not fire{wanted}; it fired as {severities} {steps}"
    if entry.alert in played.pending:
        return f"{entry.alert} did not fire; it was pending from step {played.pending[entry.alert].step}"
    return f"{entry.alert} did not fire"


# ---- at -----------------------------------------------------------------------------------------------------


def _states(file: Timelines, index: int, played: Performance) -> Iterator[Difference]:
    for when, alerts in file.tests[index].at.items():
        for name, entry in alerts.items():
            sight = played.sights[when, name]
            loc = ("tests", index, "at", when.text, name)
            for key, message, expected in _unlike(name, when, entry, sight, played):
                problem = _problem(file, (*loc, key), "other-state", message)
                yield Difference(problem, (name, tuple(entry.labels.items())), ((when, expected),))


def _unlike(
    name: str, when: When, entry: StateDocument, sight: Sight, played: Performance
) -> Iterator[tuple[str, str, str]]:
    if entry.state is not None and not sight.is_one_of(entry.state):
        wanted = " or ".join(entry.state)
        why = ""
        if sight.state == "unknown":
            missing = played.missing().get(name)
            why = f" (the run does not log {', '.join(missing)})" if missing else " (not enough data)"
        yield "state", f"{name} was {sight.state} {when}, not {wanted}{why}", wanted
        return
    # Of an alert that is expected to be closed, the severity only says whose numbers are meant.
    closed = sight.severity is None and entry.state is not None
    if entry.severity is not None and sight.severity != entry.severity and not closed:
        was = f"{sight.state} as {sight.severity}" if sight.severity else sight.state
        message = f"{name} was {was} {when}, not {entry.severity}"
        yield "severity", message, f"{sight.state} {entry.severity}"
    for key, message in _numbers(f"{name} {when} had", entry, sight):
        yield key, message, f"{key} {getattr(entry, key)}"
    if entry.onset is not None and not entry.onset.hold(sight.onset):
        was = "had no onset" if sight.onset is None else f"had its onset at step {sight.onset}"
        yield "onset", f"{name} {when} {was}, not {entry.onset}", f"onset {entry.onset}"
