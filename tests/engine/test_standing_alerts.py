"""Rules that ask about other rules."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_runs import engine_of, random_events, random_rule
from rule_builder import START, at, rule, rules

from sentinel.engine.engine import Engine


def said_by(engine, events):
    return [(said.alert, said.state, said.step) for event in events for said in engine.handle(event)]


KL = rule("kl-high", warning="kl.ref > 1", critical="kl.ref > 9", hold="2 steps")


@pytest.mark.parametrize("order", [1, -1])
def test_an_alert_is_seen_as_it_stood_before_the_event_whatever_the_order(order):
    asks = rule("asks", info="firing(kl-high) and kl.ref > 0")
    engine = Engine(rules(*[KL, asks][::order]))
    said = said_by(engine, [at(step, kl_ref=5.0 if 3 <= step < 6 else 0.5) for step in range(1, 9)])
    assert sorted(said, key=lambda each: each[2]) == [
        ("kl-high", "pending", 3),
        ("kl-high", "firing", 4),
        ("asks", "firing", 5),
        ("kl-high", "resolved", 6),
        ("asks", "resolved", 7),
    ]


def test_a_severity_asks_for_at_least_that_one():
    engine = Engine(
        rules(
            KL,
            rule("any", info="firing(kl-high)"),
            rule("worse", info="firing(kl-high, critical)"),
            rule("soon", info="pending(kl-high, critical)"),
            rule("info", info="firing(kl-high, info)"),
        )
    )
    values = [5.0] * 3 + [10.0] * 3
    said = [
        each for each in said_by(engine, [at(step, kl_ref=x) for step, x in enumerate(values)]) if each[0] != "kl-high"
    ]
    assert said == [
        ("any", "firing", 2),
        ("info", "firing", 2),
        ("soon", "firing", 4),
        ("worse", "firing", 5),
        ("soon", "resolved", 5),
    ]


def test_any_alert_of_a_rule_counts():
    engine = Engine(rules(rule("parts", info="reward.component.* < 0"), rule("asks", info="firing(parts)")))
    rows = [at(step) for step in range(3)]
    for row in rows:
        row.metrics.update({"reward.component.a": 1.0, "reward.component.b": -1.0})
    assert [each[0] for each in said_by(engine, rows)] == ["parts", "asks"]


def test_of_a_rule_that_does_not_look_at_the_run_nothing_fires():
    elsewhere = rule("elsewhere", info="kl.ref > 0", where={"team": "b"})
    engine = Engine(rules(elsewhere, rule("asks", info="not firing(elsewhere)")))
    assert said_by(engine, [at(1, kl_ref=1.0)]) == [("asks", "firing", 1)]


def test_a_circle_does_no_harm():
    engine = Engine(rules(rule("a", info="not firing(b)"), rule("b", info="firing(a)")))
    said = said_by(engine, [at(step, kl_ref=0.0) for step in range(1, 6)])
    assert said == [
        ("a", "firing", 1),
        ("b", "firing", 2),
        ("a", "resolved", 3),
        ("b", "resolved", 4),
        ("a", "firing", 5),
    ]


def test_an_alert_that_falls_due_by_time_is_seen_without_another_event():
    silent = rule("silent", warning="absent(kl.ref, 5m)")
    engine = Engine(rules(silent, rule("asks", info="firing(silent)"), rule("last", info="firing(asks)", hold="60s")))
    engine.handle(at(1, 0, kl_ref=0.0))
    said = engine.tick(START + 1000)
    assert [(each.alert, each.state, each.time - START) for each in said] == [
        ("silent", "firing", 300.0),
        ("asks", "firing", 300.0),
        ("last", "pending", 300.0),
        ("last", "firing", 360.0),
    ]


def test_a_circle_of_time_comes_to_rest():
    a = rule("a", info="absent(kl.ref, 5m) and not firing(b)")
    engine = Engine(rules(a, rule("b", info="firing(a)")))
    engine.handle(at(1, 0, kl_ref=0.0))
    assert [each.alert for each in engine.tick(START + 1000)] == ["a", "b", "a"]


def test_alerts_of_an_attempt_left_behind_do_not_fire():
    engine = Engine(rules(rule("kl", info="kl.ref > 1"), rule("asks", info="firing(kl)")))
    said_by(engine, [at(10, kl_ref=5.0)])
    assert said_by(engine, [at(1, kl_ref=0.0), at(2, kl_ref=0.0)]) == [("kl", "superseded", 10)]


@settings(max_examples=40)
@given(kept=random_rule("kept"), other=random_rule("other"), events=random_events(), end=st.sampled_from([0.0, 5000.0]))
def test_a_rule_that_nobody_asks_about_can_be_left_out(kept, other, events, end):
    def told(*members):
        engine = engine_of(rules(*members))
        said = [said for event in events for said in engine.handle(event)]
        said += engine.tick(max((event.time for event in events if event.time is not None), default=0.0) + end)
        return [(each.state, each.severity, each.step, each.time, each.labels) for each in said if each.alert == "kept"]

    assert told(kept) == told(other, kept)
