"""What lies beyond logged values is explained too: baselines, reference runs, other rules, derived metrics."""

from __future__ import annotations

from array import array

from sentinel.engine.engine import Engine
from sentinel.engine.recorded import Column, RecordedRun
from sentinel.events import RunStarted, StepMetrics
from sentinel.explain.finding import Finding
from sentinel.explain.lack import why_not_evaluable
from sentinel.explain.standing import Standing, look_ahead, standings
from sentinel.explain.story import tell
from sentinel.explain.warmup import Wait, fires, speaks, waits_of
from sentinel.metrics import default
from sentinel.rules.loader import load_rules
from sentinel.rules.model import RuleSet

GOOD = RecordedRun({"kl.ref": Column(array("q", [5, 10]), array("d", [0.02, 0.04]))}, last=12)


def rules_of(**conditions: str) -> RuleSet:
    """Rules by name, with underscores for hyphens; `for` stands behind a semicolon."""
    lines = ["rules:"]
    for name, text in conditions.items():
        condition, _, hold = text.partition(";")
        lines += [f"  - alert: {name.replace('_', '-')}", "    symptom: kl-high", f"    warning: {condition!r}"]
        lines += [f"    for: {hold.strip()}"] if hold else []
    return load_rules([("a.yaml", "\n".join(lines).encode())])


def stand(
    rules: RuleSet, *values: float, key: str = "kl", references: dict[str, RecordedRun] | None = None, ahead: str = ""
) -> dict[str, Standing]:
    """Where each rule stands after steps 1, 2, ... `ahead`: the rule for which it is also tried what comes."""
    engine = Engine(rules, references=references)
    for step, value in enumerate(values, 1):
        engine.handle(StepMetrics(run="r", step=step, metrics={key: value}))
    found = {one.rule.name: one for one in standings(engine, engine.runs["r"], list(rules))}
    if ahead:
        found[ahead] = look_ahead(engine, engine.runs["r"], found[ahead])
    return found


def part(standing: Standing, text: str) -> Finding:
    pending = [finding for _, finding in standing.conditions]
    while pending:
        found = pending.pop()
        if found.text == text:
            return found
        pending += found.parts
    raise AssertionError(text)


# --- a baseline -----------------------------------------------------------------------------------------------------


def test_a_baseline_says_how_many_values_it_needs_and_how_many_it_has() -> None:
    rules = rules_of(a="kl.ref > 2 * baseline(kl.ref)")
    assert part(stand(rules, *[0.1] * 8)["a"], "baseline(kl.ref)").note == "7 of at least 10 values"
    known = part(stand(rules, *[0.1] * 31)["a"], "baseline(kl.ref)")
    assert (known.value, known.note, known.since_step) == (0.1, "median of the last 30 values", None)


def test_a_baseline_says_since_when_it_is_frozen() -> None:
    rules = rules_of(a="kl.ref > 2 * baseline(kl.ref, 20 samples); 3 steps")
    for bad in (1, 2, 6):
        frozen = part(stand(rules, *[0.1] * 40, *[0.5] * bad)["a"], "baseline(kl.ref, 20 samples)")
        assert (frozen.value, frozen.since_step) == (0.1, 41)
        assert frozen.note == "median of the last 20 values, frozen since step 41"


def test_each_rule_has_a_baseline_of_its_own_to_tell_of() -> None:
    rules = rules_of(a="kl.ref > 2 * baseline(kl.ref); 3 steps", b="kl.ref > 9 * baseline(kl.ref)")
    found = stand(rules, *[0.1] * 40, 0.5)
    assert part(found["a"], "baseline(kl.ref)").since_step == 41
    assert part(found["b"], "baseline(kl.ref)").since_step is None


def test_a_rule_on_a_baseline_speaks_with_the_eleventh_value() -> None:
    (rule,) = rules_of(a="kl.ref > 2 * baseline(kl.ref)")
    assert speaks(rule) == Wait(0.0, 11)
    (rule,) = rules_of(a="kl.ref > 2 * baseline(kl.ref, 4 samples)")
    assert speaks(rule) == Wait(0.0, 5)
    assert stand(RuleSet((rule,)), *[0.1] * 4, 0.5)["a"].state == "firing"
    assert stand(RuleSet((rule,)), *[0.1] * 3, 0.5)["a"].state == "inactive"


# --- a reference run ------------------------------------------------------------------------------------------------

BEYOND = "kl.ref > 3 * reference(kl.ref)"


def held_against(step: int, references: dict[str, RecordedRun]) -> Finding:
    return part(stand(rules_of(a=BEYOND), *[0.05] * step, references=references)["a"], "reference(kl.ref)")


def test_a_reference_says_of_which_step_it_is_or_why_it_is_unknown() -> None:
    assert held_against(3, {"good": GOOD}).note == "the reference run logs it from step 5 on"
    assert (held_against(7, {"good": GOOD}).value, held_against(7, {"good": GOOD}).note) == (0.02, "of its step 5")
    assert held_against(13, {"good": GOOD}).note == "the reference run ends at step 12"
    assert held_against(7, {"good": RecordedRun({}, 12)}).note == "the reference run has never logged it"
    assert held_against(7, {}).note == "the run has no reference run"


def test_a_reference_that_a_label_names_and_nobody_gave_is_said() -> None:
    rules = rules_of(a=BEYOND)
    engine = Engine(rules, references={"good": GOOD})
    engine.handle(RunStarted(run="r", labels={"reference": "other"}))
    engine.handle(StepMetrics(run="r", step=7, metrics={"kl": 0.1}))
    (standing,) = standings(engine, engine.runs["r"], list(rules))
    assert part(standing, "reference(kl.ref)").note == "there is no reference run other"
    assert (standing.reason, standing.why) == ("not-evaluable", "it has no reference run")


def test_a_value_of_the_run_itself_is_no_part_of_a_reference() -> None:
    assert held_against(7, {"good": GOOD}).parts == ()


def test_what_would_make_it_fire_is_tried_beside_the_reference() -> None:
    found = stand(rules_of(a=BEYOND), *[0.05] * 6, references={"good": GOOD}, ahead="a")["a"]
    assert [prospect.words for prospect in found.prospects] == ["kl.ref above 0.06 nats/token at the next value"]


def test_a_story_tells_what_the_reference_run_must_log() -> None:
    (rule,) = rules_of(a="kl.ref > 3 * reference(entropy)")
    story = tell(rule, default())
    assert [need.metric for need in story.needs] == ["kl.ref"]
    assert story.recorded == ("entropy",)
    assert story.fastest == 1


# --- other rules ----------------------------------------------------------------------------------------------------

ASKING = rules_of(first="kl.ref > 0.1; 3 steps", second="firing(first)", third="pending(first)")


def test_another_rule_is_told_as_it_stands() -> None:
    quiet = stand(ASKING, 0.05)["second"]
    assert (quiet.reason, quiet.why) == ("false", "first is quiet")
    pending = stand(ASKING, 0.05, 0.5, 0.5)
    assert pending["second"].why == "first is pending since step 2"
    assert pending["third"].state == "firing"
    firing = stand(ASKING, 0.05, *[0.5] * 4)
    assert part(firing["second"], "firing(first)").note == "first is firing (warning) since step 4"
    assert firing["third"].state == "inactive"


def test_what_makes_the_other_rule_fire_makes_this_one_fire_a_step_later() -> None:
    (prospect,) = stand(ASKING, 0.05, 0.05, ahead="second")["second"].prospects
    assert (prospect.words, prospect.step) == ("kl.ref above 0.1 nats/token at the next 4 values", 6)


def test_a_rule_is_said_to_speak_when_the_other_can_have_fired() -> None:
    first, second, third = ASKING
    asked = waits_of([first])
    assert fires(first) == Wait(0.0, 3)
    assert speaks(second, asked) == Wait(0.0, 4)
    assert speaks(third, asked) == Wait(0.0, 2)


def test_rules_in_a_circle_have_a_story() -> None:
    rules = rules_of(a="firing(b) and kl.ref > 1", b="firing(a) or kl.ref > 2")
    story = tell(rules.rules[0], default(), rules)
    assert story.asks == ("b",)
    assert story.speaks == Wait(0.0, 2)
    assert story.fastest == 2


# --- what is derived ------------------------------------------------------------------------------------------------


def test_a_derived_metric_is_told_with_what_it_is_made_of() -> None:
    rules = rules_of(a="clip_frac > 40%")
    engine = Engine(rules)
    row: dict[str, float | None] = {"clip_ratio/low_mean": 0.01, "clip_ratio/high_mean": 0.02}
    engine.handle(StepMetrics(run="r", step=1, metrics=row))
    (standing,) = standings(engine, engine.runs["r"], list(rules))
    found = part(standing, "clip_frac")
    assert found.note == "derived: clip_frac.low + clip_frac.high"
    assert [(one.text, one.value) for one in found.parts] == [("clip_frac.low", 0.01), ("clip_frac.high", 0.02)]
    (prospect,) = look_ahead(engine, engine.runs["r"], standing).prospects
    assert prospect.words == "clip_frac.low above 0.38 at the next value"
    assert [change.key for change in prospect.changes] == ["clip_ratio/low_mean"]


# --- what is missing ------------------------------------------------------------------------------------------------


def test_what_a_rule_lacks_is_told_by_where_it_is_missing() -> None:
    rules = rules_of(a="entropy > config.beta and kl.ref > reference(entropy) and phase == late")
    missing = stand(rules, 0.1, references={"good": GOOD})["a"].missing
    assert why_not_evaluable(missing) == (
        "the run has never logged entropy; its configuration does not state beta; its reference run has never logged "
        "entropy; its phase is not known: that takes a phase event, or the planned steps in its configuration"
    )
