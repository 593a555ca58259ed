import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.alerts.matcher import Matcher, all_match, parse_matcher

LABELS = {"run": "grpo-7b", "severity": "critical"}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("run=grpo-7b", True),
        ('run="grpo-7b"', True),
        (" run = grpo-7b ", True),
        ("run!=grpo-7b", False),
        ("run=~grpo-.*", True),
        ("run=~grpo", False),  # the whole value, as in Alertmanager
        ("run!~grpo", True),
        ("severity=~critical|warning", True),
        ("host=", True),  # a label that is not there is empty
        ("host!=gpu-1", True),
        ("host=~.+", False),
    ],
)
def test_a_matcher_reads_and_decides_as_alertmanager_does(text, holds):
    assert parse_matcher(text).matches(LABELS) is holds


@pytest.mark.parametrize("text", ["", "run", "=x", "run=~(", '"run"=x', 'run="x', 'run="x"y', "1run=x"])
def test_what_is_no_matcher_is_refused_in_words(text):
    with pytest.raises(ValueError, match=r"matcher|pattern|quotes"):
        parse_matcher(text)


@given(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]*", fullmatch=True), st.sampled_from(["=", "!="]), st.text())
def test_a_matcher_reads_back_from_its_own_text(label, op, value):
    matcher = Matcher(label, op, value)
    assert parse_matcher(str(matcher)) == matcher


@given(st.text())
def test_equality_and_a_quoted_pattern_agree(value):
    labels = {"run": value}
    assert Matcher("run", "=", value).matches(labels)
    assert Matcher("run", "=~", re.escape(value)).matches(labels)
    assert not Matcher("run", "!~", re.escape(value)).matches(labels)


def test_all_matchers_must_hold():
    assert all_match([parse_matcher("run=grpo-7b"), parse_matcher("severity=critical")], LABELS)
    assert not all_match([parse_matcher("run=grpo-7b"), parse_matcher("severity=info")], LABELS)
