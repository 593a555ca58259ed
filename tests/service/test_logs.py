"""Logs: one JSON object a line, and no floods."""

from __future__ import annotations

import json

import pytest
import structlog

from sentinel.service.logs import Throttle, configure


@pytest.fixture(autouse=True)
def _as_before() -> object:
    yield
    structlog.reset_defaults()


def test_an_event_is_one_line_of_json_on_stderr_whatever_its_values_hold(capsys: pytest.CaptureFixture[str]) -> None:
    configure()
    structlog.get_logger("x").info("run.seen", run="a\r\n\x1b[31mred", value=float("nan"))
    told = capsys.readouterr()
    assert told.out == ""
    (line,) = told.err.splitlines()
    assert "\x1b" not in line
    found = json.loads(line)
    assert (found["event"], found["run"], found["level"]) == ("run.seen", "a\r\n\x1b[31mred", "info")
    assert found["timestamp"].endswith("Z")


def test_what_is_below_the_level_is_not_said(capsys: pytest.CaptureFixture[str]) -> None:
    configure("warning")
    structlog.get_logger("x").info("quiet")
    structlog.get_logger("x").warning("loud")
    assert "quiet" not in (told := capsys.readouterr().err)
    assert "loud" in told


def test_an_exception_is_part_of_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    configure()
    try:
        raise ValueError("why")
    except ValueError:
        structlog.get_logger("x").exception("work.failed")
    (line,) = capsys.readouterr().err.splitlines()
    assert "ValueError: why" in json.loads(line)["exception"]


def test_of_each_kind_one_in_ten_seconds_passes_and_the_rest_are_counted() -> None:
    throttle = Throttle(10.0)
    assert throttle.admit("a", 100.0) == 0
    assert throttle.admit("a", 101.0) is None
    assert throttle.admit("a", 109.9) is None
    assert throttle.admit("b", 109.9) == 0
    assert throttle.admit("a", 110.0) == 2
    assert throttle.admit("a", 120.0) == 0
