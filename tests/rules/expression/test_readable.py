"""The text for readers means what the canonical text means, with no bracket to spare."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.resources import PACKS, pack_path, read_sources
from sentinel.rules.expression.nodes import Node
from sentinel.rules.expression.parse import ExpressionError, parse_expression
from sentinel.rules.expression.readable import readable
from sentinel.rules.loader import load_rules

NUMBERS = st.recursive(
    st.sampled_from(["kl.ref", "`a/b`", "0.1", "20%", "1e-9", "step", "abs(entropy - 1)", "mean(-kl.ref * 2, 5m)"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda parts: "({}) {} ({})".format(*parts)),
        inner.map(lambda text: f"-({text})"),
    ),
    max_leaves=6,
)
COMPARISONS = st.tuples(NUMBERS, st.sampled_from(["<", ">=", "=="]), NUMBERS).map(lambda p: "({}) {} ({})".format(*p))
CONDITIONS = st.recursive(
    COMPARISONS | st.sampled_from(["phase != late", "nonfinite(*)", "held(kl.ref > 1 or step > 2, 5m)"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda parts: "({}) {} ({})".format(*parts)),
        inner.map(lambda text: f"not ({text})"),
    ),
    max_leaves=4,
)


@given(CONDITIONS)
def test_it_reads_as_the_same_expression_and_no_pair_of_brackets_can_go(text: str) -> None:
    node = parse_expression(text)
    shown = readable(node)
    assert parse_expression(shown) == node
    for opening in re.finditer(r"(?<![a-z])\(", shown):
        closing = _closing(shown, opening.start())
        bare = shown[: opening.start()] + shown[opening.end() : closing] + shown[closing + 1 :]
        assert _meaning(bare) != node


def _meaning(text: str) -> Node | None:
    try:
        return parse_expression(text)
    except ExpressionError:
        return None


def _closing(text: str, opening: int) -> int:
    depth = 0
    for at in range(opening, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
    raise AssertionError(text)


@pytest.mark.parametrize("pack", PACKS)
def test_each_shipped_condition_reads_as_itself(pack: str) -> None:
    for rule in load_rules(read_sources([pack_path(pack)])):
        for _, condition in rule.conditions:
            assert parse_expression(readable(condition)) == condition
