"""grpo.yaml on synthetic recordings whose trouble is known to the step."""

import json

import pytest

from sentinel.rules.symptoms import symptoms
from tests.scenarios.recordings import Scenario, fired, grave, pack, scenarios, told

SYMPTOMS = {rule.symptom for rule in pack("grpo")}

NEAR = {"length-collapse"}
"""Kinds that begin within their own noise, so that the advice may be one checkpoint off."""

LOUD = [one for one in scenarios() if one.deadline is not None and one.accepted & SYMPTOMS]
QUIET = [one for one in scenarios() if one.deadline is None]
OTHER = [one for one in scenarios() if one.deadline is not None and one not in LOUD]


def _checkpoint_before(scenario: Scenario) -> int | None:
    rows = map(json.loads, scenario.path.read_text().splitlines())
    steps = [row["step"] for row in rows if row.get("type") == "checkpoint"]
    return max((step for step in steps if step < scenario.onset), default=None)


@pytest.mark.parametrize("scenario", LOUD, ids=lambda one: one.path.stem)
def test_trouble_is_told_in_time_with_the_newest_checkpoint_before_it(scenario):
    found = fired(scenario.path, pack("grpo"))
    assert scenario.deadline is not None
    early = [one for one in grave(found) if one.transition.step < scenario.onset]
    assert not early, told(early)
    answers = [
        one
        for one in grave(found, scenario.least)
        if one.transition.symptom in scenario.accepted and one.transition.step <= scenario.deadline
    ]
    assert answers, told(found)
    if not symptoms()[answers[0].transition.symptom].taints:
        return
    rollback, wanted = answers[0].rollback, _checkpoint_before(scenario)
    assert rollback is not None and rollback.step is not None and wanted is not None
    off = 25 if scenario.kind in NEAR else 0
    assert abs(rollback.step - wanted) <= off, f"onset {answers[0].transition.onset_step}, truly {scenario.onset}"


@pytest.mark.parametrize("scenario", QUIET, ids=lambda one: one.path.stem)
def test_a_run_without_trouble_wakes_nobody(scenario):
    found = grave(fired(scenario.path, pack("grpo")))
    assert not found, told(found)


@pytest.mark.parametrize("scenario", OTHER, ids=lambda one: one.path.stem)
def test_trouble_of_other_kinds_is_not_told_before_it_begins(scenario):
    early = [one for one in grave(fired(scenario.path, pack("grpo"))) if one.transition.step < scenario.onset]
    assert not early, told(early)
