"""Interval arithmetic never loses a value."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.rules.lint.interval import Interval
from sentinel.rules.lint.ranges import read_range

numbers = st.integers(-8, 8).map(float)


@st.composite
def members(draw: st.DrawFn) -> tuple[Interval, float]:
    """An interval, perhaps without an end, and a value in it."""
    low, x, high = sorted([draw(numbers), draw(numbers), draw(numbers)])
    low = draw(st.sampled_from([low, -math.inf]))
    high = draw(st.sampled_from([high, math.inf]))
    return Interval(low, high, draw(st.booleans()) and low < x, draw(st.booleans()) and x < high), x


@given(members(), members())
def test_what_is_calculated_from_members_is_a_member(one: tuple[Interval, float], two: tuple[Interval, float]) -> None:
    (a, x), (b, y) = one, two
    assert (a + b).holds(x + y)
    assert (a - b).holds(x - y)
    assert (a * b).holds(x * y)
    assert (-a).holds(-x)
    assert abs(a).holds(abs(x))
    if y:
        quotient = a / b
        assert quotient.low - 1e-9 <= x / y <= quotient.high + 1e-9


@given(members(), members())
def test_a_meeting_holds_what_both_hold(one: tuple[Interval, float], two: tuple[Interval, float]) -> None:
    (a, x), (b, y) = one, two
    for value in (x, y):
        assert a.meet(b).holds(value) is (a.holds(value) and b.holds(value))


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("0..1", [0, 1], [-0.1, 1.1]),
        ("-1..1", [-1, 0], [-1.1]),
        (">=0", [0, 1e9], [-1e-9]),
        (">0", [1e-9], [0]),
        ("<=1", [-9, 1], [1.1]),
        ("0..ln(vocab)", [0, 12], [-1]),
        ("k3: >=0; k1: any", [-5, 5], []),
        ("any", [-5, 5], []),
        ("0 = none", [-5, 5], []),
    ],
)
def test_the_dictionary_s_words_for_a_range(text: str, inside: list[float], outside: list[float]) -> None:
    interval = read_range(text)
    assert all(interval.holds(value) for value in inside)
    assert not any(interval.holds(value) for value in outside)
