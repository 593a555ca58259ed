"""Expressions: what they read as, and how a fault is told."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sentinel.metrics import default
from sentinel.rules.expression.check import compile_text
from sentinel.rules.expression.nodes import (
    Alert,
    Arithmetic,
    Call,
    Compare,
    Context,
    Duration,
    Extent,
    Logic,
    Metric,
    Negative,
    Node,
    Not,
    Number,
    metrics_of,
)
from sentinel.rules.expression.parse import (
    MAX_LENGTH,
    ExpressionError,
    Fault,
    parse_expression,
    parse_extent,
)
from sentinel.stats import FUNCTIONS
from sentinel.stats.window import Axis

KL = Metric("kl.ref")


def faults(text: str) -> list[Fault]:
    with pytest.raises(ExpressionError) as caught:
        compile_text(text, default())
    return caught.value.faults


def told(text: str) -> list[tuple[str, str]]:
    """(code, the text under the caret) of each fault."""
    return [(fault.code, text[fault.start : fault.end]) for fault in faults(text)]


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("kl.ref > 0.5", Compare(">", KL, Number(0.5))),
        ("kl.ref>=.5", Compare(">=", KL, Number(0.5))),
        ("clip_frac > 40 %", Compare(">", Metric("clip_frac"), Number(0.4, percent=True))),
        ("`actor/kl loss` != 1e-3", Compare("!=", Metric("actor/kl loss", raw=True), Number(0.001))),
        ("gpu.util{gpu=0} < 5", Compare("<", Metric("gpu.util", (("gpu", "0"),)), Number(5.0))),
        (
            'gpu.util{host="a b", gpu=0} < 5',
            Compare("<", Metric("gpu.util", (("gpu", "0"), ("host", "a b"))), Number(5.0)),
        ),
        ("reward.component.* < 1", Compare("<", Metric("reward.component.*"), Number(1.0))),
        ("mean(kl.ref, 10 steps) > 1", Compare(">", Call("mean", KL, Extent(Axis.STEPS, 10)), Number(1.0))),
        ("mean(kl.ref, 1 sample) > 1", Compare(">", Call("mean", KL, Extent(Axis.SAMPLES, 1)), Number(1.0))),
        ("mean(kl.ref, 5m) > 1", Compare(">", Call("mean", KL, Extent(Axis.TIME, 300.0)), Number(1.0))),
        (
            "quantile(kl.ref, 90%, 10 steps) > 1",
            Compare(">", Call("quantile", KL, Extent(Axis.STEPS, 10), Number(0.9, percent=True)), Number(1.0)),
        ),
        (
            "held(kl.ref > 1, 10 steps)",
            Call("held", Compare(">", KL, Number(1.0)), Extent(Axis.STEPS, 10)),
        ),
        (
            "share(nonfinite(kl.ref), 5 samples) >= 60%",
            Compare(
                ">=",
                Call("share", Call("nonfinite", KL), Extent(Axis.SAMPLES, 5)),
                Number(0.6, percent=True),
            ),
        ),
        ("rising(kl.ref, 10 steps)", Call("rising", KL, Extent(Axis.STEPS, 10))),
        ("abs(kl.ref) > 1", Compare(">", Call("abs", KL), Number(1.0))),
        ("age(kl.ref) > 1.5h", Compare(">", Call("age", KL), Duration(5400.0))),
        ("step > 100", Compare(">", Context("step"), Number(100.0))),
        ("nonfinite(*)", Call("nonfinite", Metric("*"))),
        ("progress > 50%", Compare(">", Context("progress"), Number(0.5, percent=True))),
        ("step_time > 5m", Compare(">", Context("step_time"), Duration(300.0))),
        ("kl.ref > config.actor.kl_coef", Compare(">", KL, Context("config.actor.kl_coef"))),
        ("kl.ref < -1", Compare("<", KL, Number(-1.0))),
        ("-kl.ref > 1", Compare(">", Negative(KL), Number(1.0))),
        ("not kl.ref > 1", Not(Compare(">", KL, Number(1.0)))),
        (
            "kl.ref > 1 or kl.ref < 2 and step > 3",
            Logic(
                "or",
                (
                    Compare(">", KL, Number(1.0)),
                    Logic("and", (Compare("<", KL, Number(2.0)), Compare(">", Context("step"), Number(3.0)))),
                ),
            ),
        ),
        (
            "kl.ref - 1 - 2 * 3 > 0",
            Compare(
                ">",
                Arithmetic(
                    "-",
                    Arithmetic("-", KL, Number(1.0)),
                    Arithmetic("*", Number(2.0), Number(3.0)),
                ),
                Number(0.0),
            ),
        ),
        ("organic > 1", Compare(">", Metric("organic"), Number(1.0))),
    ],
)
def test_what_an_expression_reads_as(text: str, node: Node) -> None:
    assert parse_expression(text) == node
    assert parse_expression(str(node)) == node


@pytest.mark.parametrize(
    ("text", "code", "under"),
    [
        ("", "syntax", ""),
        ("kl.ref >", "syntax", ""),
        ("kl.ref = 5", "syntax", "="),
        ("kl.ref > 5 && step > 3", "syntax", "&"),
        ("kl.ref > 5 || step > 3", "syntax", "|"),
        ("kl.ref > 5 foo", "syntax", "foo"),
        ("kl.ref > 5 AND step > 3", "syntax", "AND"),
        ("kl.ref > 5 5", "syntax", "5"),
        ("1 < kl.ref < 2", "syntax", "<"),
        ("actor/kl:loss > 5", "unknown-metric", "actor/kl:loss"),
        ("kl.ref[5] > 1", "syntax", "["),
        ("kl.ref ** 2 > 1", "syntax", "**"),
        ("mean(kl.ref, 10 steps > 1", "syntax", ""),
        ("kl.ref > 5m5", "syntax", "5m5"),
        ("(kl.ref > 5", "syntax", ""),
        ("kl.ref > 5)", "syntax", ")"),
        ("and > 5", "syntax", "and"),
        ("lambda: 5", "syntax", ":"),
        ("().__class__", "syntax", ")"),
        ("kl.ref > ٣", "syntax", "٣"),
        ("kl.ref > 1e400", "bad-number", "1e400"),
        ("kl.ref > 9**9**9", "syntax", "**"),
        ("age(kl.ref) > 400d", "bad-number", "400d"),
        ("kl.rf > 5", "unknown-metric", "kl.rf"),
        ("config.* > 5", "unknown-metric", "config.*"),
        ("step_time > 5", "wrong-unit", "step_time > 5"),
        ("step_time > config.x", "wrong-unit", "step_time > config.x"),
        ("age(kl.ref) > 3 * time.step_s", "wrong-unit", "age(kl.ref) > 3 * time.step_s"),
        ("reward > 5", "unknown-metric", "reward"),
        ("nonsense.* > 5", "unknown-metric", "nonsense.*"),
        ("maen(kl.ref, 5 steps) > 5", "unknown-function", "maen"),
        ("mean > 5", "function-without-brackets", "mean"),
        ("mean() > 5", "bad-arguments", "mean"),
        ("mean(kl.ref) > 5", "bad-arguments", "mean"),
        ("mean(kl.ref, 5) > 5", "bad-arguments", "5"),
        ("mean(kl.ref, 0 steps) > 5", "bad-arguments", "0 steps"),
        ("mean(kl.ref, 999999 steps) > 5", "bad-arguments", "999999 steps"),
        ("mean(kl.ref, 5 steps, 6 steps) > 5", "bad-arguments", "mean"),
        ("mean(5 steps, kl.ref) > 5", "bad-arguments", "kl.ref"),
        ("mean(kl.ref > 5, 5 steps) > 5", "bad-arguments", "kl.ref > 5"),
        ("mean(*, 5 steps) > 5", "bad-arguments", "*"),
        ("best(kl.ref, 5 steps) > 5", "bad-arguments", "5 steps"),
        ("quantile(kl.ref, 5 steps) > 5", "bad-arguments", "5 steps"),
        ("quantile(kl.ref) > 5", "bad-arguments", "quantile"),
        ("quantile(kl.ref, 90%) > 5", "bad-arguments", "quantile"),
        ("quantile(kl.ref, 90, 5 steps) > 5", "bad-arguments", "90"),
        ("quantile(kl.ref, 5 steps, 90%) > 5", "bad-arguments", "5 steps"),
        ("ewma(kl.ref) > 5", "bad-arguments", "ewma"),
        ("ewma(kl.ref, 5 steps) > 5", "bad-arguments", "5 steps"),
        ("abs(kl.ref, 5 steps) > 5", "bad-arguments", "5 steps"),
        ("held(kl.ref, 5 steps)", "bad-arguments", "kl.ref"),
        ("held(kl.ref > 1)", "bad-arguments", "held"),
        ("held(absent(kl.ref, 5m), 3 steps)", "bad-arguments", "absent(kl.ref, 5m)"),
        ("share(kl.ref > 1, 5 samples)", "not-a-condition", "share(kl.ref > 1, 5 samples)"),
        ("held(kl.ref > 1, 5 steps) > 1", "wrong-unit", "held(kl.ref > 1, 5 steps)"),
        ("held(kl.rf > 1, 5 steps)", "unknown-metric", "kl.rf"),
        ("held(kl.ref > 5%, 5 steps)", "wrong-unit", "kl.ref > 5%"),
        ("mean(rising(kl.ref, 5 steps), 5 steps) > 1", "wrong-unit", "rising(kl.ref, 5 steps)"),
        ("share(kl.ref > 1, 5 samples) > 60", "wrong-scale", "60"),
        ("progress > 50", "wrong-scale", "50"),
        ("seen(kl.ref, 5 steps)", "bad-arguments", "5 steps"),
        ("slope(kl.ref, 5 steps) > 5%", "wrong-unit", "slope(kl.ref, 5 steps) > 5%"),
        ("rising(kl.ref, 5 steps) > 5", "wrong-unit", "rising(kl.ref, 5 steps)"),
        ("zscore(kl.ref, 5 steps)", "not-a-condition", "zscore(kl.ref, 5 steps)"),
        ("absent(kl.ref)", "bad-arguments", "absent"),
        ("absent(kl.ref, 5 samples)", "bad-arguments", "absent"),
        ("nonfinite(kl.ref + 1)", "bad-arguments", "kl.ref + 1"),
        ("nonfinite(kl.ref, 5 steps)", "bad-arguments", "5 steps"),
        ("kl.ref > 3 steps", "misplaced-window", "3 steps"),
        ("kl.ref", "not-a-condition", "kl.ref"),
        ("kl.ref and step > 3", "not-a-condition", "kl.ref"),
        ("not kl.ref", "not-a-condition", "kl.ref"),
        ("(kl.ref > 5) + 1 > 2", "wrong-unit", "(kl.ref > 5)"),
        ("kl.ref > 5m", "wrong-unit", "kl.ref > 5m"),
        ("age(kl.ref) > 5", "wrong-unit", "age(kl.ref) > 5"),
        ("delta(reward.mean, 5 steps) < -20%", "wrong-unit", "delta(reward.mean, 5 steps) < -20%"),
        ("reward.mean < -20%", "wrong-unit", "reward.mean < -20%"),
        ("20% > reward.component.format", "wrong-unit", "20% > reward.component.format"),
        ("slope(reward.mean, 5 steps) < -1%", "wrong-unit", "slope(reward.mean, 5 steps) < -1%"),
        ("-reward.mean > 20%", "wrong-unit", "-reward.mean > 20%"),
        ("2 * reward.mean > 20%", "wrong-unit", "2 * reward.mean > 20%"),
        ("reward.mean - best(reward.mean) < -20%", "wrong-unit", "reward.mean - best(reward.mean) < -20%"),
        ("reward.mean < best(reward.mean) - 20%", "wrong-unit", "best(reward.mean) - 20%"),
        ("grad_norm > 1 and kl.ref > 20% + initial(kl.ref)", "wrong-unit", "20% + initial(kl.ref)"),
        ("kl.ref > 5% / 5m", "wrong-unit", "5% / 5m"),
        ("kl.ref + 5m > 6m", "wrong-unit", "kl.ref + 5m"),
        ("mean(kl.ref, 5 steps) > 5%", "wrong-unit", "mean(kl.ref, 5 steps) > 5%"),
        ("kl.ref / 0 > 5", "division-by-zero", "0"),
        ("5 > 3", "no-metric", "5 > 3"),
    ],
)
def test_each_fault_is_told_at_its_place(text: str, code: str, under: str) -> None:
    found = told(text)
    assert (code, under) in found
    assert len({fault.message for fault in faults(text)}) == len(found)


def test_faults_that_do_not_hide_one_another_come_together() -> None:
    assert told("maen(kl.ref, 5 steps) > 5 and mean(entropy) < 3 and kl.ref > 5 steps") == [
        ("unknown-function", "maen"),
        ("bad-arguments", "mean"),
        ("misplaced-window", "5 steps"),
    ]
    assert told("kl.rf > 5 or entropi < 2") == [("unknown-metric", "kl.rf"), ("unknown-metric", "entropi")]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("kl.rf > 5", "did you mean 'kl.ref'?"),
        ("reward > 5", "reward.mean"),
        ("maen(kl.ref, 5 steps) > 5", "did you mean 'mean'?"),
        ("kl.ref = 5", "=="),
        ("kl.ref > 5 AND step > 3", "did you mean 'and'?"),
        ("kl.ref", "compare it"),
        ("mean(kl.ref) > 5", "mean(x, window)"),
        ("1 < kl.ref < 2", "a < b and b < c"),
    ],
)
def test_each_fault_names_a_remedy(text: str, hint: str) -> None:
    assert hint in faults(text)[0].hint


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("max(gpu.util, 5m) < 30%", "max(gpu.util, 5m) < 30.0"),
        ("30% > gpu.util", "30.0 > gpu.util"),
        ("clip_frac > 40%", "clip_frac > 40%"),
        ("held(gpu.util < 30%, 5m)", "held(gpu.util < 30.0, 5m)"),
        ("sum(clip_frac, 10 steps) > 3", "sum(clip_frac, 10 steps) > 3.0"),
        ("slope(gpu.util, 10 steps) > 0.3", "slope(gpu.util, 10 steps) > 0.3"),
        ("slope(gpu.util, 10 steps) > 5%", "slope(gpu.util, 10 steps) > 5.0"),
        ("spikes(clip_frac, 10 steps) > 3", "spikes(clip_frac, 10 steps) > 3.0"),
        ("quantile(gpu.util, 10%, 5m) < 30%", "quantile(gpu.util, 10%, 5m) < 30.0"),
        ("slope(time.step_s, 5 steps) > 0.5", "slope(time.step_s, 5 steps) > 0.5"),
        ("time.step_s > 2m", "time.step_s > 2m"),
        ("time.step_s > 3 * step_time", "time.step_s > (3.0 * step_time)"),
        ("kl.ref > config.beta * 20%", "kl.ref > (config.beta * 20%)"),
        ("time.step_s > 120", "time.step_s > 120.0"),
        ("kl.ref / initial(kl.ref) > 150%", "(kl.ref / initial(kl.ref)) > 150%"),
    ],
)
def test_units_that_fit(text: str, meaning: str) -> None:
    assert str(compile_text(text, default())) == meaning


@pytest.mark.parametrize(
    ("text", "extent"),
    [
        ("3 steps", Extent(Axis.STEPS, 3)),
        ("1 step", Extent(Axis.STEPS, 1)),
        (" 5samples ", Extent(Axis.SAMPLES, 5)),
        ("5m", Extent(Axis.TIME, 300.0)),
        ("250ms", Extent(Axis.TIME, 0.25)),
        ("1000000 steps", Extent(Axis.STEPS, 1_000_000)),
    ],
)
def test_lengths_of_time_and_counts(text: str, extent: Extent) -> None:
    assert parse_extent(text) == extent
    assert parse_extent(str(extent)) == extent


@pytest.mark.parametrize("text", ["3", "", "steps", "3 stepps", "5%", "kl.ref", "0 steps", "0s", "-3 steps", "foo(1)"])
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_extent(text)
    assert [fault.code for fault in caught.value.faults] == ["bad-extent"]


@pytest.mark.parametrize(
    "text",
    [
        "(" * 900,
        "-" * 900 + "kl.ref",
        "not " * 200 + "kl.ref > 1",
        "1" + "+1" * 300 + " > 1",
        "kl.ref > " + "(" * 25 + "1" + ")" * 25,
        "mean(" * 25 + "kl.ref",
    ],
)
def test_depth_is_bounded(text: str) -> None:
    assert faults(text)[0].code == "too-deep"
    with pytest.raises(ExpressionError):
        parse_extent(text)


def test_length_is_bounded() -> None:
    assert faults("kl.ref > 1" + " " * MAX_LENGTH)[0].code == "too-long"


def test_a_long_flat_condition_is_fine() -> None:
    text = " or ".join(f"kl.ref > {i}" for i in range(60))
    assert len(metrics_of(parse_expression(text))) == 1


@given(st.text(max_size=80))
@example("\x00")
@example("`")
@example("kl.ref > \U0001f642")
def test_no_text_raises_anything_but_its_own_error(text: str) -> None:
    for read in (lambda: compile_text(text, default()), lambda: parse_extent(text)):
        try:
            read()
        except ExpressionError as error:
            assert error.faults
            assert all(0 <= fault.start < fault.end for fault in error.faults)


WORDS = (
    "quantile( 90%, held( share( progress step_time config.beta config.* rising( abs( "
    "kl.ref `a/b` 5 30% 5m ( ) { } , = * + - / > <= == and or not mean( absent( best( age( nonfinite(*) step gpu=0 "
    '"x" reward.component.*'
)
pieces = st.lists(st.sampled_from([*WORDS.split(), "3 steps"]), max_size=25).map(" ".join)


@given(pieces)
def test_no_heap_of_words_raises_anything_but_its_own_error(text: str) -> None:
    try:
        node = compile_text(text, default())
    except ExpressionError as error:
        assert error.faults
    else:
        assert str(parse_expression(str(node))) == str(node)


finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e99, max_value=1e99)
numbers = st.builds(Number, finite)
percents = st.floats(min_value=0, max_value=1e50).map(lambda x: Number(float(repr(x)) / 100.0, percent=True))
durations = st.one_of(
    st.integers(0, 10**6).map(lambda n: Duration(float(n))),
    st.builds(lambda x, unit: Duration(x * unit), st.floats(0, 500), st.sampled_from([0.001, 1.0, 60.0])),
)
label_values = st.text(st.characters(exclude_characters='"\n', exclude_categories=["Cs"]), max_size=8)
labels = st.dictionaries(st.sampled_from(["gpu", "host", "a_b"]), label_values, max_size=2).map(
    lambda given: tuple(sorted(given.items()))
)
metrics = st.one_of(
    st.builds(Metric, st.sampled_from(["kl.ref", "reward.component.*", "x_1.y", "steps"]), labels),
    st.builds(
        lambda name, labels: Metric(name, labels, raw=True),
        st.text(st.characters(exclude_characters="`\n", exclude_categories=["Cs"]), min_size=1, max_size=12),
        labels,
    ),
)
windows = st.one_of(
    st.builds(lambda n: Extent(Axis.STEPS, n), st.integers(1, 99_999)),
    st.builds(lambda n: Extent(Axis.TIME, float(n)), st.integers(1, 10**6)),
)
values = st.recursive(
    st.one_of(
        numbers,
        percents,
        durations,
        metrics,
        st.sampled_from([Context("step"), Context("progress"), Context("config.a_b.c")]),
    ),
    lambda inner: st.one_of(
        st.builds(Arithmetic, st.sampled_from("+-*/"), inner, inner),
        st.builds(
            lambda x, w, share: Call("quantile", x, w, Number(share / 100.0, percent=True)),
            inner.filter(lambda node: not isinstance(node, Duration)),
            windows,
            st.sampled_from([0.0, 50.0, 99.5, 100.0]),
        ),
        st.builds(lambda x: Negative(x), inner.filter(lambda node: not isinstance(node, Number))),
        st.builds(lambda x, w: Call("mean", x, w), inner.filter(lambda node: not isinstance(node, Duration)), windows),
    ),
    max_leaves=6,
)
comparisons = st.builds(Compare, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), values, values)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(lambda node, w: Call("held", node, w), inner, windows),
        st.builds(Logic, st.sampled_from(["and", "or"]), st.lists(inner, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=4,
)


@given(conditions)
def test_the_canonical_text_reads_back_as_the_same_tree(node: Node) -> None:
    text = str(node)
    if len(text) <= MAX_LENGTH:
        assert parse_expression(text) == node


def test_every_function_states_its_signature() -> None:
    for name, function in FUNCTIONS.items():
        assert function.signature.startswith(f"{name}(")


@pytest.mark.parametrize(
    ("text", "alert"),
    [
        ("firing(kl-high)", Alert("kl-high")),
        ("pending ( 3-in-a-row , critical )", Alert("3-in-a-row", "critical")),
        ("firing(warning)", Alert("warning")),
    ],
)
def test_the_name_of_another_rule_is_a_name(text: str, alert: Alert) -> None:
    node = parse_expression(text)
    assert node == Call(text.partition("(")[0].strip(), alert)
    assert parse_expression(f"not {node} and kl.ref > 1") == Logic(
        "and", (Not(node), Compare(">", Metric("kl.ref"), Number(1.0)))
    )


@pytest.mark.parametrize(
    ("text", "under", "message"),
    [
        ("firing()", "firing", "firing() needs the name of another rule"),
        ("kl.ref > 1 and firing(a", "firing", "a bracket is not closed"),
        ("firing(`a`)", "`a`", "'`a`' is no rule's name"),
        ("firing(kl.ref > 1)", "kl.ref > 1", "'kl.ref > 1' is no rule's name"),
        ("firing(a, critcal)", "critcal", "'critcal' is no severity"),
        ("pending(a, critical, b)", "b", "pending() takes an alert and a severity"),
        ("held(firing(a), 3 steps)", "firing(a)", "held() cannot look back at what firing() said"),
        ("firing(a) > 1", "firing(a)", "a condition cannot be calculated with"),
        ("reference(kl.ref + 1) > 1", "kl.ref + 1", "reference() looks at a metric, not at a calculation"),
        ("baseline(kl.ref, 5m) < kl.ref", "5m", "the window of baseline() is counted in samples"),
    ],
)
def test_what_cannot_be_asked_of_another_rule_or_run_is_told(text: str, under: str, message: str) -> None:
    with pytest.raises(ExpressionError) as error:
        compile_text(text, default())
    assert [(text[fault.start : fault.end], fault.message) for fault in error.value.faults] == [(under, message)]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("avg(kl.ref, 5 steps) > 1", "write mean(x, window)"),
        ("max_over_time(kl.ref, 5 steps) > 1", "write max(x, window)"),
        ("Increase(kl.ref, 5 steps) > 1", "write rise(x, window)"),
        ("medain(kl.ref, 5 steps) > 1", "did you mean 'median'?"),
    ],
)
def test_functions_of_other_languages_are_translated(text: str, hint: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse_expression(text)
    assert [(fault.code, fault.hint) for fault in caught.value.faults] == [("unknown-function", hint)]
