"""Conditions in plain words, and how long a run must have gone on before they can be known."""

import pytest

from sentinel.explain.story import tell
from sentinel.explain.warmup import Wait, fires, speaks
from sentinel.explain.words import Words
from sentinel.metrics import default
from sentinel.resources import PACKS
from sentinel.rules.expression.check import compile_text
from sentinel.rules.loader import load_rules
from sentinel.rules.model import Rule
from sentinel.stats import FUNCTIONS
from tests.scenarios.recordings import pack as every_rule

SPOKEN = {
    "kl.ref > 0.1": "kl.ref is above 0.1 nats/token",
    "0.1 < kl.ref": "kl.ref is above 0.1 nats/token",
    "median(kl.ref, 5 samples) > 0.1": "the median of kl.ref over the last 5 logged values is above 0.1 nats/token",
    "max(gpu.util, 5m) < 30%": "the highest value of gpu.util in the last 5 minutes is below 30%",
    "clip_frac >= 40%": "clip_frac is at least 40%",
    "drop(reward.mean, 1 step) > 50%": "the fall of reward.mean from its highest value of the last step is above 50%",
    "best(kl.ref) < 1": "the best so far (the lowest) of kl.ref is below 1 nats/token",
    "entropy < 0.5 * best(entropy)": "entropy is below 0.5 times the best so far (the highest) of entropy",
    "nonfinite(*)": "a metric is not a number",
    "not seen(kl.ref)": "kl.ref has not been a number yet in this attempt",
    "age(kl.ref) > 90s": "the time since kl.ref was last logged is above 90 seconds",
    "slope(kl.ref, 5 steps) > 0.1": "the slope of kl.ref over the last 5 steps is above 0.1 nats/token per step",
    "time.step_s > 3 * step_time": "time.step_s is above 3 times the usual time of a step",
    "kl.ref > 1 and (entropy < 1 or step > 5)": "kl.ref is above 1 nats/token, and (entropy is below 1 nats/token, or "
    "the step is above 5)",
    "`my/own` > 1": "`my/own` is above 1",
    "phase == late": "the run is in the phase late",
    "kl.ref > 3 * baseline(kl.ref)": "kl.ref is above 3 times the usual level of kl.ref (the median of its last 50 "
    "values while the alert was quiet)",
    "kl.ref > 3 * reference(kl.ref)": "kl.ref is above 3 times kl.ref of the reference run at this step",
    "firing(kl-high)": "the alert kl-high is firing",
    "not firing(kl-high)": "the alert kl-high is not firing",
    "pending(kl-high, critical)": "the alert kl-high (at least critical) has begun and not fired",
    "phase_step > 5": "the number of steps since the phase began is above 5",
}


@pytest.mark.parametrize("text", SPOKEN)
def test_a_condition_is_spoken_in_plain_words(text: str) -> None:
    words = Words(default())
    assert words.condition(compile_text(text, default())) == SPOKEN[text]


def test_each_function_has_words_or_speaks_for_itself() -> None:
    words = Words(default())
    for function in FUNCTIONS.values():
        assert function.summary
        assert function.name in words._calls


WAITS = {
    "kl.ref > 1": 1,
    "mean(kl.ref, 10 steps) > 1": 10,
    "delta(kl.ref, 10 steps) > 1": 11,
    "drop(kl.ref, 10 steps) > 50%": 2,
    "best(median(kl.ref, 5 samples)) > 1": 5,
    "median(median(kl.ref, 5 samples), 5 samples) > 1": 9,
    "initial(kl.ref) > 1": 3,
    "kl.ref > 1 or mean(kl.ref, 10 steps) > 1": 1,
    "kl.ref > 1 and mean(kl.ref, 10 steps) > 1": 10,
    "not (kl.ref > 1 and mean(kl.ref, 10 steps) > 1)": 1,
    "kl.ref > 1 and step >= 20": 20,
    "kl.ref > 1 and step > 20": 21,
    "absent(kl.ref, 5 steps)": 6,
}


def rule_of(condition: str, **more: object) -> Rule:
    lines = [f"    {key}: {value}\n" for key, value in more.items()]
    text = f"rules:\n  - alert: a\n    symptom: kl-high\n    warning: {condition!r}\n{''.join(lines)}"
    return load_rules([("a.yaml", text.encode())]).rules[0]


@pytest.mark.parametrize("condition", WAITS)
def test_the_least_before_a_condition_can_hold(condition: str) -> None:
    assert speaks(rule_of(condition)) == Wait(0.0, WAITS[condition])


def test_a_window_of_time_is_waited_for_in_seconds() -> None:
    assert speaks(rule_of("max(gpu.util, 5m) < 30%")) == Wait(300.0, 1)


def test_after_and_for_are_waited_for_too() -> None:
    rule = rule_of("kl.ref > 1", after="50 steps", **{"for": "3 steps"})
    assert speaks(rule) == Wait(0.0, 51)
    assert fires(rule) == Wait(0.0, 53)


def test_a_story_says_what_a_reader_asks() -> None:
    story = tell(rule_of("kl.ref > 0.5", **{"for": "3 steps", "where": "{framework: trl}"}), default())
    assert story.sentences == (("warning", "warning when kl.ref is above 0.5 nats/token, for 3 steps in a row."),)
    assert story.ends == "It resolves when the condition is known to be false."
    assert story.limits == ("Only for runs whose framework is trl.",)
    assert story.fastest == 3
    (need,) = story.needs
    assert need.metric == "kl.ref"
    assert ("trl", "kl") in [(source, row.key) for source, row in need.rows]
    assert 1000 < story.bytes < 10_000


def test_a_change_that_is_asked_each_step_is_met_by_a_climb() -> None:
    assert tell(rule_of("change(length.mean, 1 step) > 10%", **{"for": "3 steps"}), default()).fastest == 3


def test_a_rule_for_a_phase_is_told_with_it_and_tried_in_it() -> None:
    story = tell(rule_of("kl.ref > 0.5", phase="late"), default())
    assert story.limits == ("Only in the phase late; what fired goes on until it is over.",)
    assert story.fastest == 1


def test_overrides_are_told_with_their_runs() -> None:
    overrides = "[{where: {team: math}, warning: kl.ref > 0.7}, {where: {team: code}, enabled: false}]"
    changed, off = tell(rule_of("kl.ref > 0.5", overrides=overrides), default()).limits
    assert changed.startswith("For runs whose team is math: other warning (a.yaml:")
    assert off.startswith("For runs whose team is code: it is off (a.yaml:")


def test_the_configuration_that_a_rule_needs_is_named() -> None:
    story = tell(rule_of("kl.ref > 10 * config.beta and progress > 50%"), default())
    assert story.config[0] == "beta"
    assert story.config[1].startswith("one of max_steps, ")


NO_EVEN_RUN = {"grad-spike": "asks for spikes", "clip-low": "asks for updates", "phase-shift": "asks for a new phase"}
"""Rules that no even run with one change can make fire: the story says that it was not found."""


@pytest.mark.parametrize("name", [f"{pack}/{rule.name}" for pack in PACKS for rule in every_rule(pack)])
def test_every_shipped_rule_has_a_story_and_a_way_to_fire(name: str) -> None:
    pack, _, alert = name.partition("/")
    rule = every_rule(pack).named(alert)
    assert rule is not None
    story = tell(rule, default(), every_rule(pack))
    assert (story.fastest is None and story.fastest_silence is None) == (alert in NO_EVEN_RUN)
    assert story.sentences
    for need in story.needs:
        assert need.info is not None or need.metric == "*"
