"""What is said of a run is what the engine has: states, values and counters, and what would come of other values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from sentinel.bus.recording import read_recording
from sentinel.engine.engine import Engine
from sentinel.engine.run_state import RunState
from sentinel.errors import DecodeError
from sentinel.events import Event, RunFinished, RunStarted, Sample, StepMetrics
from sentinel.explain.finding import Finding, blame
from sentinel.explain.outlook import Prospect
from sentinel.explain.standing import Standing, look_ahead, standings
from sentinel.explain.trial import Pace, pace_of
from sentinel.resources import PACKS
from sentinel.rules.expression.nodes import alerts_of, metrics_of
from sentinel.rules.loader import load_rules
from sentinel.rules.model import RuleSet
from tests.scenarios.recordings import DATA, pack

RECORDINGS = sorted([*(DATA / "runs").glob("*.jsonl"), *(DATA / "scenarios").glob("*.jsonl")])

PAIRS = [(name, path) for name in PACKS for path in RECORDINGS]

IDS = [f"{name}-{path.stem}" for name, path in PAIRS]


def events_of(path: Path) -> list[Event]:
    return [item.event for item in read_recording(path) if not isinstance(item, DecodeError)]


def only_run(engine: Engine) -> RunState:
    (run,) = engine.runs.values()
    return run


def of(rules: RuleSet, *events: Event) -> list[Standing]:
    engine = Engine(rules)
    for event in events:
        engine.handle(event)
    return list(standings(engine, only_run(engine), list(rules)))


def steps(*kls: float | None, first: int = 1, run: str = "r", key: str = "kl") -> list[Event]:
    return [StepMetrics(run=run, step=step, metrics={key: kl}) for step, kl in enumerate(kls, first)]


def rules_of(text: str) -> RuleSet:
    return load_rules([("a.yaml", text.encode())])


def one_rule(condition: str, **more: str) -> RuleSet:
    lines = "".join(f"    {key}: {value}\n" for key, value in more.items())
    return rules_of(f"rules:\n  - alert: a\n    symptom: kl-high\n    warning: {condition!r}\n{lines}")


# --- what is said is what the engine has --------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "path"), PAIRS, ids=IDS)
def test_what_is_said_is_what_the_engine_decided(name: str, path: Path) -> None:
    rules, engine = pack(name), Engine(pack(name))
    for number, event in enumerate(events_of(path)):
        before = only_run(engine).step if engine.runs else -1
        engine.handle(event)
        # A prime, so that all residues of a recording's own rhythm come up.
        if number % 11:
            continue
        run = only_run(engine)
        for standing in standings(engine, run, list(rules)):
            assert standing.why
            check(run, standing, advanced=run.step > before)


def check(run: RunState, standing: Standing, *, advanced: bool) -> None:
    """`advanced`: the newest event was a row for a new step, which is one evaluation of all that it touches."""
    if standing.index is None:
        assert standing.state == "inactive"
        return
    record = run.records[standing.index]
    expected = "inactive" if record is None else "firing" if record.level >= 0 else "pending"
    assert standing.state == expected
    nodes = run.compiled.instances[standing.index].expressions() if run.compiled is not None else []
    logged = {run.names[key].full for key, x in run.latest.items() if x is not None and math.isfinite(x)}
    names = {metric.name for node in nodes for metric in metrics_of(node)}
    if names and not names & logged:
        return  # asked by a sample, which has no step
    waits = standing.reason in ("after", "phase", "ended") or "phase" in standing.missing
    if not advanced or standing.asked_step != run.step or waits:
        return
    if any(alerts_of(node) or "baseline(" in str(node) for node in nodes):
        return  # another alert may have changed by this event, and a baseline when the alert fired
    assert run.compiled is not None
    timed = {index for index, _ in run.compiled.timed}
    for at, (_, finding) in enumerate(standing.conditions):
        took = record is not None and record.clocks[at].count > 0 and record.clocks[at].sequence == run.sequence
        # A condition that holds now was counted by the clock at this very evaluation, and no other was.
        assert took == (finding.truth is True) or standing.index in timed, standing
        for part in walk(finding):
            if part.condition and part.truth is not True:
                assert blame(part)


def walk(finding: Finding) -> Iterator[Finding]:
    yield finding
    for part in finding.parts:
        yield from walk(part)


# --- what would make it fire does ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", RECORDINGS, ids=[path.stem for path in RECORDINGS])
def test_what_would_make_it_fire_or_resolve_does_so(path: Path) -> None:
    # One pack for each recording in turn, early in one and late in another.
    number = RECORDINGS.index(path)
    rules, events = pack(PACKS[number % len(PACKS)]), events_of(path)
    share = (0.15, 0.4, 0.6, 0.95)[number // len(PACKS) % 4]
    before = events[: max(int(len(events) * share), 1)]
    engine = Engine(rules)
    for event in before:
        engine.handle(event)
    run = only_run(engine)
    shown: set[str] = set()
    for standing in standings(engine, run, list(rules)):
        if standing.rule.name in shown:
            continue  # one series of many
        shown.add(standing.rule.name)
        for prospect in look_ahead(engine, run, standing).prospects:
            assert came_true(rules, before, standing, prospect, pace_of(run)), prospect.words


def came_true(rules: RuleSet, before: Sequence[Event], standing: Standing, prospect: Prospect, pace: Pace) -> bool:
    """Whether a fresh engine that saw the same events, and then those foretold, says at the last of them what was."""
    engine = Engine(rules)
    for event in before:
        engine.handle(event)
    run = only_run(engine)
    step, time = run.step, run.clock
    wanted = "resolved" if prospect.aim == "resolve" else "firing"
    if not prospect.rows:
        assert run.clock is not None
        said = engine.tick(run.clock + (prospect.seconds or 0.0) + 1e-3)
        return any(one.alert == standing.rule.name and one.state == wanted for one in said)
    drift = {one.key: one.tried or 0.0 for one in prospect.changes if one.want in ("rising", "falling")}
    for count in range(1, prospect.rows + 1):
        step += pace.stride
        time = None if time is None else time + (pace.seconds or 0.0)
        row = {key: x if x is None else x + count * drift.get(key, 0.0) for key, x in prospect.row.items()}
        said = engine.handle(StepMetrics(run=run.id, step=step, metrics=row, time=time))
        hit = any(
            one.alert == standing.rule.name and one.labels == dict(standing.labels) and one.state == wanted
            for one in said
        )
        if hit and (count == prospect.rows or prospect.aim != "rise"):
            return count == prospect.rows and step == prospect.step
    return False


def prospects(rules: RuleSet, *events: Event) -> list[Prospect]:
    engine = Engine(rules)
    for event in events:
        engine.handle(event)
    run = only_run(engine)
    (standing,) = standings(engine, run, list(rules))
    return list(look_ahead(engine, run, standing).prospects)


@pytest.mark.parametrize(
    ("condition", "hold", "kls", "words"),
    [
        ("kl.ref > 0.1", "3 steps", [0.03] * 5, ["kl.ref above 0.1 nats/token at the next 3 values"]),
        ("kl.ref >= 0.1", "1 step", [0.03] * 5, ["kl.ref at least 0.1 nats/token at the next value"]),
        ("kl.ref > 0.1", "3 steps", [0.03, 0.5], ["kl.ref above 0.1 nats/token at the next 2 values"]),
        ("median(kl.ref, 5 samples) > 0.1", "1 step", [0.03] * 9, ["kl.ref above 0.1 nats/token at the next 3 values"]),
        (
            "mean(kl.ref, 4 samples) > 0.5",
            "1 step",
            [0.0] * 9,
            ["kl.ref above 2 nats/token at the next value", "kl.ref above 0.5 nats/token at the next 4 values"],
        ),
        ("kl.ref > 0.3 and kl.ref < 0.5", "1 step", [0.2] * 3, ["kl.ref above 0.3 nats/token at the next value"]),
        ("nonfinite(kl.ref)", "1 step", [0.2] * 3, ["kl.ref not a number at the next value"]),
        ("absent(kl.ref, 4 steps)", "1 step", [0.2] * 3, ["kl.ref not logged at the next 4 values"]),
        ("step > 6", "1 step", [0.2] * 3, ["if all stays as it is, after 4 values"]),
    ],
)
def test_what_would_make_a_rule_fire_is_told_in_words(
    condition: str, hold: str, kls: list[float], words: list[str]
) -> None:
    found = prospects(one_rule(condition, **{"for": hold}), *steps(*kls))
    assert [prospect.words for prospect in found][: len(words)] == words


def test_a_change_from_step_to_step_is_met_by_a_climb() -> None:
    (prospect,) = prospects(one_rule("delta(kl.ref, 1 step) > 0.1", **{"for": "3 steps"}), *steps(0.2, 0.2, 0.2))
    (change,) = prospect.changes
    assert (change.want, prospect.rows) == ("rising", 3)
    assert change.bound == pytest.approx(0.1, rel=0.03)


def test_a_rule_on_silence_is_met_by_silence() -> None:
    rules = one_rule("age(kl.ref) > 5m")
    (prospect,) = prospects(rules, StepMetrics(run="r", step=1, metrics={"kl": 0.1}, time=1000.0))
    assert (prospect.words, prospect.rows, prospect.seconds) == ("nothing logged for 5 minutes", 0, 300.0)


def test_a_rule_on_two_metrics_is_met_by_both_together() -> None:
    rules = one_rule("kl.ref > 1 and reward.mean < 0.2")
    events = [StepMetrics(run="r", step=step, metrics={"kl": 0.1, "reward": 0.5}) for step in range(1, 4)]
    (prospect,) = prospects(rules, *events)
    assert prospect.words == "kl.ref above 1 nats/token and reward.mean below 0.2 at the next value"


def test_a_firing_alert_says_what_would_end_it() -> None:
    rules = one_rule("kl.ref > 0.5", until='"kl.ref < 0.2"', keep_firing_for="2 steps")
    (prospect,) = prospects(rules, *steps(0.9, 0.9))
    assert (prospect.aim, prospect.words) == ("resolve", "kl.ref below 0.2 nats/token at the next 2 values")


def test_a_run_that_is_over_promises_nothing() -> None:
    assert prospects(one_rule("kl.ref > 0.5"), *steps(0.1), RunFinished(run="r")) == []


def test_looking_ahead_leaves_the_engine_alone() -> None:
    rules = one_rule("median(kl.ref, 5 samples) > 0.1", **{"for": "3 steps"})
    engine = Engine(rules)
    for event in steps(*[0.03] * 9):
        engine.handle(event)
    before = engine.snapshot()
    run = only_run(engine)
    for standing in standings(engine, run, list(rules)):
        look_ahead(engine, run, standing)
    assert engine.snapshot() == before


# --- why it is quiet ----------------------------------------------------------------------------------------------


def why(rules: RuleSet, *events: Event) -> tuple[str, str]:
    (standing,) = of(rules, *events)
    return standing.reason, standing.why


def test_a_false_condition_is_told_with_its_numbers() -> None:
    told = why(one_rule("kl.ref > 0.1"), *steps(0.034))
    assert told == ("false", "kl.ref is 0.034 nats/token, not above 0.1")


def test_numbers_that_are_nearly_equal_are_told_apart() -> None:
    told = why(one_rule("kl.ref > 0.1"), *steps(0.09999999))
    assert told == ("false", "kl.ref is 0.09999999 nats/token, not above 0.1")


def test_a_window_that_is_not_covered_is_told_with_its_fill() -> None:
    told = why(one_rule("mean(kl.ref, 10 samples) > 0.1"), *steps(*[0.5] * 7))
    assert told == ("unknown", "mean(kl.ref, 10 samples) is unknown (7 of 10 values)")


def test_a_metric_that_is_not_a_number_makes_it_unknown() -> None:
    told = why(one_rule("kl.ref > 0.1"), *steps(0.05, math.nan))
    assert told == ("unknown", "kl.ref is unknown (it was logged as NaN, infinite or null)")


def test_a_metric_that_the_run_never_logs_is_named() -> None:
    (standing,) = of(one_rule("kl.ref > 0.1"), StepMetrics(run="r", step=1, metrics={"reward": 1.0}))
    assert (standing.reason, standing.missing) == ("not-evaluable", ("kl.ref",))


def test_the_steps_that_a_rule_waits_for_are_named() -> None:
    told = why(one_rule("kl.ref > 0.1", after="50 steps"), *steps(0.5, 0.5))
    assert told[0] == "after"
    assert "step 51" in told[1]


def test_a_rule_for_other_runs_says_so() -> None:
    rules = one_rule("kl.ref > 0.1", where="{framework: verl, team: math}")
    reason, text = why(rules, RunStarted(run="r", framework="trl"), *steps(0.5))
    assert reason == "where"
    assert "framework is trl" in text
    assert "the run has no team" in text


def test_a_rule_for_another_phase_says_so() -> None:
    rules = one_rule("kl.ref > 0.1", phase="late")
    started = RunStarted(run="r", config={"max_steps": 90})
    reason, text = why(rules, started, *steps(0.5))
    assert (reason, text) == ("phase", "the rule is for the phase late, and the run's is early")
    assert why(rules, *steps(0.5))[0] == "not-evaluable"
    assert why(rules, started, *steps(0.5, first=80))[0] == "firing"


def test_a_phase_inside_a_condition_is_told() -> None:
    rules = one_rule("kl.ref > 0.1 and not phase == late")
    started = RunStarted(run="r", config={"max_steps": 90})
    assert why(rules, started, *steps(0.5, first=80)) == ("false", "phase == late holds")
    assert why(rules, *steps(0.5))[0] == "not-evaluable"


def test_a_rule_that_an_override_switches_off_says_so() -> None:
    rules = one_rule("kl.ref > 0.1", overrides="[{where: {team: math}, enabled: false}]")
    started = RunStarted(run="r", labels={"team": "math"})
    assert why(rules, started, *steps(0.5)) == ("where", "an override switches it off where team is math")
    other = one_rule("kl.ref > 0.1", overrides="[{where: {team: math}, warning: kl.ref > 0.7}]")
    assert why(other, started, *steps(0.5)) == ("false", "kl.ref is 0.5 nats/token, not above 0.7")


def test_a_pattern_without_a_series_says_so() -> None:
    reason, text = why(one_rule("reward.component.* < 0.1"), *steps(0.5))
    assert (reason, text) == ("no-series", "no series of the run matches reward.component.*")


def test_a_run_that_is_over_says_so() -> None:
    assert why(one_rule("kl.ref > 0.9"), *steps(0.5), RunFinished(run="r", status="failed"))[0] == "ended"


def test_a_configuration_that_says_nothing_makes_it_unknown() -> None:
    (standing,) = of(one_rule("kl.ref > 10 * config.beta"), *steps(0.5))
    assert standing.conditions[0][1].truth is None
    assert "config" in standing.why


def test_a_pending_alert_counts() -> None:
    (standing,) = of(one_rule("kl.ref > 0.1", **{"for": "3 steps"}), *steps(0.05, 0.5, 0.5))
    assert (standing.state, standing.severity, standing.since_step) == ("pending", "warning", 2)
    assert standing.why == "it holds since step 2: 2 of 3 steps"
    assert standing.counters[0].words == "2 of 3 steps"


def test_a_start_and_a_best_say_since_when() -> None:
    (standing,) = of(one_rule("kl.ref > initial(kl.ref, 3 samples) + best(kl.ref)"), *steps(0.3, 0.1, 0.2, 0.2))
    notes = {part.text: part.note for part in walk(standing.conditions[0][1])}
    assert notes["initial(kl.ref, 3 samples)"] == "median of its first 3 values, fixed since step 3"
    assert notes["best(kl.ref)"] == "since step 2"


def test_silence_is_told_up_to_now() -> None:
    rules = one_rule("age(kl.ref) > 5m")
    engine = Engine(rules)
    engine.handle(StepMetrics(run="r", step=1, metrics={"kl": 0.1}, time=1000.0))
    (standing,) = standings(engine, only_run(engine), list(rules), now=1100.0)
    assert standing.conditions[0][1].left == pytest.approx(100.0)


def test_each_series_has_a_standing_of_its_own() -> None:
    rules = one_rule("gpu.util < 30%")
    found = of(rules, *[Sample(run="r", metrics={"gpu.util": 10.0 * n}, labels={"gpu": str(n)}) for n in range(1, 5)])
    assert [(dict(one.labels)["gpu"], one.state) for one in found] == [
        ("1", "firing"),
        ("2", "firing"),
        ("3", "inactive"),
        ("4", "inactive"),
    ]
