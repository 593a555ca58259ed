"""Which rules can say nothing of a run, and the least that they miss."""

import pytest
from rule_builder import at, rule, rules

from sentinel.engine.engine import Engine
from sentinel.events import RunStarted


def missing(*, config=None, until=None, **conditions):
    engine = Engine(rules(rule(until=until, **conditions)))
    engine.handle(RunStarted(run="r", config=config or {}))
    engine.handle(at(1, kl_ref=0.1))
    return [each.missing for each in engine.not_evaluable("r")]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("kl.ref > 1", []),
        ("entropy > 1", [("entropy",)]),
        ("kl.ref > 1 or entropy > 1", []),
        ("kl.ref > 1 and entropy > 1", [("entropy",)]),
        ("not (kl.ref > 1 and entropy > 1)", []),
        ("not (kl.ref > 1 or entropy > 1)", [("entropy",)]),
        ("(entropy > 1 and lr > 1) or grad_norm > 1", [("grad_norm",)]),
        ("lr > 1 or grad_norm > 1", [("lr",)]),
        ("entropy + lr > entropy", [("entropy", "lr")]),
        ("mean(median(entropy, 3 steps), 3 steps) > kl.ref", [("entropy",)]),
        ("nonfinite(entropy)", []),
        ("absent(entropy, 5 steps)", []),
        ("not seen(entropy)", []),
        ("age(entropy) > 5m", [("entropy",)]),
        ("held(kl.ref > 1 or entropy > 1, 3 steps)", []),
        ("share(kl.ref > 1 and entropy > 1, 3 steps) < 20%", []),
        ("share(kl.ref > entropy, 3 steps) < 20%", [("entropy",)]),
        ("held(kl.ref > 1 and entropy > 1, 3 steps)", [("entropy",)]),
        ("rising(entropy, 9 steps)", [("entropy",)]),
        ("kl.ref > config.beta", [("beta in the configuration",)]),
        ("progress > 50%", [("the planned steps in the configuration",)]),
        ("kl.ref > 1 and progress > 50%", [("the planned steps in the configuration",)]),
        ("step > 5", []),
        ("time.step_s > 3 * step_time", [("time.step_s",)]),
        ("kl.ref > reference(kl.ref)", [("a reference run",)]),
        ("firing(alert) and kl.ref > 1", []),
        ("reward.component.* > 1", [("reward.component.*",)]),
    ],
)
def test_the_least_that_is_missing_is_named(condition, expected):
    assert missing(warning=condition) == expected


def test_one_severity_that_can_speak_is_enough():
    assert missing(warning="entropy > 1", critical="kl.ref > 1") == []
    assert missing(warning="entropy > 1 and lr > 1", critical="grad_norm > 1") == [("grad_norm",)]


def test_what_the_configuration_states_is_not_missing():
    assert missing(config={"beta": 0.1, "max_steps": 9}, warning="kl.ref > config.beta and progress > 50%") == []


def test_a_reset_condition_that_is_never_known_does_not_keep_a_rule_from_speaking():
    assert missing(warning="kl.ref > 1", until="entropy < 1") == []
