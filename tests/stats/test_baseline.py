"""What `baseline` learns, and what it takes back."""

import math
import statistics

from hypothesis import given
from hypothesis import strategies as st

from sentinel.stats.baseline import LEAST, Baseline
from sentinel.stats.series import HISTORY


def shown(xs, samples=None, first=0):
    baseline = Baseline(higher_is_better=True, samples=samples)
    for step, x in enumerate(xs, first):
        baseline.update(x, step)
    return baseline


def test_it_is_known_once_ten_values_lie_before_the_newest():
    assert math.isnan(shown([1.0] * LEAST).read())
    assert shown([1.0] * LEAST + [99.0]).read() == 1.0


def test_fewer_samples_than_ten_are_known_when_all_are_there():
    assert math.isnan(shown([1.0, 2.0, 3.0], samples=3).read())
    assert shown([1.0, 2.0, 3.0, 99.0], samples=3).read() == 2.0


def test_a_value_that_was_held_back_never_enters():
    baseline = shown([1.0] * 20)
    baseline.hold()
    baseline.update(1.0, 99)
    assert list(baseline.steps) == list(range(19))


def test_what_came_from_the_onset_on_is_taken_back_and_older_values_stand_in_for_it():
    baseline = shown([*(float(x) for x in range(60)), *[100.0] * 30, 0.0], samples=50)
    baseline.take_back(60)
    assert baseline.read() == statistics.median(range(10, 60))


def test_so_much_stays_that_something_is_known():
    baseline = shown([float(x) for x in range(30)])
    baseline.take_back(2)
    assert list(baseline.values) == [float(x) for x in range(LEAST)]


@given(st.lists(st.integers(-99, 99), max_size=40), st.integers(1, 12), st.integers(0, 40))
def test_a_rewind_leaves_what_the_steps_before_have_taught(xs, samples, step):
    baseline = shown([float(x) for x in xs], samples)
    before = [float(x) for x in xs[:-1][:step]]
    baseline.rewind(step)
    expected = statistics.median(before[-samples:]) if len(before) >= min(LEAST, samples) else math.nan
    assert baseline.read() == expected or (math.isnan(expected) and math.isnan(baseline.read()))


def test_a_long_run_is_held_in_bounded_memory():
    baseline = shown([float(x % 7) for x in range(5000)], samples=30)
    assert 30 + HISTORY <= len(baseline.values) <= 30 + 2 * HISTORY
    assert len(baseline.ordered) == 30
    assert baseline.read() == statistics.median(float(x % 7) for x in range(4969, 4999))
