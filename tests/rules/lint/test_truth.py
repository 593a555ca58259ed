"""What is said never to hold never holds: held against conditions that are worked out at random values."""

from __future__ import annotations

import operator
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sentinel.metrics import default
from sentinel.rules.expression.check import compile_text
from sentinel.rules.expression.nodes import Arithmetic, Compare, Logic, Metric, Negative, Node, Not, Number
from sentinel.rules.lint.ranges import Ranges
from sentinel.rules.lint.truth import Truth

OPERATORS = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
}
METRICS = {"kl.ref": (-3, 3), "grad_norm": (0, 6), "reward.std": (0, 6), "clip_frac": (0, 1)}
"""Metrics with values that the dictionary gives them."""


def truth() -> Truth:
    return Truth(Ranges(default()))


def condition(text: str) -> Node:
    return compile_text(text, default())


literals = st.integers(-4, 4).map(lambda n: Number(float(n)))
metrics = st.sampled_from(sorted(METRICS)).map(Metric)
quantities = st.recursive(
    st.one_of(metrics, metrics, literals),
    lambda inner: st.one_of(st.builds(Arithmetic, st.sampled_from("+-*"), inner, inner), st.builds(Negative, inner)),
    max_leaves=3,
)
comparisons = st.builds(Compare, st.sampled_from([">", ">=", "<", "<=", "==", "!="]), quantities, quantities)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.builds(Logic, st.sampled_from(["and", "or"]), st.tuples(inner, inner)), st.builds(Not, inner)
    ),
    max_leaves=5,
)
values = st.fixed_dictionaries({name: st.integers(low, high) for name, (low, high) in METRICS.items()})


def worked_out(node: Node, at: Mapping[str, float]) -> float:
    match node:
        case Number(value=value):
            return value
        case Metric(name=name):
            return at[name]
        case Negative(operand=operand):
            return -worked_out(operand, at)
        case Arithmetic(op=op, left=left, right=right) | Compare(op=op, left=left, right=right):
            return float(OPERATORS[op](worked_out(left, at), worked_out(right, at)))
        case Logic(op=op, parts=parts):
            return float((all if op == "and" else any)(worked_out(part, at) for part in parts))
        case Not(operand=operand):
            return float(not worked_out(operand, at))
    raise AssertionError(node)


@given(conditions, values)
def test_what_holds_somewhere_can_hold_and_what_fails_can_fail(node: Node, at: dict[str, float]) -> None:
    if worked_out(node, at):
        assert truth().can_hold(node)
    else:
        assert truth().can_fail(node)


@given(conditions, conditions, values)
def test_what_is_implied_holds_where_the_other_does(one: Node, two: Node, at: dict[str, float]) -> None:
    if worked_out(one, at) and not worked_out(two, at):
        assert not truth().implies([one], two)


@pytest.mark.parametrize(
    "text",
    [
        "clip_frac < 0",
        "mean(clip_frac, 5 steps) > 1",
        "std(kl.ref, 5 samples) < 0",
        "kl.ref > 1 and kl.ref < 0.5",
        "2 * kl.ref > 1 and 0.4 > kl.ref",
        "count(kl.ref, 5 samples) > 5",
        "share(kl.ref > 1, 5 samples) > 100%",
        "drop(length.mean, 10 steps) > 120%",
        "change(length.mean, 10 steps) < -110%",
        "rising(kl.ref, 10 steps) and falling(kl.ref, 10 steps)",
        "flat(kl.ref, 10 steps) and rising(kl.ref, 10 steps)",
        "held(clip_frac > 1, 5 steps)",
        "grad_norm > 5 * median(grad_norm, 9 steps) and grad_norm < 4 * median(grad_norm, 9 steps)",
        "(kl.ref > 2 or kl.ref < -2) and abs(reward.mean) < 0",
        "not (gpu.util <= 100%)",
        "kl.ref == 2 and kl.ref != 2",
        "nonfinite(kl.ref) and not nonfinite(kl.ref)",
        "phase == late and phase != late",
    ],
)
def test_what_cannot_hold(text: str) -> None:
    assert not truth().can_hold(condition(text))


@pytest.mark.parametrize(
    "text",
    [
        "kl.ref < 0",
        "phase == late and kl.ref > 1",
        "clip_frac >= 1",
        "sum(clip_frac, 5 steps) > 4",
        "drop(reward.mean, 10 steps) > 120%",
        "kl.ref > 1 and median(kl.ref, 5 samples) < 0.5",
        "delta(clip_frac, 5 steps) < -0.5",
        "`my/share` < 0",
        "reward.mean > 2 * best(reward.mean) and reward.mean < best(reward.mean)",
        "rising(kl.ref, 10 steps) and falling(kl.ref, 20 steps)",
        "reward.component.* > 1e9",
    ],
)
def test_what_may_hold(text: str) -> None:
    assert truth().can_hold(condition(text))


def test_thousands_of_alternatives_are_not_all_tried() -> None:
    either = " and ".join(f"(kl.ref > {n} or grad_norm > {n})" for n in range(12))
    assert truth().can_hold(condition(f"{either} and kl.ref < 0 and grad_norm < 12"))
