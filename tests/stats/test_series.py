"""Series: compaction and rebuilding change nothing that a window can see."""

import math
from array import array

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_series import points

from sentinel.stats.parts import Maximum, Minimum, Moments, Order, Total
from sentinel.stats.series import Series
from sentinel.stats.window import Axis, Window

SIZES = [(Axis.STEPS, 30), (Axis.SAMPLES, 7), (Axis.TIME, 20.0)]


def watched(keep):
    series = Series(timed=True, keep=keep)
    for axis, size in SIZES:
        for reach in (False, True):
            window = Window(series, axis, size, reach=reach)
            for part in (Maximum, Minimum, Moments, Order, Total):
                window.attach(part())
    return series


@settings(max_examples=40)
@given(history=points())
def test_compaction_changes_nothing(history):
    tight, roomy = watched(keep=0), watched(keep=0)
    for point in history:
        roomy.limit = 10**9
        for series in (tight, roomy):
            series.push(point.x, point.step, point.time)
        for mine, theirs in zip(tight.windows, roomy.windows, strict=True):
            assert mine.values == theirs.values
            assert mine.covered(point.step, point.time) == theirs.covered(point.step, point.time)
            largest, smallest, moments, order, total = mine.parts
            assert largest.value == theirs.parts[0].value
            assert smallest.value == theirs.parts[1].value
            assert order.median() == theirs.parts[3].median()
            scale = max(map(abs, mine.values), default=0.0)
            # A sum is added up anew when less than 1e-5 of what went is left of it, so that it has eleven digits; a
            # value that comes may cancel it, and then its rounding errors are all there is.
            room = 1e-9 * mine.count * scale
            assert total.total == pytest.approx(theirs.parts[4].total, rel=1e-6, abs=room)
            assert moments.std(mine.count) == pytest.approx(
                theirs.parts[2].std(mine.count), rel=1e-6, abs=1e-12 * scale, nan_ok=True
            )


def test_arrays_stay_short_however_long_the_run():
    series = watched(keep=100)
    for step in range(10_000):
        series.push(float(step), step, step * 1.0)
    assert len(series.values) == len(series.steps) == len(series.times) < 130


def test_a_series_that_is_cleared_is_as_new():
    series, new = watched(keep=100), watched(keep=100)
    for step in range(50):
        series.push(1e9 - step, step, step * 1.0)
    series.clear()
    for step in range(50):
        for each in (series, new):
            each.push(step % 7, step, 1000.0 + step)
    for mine, theirs in zip(series.windows, new.windows, strict=True):
        assert mine.values == theirs.values
        assert mine.covered(49, 1049.0) == theirs.covered(49, 1049.0)
        assert [repr(part) for part in mine.parts] == [repr(part) for part in theirs.parts]


def test_a_value_that_is_not_a_number_enters_no_window():
    series = watched(keep=100)
    series.push(1.0, 0, 0.0)
    series.miss(1, 1.0)
    assert math.isnan(series.last)
    assert (series.step, series.time) == (1, 1.0)
    assert all(window.values == array("d", [1.0]) for window in series.windows)


@given(history=points(max_size=40), after=st.integers(0, 40))
def test_a_window_of_time_put_on_a_series_without_times_is_covered_once_its_length_has_passed(history, after):
    after = min(after, len(history))
    series = Series()
    for point in history[:after]:
        series.push(point.x, point.step, point.time)
    series.keep_times(timed=True)
    window = Window(series, Axis.TIME, 20.0, reach=False)
    if series.values:
        window.advance(series.step, series.time)
    since = history[after - 1].time if after else history[0].time
    for at in range(after, len(history)):
        series.push(history[at].x, history[at].step, history[at].time)
        now = history[at].time
        expected = [point.x for point in history[after : at + 1] if point.time > now - 20.0]
        assert list(window.values) == expected
        assert window.covered(history[at].step, now) == (since <= now - 20.0)
    assert len(series.times) == len(series.values)
