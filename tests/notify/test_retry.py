"""Retry-After and backoff."""

import random
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.notify.bucket import TokenBucket
from sentinel.notify.retry import LONGEST_WAIT, Backoff, parse_retry_after

DATE = "Mon, 21 Sep 2026 14:13:20 GMT"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("1", 1.0),
        ("30", 30.0),
        (" 2.5 ", 2.5),
        ("1e9", LONGEST_WAIT),
        ("1000000000", LONGEST_WAIT),
        ("1e400", LONGEST_WAIT),
        ("1e308", LONGEST_WAIT),
        ("0", 0.0),
        (None, None),
        ("", None),
        ("-5", None),
        ("x", None),
        ("nan", None),
        ("inf", None),
        ("1_000", None),
        ("٣", None),
        ("Mon, 21 Sep 2026 14:13:50 GMT", 30.0),
        ("Mon, 21 Sep 2026 14:13:00 GMT", 0.0),
        ("Tue, 22 Sep 2026 14:13:00 GMT", LONGEST_WAIT),
        ("Mon, 99 Sep 2026 14:13:50 GMT", None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(value, seconds):
    assert parse_retry_after(value, date=DATE) == seconds


def test_a_date_without_the_servers_own_date_says_nothing():
    assert parse_retry_after("Mon, 21 Sep 2026 14:13:50 GMT") is None


@given(st.text(max_size=60), st.none() | st.text(max_size=60))
def test_any_header_gives_a_bounded_wait_or_none(value, date):
    seconds = parse_retry_after(value, date=date)
    assert seconds is None or 0 <= seconds <= LONGEST_WAIT


def test_own_pauses_double_to_a_minute_with_jitter_upward_only():
    backoff = Backoff(rng=random.Random(1))
    pauses = [backoff.next() for _ in range(10)]
    for pause, base in zip(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60, 60], strict=True):
        assert base <= pause <= base * 1.25


def test_a_pause_that_the_receiver_named_is_kept_and_bounded():
    backoff = Backoff()
    assert backoff.next(30.0) == 30.0
    assert backoff.next(1e9) == LONGEST_WAIT


@pytest.mark.parametrize("unusable", [None, 0.0, -5.0, inf])
def test_an_unusable_wait_leaves_it_to_the_backoff(unusable):
    assert Backoff().next(unusable) >= 1.0


def test_success_starts_the_pauses_anew():
    backoff = Backoff()
    for _ in range(5000):
        backoff.next()
    backoff.reset()
    assert backoff.next() <= 1.25


def test_a_bucket_gives_its_burst_then_one_a_second():
    bucket = TokenBucket(rate=1.0, burst=5)
    assert [bucket.take(100.0) for _ in range(6)] == [0, 0, 0, 0, 0, 1.0]
    assert bucket.take(100.5) == pytest.approx(0.5)
    assert bucket.take(101.0) == 0
    assert bucket.take(1000.0) == 0


def test_a_bucket_ignores_a_clock_that_runs_backwards():
    bucket = TokenBucket(rate=1.0, burst=1)
    assert bucket.take(100.0) == 0
    assert bucket.take(50.0) == 1.0
    assert bucket.take(100.5) == pytest.approx(0.5)


@given(st.lists(st.floats(0, 10), min_size=1, max_size=200))
def test_a_bucket_never_gives_more_than_rate_and_burst(gaps):
    bucket, now, given_away = TokenBucket(rate=2.0, burst=3), 0.0, 0
    for gap in gaps:
        now += gap
        given_away += bucket.take(now) == 0
    assert given_away <= 3 + 2.0 * sum(gaps) + 1e-6


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_a_bucket_without_flow_is_refused(rate, burst):
    with pytest.raises(ValueError, match="bucket"):
        TokenBucket(rate, burst)
