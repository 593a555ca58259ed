"""What `firing` and `pending` make of an alert's record."""

import pytest

from sentinel.engine.lifecycle import Clock, Record
from sentinel.stats import FUNCTIONS


def record(level, *counts):
    clocks = [Clock(count=count) for count in counts]
    return Record(id="i", state="pending", onset_step=0, onset_time=None, clocks=clocks, level=level)


@pytest.mark.parametrize(
    ("found", "level", "firing", "pending"),
    [
        (None, 0, False, False),
        (record(-1, 1, 0), 0, False, True),
        (record(-1, 1, 0), 1, False, False),
        (record(0, 1, 0), 0, True, False),
        (record(0, 1, 1), 1, False, True),
        (record(1, 1, 1), 0, True, False),
        (record(1, 0, 0), 1, True, False),
    ],
)
def test_an_alert_fires_or_is_about_to_with_at_least_a_severity(found, level, firing, pending):
    assert FUNCTIONS["firing"].read(found, level) is firing
    assert FUNCTIONS["pending"].read(found, level) is pending
