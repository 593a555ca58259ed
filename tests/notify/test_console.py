"""The console's text."""

import io
import unicodedata

import pytest
from hypothesis import HealthCheck, given, settings
from strategies import LINE, NOTIFICATION

from sentinel.errors import DeliveryRefused
from sentinel.notify.console import ConsoleNotifier, render, render_line
from sentinel.testing import episode, history_line, notification

EXPECTED = """\
● CRITICAL · grpo-7b
  KL to the reference is 4.52, critical above 0.5
  Since step 171, now step 174: 3 steps, 1 min 30 s so far.
    kl.ref 4.52 nats/token, above 0.5
  → Go back to checkpoint-150
    The newest complete checkpoint saved before the KL began to rise at step 171.
    Cost: 24 steps (12 min) of training
    At step 150: kl.ref 0.0412, reward.mean 0.612, entropy 0.873
    resume with: python train.py --resume_from_checkpoint out/grpo-7b/checkpoint-150
    not checkpoint-172: saved after the trouble began at step 171
  Look at, in order:
    1. Entropy and clip fraction around step 171
    2. The learning rate schedule: did warm-up end there?
    3. Samples: has the policy left the reference's language?
  Do:
    - Lower the learning rate by half, or raise beta
    - Resume from the checkpoint above
  Often caused by:
    - Learning rate too high
    - beta too small for this reward
  [rules/grpo.yaml:31 · alert a1f3c09d22b1 · attempt 1 · 2026-09-21 15:40 UTC]
"""


def test_a_firing_incident_reads_from_the_trouble_to_its_source():
    assert render(notification()) == EXPECTED


def test_a_resolved_incident_leaves_the_runbook_out():
    text = render(notification(state="closed", episodes=(episode(state="resolved"),)))
    assert text.startswith("✔ RESOLVED")
    assert "Look at" not in text


def test_further_alerts_hang_beneath_the_first_and_many_are_counted():
    hung = tuple(episode(alert=f"alert-{index}") for index in range(30))
    text = render(notification(episodes=(episode(), *hung)))
    assert "alert-9 (critical)" in text
    assert "and 20 more: alert-10, alert-11" in text


@given(NOTIFICATION, LINE)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_text_from_outside_reaches_the_terminal_raw(any_notification, line):
    text = render(any_notification) + render_line(any_notification, line)
    assert not any(unicodedata.category(char) in {"Cc", "Cf", "Cs"} for char in text.replace("\n", ""))
    text.encode("utf-8")


async def test_everything_is_written_in_order():
    stream = io.StringIO()
    console = ConsoleNotifier(stream)
    reference = await console.post(notification(), "id")
    await console.line(reference, notification(), history_line(text="worse"), "id2")
    await console.close()
    assert stream.getvalue() == EXPECTED + "  ↳ grpo-7b step 173: worse\n"


async def test_an_edit_is_brief_unless_a_person_must_look_again():
    stream = io.StringIO()
    console = ConsoleNotifier(stream)
    mild = notification(severity="warning", episodes=(episode(severity="warning"),), rollback=None)
    reference = await console.post(mild, "id")
    written = []
    for changed in (mild, notification(), notification(), notification(state="closed")):
        stream.seek(0)
        stream.truncate()
        await console.edit(reference, changed)
        written.append("Do:" in stream.getvalue() or "Cost:" in stream.getvalue())
    assert written == [False, True, False, False]


async def test_a_terminal_without_utf8_gets_question_marks():
    raw = io.BytesIO()
    console = ConsoleNotifier(io.TextIOWrapper(raw, encoding="ascii"))
    await console.post(notification(), "id")
    assert raw.getvalue().startswith(b"? CRITICAL")


async def test_a_closed_stream_refuses():
    stream = io.StringIO()
    stream.close()
    with pytest.raises(DeliveryRefused):
        await ConsoleNotifier(stream).edit("x", notification())
