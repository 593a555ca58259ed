"""Ranges of a trainer's releases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.metrics.versions import ANY, Versions, hull, read_version

VERSION = st.lists(st.integers(0, 30), min_size=1, max_size=4).map(tuple)
RANGE = st.builds(Versions, st.none() | VERSION, st.none() | VERSION).filter(lambda one: one.meet(ANY) is not None)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("0.17.0..0.26", ["0.17.0", "0.26", "0.26.2", "v0.20.1"], ["0.16.1", "0.27.0", "1.0"]),
        ("..0.16", ["0.14.0", "0.16.1"], ["0.17.0"]),
        ("1.8.0..", ["1.8.0", "1.16.0", "2"], ["1.7.9", "0.29.0"]),
        ("0.6.0..0.6.0", ["0.6.0"], ["0.6.1", "0.6"]),
        ("-", ["0.1", "99"], ["main"]),
    ],
)
def test_a_range_holds_its_ends_and_what_lies_between(text: str, inside: list[str], outside: list[str]) -> None:
    versions = Versions.parse(text)
    assert [version for version in inside if not versions.holds(version)] == []
    assert [version for version in outside if versions.holds(version)] == []


@pytest.mark.parametrize("text", ["", "..", "0.17", "a..b", "1..2..3", ">=1", "1.. ", "0.26.x.."])
def test_a_text_that_is_no_range_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a"):
        Versions.parse(text)


def test_a_version_is_the_number_that_a_text_begins_with() -> None:
    assert read_version("0.27.0.dev0") == (0, 27, 0)
    assert read_version(" v1.16.0+cu121") == (1, 16, 0)
    assert read_version("2025.10.1") == (2025, 10, 1)
    assert read_version("main@7ea279a") is None
    assert Versions.of("main") == ANY == Versions.of(None)


@given(RANGE, RANGE)
def test_what_two_ranges_share_is_within_both(one: Versions, other: Versions) -> None:
    shared = one.meet(other)
    if shared is not None:
        assert shared.within(one)
        assert shared.within(other)
    assert one.within(hull([one, other]))


@given(RANGE, RANGE)
def test_meeting_is_the_same_either_way_round(one: Versions, other: Versions) -> None:
    left, right = one.meet(other), other.meet(one)
    assert (left is None) == (right is None)
    if left is not None and right is not None:
        assert left.within(right)
        assert right.within(left)


@given(st.text(max_size=20))
def test_no_text_breaks_the_reading_of_a_version(text: str) -> None:
    read_version(text)
    Versions.of(text)
