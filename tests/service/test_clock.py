"""The clocks of the daemon."""

from __future__ import annotations

import time

import pytest

from sentinel.service.clock import RedisClock, SteadyClock, monotonic


def test_it_says_the_time_of_redis_once_it_was_told() -> None:
    clock = RedisClock()
    clock.anchor(5_000_000_000.0)
    assert 5_000_000_000.0 <= clock.now() < 5_000_000_600.0


def test_the_first_anchor_may_set_it_back() -> None:
    clock = RedisClock()
    assert clock.now() > 1_700_000_000.0
    clock.anchor(1_600_000_000.0)
    assert clock.now() < 1_700_000_000.0


def test_from_then_on_it_never_runs_backwards() -> None:
    clock = RedisClock()
    clock.anchor(2_000_000_000.0)
    before = clock.now()
    clock.anchor(1_900_000_000.0)
    assert clock.now() == before
    clock.anchor(2_000_003_600.0)
    assert clock.now() >= 2_000_003_600.0


@pytest.mark.parametrize("make", [SteadyClock, RedisClock])
def test_setting_the_systems_clock_moves_neither(make: type[SteadyClock], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = make()
    before = clock.now()
    monkeypatch.setattr(time, "time", lambda: 0.0)
    assert clock.now() >= before
    monkeypatch.setattr(time, "time", lambda: 9e9)
    assert clock.now() < before + 600.0


def test_the_monotonic_clock_measures_differences() -> None:
    first = monotonic()
    assert monotonic() >= first
