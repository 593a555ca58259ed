"""The notation of series: what it means, how large it may grow, and where its faults are told."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.ruletest import MAX_VALUES, noise, parse_series, values
from sentinel.ruletest.series import length
from sentinel.ruletest.text import TextError


def written(text, seed=None):
    return values("kl", parse_series(text), seed)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2*3x4", [2, 6, 18, 54]),
        ("8*0.5x3 -1*2x2", [8, 4, 2, -1, -2]),
        ("0..1x3", [0, 0.5, 1]),
        ("1..-1x2", [1, -1]),
        ("1.5..2.5x3", [1.5, 2, 2.5]),
        ("(1 2)x2", [1, 2, 1, 2]),
        ("(1)", [1]),
        ("0(1(2)x2)x2 3", [0, 1, 2, 2, 1, 2, 2, 3]),
        ("( 1+1x2 _ )x2", [1, 2, "_", 1, 2, "_"]),
    ],
)
def test_ramps_and_groups_are_written_out(text, expected):
    assert written(text) == pytest.approx(expected) if "_" not in expected else written(text) == expected
    assert length(parse_series(text)) == len(expected)


def test_a_ramp_that_leaves_the_range_of_numbers_is_infinite():
    assert written("2*10x400")[-1] == math.inf


def test_a_seed_draws_other_noise_and_the_same_each_time():
    plain, other = written("1~0.1x20"), written("1~0.1x20", 7)
    assert plain != other
    assert other == written("1~0.1x20", 7) != written("1~0.1x20", 8)
    assert noise("kl", 3) == pytest.approx((plain[3] - 1) / 0.1)


def test_noise_in_percent_is_a_share_of_the_value():
    small, large = written("1~10%x20"), written("1000~10%x20")
    assert large == pytest.approx([1000 * value for value in small])


@pytest.mark.parametrize(
    ("text", "at", "hint"),
    [
        ("0.5 x10", (4, 7), "no space before it: 0.5x10"),
        ("1,2,3", (0, 5), "put spaces between items, not commas"),
        ("0.5 0.1..0.9", (4, 12), "write 0.1..0.9x60"),
        ("1 (2 3", (2, 3), "write (0.1x9 0.9)x5"),
        ("1 2)x3", (3, 4), "write (0.1x9 0.9)x5"),
        ("(1 2)x3y", (4, 8), "write )x5, then a space"),
        ("()x3", (0, 4), "write (0.1x9 0.9)x5"),
        ("NaN*2x3", (0, 7), ""),
        ("(1)x0", (2, 5), ""),
        ("(1x1000)x1000", (7, 13), ""),
        ("((((((((((1))))))))))", (8, 9), ""),
    ],
)
def test_a_fault_is_told_at_its_characters_with_a_remedy(text, at, hint):
    with pytest.raises(TextError) as caught:
        parse_series(text)
    assert ((caught.value.start, caught.value.end), caught.value.hint) == (at, hint)


ITEM = st.sampled_from(["1", "0.5x3", "1+0.5x4", "2*1.1x3", "0..1x5", "3~0.1x2", "NaN", "null", "_x2"])
SERIES = st.recursive(
    st.lists(ITEM, min_size=1, max_size=4).map(" ".join),
    lambda inner: st.tuples(inner, st.integers(1, 4), inner).map(lambda parts: f"({parts[0]})x{parts[1]} {parts[2]}"),
    max_leaves=5,
)


@given(SERIES)
def test_a_series_has_as_many_values_as_it_says(text):
    items = parse_series(text)
    assert len(written(text)) == length(items) <= MAX_VALUES


@given(st.text("0123456789.x+-*~()_ %NaN", max_size=40))
def test_no_text_raises_anything_but_its_own_error_or_grows_beyond_the_bound(text):
    try:
        items = parse_series(text)
    except TextError as fault:
        assert 0 <= fault.start < fault.end
    else:
        assert 1 <= length(items) <= MAX_VALUES
