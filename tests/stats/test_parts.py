"""Running parts: adding, removing and renewing agree; nothing costs more than its share."""

import math
import statistics
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_series import values

from sentinel.stats.parts import Line, Maximum, Minimum, Moments, Order, Total, maximum, minimum

PARTS = [Maximum, Minimum, Moments, Order, Total]


def reading(part, count):
    match part:
        case Maximum() | Minimum():
            return part.value
        case Moments():
            return part.std(count)
        case Order():
            return part.median()
        case Total():
            return part.total


def expected(kind, held):
    if kind is Maximum:
        return max(held, default=-math.inf)
    if kind is Minimum:
        return min(held, default=math.inf)
    if kind is Moments:
        return statistics.stdev(held) if len(held) > 1 else math.nan
    if kind is Order:
        return statistics.median(held) if held else math.nan
    return math.fsum(held)


@pytest.mark.parametrize("kind", PARTS)
@settings(max_examples=80)
@given(data=st.data())
def test_adding_removing_and_renewing_agree_with_the_values(kind, data):
    """Values come and go in any order of turns, also until the window is empty."""
    held, start, part = array("d"), 0, kind()
    for x in data.draw(values(60)):
        held.append(x)
        part.add(x)
        for _ in range(data.draw(st.sampled_from([0, 1, 1, 2, 100]))):
            if start < len(held):
                start += 1
                part.remove(held[start - 1], held, start)
        if data.draw(st.booleans()):
            part.renew(held, start)
        window = held[start:]
        largest = max(map(abs, window), default=0.0)
        assert reading(part, len(window)) == pytest.approx(
            expected(kind, window), rel=1e-6, abs=1e-12 * largest, nan_ok=True
        )


@pytest.mark.parametrize("kind", PARTS)
@given(held=values(60), start=st.integers(0, 60))
def test_a_part_attached_late_is_as_one_that_was_there_from_the_start(kind, held, start):
    start = min(start, len(held))
    late, early = kind(), kind()
    late.renew(array("d", held), start)
    for x in held[start:]:
        early.add(x)
    count = len(held) - start
    largest = max(map(abs, held[start:]), default=0.0)
    assert reading(late, count) == pytest.approx(reading(early, count), rel=1e-6, abs=1e-12 * largest, nan_ok=True)


@pytest.mark.parametrize(("kind", "module"), [(Maximum, maximum), (Minimum, minimum)])
@pytest.mark.parametrize("slope", [-1.0, 0.0, 1.0], ids=["falling", "constant", "rising"])
def test_extremes_look_at_each_value_a_bounded_number_of_times(kind, module, slope, monkeypatch):
    looked_at = 0
    accumulate = module.accumulate

    def counting(held, function):
        nonlocal looked_at
        looked_at += len(held)
        return accumulate(held, function)

    monkeypatch.setattr(module, "accumulate", counting)
    part, held, size = kind(), array("d"), 100
    for at in range(2000):
        held.append(slope * at)
        part.add(held[-1])
        if len(held) > size:
            part.remove(held[-size - 1], held, len(held) - size)
        assert part.value == expected(kind, held[-size:])
    assert looked_at <= 2 * len(held)


@pytest.mark.parametrize("level", [0.1, 1e9 / 3, 1e-9 / 7])
def test_a_constant_series_never_makes_the_moments_add_up_again(level, monkeypatch):
    part, held = Moments(), array("d", [level] * 50)
    part.renew(held, 0)
    monkeypatch.setattr(Moments, "renew", lambda *_: pytest.fail("renewed"))
    for _ in range(100):
        held.append(level)
        part.add(level)
        part.remove(level, held, len(held) - 50)
    assert part.std(50) == 0.0


def test_a_spread_is_right_after_a_spike_that_was_its_reference_has_left():
    part, held = Moments(), array("d", [1e14])
    part.renew(held, 0)
    for at in range(1, 11):
        held.append(1000.0 + at % 2)
        part.add(held[-1])
    part.remove(1e14, held, 1)
    assert part.std(10) == pytest.approx(statistics.stdev(held[1:]))


def test_a_sum_is_right_after_a_long_decay():
    part, held = Total(), array("d")
    for at in range(10):
        held.append(1e14 * 1e-4**at)
        part.add(held[-1])
        if at:
            part.remove(held[at - 1], held, at)
        assert part.total == pytest.approx(held[-1])


@settings(max_examples=150)
@given(held=st.lists(st.sampled_from([-3.0, -1.0, 0.0, 0.5, 1.0, 2.0, 1e9]), min_size=3, max_size=30), data=st.data())
def test_the_spread_without_one_value_is_that_of_the_others(held, data):
    x = data.draw(st.sampled_from(held))
    part = Order()
    part.renew(array("d", held), 0)
    others = list(held)
    others.remove(x)
    middle = statistics.median(others)
    assert part.spread_without(x) == (middle, statistics.median([abs(other - middle) for other in others]))


def test_a_line_goes_on_once_times_are_known():
    part, held, places = Line(), array("d"), array("d")
    for at, place in enumerate([-math.inf, -math.inf, math.nan, 100.0, 110.0, 120.0, 130.0]):
        held.append(float(at))
        places.append(place)
        part.add(held[-1], place)
        part.renew(held, 0, places)
    for start in (1, 2, 3):
        part.remove(held[start - 1], held, start, places)
    assert part.slope(4) == pytest.approx(0.1)
