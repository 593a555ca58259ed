"""The compiled engine says what a plain interpreter of the same rules says."""

from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import Oracle, Told
from random_runs import REFERENCES, engine_of, random_events, random_rules


def plain(transitions):
    return sorted(
        Told(
            told.run,
            told.attempt,
            told.alert,
            told.severity,
            told.state,
            told.step,
            told.time,
            tuple(sorted(told.labels.items())),
        )
        for told in transitions
    )


@settings(max_examples=300)
@given(rules=random_rules(), events=random_events(), end=st.sampled_from([0.0, 400.0, 5000.0]))
def test_the_engine_says_what_the_oracle_says(rules, events, end):
    engine, oracle = engine_of(rules), Oracle(rules, REFERENCES)
    for at, event in enumerate(events):
        assert plain(engine.handle(event)) == sorted(oracle.handle(event)), (at, event)
    last = max((event.time for event in events if event.time is not None), default=0.0)
    assert plain(engine.tick(last + end)) == sorted(oracle.tick(last + end))
