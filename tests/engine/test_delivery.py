"""An event that was sent twice counts once."""

from hypothesis import given
from hypothesis import strategies as st

from sentinel.engine.delivery import MOST_HOLES, MOST_PUBLISHERS, Delivery, admit
from sentinel.engine.engine import Engine
from sentinel.events import RunStarted, StepMetrics
from sentinel.rules.loader import load_rules

RULES = load_rules([("r.yaml", b"rules:\n  - {alert: k, symptom: kl-high, critical: kl.ref > 0.5, for: 3 steps}\n")])


@given(st.lists(st.integers(0, 60), max_size=120))
def test_each_number_is_admitted_once_in_whatever_order_they_come(numbers):
    delivery = Delivery()
    assert [number for number in numbers if delivery.admit(number)] == list(dict.fromkeys(numbers))


def test_a_jump_over_very_many_numbers_is_remembered_in_bounded_space():
    delivery = Delivery()
    delivery.admit(10**12)
    assert len(delivery.holes) <= MOST_HOLES


def test_many_publishers_are_forgotten_from_the_oldest():
    deliveries = {}
    for number in range(MOST_PUBLISHERS + 5):
        admit(deliveries, f"p{number}", 0)
    assert len(deliveries) == MOST_PUBLISHERS
    assert "p0" not in deliveries


def test_a_batch_that_was_sent_again_neither_rewinds_the_run_nor_changes_what_fires():
    batch = [RunStarted(run="r", publisher="p", seq=0)]
    batch += [StepMetrics(run="r", step=step, metrics={"kl": 0.9}, publisher="p", seq=step) for step in range(1, 40)]
    once, twice = Engine(RULES), Engine(RULES)
    expected = [transition for event in batch for transition in once.handle(event)]
    found = [transition for event in [*batch, *batch] for transition in twice.handle(event)]
    assert found == expected
    assert twice.runs["r"].attempt == 1
    assert twice.runs["r"].counts.repeated == len(batch)


def test_a_trainer_that_starts_again_is_another_publisher_and_opens_an_attempt():
    engine = Engine(RULES)
    for publisher in ("first", "second"):
        engine.handle(RunStarted(run="r", publisher=publisher, seq=0))
        engine.handle(StepMetrics(run="r", step=1, metrics={"kl": 0.1}, publisher=publisher, seq=1))
    assert engine.runs["r"].attempt == 2
