"""Questions about a series rather than its values."""

import math

import pytest

from sentinel.stats import FUNCTIONS
from sentinel.stats.series import Series

ABSENT, AGE, NONFINITE, SEEN = (FUNCTIONS[name] for name in ("absent", "age", "nonfinite", "seen"))


def test_absent_counts_from_the_start_of_the_attempt_before_the_first_value():
    series = Series()
    assert not ABSENT.read(series, 3, math.nan, math.nan, 5)
    assert ABSENT.read(series, 4, math.nan, math.nan, 5)  # steps 0 to 4: five without it
    assert not ABSENT.read_time(series, 4, 1299.0, 1000.0, 300.0)
    assert ABSENT.read_time(series, 4, 1300.0, 1000.0, 300.0)


@pytest.mark.parametrize("log", [Series.miss, lambda series, *at: series.push(1.0, *at)], ids=["nan", "finite"])
def test_any_logged_value_ends_absence(log):
    series = Series()
    log(series, 7, 1007.0)
    assert not ABSENT.read(series, 11, 1011.0, 1000.0, 5)
    assert ABSENT.read(series, 12, 1012.0, 1000.0, 5)
    assert not ABSENT.read_time(series, 11, 1306.0, 1000.0, 300.0)
    assert ABSENT.read_time(series, 12, 1307.0, 1000.0, 300.0)


def test_absence_in_seconds_is_unknown_without_times():
    assert ABSENT.read_time(Series(), 5, math.nan, math.nan, 300.0) is None


def test_absence_begins_at_the_very_sum_that_the_engine_waits_for():
    series = Series()
    for since in (1790000000.1, 1790000000.3, 1790000000.7):
        series.miss(1, since)
        assert ABSENT.read_time(series, 1, since + 300.1, 0.0, 300.1)


def test_age_is_unknown_before_the_first_value():
    series = Series()
    assert math.isnan(AGE.read(series, 5, 1000.0, 900.0, 0.0))
    series.miss(6, 1000.0)
    assert AGE.read(series, 7, 1030.0, 900.0, 0.0) == 30.0


def test_nonfinite_is_what_the_engine_noted():
    assert NONFINITE.read({"grad_norm"}, "grad_norm")
    assert not NONFINITE.read({"grad_norm"}, "kl.ref")


def test_seen_waits_for_a_number_and_lasts_until_the_attempt_ends():
    series = Series()
    series.miss(1, 1000.0)
    assert not SEEN.read(series, 1, 1000.0, 900.0, 0.0)
    series.push(0.0, 2, 1001.0)
    series.miss(3, 1002.0)
    assert SEEN.read(series, 900, 9000.0, 900.0, 0.0)
    series.clear()
    assert not SEEN.read(series, 0, 9001.0, 900.0, 0.0)
