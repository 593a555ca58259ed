"""Metrics calculated from others."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.metrics import default
from sentinel.metrics.derivation import derive, plan

NUMBER = st.none() | st.floats() | st.sampled_from([0.0, 1.0, -0.0, 1e-308, 1e308])


@pytest.mark.parametrize(
    ("logged", "name", "value"),
    [
        ({"reward.mixed_pct": 25.0}, "reward.mixed_frac", 0.25),
        ({"reward.mixed_pct": 25.0}, "reward.zero_std_frac", 0.75),
        ({"reward.zero_std_count": 3.0, "batch.prompts": 12.0}, "reward.zero_std_frac", 0.25),
        ({"reward.all_zero_pct": 50.0, "reward.all_one_pct": 25.0}, "reward.zero_std_frac", 0.75),
        ({"kl.ref.seq_sum": 50.0, "length.mean": 200.0}, "kl.ref", 0.25),
        ({"kl.ref.neg": 0.5}, "kl.ref.k1", -0.5),
        ({"mfu_pct": 40.0}, "mfu", 0.4),
        ({"gpu.mem_used_mib": 60.0, "gpu.mem_free_mib": 30.0, "gpu.mem_reserved_mib": 10.0}, "gpu.mem_used_frac", 0.6),
        ({"gpu.mem_used_bytes": 6.0, "gpu.mem_total_bytes": 8.0}, "gpu.mem_used_frac", 0.75),
        ({"host.mem_avail_bytes": 25.0, "host.mem_total_bytes": 100.0}, "host.mem_used_frac", 0.75),
        ({"lr.e4": 0.01}, "lr", 1e-6),
        ({"length.eos_frac": 0.9}, "length.clipped_frac", 0.1),
        ({"reward.group_std": 0.3}, "reward.spread", 0.3),
        ({"reward.std": 0.3}, "reward.spread", 0.3),
    ],
)
def test_parts_make_the_whole(logged: dict[str, float], name: str, value: float) -> None:
    values: dict[str, float | None] = dict(logged)
    for derivation in default().derivations(logged):
        values[derivation.name] = derivation.compute(values)
    assert values[name] == pytest.approx(value)


def test_a_logged_metric_is_never_derived() -> None:
    names = {"reward.mixed_pct", "reward.mixed_frac", "length.eos_frac", "length.clipped_frac"}
    assert not names & {derivation.name for derivation in default().derivations(names)}


def test_a_metric_is_derived_once_and_after_what_it_needs() -> None:
    every = default().all_derivations()
    known = {need for derivation in every for need in derivation.needs} - {derivation.name for derivation in every}
    found = default().derivations(known)
    assert len({derivation.name for derivation in found}) == len(found)
    for derivation in found:
        assert known.issuperset(derivation.needs)
        known.add(derivation.name)


def test_nothing_is_derived_from_nothing() -> None:
    assert default().derivations([]) == ()


def test_a_division_by_zero_gives_nothing() -> None:
    ratio = derive("x", "a.b / c.d")
    assert ratio.compute({"a.b": 1.0, "c.d": 0.0}) is None
    assert ratio.compute({"a.b": 1.0, "c.d": 4.0}) == 0.25


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None])
def test_a_number_that_is_none_gives_nothing(value: float | None) -> None:
    assert derive("x", "a + b").compute({"a": value, "b": 1.0}) is None


@given(st.data())
def test_every_shipped_formula_gives_a_finite_number_or_nothing(data: st.DataObject) -> None:
    for derivation in default().all_derivations():
        values = {need: data.draw(NUMBER) for need in derivation.needs}
        result = derivation.compute(values)
        assert result is None or math.isfinite(result)
        if any(value is None or not math.isfinite(value) for value in values.values()):
            assert result is None


@pytest.mark.parametrize(
    "formula",
    ["", "1", "1 + 2", "a +", "a ** b", "a // b", "f(a)", "a[0]", "'a'", "a if b else c", "a < b", "-'x' + a", "a.b()"],
)
def test_what_is_no_formula_is_refused(formula: str) -> None:
    with pytest.raises(ValueError, match="formula"):
        derive("x", formula)


@given(st.text(alphabet="ab.+-*/() 1e\n\x00", max_size=30))
def test_no_text_breaks_the_reading_of_a_formula(formula: str) -> None:
    try:
        derivation = derive("x", formula)
    except ValueError:
        return
    result = derivation.compute(dict.fromkeys(derivation.needs, 2.0))
    assert result is None or math.isfinite(result)


def test_of_two_ways_the_first_that_can_be_gone_is_taken() -> None:
    ways = [derive("x", "a / b"), derive("x", "1 - c"), derive("y", "x * 2")]
    assert [one.formula for one in plan(["c"], ways)] == ["1 - c", "x * 2"]
    assert [one.formula for one in plan(["a", "b", "c"], ways)] == ["a / b", "x * 2"]
