"""Whatever the rule and whatever was logged, it can be explained, and what is said is what the engine has."""

from __future__ import annotations

import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).parents[1] / "engine"))

from random_runs import random_events, random_rules

from sentinel.engine.engine import Engine
from sentinel.events import StepMetrics
from sentinel.explain.standing import standings
from sentinel.explain.story import tell
from sentinel.explain.warmup import speaks
from sentinel.explain.words import Words
from sentinel.metrics import default
from tests.explain.test_standings import check


@settings(max_examples=80)
@given(rules=random_rules(), events=random_events(), data=st.data())
def test_what_is_said_is_what_the_engine_decided(rules, events, data):
    engine = Engine(rules)
    step = -1
    for event in events:
        engine.handle(event)
        run = engine.runs[event.run]
        advanced, step = isinstance(event, StepMetrics) and run.step > step, run.step
        if run.step >= 0 and data.draw(st.booleans()):
            for standing in standings(engine, run, list(rules)):
                assert standing.why
                check(run, standing, advanced=advanced)


@settings(max_examples=60)
@given(rules=random_rules(), events=random_events())
def test_no_rule_fires_before_it_is_said_to_speak(rules, events):
    engine = Engine(rules)
    for event in events:
        for told in engine.handle(event):
            if told.state != "firing":
                continue
            run = engine.runs[event.run]
            logged = run.rel + 1 if run.first_step >= 0 else 1
            # Rows between two steps count as values too, so a bound holds in steps only where no window counts values.
            if "samples" not in " ".join(map(str, told.rule.expressions())) and told.attempt == 1:
                assert logged >= speaks(told.rule).steps or run.sequence >= speaks(told.rule).steps


@settings(max_examples=40)
@given(rules=random_rules())
def test_each_rule_has_words(rules):
    words = Words(default())
    for rule in rules:
        for _, condition in rule.conditions:
            assert words.condition(condition)
            assert words.outline(condition).code == str(condition)


@settings(max_examples=15)
@given(rules=random_rules())
def test_each_rule_has_a_story(rules):
    for rule in rules.rules[:2]:
        assert tell(rule, default(), rules).sentences
