"""What must never make a difference: ticks, restarts, other runs, reloads, rows in parts."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st
from random_runs import engine_of, random_events, random_rule, random_rules
from rule_builder import rules as rule_set

from sentinel.events import StepMetrics
from sentinel.rules.model import RuleSet

LAST = 10_000.0


def everything(transitions):
    """A transition but for its rule: all that is told."""
    return [{name: getattr(told, name) for name in told.__struct_fields__ if name != "rule"} for told in transitions]


def ending(events):
    return max((event.time for event in events if event.time is not None), default=0.0) + LAST


def play(engine, events):
    said = [told for event in events for told in engine.handle(event)]
    return [*said, *engine.tick(ending(events))]


@settings(max_examples=60)
@given(rules=random_rules(), events=random_events(), data=st.data())
def test_extra_ticks_change_nothing(rules, events, data):
    expected = play(engine_of(rules), events)
    engine, said, newest = engine_of(rules), [], -math.inf
    for event in events:
        if event.time is not None:
            # Whatever lies between the newest event and this one, and also both moments themselves.
            for share in sorted(data.draw(st.lists(st.sampled_from([0.0, 0.3, 0.5, 1.0]), max_size=3))):
                if newest > -math.inf and event.time >= newest:
                    said += engine.tick(newest + share * (event.time - newest))
            newest = max(newest, event.time)
        said += engine.handle(event)
    while (due := engine.next_wakeup()) is not None and due < ending(events):
        said += engine.tick(math.nextafter(due, math.inf))
    said += engine.tick(ending(events))
    assert everything(said) == everything(expected)
    assert engine.snapshot() == engine_after(rules, events).snapshot()


def engine_after(rules, events):
    engine = engine_of(rules)
    play(engine, events)
    return engine


@settings(max_examples=60)
@given(rules=random_rules(), events=random_events(), data=st.data())
def test_a_restart_anywhere_changes_nothing_to_the_last_bit(rules, events, data):
    whole = engine_of(rules)
    expected = play(whole, events)
    cut = data.draw(st.integers(0, len(events)))
    before = engine_of(rules)
    said = [told for event in events[:cut] for told in before.handle(event)]
    after = engine_of(rules)
    after.restore(before.snapshot())
    assert after.snapshot() == before.snapshot()
    assert after.next_wakeup() == before.next_wakeup()
    said += [told for event in events[cut:] for told in after.handle(event)]
    said += after.tick(ending(events))
    assert everything(said) == everything(expected)
    assert after.snapshot() == whole.snapshot()


@settings(max_examples=40)
@given(rules=random_rules(), data=st.data())
def test_runs_do_not_touch_each_other(rules, data):
    runs = {name: data.draw(random_events(run=name, max_size=20)) for name in ("a", "b", "c")}
    order = data.draw(st.permutations([name for name, events in runs.items() for _ in events]))
    together, queues = engine_of(rules), {name: iter(events) for name, events in runs.items()}
    said = [told for name in order for told in together.handle(next(queues[name]))]
    said += together.tick(ending([event for events in runs.values() for event in events]))
    for name, events in runs.items():
        alone = engine_of(rules)
        expected = [told for event in events for told in alone.handle(event)]
        expected += alone.tick(ending([event for events in runs.values() for event in events]))
        assert everything(told for told in said if told.run == name) == everything(expected)


@settings(max_examples=40)
@given(rules=random_rules(), events=random_events(), data=st.data())
def test_reading_the_same_rules_again_does_nothing(rules, events, data):
    expected = play(engine_of(rules), events)
    engine, said = engine_of(rules), []
    for event in events:
        if data.draw(st.booleans()):
            assert not engine.reload(RuleSet(tuple(rules)))
        said += engine.handle(event)
    said += engine.tick(ending(events))
    assert everything(said) == everything(expected)


@settings(max_examples=40)
@given(
    kept=random_rule("kept"),
    old=random_rule("other"),
    new=st.one_of(st.none(), random_rule("other")),
    events=random_events(),
    data=st.data(),
)
def test_a_reload_that_changes_one_rule_does_not_touch_the_others(kept, old, new, events, data):
    def about_kept(transitions):
        return everything(told for told in transitions if told.alert == "kept" and told.state != "removed")

    # What another rule made the engine keep times for, or remember longer, may move an onset's time, nothing else.
    def but_onset(transitions):
        return [{name: x for name, x in told.items() if name != "onset_time"} for told in about_kept(transitions)]

    cut = data.draw(st.integers(0, len(events)))
    expected = play(engine_of(rule_set(kept)), events)
    engine = engine_of(rule_set(kept, old))
    said = [told for event in events[:cut] for told in engine.handle(event)]
    said += engine.reload(rule_set(*([new, kept] if new else [kept])))
    said += [told for event in events[cut:] for told in engine.handle(event)]
    said += engine.tick(ending(events))
    assert but_onset(said) == but_onset(expected)
    # The same through a restart under the other rules.
    restarted = engine_of(rule_set(kept, old))
    said = [told for event in events[:cut] for told in restarted.handle(event)]
    snapshot, restarted = restarted.snapshot(), engine_of(rule_set(*([new, kept] if new else [kept])))
    restarted.restore(snapshot)
    said += [told for event in events[cut:] for told in restarted.handle(event)]
    said += restarted.tick(ending(events))
    assert but_onset(said) == but_onset(expected)


@settings(max_examples=60)
@given(events=random_events(), data=st.data())
def test_rows_in_parts_say_what_whole_rows_say(events, data):
    """For rules that are asked only when their one metric comes, however a step's keys are spread over rows."""
    rules = rule_set(*(data.draw(random_one_metric_rule(f"rule-{at}")) for at in range(3)))
    steps = [event for event in events if type(event) is StepMetrics]
    whole, parted, parts = engine_of(rules), engine_of(rules), []
    for event in steps:
        keys = list(event.metrics)
        cut = data.draw(st.integers(0, len(keys)))
        for part in (keys[:cut], keys[cut:]):
            if part or not keys:
                metrics = {key: event.metrics[key] for key in part}
                parts.append(StepMetrics(run=event.run, time=event.time, step=event.step, metrics=metrics))
    said = play(whole, steps)
    said_of_parts = play(parted, parts)

    def in_any_order(transitions):
        # Sums are renewed once a turn of the arrays, and rows in parts turn them at other moments: the last digit of a
        # value may differ.
        told = everything(transitions)
        for one in told:
            one["summary"] = ""
            for name in ("value", "threshold"):
                one[name] = None if one[name] is None else f"{one[name]:.9g}"
        return sorted(map(str, told))

    assert in_any_order(said) == in_any_order(said_of_parts)


@st.composite
def random_one_metric_rule(draw, name):
    from rule_builder import rule

    text = draw(
        st.sampled_from(
            [
                "kl.ref > 0.13",
                "mean(kl.ref, 3 steps) > 0.13",
                "drop(median(reward.mean, 3 steps), 8 steps) > 21.7%",
                "entropy < 0.71 * initial(entropy)",
                "best(kl.ref) - kl.ref > 0.71",
                "std(entropy, 5 samples) > 0.37",
            ]
        )
    )
    hold = draw(st.sampled_from([None, "1 step", "3 steps", "90s"]))
    return rule(name, warning=text, hold=hold, keep_firing=draw(st.sampled_from([None, "2 steps"])))
