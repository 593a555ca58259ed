"""The Slack message: what it says, that it is always valid, and that nothing from outside is live in it."""

import json
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import LINE, NOTIFICATION, TEXT

from sentinel.notify.slack import render, render_line
from sentinel.notify.slack.escape import bold, code, code_block, date, entities, words
from sentinel.testing import episode, notification, rollback
from sentinel.testing.fake_slack import limits

OURS = re.compile(r"<!date\^-?\d+\^\{date_short_pretty\} \{time\}\|\d{4}-\d\d-\d\d \d\d:\d\d UTC>")


def shown(message):
    return "\n".join([message["text"], *limits.block_text(message.get("blocks", []))])


def markup_of(message):
    """Every text in which Slack looks for markup, without the dates that we build."""
    return OURS.sub("", "\n".join([message["text"], *limits.markup_text(message.get("blocks", []))]))


@given(NOTIFICATION)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_notification_gives_a_valid_message_in_which_nothing_is_live(any_notification):
    message = render(any_notification)
    assert limits.problems(message["blocks"]) == []
    assert sum(map(len, limits.block_text(message["blocks"]))) <= limits.MOST_BLOCK_TEXT
    assert 0 < len(message["text"]) <= 4000
    assert "<" not in markup_of(message)
    json.dumps(message, ensure_ascii=False).encode("utf-8")


@given(NOTIFICATION, LINE)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_history_line_is_one_inert_line(any_notification, line):
    text = render_line(any_notification, line)["text"]
    assert "<" not in OURS.sub("", text)
    assert "\n" not in text


@given(TEXT | st.text(st.characters(), max_size=3000), st.integers(2, 300))
def test_escaped_text_keeps_to_its_limit_and_ends_between_entities(text, limit):
    for escaped in (words(text, limit), entities(text, limit)):
        assert len(escaped) <= limit
        assert re.search(r"&(?!amp;|lt;|gt;)", escaped) is None
        assert "<" not in escaped
        assert ">" not in escaped
    assert len(code_block(text, limit)) <= limit + 6


@given(TEXT)
def test_code_spans_cannot_be_left_from_within(text):
    assert "`" not in code(text)[1:-1]
    assert "`" not in code_block(text)[3:-3]
    assert "*" not in bold(text)[1:-1]


def test_entities_are_escaped_once():
    assert entities("<!channel> & you") == "&lt;!channel&gt; &amp; you"


def test_nothing_is_shown_for_nothing():
    assert (code(""), bold(""), date(None), date(float("nan")), date(1e300)) == ("", "", "", "", "")


def test_the_message_stands_in_the_order_a_tired_person_needs():
    message = render(notification())
    kinds = [block["type"] for block in message["blocks"]]
    assert kinds[:3] == ["header", "section", "section"]
    assert message["blocks"][0]["text"]["text"] == "🔴 CRITICAL · grpo-7b"
    text = "\n".join(limits.block_text(message["blocks"]))
    places = [
        text.index(part)
        for part in (
            "CRITICAL",
            "KL to the reference is 4.52",
            "Since step 171",
            "`4.52` nats/token",
            "*Threshold*\nabove 0.5",
            "Go back to checkpoint-150",
            "24 steps (12 min)",
            "```python train.py --resume_from_checkpoint out/grpo-7b/checkpoint-150```",
            "Not `checkpoint-172`",
            "Look at, in order",
            "rules/grpo.yaml:31",
        )
    ]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("fields", "header"),
    [
        ({"severity": "critical"}, "🔴 CRITICAL · grpo-7b"),
        ({"severity": "warning"}, "⚠️ WARNING · grpo-7b"),
        ({"severity": "info", "attempt": 3}, "ℹ️ INFO · grpo-7b (attempt 3)"),
        ({"state": "closed", "episodes": (episode(state="resolved"),)}, "✅ RESOLVED · grpo-7b"),
        ({"state": "closed", "episodes": (episode(state="stale"),)}, "⏹️ STALE · grpo-7b"),
    ],
)
def test_the_state_is_a_word_and_a_shape(fields, header):
    assert render(notification(**fields))["blocks"][0]["text"]["text"] == header


def test_two_hundred_alerts_keep_the_headline_and_name_the_rest():
    hung = tuple(episode(alert=f"alert-{index}", summary="x" * 300) for index in range(199))
    message = render(notification(episodes=(episode(), *hung)))
    assert limits.problems(message["blocks"]) == []
    assert "KL to the reference is 4.52" in shown(message)
    assert "and 191 more" in shown(message)


def test_the_least_needed_goes_first_when_it_is_too_much():
    long = tuple("y" * 300 for _ in range(8))
    lead = episode(runbook={"look_at": long, "do": long, "causes": long})
    big = notification(
        episodes=(lead, *(episode(alert=str(index), summary="z" * 200) for index in range(9))),
        rollback=rollback(command="c" * 2000, reason="r" * 600),
    )
    text = shown(render(big))
    assert "Often caused by" not in text
    assert "Go back to checkpoint-150" in text
    assert "Look at, in order" in text


def test_nothing_is_linked_or_mentioned_by_slack_itself():
    def objects(value):
        if isinstance(value, dict):
            if value.get("type") == "mrkdwn":
                yield value
            for item in value.values():
                yield from objects(item)
        elif isinstance(value, list):
            for item in value:
                yield from objects(item)

    assert all(each["verbatim"] for each in objects(render(notification())["blocks"]))
