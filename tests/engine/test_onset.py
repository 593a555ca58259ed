"""When the trouble began."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_builder import at, rule, rules

from sentinel.engine.engine import Engine
from sentinel.engine.onset import find_onset


def noisy(count, seed, level=1.0, noise=0.02):
    source = random.Random(seed)
    return [level + source.gauss(0.0, noise) for _ in range(count)]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("slope", [0.1, -0.1])
@pytest.mark.parametrize("stride", [1, 10])
def test_a_ramp_is_found_within_two_steps(seed, slope, stride):
    values = noisy(60, seed)
    for at_value in range(45, 60):
        values[at_value] += slope * (at_value - 44)
    steps = [stride * at_value for at_value in range(60)]
    assert abs(find_onset(steps, values, steps[-1]) - steps[45]) <= 2 * stride


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("jump", [1.0, -0.5, 100.0])
@pytest.mark.parametrize("after", [1, 3, 30])
def test_a_jump_is_found_within_two_steps(seed, jump, after):
    values = noisy(50, seed) + [value + jump for value in noisy(after, seed + 100)]
    assert abs(find_onset(range(len(values)), values, len(values) - 1) - 50) <= 2


@pytest.mark.parametrize("seed", range(20))
def test_growth_over_orders_of_magnitude_is_found_where_it_began(seed):
    values = noisy(50, seed) + [1.5**k for k in range(1, 16)]
    assert abs(find_onset(range(65), values, 64) - 50) <= 2


def test_noise_alone_has_no_onset_but_the_breach():
    found = [find_onset(range(60), noisy(60, seed), 59) for seed in range(50)]
    assert sum(onset != 59 for onset in found) <= 4


@pytest.mark.parametrize("count", range(7))
def test_short_input_has_no_onset_but_the_breach(count):
    assert find_onset(range(count), [9.0] * count, 3) == 3


@pytest.mark.parametrize("level", [0.0, 1e3, 1e7])
def test_a_level_that_is_large_beside_its_noise_makes_no_difference(level):
    values = [level + value for value in noisy(60, 7)] + [level + 1.0 + 0.1 * k for k in range(1, 16)]
    assert abs(find_onset(range(75), values, 74) - 60) <= 2


def test_a_constant_series_has_no_onset_but_the_breach():
    assert find_onset(range(50), [0.25] * 50, 49) == 49


@given(
    values=st.lists(st.floats(-1e100, 1e100), max_size=40),
    breach=st.integers(0, 60),
    stride=st.integers(1, 1000),
)
def test_an_onset_is_one_of_the_steps_and_not_after_the_breach(values, breach, stride):
    steps = [stride * at_value for at_value in range(len(values))]
    onset = find_onset(steps, values, breach)
    assert onset == breach or (onset in steps and onset < breach)


@given(
    before=st.integers(5, 80),
    after=st.integers(1, 6),
    jump=st.sampled_from([-3.0, -0.5, 0.5, 3.0]),
    seed=st.integers(0, 10_000),
)
def test_a_jump_is_dated_where_it_happens_however_soon_it_is_noticed(before, after, jump, seed):
    values = noisy(before, seed, noise=1e-4) + noisy(after, seed + 1, level=1.0 + jump, noise=1e-4)
    assert find_onset(range(len(values)), values, before) == before


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("after", [1, 3, 10])
def test_a_trouble_that_was_over_is_not_where_a_new_one_begins(seed, sign, after):
    levels = [3.0] * 19 + [0.3] * 5 + [0.1] * 25 + [0.6] * after
    values = [sign * (level + noise) for level, noise in zip(levels, noisy(len(levels), seed, 0.0, 0.005), strict=True)]
    assert find_onset(range(1, len(values) + 1), values, 50) == 50


def test_the_transition_carries_the_onset_and_not_the_step_that_fired():
    engine, said = Engine(rules(rule(warning="median(kl.ref, 5 steps) > 0.5", hold="3 steps"))), []
    for step in range(100, 170):
        said += engine.handle(at(step, 30 * step, kl_ref=0.1 if step < 150 else 0.1 + 0.2 * (step - 149)))
    assert [each.state for each in said] == ["pending", "firing"]
    assert abs(said[-1].onset_step - 150) <= 2 < said[-1].step - 150
