"""Sending to Slack, against the strict stand-in over loopback."""

import asyncio
import logging
import uuid

import pytest
from structlog.testing import capture_logs

from sentinel.errors import DeliveryRefused, DeliveryRetry
from sentinel.notify import Sender
from sentinel.notify.slack import SlackNotifier
from sentinel.notify.slack import sender as slack_sender
from sentinel.notify.slack.failure import from_answer
from sentinel.ports import Batch
from sentinel.store.memory import MemoryStore
from sentinel.testing import ManualClock, history_line, notification
from sentinel.testing.fake_slack import FakeSlack

TOKEN = "xoxb-this-is-secret"
OPENED = history_line()
WORSE = history_line(kind="worse", step=180, text="worse")


@pytest.fixture
async def slack():
    async with FakeSlack(token=TOKEN) as fake:
        yield fake


@pytest.fixture
async def notifier(slack):
    made = SlackNotifier(TOKEN, "C1", base_url=slack.url)
    yield made
    await made.close()


def an_id():
    return str(uuid.uuid4())


async def test_an_incident_is_posted_edited_and_continued_in_its_thread(slack, notifier):
    reference = await notifier.post(notification(), an_id())
    await notifier.edit(reference, notification(headline="now worse"))
    await notifier.line(reference, notification(), WORSE, an_id())
    (message,) = slack.channel("C1")
    assert reference == f"C1/{message.ts}"
    assert "now worse" in message.text
    assert message.edited
    assert [reply.text for reply in message.thread] == [
        "▲ worse  <!date^1790005190^{date_short_pretty} {time}|2026-09-21 15:39 UTC>"
    ]


async def test_a_channel_may_be_named(slack):
    notifier = SlackNotifier(TOKEN, "#rl-alerts", base_url=slack.url)
    reference = await notifier.post(notification(), an_id())
    await notifier.edit(reference, notification())
    await notifier.close()
    assert reference.startswith("C1/")


async def test_a_repeat_with_the_same_id_shows_once(slack, notifier):
    message_id = an_id()
    assert await notifier.post(notification(), message_id) == await notifier.post(notification(), message_id)
    assert len(slack.channel("C1")) == 1


async def test_nothing_unfurls_and_nobody_is_pinged(slack, notifier):
    hostile = notification(run="<!channel>", headline="<@U1> <https://evil.example|ok>", framework="<#C1>")
    await notifier.post(hostile, an_id())
    fields = slack.requests[-1].fields
    assert (fields["unfurl_links"], fields["unfurl_media"]) == (False, False)
    assert slack.pings == []


@pytest.mark.parametrize(
    ("kind", "retry_after", "code", "waits", "ambiguous"),
    [
        ("429", 1, "ratelimited", 1.0, False),
        ("429", 30, "ratelimited", 30.0, False),
        ("429", None, "ratelimited", None, False),
        ("429", "x", "ratelimited", None, False),
        ("429", -5, "ratelimited", None, False),
        ("429", 10**9, "ratelimited", 900.0, False),
        ("ratelimited-in-200", 7, "ratelimited", 7.0, False),
        ("ratelimited-in-200", None, "ratelimited", None, False),
        ("500", None, "http_500", None, True),
        ("502", None, "http_502", None, True),
        ("503", None, "http_503", None, True),
        ("drop-before", None, "connection_lost", None, True),
        ("drop-after", None, "connection_lost", None, True),
        ("garbage", None, "unreadable_answer", None, True),
        ("huge", None, "connection_lost", None, True),
        ("internal_error", None, "internal_error", None, True),
        ("service_unavailable", None, "service_unavailable", None, False),
    ],
)
async def test_passing_failures_are_to_be_retried(slack, notifier, kind, retry_after, code, waits, ambiguous):
    slack.fail_next(kind, retry_after=retry_after)
    message_id = an_id()
    with pytest.raises(DeliveryRetry) as caught:
        await notifier.post(notification(), message_id)
    assert (caught.value.code, caught.value.retry_after, caught.value.ambiguous) == (code, waits, ambiguous)
    assert len(slack.requests) == 1
    await notifier.post(notification(), message_id)
    assert len(slack.channel("C1")) == 1


async def test_a_hang_is_cut_off_and_in_doubt(slack):
    notifier = SlackNotifier(TOKEN, "C1", base_url=slack.url, timeout=0.2)
    slack.fail_next("hang")
    with pytest.raises(DeliveryRetry) as caught:
        await notifier.post(notification(), an_id())
    await notifier.close()
    assert (caught.value.code, caught.value.ambiguous) == ("timeout", True)
    assert slack_sender.TIMEOUT_SECONDS == 10.0


async def test_an_address_where_nobody_listens_is_not_in_doubt(slack):
    notifier = SlackNotifier(TOKEN, "C1", base_url=slack.url)
    await slack.stop()
    with pytest.raises(DeliveryRetry) as caught:
        await notifier.post(notification(), an_id())
    await notifier.close()
    assert (caught.value.code, caught.value.ambiguous) == ("unreachable", False)


async def test_a_redirect_is_not_followed(slack, notifier):
    slack.fail_next("redirect")
    with pytest.raises(DeliveryRefused) as caught:
        await notifier.post(notification(), an_id())
    assert caught.value.code == "http_302"
    assert len(slack.requests) == 1


@pytest.mark.parametrize(
    "kind", ["invalid_auth", "channel_not_found", "not_in_channel", "is_archived", "msg_too_long", "unheard_of"]
)
async def test_lasting_failures_are_refused_without_a_retry(slack, notifier, kind):
    slack.fail_next(kind)
    with pytest.raises(DeliveryRefused) as caught:
        await notifier.post(notification(), an_id())
    assert caught.value.code == kind
    assert not caught.value.lost_reference
    assert len(slack.requests) == 1


async def test_a_deleted_message_is_a_lost_reference(slack, notifier):
    reference = await notifier.post(notification(), an_id())
    slack.delete("C1", reference.partition("/")[2])
    for call in (
        notifier.edit(reference, notification()),
        notifier.line(reference, notification(), WORSE, an_id()),
        notifier.edit("nonsense", notification()),
    ):
        with pytest.raises(DeliveryRefused) as caught:
            await call
        assert caught.value.lost_reference


async def test_refused_blocks_fall_back_to_text_once_and_are_logged_in_slacks_words(slack, notifier):
    slack.fail_next("invalid_blocks")
    with capture_logs() as logs:
        await notifier.post(notification(), an_id())
    (message,) = slack.channel("C1")
    assert message.blocks == []
    assert message.text.startswith("CRITICAL grpo-7b")
    assert [entry["event"] for entry in logs] == ["slack.blocks_refused"]
    slack.fail_next("invalid_blocks", n=2)
    with pytest.raises(DeliveryRefused):
        await notifier.post(notification(), an_id())


async def test_an_edit_that_falls_back_to_text_removes_the_old_blocks(slack, notifier):
    reference = await notifier.post(notification(), an_id())
    slack.fail_next("invalid_blocks")
    await notifier.edit(reference, notification(headline="now worse"))
    (message,) = slack.channel("C1")
    assert (message.blocks, "now worse" in message.text) == ([], True)


async def test_slacks_own_words_are_in_the_error():
    body = {
        "ok": False,
        "error": "invalid_blocks",
        "response_metadata": {"messages": ["[ERROR] must be less than 3001 characters"]},
    }
    assert "3001 characters" in str(from_answer(200, {}, body))
    assert "chat:write" in str(from_answer(200, {}, {"error": "missing_scope", "needed": "chat:write"}))


async def test_the_token_is_in_no_repr_error_or_log(slack, notifier, caplog, capsys):
    caplog.set_level(logging.DEBUG)
    for kind in ("429", "500", "garbage", "drop-before", "invalid_auth", "invalid_blocks"):
        slack.fail_next(kind, n=2)
        with pytest.raises((DeliveryRetry, DeliveryRefused)) as caught:
            await notifier.post(notification(), an_id())
        slack.mend()
        assert TOKEN not in f"{caught.value!r} {caught.value}"
    assert TOKEN not in repr(notifier)
    assert TOKEN not in caplog.text
    captured = capsys.readouterr()
    assert TOKEN not in captured.out + captured.err


async def test_a_proxy_in_the_environment_is_not_used_for_loopback(slack, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    notifier = SlackNotifier(TOKEN, "C1", base_url=slack.url)
    await notifier.post(notification(), an_id())
    await notifier.close()
    assert len(slack.channel("C1")) == 1


async def test_the_token_can_be_checked(slack, notifier):
    assert (await notifier.check())["user"] == "sentinel"
    slack.token = "xoxb-another"
    with pytest.raises(DeliveryRefused, match="invalid_auth"):
        await notifier.check()


async def test_through_every_fault_slack_ends_with_exactly_the_true_state(slack, notifier):
    """Order kept, nothing lost, nothing twice."""
    store = MemoryStore()
    clock = ManualClock(self_advancing=True)
    worker = Sender(notifier, store, clock=clock, sleep=clock.sleep)
    for kind in (
        *("429", "500", "drop-after", "ratelimited-in-200", "drop-before"),
        *("garbage", "invalid_blocks", "503", "drop-after", "429"),
    ):
        slack.fail_next(kind)
    slack.fail_next("drop-after", n=2, method="chat.update")
    wanted = [
        notification(incident=name, run=name, history=(OPENED, WORSE), headline=f"{name} is worse")
        for name in ("run-a", "run-b", "run-c")
    ]
    await store.commit(Batch("1-0", desired=[("slack", notification(incident="run-a", run="run-a"))]))
    await worker.drain()
    await store.commit(Batch("2-0", desired=[("slack", each) for each in wanted]))
    await worker.drain()
    heads = [message.text.split(":")[0] for message in slack.channel("C1")]
    assert heads == ["CRITICAL run-a", "CRITICAL run-b", "CRITICAL run-c"]
    assert all("is worse" in message.text for message in slack.channel("C1"))
    assert [len(message.thread) for message in slack.channel("C1")] == [1, 1, 1]
    assert worker.refused == 0
    assert await store.unsettled() == ()


async def test_a_daemon_killed_in_every_request_repeats_nothing(slack, notifier):
    store = MemoryStore()
    clock = ManualClock(self_advancing=True)
    await store.commit(Batch("1-0", desired=[("slack", notification(history=(OPENED, WORSE)))]))
    for _ in range(6):
        slack.fail_next("hang")
        before = len(slack.requests)
        task = asyncio.create_task(Sender(notifier, store, clock=clock, sleep=clock.sleep).drain())
        while len(slack.requests) == before and not task.done():
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        slack.mend()
        slack.fail_next("drop-after")
        task = asyncio.create_task(Sender(notifier, store, clock=clock, sleep=clock.sleep).drain())
        while slack._faults and not task.done():
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        slack.mend()
    await Sender(notifier, store, clock=clock, sleep=clock.sleep).drain()
    (message,) = slack.channel("C1")
    assert len(message.thread) == 1
