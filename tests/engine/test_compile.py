"""What the generated code runs, shares and lets in."""

import ast
import inspect
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rule_builder import at, rule, rules, told

from sentinel.engine.bind import SeriesName
from sentinel.engine.engine import Engine
from sentinel.engine.program import Program
from sentinel.events import StepMetrics
from sentinel.metrics import default
from sentinel.rules.expression.nodes import Compare, Metric, Number
from sentinel.rules.model import Rule

HOSTILE = [
    "'",
    '"',
    "'''",
    '"""',
    "\\",
    "\\'",
    "\n    raise SystemExit\n",
    "\rraise SystemExit",
    "\x00",
    "\x0c",
    "\u2028",
    "{",
    "}",
    "{x}",
    "{0.__class__}",
    "%s",
    "#",
    "`",
    "'); raise SystemExit(",
    "__import__('os').abort()",
    "series kl.ref",
    "mean(kl.ref, 3 steps)",
    "kl.ref + entropy",
    "x{a=1}{b=2}",
    "x{}",
    "x{=}",
    "",
]


_ROW = {"kl.ref": 2.0, "reward.mean": 1.0, "entropy": 0.5}


def compiled(*members, keys=("kl.ref", "reward.mean", "entropy")):
    series = [SeriesName(key, (), key) for key in keys]
    return Program(rules(*members), default()).compiled(series, {})


def raw(name: str) -> Metric:
    return Metric(name, raw=True)


def bare(name: str, *conditions) -> Rule:
    return Rule(name, "kl-high", conditions, summary="{metric} {value}")


def test_a_rule_does_not_run_when_its_metric_is_not_in_the_event():
    source = compiled(rule(warning="kl.ref > 0.625"), rule("other", info="reward.mean > 1")).source
    (value,) = re.findall(r"(\w+) = get\('kl\.ref'\)", source)

    def gates(node, around=()):
        """The tests of all `if`s that stand around each mention of the threshold."""
        if isinstance(node, ast.Constant) and node.value == 0.625:
            yield around
        for child in ast.iter_child_nodes(node):
            within = isinstance(node, ast.If) and child in node.body
            yield from gates(child, (*around, ast.unparse(node.test)) if within else around)

    found = list(gates(ast.parse(source)))
    assert found and all(f"{value} is not None" in around for around in found)


def test_reading_a_kernel_shows_that_nothing_of_an_absent_metric_is_touched():
    class Untouchable:
        def __getattr__(self, name):
            raise AssertionError(name)

    found = compiled(rule(warning="mean(kl.ref, 3 steps) > 0.5"), rule("other", info="reward.mean > 1"))
    slots = [Untouchable() if "kl.ref" in key else found.plan for key in found.plan.keys]
    given = {"slots": slots, "records": [None, None], "bad": set(), "get": {}.get, "rel": 0, "step": 0}
    rest = dict.fromkeys(inspect.signature(found.kernel).parameters.keys() - given.keys())
    assert found.kernel(**given, **rest) is None


def test_a_rule_over_metrics_that_the_run_does_not_log_is_left_out():
    assert "0.625" not in compiled(rule(warning="grad_norm > 0.625")).source


def test_what_can_never_hold_is_not_asked():
    assert "0.625" not in compiled(rule(warning="kl.ref > 0.5 or grad_norm > 0.625")).source
    assert "0.625" not in compiled(rule(warning="not (kl.ref > 0.5 and grad_norm > 0.625)")).source


def test_a_rule_that_can_never_hold_is_looked_at_only_while_an_alert_stands():
    """As it does when a rule was reloaded, or the trainer's keys turned out to mean something else."""
    found = compiled(rule(warning="kl.ref < 0.5 and grad_norm > 0.625"))
    engine = Engine(rules(rule(warning="kl.ref < 0.5 and grad_norm > 0.625")))
    engine.handle(StepMetrics(run="r", step=0, metrics={"kl.ref": 0.1}))
    slots, records = engine.runs["r"].state, [object()]
    given = {"slots": slots, "bad": set(), "get": {"kl.ref": 0.1}.get, "rel": 1, "step": 1, "time": 0.0}
    rest = dict.fromkeys(inspect.signature(found.kernel).parameters.keys() - {*given, "records", "held"})
    assert found.kernel(**given, **rest, records=records, held=0) is None
    assert found.kernel(**given, **rest, records=records, held=1) == [(0, (None,), None)]


def test_a_number_that_several_conditions_ask_for_is_calculated_once():
    """Inside the block of its metric, in the nested series that it feeds, and behind all updates."""
    own = compiled(
        rule("a", warning="median(kl.ref, 5 samples) > 1", critical="median(kl.ref, 5 samples) > 2"),
        rule("b", warning="median(kl.ref, 5 samples) < best(median(kl.ref, 5 samples))"),
    ).source
    assert own.count("/ 2.0") == 1
    behind = compiled(
        rule("a", warning="median(kl.ref, 5 samples) > reward.mean"),
        rule("b", warning="median(kl.ref, 5 samples) > entropy"),
    ).source
    assert behind.count("/ 2.0") == 1


def test_a_number_behind_a_gate_is_not_taken_from_there():
    engine = Engine(
        rules(
            rule("late", warning="mean(kl.ref, 2 steps) > reward.mean + mean(kl.ref, 2 steps)", after=50),
            rule("soon", warning="mean(kl.ref, 2 steps) > entropy"),
        )
    )
    said = [engine.handle(StepMetrics(run="r", step=step, metrics=_ROW)) for step in range(3)]
    assert [told(each) for each in said][1:] == [[("firing", "warning", 1)], []]


def test_what_costs_least_is_asked_first():
    source = compiled(rule(warning="std(kl.ref, 10 samples) > 0.25 and kl.ref > 0.625")).source
    assert source.index("> 0.625") < source.index("> 0.25")


def test_the_same_statistic_in_two_rules_is_one_object():
    found = compiled(
        rule("a", warning="mean(kl.ref, 10 steps) > 1", critical="mean(kl.ref, 10 steps) > 2"),
        rule("b", warning="mean(kl.ref, 10 steps) > 3 and std(kl.ref, 10 steps) < 1"),
        rule("c", info="best(median(kl.ref, 5 steps)) - median(kl.ref, 5 steps) > 1"),
        rule("d", info="drop(median(kl.ref, 5 steps), 30 steps) > 20%"),
    )
    kinds = [key.split(" ")[0] for key in found.plan.keys]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "series": 1,
        "nested": 1,  # median(kl.ref, 5 steps)
        "window": 3,  # 10 steps, 5 steps, and 30 steps over the median
        "Total": 1,
        "Moments": 2,
        "Order": 1,
        "Maximum": 1,
        "running": 1,
    }


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_key_is_a_key_like_another(text):
    """In a rule's backticks, as a rule's name, as what a wild rule finds, and as what nobody asks about."""
    condition = ("warning", Compare(">", raw(text), Number(0.5)))
    engine = Engine(rules(bare(f"rule {text}", condition), rule("wild", critical="nonfinite(*)")))
    for step, value, state in ((1, 0.1, []), (2, 0.9, ["firing"]), (3, 0.1, ["resolved"])):
        said = engine.handle(StepMetrics(run="r", step=step, metrics={text: value, "kl.ref": 0.1}))
        assert [each.state for each in said] == state
    said = engine.handle(StepMetrics(run="r", step=4, metrics={text: math.nan, "kl.ref": 0.1}))
    assert [(each.alert, each.state) for each in said] == [("wild", "firing")]
    restored = Engine(engine.rules)
    restored.restore(engine.snapshot())
    assert restored.snapshot() == engine.snapshot()


@given(text=st.text(max_size=30))
def test_any_key_and_any_rule_name_can_be_compiled(text):
    found = compiled(bare(text, ("warning", Compare(">", raw(text), Number(0.5)))), keys=(text,))
    benign = compiled(bare("x", ("warning", Compare(">", raw("x"), Number(0.5)))), keys=("x",))
    assert found.kernel.__code__.co_names == benign.kernel.__code__.co_names
    assert found.kernel.__globals__.keys() == benign.kernel.__globals__.keys()


def test_a_key_that_reads_like_a_sum_is_not_the_sum():
    engine = Engine(
        rules(
            rule("key", warning="max(`a + b`, 1 step) > 5"),
            rule("sum", warning="max(`a` + `b`, 1 step) > 5"),
        )
    )
    said = engine.handle(StepMetrics(run="r", step=1, metrics={"a": 1.0, "b": 2.0, "a + b": 9.0}))
    assert [each.alert for each in said] == ["key"]


def test_a_key_that_reads_like_a_call_is_not_the_call():
    engine = Engine(
        rules(
            rule("key", warning="`mean(kl.ref, 1 step)` > 5"),
            rule("call", info="max(mean(kl.ref, 1 step), 1 step) > 5"),
        )
    )
    said = engine.handle(StepMetrics(run="r", step=1, metrics={"kl.ref": 1.0, "mean(kl.ref, 1 step)": 9.0}))
    assert [each.alert for each in said] == ["key"]


def test_division_by_zero_is_unknown():
    engine = Engine(rules(rule(warning="kl.ref / entropy > 1", info="not kl.ref / entropy > 1")))
    assert not engine.handle(at(1, kl_ref=1.0, entropy=0.0))


def test_an_infinity_that_arithmetic_makes_enters_no_window():
    big = " * ".join(["kl.ref"] * 4)
    engine = Engine(rules(rule("big", info=f"{big} > 1"), rule("mean", info=f"mean({big}, 2 samples) > 1")))
    assert [each.alert for each in engine.handle(at(1, kl_ref=1e90))] == ["big"]
    assert not engine.handle(at(2, kl_ref=1e90))
    assert [each.alert for each in [*engine.handle(at(3, kl_ref=3.0)), *engine.handle(at(4, kl_ref=3.0))]] == ["mean"]


def test_values_and_thresholds_are_the_two_sides_that_decided():
    engine = Engine(rules(rule(warning="entropy > 9 or 2 * initial(kl.ref, 1 sample) < kl.ref")))
    engine.handle(at(1, kl_ref=1.0, entropy=0.0))
    (fired,) = engine.handle(at(2, kl_ref=5.0, entropy=0.0))
    assert (fired.metric, fired.value, fired.threshold) == ("2.0 * initial(kl.ref, 1 sample)", 2.0, 5.0)
    assert told([fired]) == [("firing", "warning", 2)]


def test_a_value_of_the_step_alone_is_there_before_the_rules_of_a_metric():
    engine = Engine(rules(rule(warning="kl.ref > mean(step, 2 steps)")))
    said = [told(engine.handle(at(step, kl_ref=5.0 if step == 6 else 0.0))) for step in range(4, 8)]
    assert said[2] == []  # the mean of 5 and 6 is over 5, that of 4 and 5 is not
    assert told(engine.handle(at(8, kl_ref=7.6))) == [("firing", "warning", 8)]


def test_what_lasts_shows_the_comparison_inside():
    engine = Engine(rules(rule(warning="held(kl.ref > 0.5, 3 steps)")))
    said = [transition for step in range(5) for transition in engine.handle(at(step, kl_ref=0.1 + 0.3 * step))]
    assert told(said) == [("firing", "warning", 4)]
    assert (said[0].metric, said[0].value, said[0].threshold) == ("kl.ref", 1.3, 0.5)


def test_what_lasts_is_asked_at_every_event_when_a_value_may_be_no_number():
    engine = Engine(rules(rule(warning="share(nonfinite(grad_norm), 4 samples) >= 50%")))
    values = [1.0, math.nan, 1.0, 1.0, 1.0, math.nan, math.nan]
    rows = [StepMetrics(run="r", step=step, metrics={"grad_norm": x}) for step, x in enumerate(values)]
    said = [transition for row in rows for transition in engine.handle(row)]
    assert told(said) == [("firing", "warning", 6)]


def test_units_are_told_of_what_a_function_makes_of_them():
    def unit(condition: str) -> str:
        engine = Engine(rules(rule(warning=condition)))
        rows = [at(step, 10.0 * step, length_mean=100.0 + step * step) for step in range(12)]
        return next(transition for row in rows for transition in engine.handle(row)).unit

    assert unit("sum(length.mean, 3 steps) > 1") == "tokens"
    assert unit("slope(length.mean, 5 steps) > 1") == "tokens/step"
    assert unit("slope(length.mean, 60s) > 0.1") == "tokens/s"
    assert unit("zscore(length.mean, 8 steps) > 1") == ""
    assert unit("share(length.mean > 1, 3 steps) > 50%") == "ratio"
