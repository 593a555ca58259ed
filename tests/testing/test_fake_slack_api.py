"""The stand-in is as strict as Slack."""

import asyncio
import uuid

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from sentinel.testing.fake_slack import FakeSlack, limits


@pytest.fixture
async def slack():
    async with FakeSlack() as fake:
        fake.add_channel("C2", "old", archived=True)
        fake.add_channel("C3", "closed-shop", member=False)
        yield fake


@pytest.fixture
async def client(slack):
    async with aiohttp.ClientSession() as session:
        made = AsyncWebClient(token=slack.token, base_url=slack.url, session=session, retry_handlers=[])
        made.proxy = None
        yield made


async def error_of(call):
    with pytest.raises(SlackApiError) as caught:
        await call
    return caught.value.response["error"]


def section(text):
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


async def test_the_sdk_can_talk_to_it(slack, client):
    assert (await client.auth_test())["user"] == "sentinel"
    posted = await client.chat_postMessage(channel="C1", text="one")
    await client.chat_update(channel="C1", ts=posted["ts"], text="two")
    await client.chat_postMessage(channel="C1", text="reply", thread_ts=posted["ts"])
    await client.chat_postMessage(channel="C1", text="three")
    history = await client.conversations_history(channel="C1", limit=10)
    assert [message["text"] for message in history["messages"]] == ["three", "two"]
    replies = await client.conversations_replies(channel="C1", ts=posted["ts"])
    assert [message["text"] for message in replies["messages"]] == ["two", "reply"]
    assert (await client.conversations_history(channel="C1", limit=1))["has_more"]
    await client.chat_delete(channel="C1", ts=posted["ts"])
    assert [message.text for message in slack.channel("#rl-alerts")] == ["three"]


async def test_form_bodies_are_read_too(slack):
    data = {"token": slack.token, "channel": "C1", "text": "hello", "blocks": '[{"type": "divider"}]'}
    async with aiohttp.ClientSession() as session, session.post(slack.url + "chat.postMessage", data=data) as answer:
        assert (await answer.json())["ok"]
    assert slack.channel("C1")[0].blocks == [{"type": "divider"}]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"channel": "C9", "text": "x"}, "channel_not_found"),
        ({"channel": "C2", "text": "x"}, "is_archived"),
        ({"channel": "C3", "text": "x"}, "not_in_channel"),
        ({"channel": "C1"}, "no_text"),
        ({"channel": "C1", "text": "x" * 40_001}, "msg_too_long"),
        ({"channel": "C1", "text": "x", "thread_ts": "1.000001"}, "thread_not_found"),
        ({"channel": "C1", "text": "x", "client_msg_id": "42"}, "invalid_arguments"),
        ({"channel": "C1", "text": "x", "blocks": "[not json"}, "invalid_blocks_format"),
        ({"channel": "C1", "text": "x", "blocks": [section("y" * 3000)] * 5}, "msg_blocks_too_long"),
        ({"channel": "C1", "text": "x", "blocks": [section("y" * 3001)]}, "invalid_blocks"),
    ],
)
async def test_a_bad_message_is_refused_in_slacks_words(slack, client, fields, error):
    assert await error_of(client.api_call("chat.postMessage", json=fields)) == error
    assert slack.channel("C1") == []


async def test_a_bad_token_or_method_is_refused(slack, client):
    assert await error_of(client.api_call("chat.nonsense", json={})) == "unknown_method"
    client.token = "xoxb-wrong"
    assert await error_of(client.auth_test()) == "invalid_auth"
    client.token = None
    assert await error_of(client.auth_test()) == "not_authed"


async def test_an_edit_of_nothing_or_of_another_persons_message_is_refused(slack, client):
    theirs = slack.say("C1", "mine", author="ada")
    update = client.chat_update
    assert await error_of(update(channel="C1", ts="1.0", text="x")) == "message_not_found"
    assert await error_of(update(channel="C1", ts=theirs.ts, text="x")) == "cant_update_message"
    assert await error_of(update(channel="#rl-alerts", ts=theirs.ts, text="x")) == "channel_not_found"


async def test_an_edit_without_blocks_leaves_the_old_ones(slack, client):
    posted = await client.chat_postMessage(channel="C1", text="x", blocks=[section("old")])
    await client.chat_update(channel="C1", ts=posted["ts"], text="y")
    assert slack.channel("C1")[0].blocks == [section("old")]
    await client.chat_update(channel="C1", ts=posted["ts"], text="y", blocks=[])
    assert slack.channel("C1")[0].blocks == []


async def test_the_same_client_msg_id_answers_with_the_first_message(slack, client):
    fields = {"channel": "C1", "text": "x", "client_msg_id": str(uuid.uuid4())}
    first = await client.api_call("chat.postMessage", json=fields)
    again = await client.api_call("chat.postMessage", json=fields | {"text": "other"})
    assert (again["ts"], again["message"]["text"]) == (first["ts"], "x")
    slack.delete("C1", first["ts"])
    assert await error_of(client.api_call("chat.postMessage", json=fields)) == "duplicate_message_not_found"


async def test_live_mentions_are_recorded_and_dates_and_entities_are_not(slack, client):
    await client.chat_postMessage(channel="C1", text="<!channel> <@U1> <!date^1^{date}|x> &lt;!here&gt;")
    await client.chat_postMessage(channel="C1", text="x", blocks=[section("<!here|all> <#C1>")])
    header = {"type": "header", "text": {"type": "plain_text", "text": "<!everyone>"}}
    await client.chat_postMessage(channel="C1", text="x", blocks=[header])
    assert [ping for _, ping in slack.pings] == ["<!channel>", "<@U1>", "<!here|all>", "<#C1>"]


async def test_more_than_one_message_a_second_is_limited(client):
    async with FakeSlack(rate=0.001, burst=2) as slack:
        client.base_url = slack.url
        await client.chat_postMessage(channel="C1", text="1")
        await client.chat_postMessage(channel="C1", text="2")
        with pytest.raises(SlackApiError) as caught:
            await client.chat_postMessage(channel="C1", text="3")
        assert caught.value.response.status_code == 429
        assert int(caught.value.response.headers["Retry-After"]) > 900


async def test_failures_come_in_the_order_asked_for_and_only_to_their_method(slack, client):
    slack.fail_next("not_in_channel", method="chat.postMessage")
    slack.fail_next("500", n=2)
    with pytest.raises(SlackApiError):
        await client.auth_test()
    assert await error_of(client.chat_postMessage(channel="C1", text="x")) == "not_in_channel"
    with pytest.raises(SlackApiError):
        await client.auth_test()
    await client.auth_test()
    assert [request.answer for request in slack.requests] == ["http_500", "not_in_channel", "http_500", "ok"]


async def test_a_message_dropped_before_is_not_there_and_one_dropped_after_is(slack, client):
    for kind in ("drop-before", "drop-after"):
        slack.fail_next(kind)
        with pytest.raises(aiohttp.ClientError):
            await client.chat_postMessage(channel="C1", text=kind)
    assert [message.text for message in slack.channel("C1")] == ["drop-after"]


async def test_it_stops_though_a_request_hangs(client):
    async with FakeSlack() as slack:
        client.base_url = slack.url
        slack.fail_next("hang")
        task = asyncio.create_task(client.auth_test())
        while not slack.requests:
            await asyncio.sleep(0.001)
    with pytest.raises(aiohttp.ClientError):
        await task


@pytest.mark.parametrize(
    ("blocks", "problem"),
    [
        ("x", "must be an array [json-pointer:/blocks]"),
        ([1], "must provide an object [json-pointer:/blocks/0]"),
        ([{}], "missing required field: type [json-pointer:/blocks/0]"),
        ([{"type": "video"}], "unsupported type: video [json-pointer:/blocks/0/type]"),
        ([{"type": "divider", "x": 1}], "invalid additional property: x [json-pointer:/blocks/0]"),
        ([{"type": "divider"}] * 51, "no more than 50 items allowed [json-pointer:/blocks]"),
        ([section("")], "must be more than 0 characters [json-pointer:/blocks/0/text/text]"),
        ([section("x" * 3001)], "must be less than 3001 characters [json-pointer:/blocks/0/text/text]"),
        ([{"type": "section"}], "missing required field: text [json-pointer:/blocks/0]"),
        ([{"type": "section", "fields": []}], "must contain at least 1 item [json-pointer:/blocks/0/fields]"),
        (
            [{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}],
            "must be less than 151 characters [json-pointer:/blocks/0/text/text]",
        ),
        (
            [{"type": "header", "text": {"type": "mrkdwn", "text": "x"}}],
            "must be a valid enum value [json-pointer:/blocks/0/text/type]",
        ),
        (
            [{"type": "section", "fields": [{"type": "mrkdwn", "text": "x" * 2001}]}],
            "must be less than 2001 characters [json-pointer:/blocks/0/fields/0/text]",
        ),
        (
            [{"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}] * 11}],
            "no more than 10 items allowed [json-pointer:/blocks/0/elements]",
        ),
        (
            [{"type": "divider", "block_id": "a"}, {"type": "divider", "block_id": "a"}],
            "`block_id` a already exists [json-pointer:/blocks/1/block_id]",
        ),
        (
            [{"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "y" * 76}}]}],
            "must be less than 76 characters [json-pointer:/blocks/0/elements/0/text/text]",
        ),
    ],
)
def test_each_limit_is_named_with_its_place(blocks, problem):
    assert problem in limits.problems(blocks)


def test_a_message_within_the_limits_has_no_problem():
    button = {"type": "button", "text": {"type": "plain_text", "text": "Ack"}, "action_id": "ack", "style": "primary"}
    image = {"type": "image", "image_url": "https://example.org/x.png", "alt_text": "x"}
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": "x", "emoji": True}},
        section("x" * 3000) | {"accessory": button},
        {"type": "actions", "elements": [button]},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": "x"}, image]},
        image,
    ]
    assert limits.problems(blocks) == []
