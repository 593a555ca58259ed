"""A bound that is told holds: with every value beyond it, the alert does what is said."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sentinel.engine.engine import Engine
from sentinel.events import StepMetrics
from sentinel.explain.outlook import Change
from sentinel.explain.standing import look_ahead, standings
from sentinel.rules.loader import load_rules

CONDITIONS = (
    "kl.ref > {level}",
    "kl.ref < {level}",
    "mean(kl.ref, 20 steps) > {level}",
    "mean(kl.ref, 3 samples) < {level}",
    "sum(kl.ref, 3 samples) > {level}",
    "ewma(kl.ref, 4 samples) >= {level}",
    "delta(kl.ref, 2 steps) > {level}",
    "kl.ref * 3 > {level}",
)


@settings(max_examples=60, deadline=None)
@given(
    condition=st.sampled_from(CONDITIONS),
    level=st.floats(-2.0, 2.0).map(lambda x: round(x, 3)),
    values=st.lists(st.floats(-2.0, 2.0).map(lambda x: round(x, 3)), min_size=4, max_size=12),
)
def test_just_beyond_the_bound_it_fires(condition: str, level: float, values: list[float]) -> None:
    text = f"rules: [{{alert: a, symptom: kl-high, warning: '{condition.format(level=level)}'}}]"
    engine = Engine(load_rules([("a.yaml", text.encode())]))
    before = [StepMetrics(run="r", step=step, metrics={"kl": kl}) for step, kl in enumerate(values, 1)]
    for event in before:
        engine.handle(event)
    run = engine.runs["r"]
    (standing,) = standings(engine, run, list(engine.rules))
    for prospect in look_ahead(engine, run, standing).prospects:
        if prospect.aim != "fire" or [change.want in BEYOND for change in prospect.changes] != [True]:
            continue
        (change,) = prospect.changes
        told = float(change.words.split()[2 if change.want in ("above", "below") else 3])
        assert told == change.bound
        copy = Engine(engine.rules)
        for event in before:
            copy.handle(event)
        rows = range(run.step + 1, run.step + prospect.rows + 1)
        value = told + BEYOND[change.want] * max(abs(told) * 1e-8, 1e-11)
        said = [copy.handle(StepMetrics(run="r", step=step, metrics={"kl": value})) for step in rows]
        assert "firing" in [each.state for each in said[-1]], (prospect.words, value)


BEYOND = {"above": 1.0, "below": -1.0, "at least": 0.0, "at most": 0.0}


def test_a_bound_far_from_the_end_of_the_search_is_as_close() -> None:
    """It lies between where the metric is and a thousand times its size: the nearer end says how close."""
    rules = load_rules([("a.yaml", b"rules: [{alert: a, symptom: kl-high, warning: 'mean(kl.ref, 20 steps) > 0.1'}]")])
    engine = Engine(rules)
    for step, kl in enumerate([0.3] * 15 + [0.0], 1):
        engine.handle(StepMetrics(run="r", step=step, metrics={"kl": kl}))
    run = engine.runs["r"]
    (standing,) = standings(engine, run, list(rules))
    found = [change for prospect in look_ahead(engine, run, standing).prospects for change in prospect.changes]
    assert found
    for change in found:
        assert change.bound is not None and change.tried is not None
        assert math.isclose(change.bound, change.tried, rel_tol=0.02)


@pytest.mark.parametrize("bound", [0.1, 1234567.5, -0.30350000012])
def test_a_bound_is_told_with_all_its_digits(bound: float) -> None:
    change = Change("kl.ref", "kl", "above", bound, bound)
    assert float(change.words.split()[-1]) == bound
    assert replace(change, want="at least").words.endswith(change.words.split()[-1])
