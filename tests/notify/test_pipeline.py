"""Delivery by one worker for each receiver."""

import asyncio

import pytest
from memory_outbox import DictOutbox
from structlog.testing import capture_logs

from sentinel.errors import DeliveryRefused, DeliveryRetry
from sentinel.notify import Pipeline, Sender
from sentinel.notify.pipeline import MOST_POSTS_ANEW, PARKED_SECONDS
from sentinel.ports import Told
from sentinel.testing import ManualClock, RecordingNotifier, history_line, notification

OPENED = history_line()
WORSE = history_line(kind="worse", step=180, text="worse")


@pytest.fixture
def clock():
    return ManualClock(self_advancing=True)


@pytest.fixture
def outbox():
    return DictOutbox()


@pytest.fixture
def receiver():
    return RecordingNotifier()


def sender(receiver, outbox, clock, **settings):
    return Sender(receiver, outbox, clock=clock, sleep=clock.sleep, **settings)


def kinds(receiver):
    return [call.kind for call in receiver.calls]


async def test_a_new_incident_is_posted_once(receiver, outbox, clock):
    outbox.want(notification())
    worker = sender(receiver, outbox, clock)
    await worker.drain()
    await worker.drain()
    assert kinds(receiver) == ["post"]
    assert worker.sent == 1


async def test_the_intent_is_recorded_before_the_send_and_the_confirmation_after(receiver, outbox, clock):
    key = outbox.want(notification())
    await sender(receiver, outbox, clock).drain()
    wanted = notification()
    assert outbox.writes == [
        (key, Told(intent="post", digest=wanted.digest)),
        (key, Told(reference="m1", digest=wanted.digest, said=("opened-173",))),
    ]


async def test_a_change_is_an_edit_and_its_history_a_line(receiver, outbox, clock):
    outbox.want(notification(history=(OPENED,)))
    worker = sender(receiver, outbox, clock)
    await worker.drain()
    outbox.want(notification(history=(OPENED, WORSE), headline="now worse"))
    await worker.drain()
    assert kinds(receiver) == ["post", "edit", "line"]
    assert receiver.messages[0].notification.headline == "now worse"
    assert receiver.messages[0].lines == [WORSE]


async def test_an_unchanged_notification_sends_nothing(receiver, outbox, clock):
    outbox.want(notification())
    await sender(receiver, outbox, clock).drain()
    outbox.want(notification())
    await sender(receiver, outbox, clock).drain()
    assert kinds(receiver) == ["post"]


async def test_a_closed_incident_that_was_told_whole_leaves_the_outbox(receiver, outbox, clock):
    outbox.want(notification(state="closed", history=(OPENED, WORSE)))
    await sender(receiver, outbox, clock).drain()
    assert outbox.rows == {}
    assert receiver.messages[0].lines == [WORSE]


@pytest.mark.parametrize("retry_after", [1.0, 30.0, 1e9])
async def test_the_receivers_wait_is_kept_and_nothing_is_sent_inside_it(receiver, outbox, retry_after):
    clock = ManualClock()
    outbox.want(notification())
    receiver.fail_next(DeliveryRetry("ratelimited", retry_after=retry_after))
    worker = sender(receiver, outbox, clock)
    task = asyncio.create_task(worker.run())
    await turns()
    waited = min(retry_after, 900.0)
    clock.advance(waited - 0.001)
    worker.wake()
    await turns()
    assert kinds(receiver) == ["post"]
    clock.advance(0.001)
    await turns()
    assert kinds(receiver) == ["post", "post"]
    assert len(receiver.messages) == 1
    worker.stop()
    await task


async def test_order_is_kept_while_the_first_waits(receiver, outbox, clock):
    for name in ("a", "b", "c"):
        outbox.want(notification(incident=name))
    receiver.fail_next(DeliveryRetry("http_503", ambiguous=True), n=4)
    worker = sender(receiver, outbox, clock)
    await worker.drain()
    assert [message.notification.incident for message in receiver.messages] == ["a", "b", "c"]
    assert worker.retried == 4
    assert clock.slept[:4] == pytest.approx([1.125, 2.25, 4.5, 9.0], rel=0.12)


async def test_while_it_waits_the_latest_state_is_told_once(receiver, outbox):
    clock = ManualClock()
    outbox.want(notification(headline="first"))
    receiver.fail_next(DeliveryRetry("ratelimited", retry_after=5))
    worker = sender(receiver, outbox, clock)
    task = asyncio.create_task(worker.drain())
    await turns()
    outbox.want(notification(headline="second"))
    clock.advance(5)
    await task
    assert [message.notification.headline for message in receiver.messages] == ["second"]
    assert kinds(receiver) == ["post", "post"]


async def test_a_send_whose_answer_was_lost_is_repeated_with_the_same_id(receiver, outbox, clock):
    outbox.want(notification())
    receiver.fail_next(DeliveryRetry("timeout", ambiguous=True), accepted=True)
    worker = sender(receiver, outbox, clock)
    await worker.drain()
    assert len({call.message_id for call in receiver.calls}) == 1
    assert len(receiver.messages) == 1
    assert worker.in_doubt == 1


async def test_a_lost_answer_and_a_changed_state_end_in_the_new_state(receiver, outbox):
    clock = ManualClock()
    outbox.want(notification(headline="first"))
    receiver.fail_next(DeliveryRetry("timeout", ambiguous=True, retry_after=5), accepted=True)
    task = asyncio.create_task(sender(receiver, outbox, clock).drain())
    await turns()
    outbox.want(notification(headline="second"))
    clock.advance(5)
    await task
    assert [message.notification.headline for message in receiver.messages] == ["second"]


async def test_a_refused_incident_is_parked_and_the_next_is_told(receiver, outbox, clock):
    key = outbox.want(notification(incident="a"))
    outbox.want(notification(incident="b"))
    receiver.fail_next(DeliveryRefused("channel_not_found"))
    worker = sender(receiver, outbox, clock)
    with capture_logs() as logs:
        await worker.drain()
    assert [message.notification.incident for message in receiver.messages] == ["b"]
    assert (worker.refused, worker.parked, outbox.log[key].failures) == (1, 1, 1)
    assert [entry["code"] for entry in logs if entry["event"] == "notification.refused"] == ["channel_not_found"]
    await worker.drain()
    assert len(receiver.calls) == 2


async def test_a_parked_incident_is_tried_again_when_it_changes(receiver, outbox, clock):
    outbox.want(notification())
    receiver.fail_next(DeliveryRefused("channel_not_found"))
    worker = sender(receiver, outbox, clock)
    await worker.drain()
    outbox.want(notification(headline="changed"))
    await worker.drain()
    assert [message.notification.headline for message in receiver.messages] == ["changed"]


async def test_a_parked_incident_is_tried_again_by_itself_after_ten_minutes(receiver, outbox):
    clock = ManualClock()
    outbox.want(notification())
    receiver.fail_next(DeliveryRefused("invalid_auth"))
    worker = sender(receiver, outbox, clock)
    task = asyncio.create_task(worker.run())
    await turns()
    clock.advance(PARKED_SECONDS - 1)
    await turns()
    assert len(receiver.calls) == 1
    clock.advance(1)
    await turns()
    assert len(receiver.messages) == 1
    worker.stop()
    await task


async def test_a_lost_message_is_posted_anew_with_its_history(receiver, outbox, clock):
    outbox.want(notification(history=(OPENED, WORSE)))
    worker = sender(receiver, outbox, clock)
    await worker.drain()
    receiver.forget("m1")
    outbox.want(notification(history=(OPENED, WORSE), headline="later"))
    await worker.drain()
    assert [(message.notification.headline, message.lines) for message in receiver.messages] == [("later", [WORSE])]


async def test_a_receiver_that_loses_every_message_is_parked_instead_of_flooded(outbox, clock):
    class Forgetful(RecordingNotifier):
        async def line(self, reference, notification, line, message_id):
            raise DeliveryRefused("thread_not_found", lost_reference=True)

    receiver = Forgetful()
    outbox.want(notification(history=(OPENED, WORSE)))
    await sender(receiver, outbox, clock).drain()
    assert len(receiver.messages) == 1 + MOST_POSTS_ANEW


async def test_a_fault_of_a_notifier_is_logged_and_parks_that_incident_only(outbox, clock):
    class Broken(RecordingNotifier):
        async def post(self, notification, message_id):
            if notification.incident == "a":
                raise RuntimeError("boom")
            return await super().post(notification, message_id)

    receiver = Broken()
    outbox.want(notification(incident="a"))
    outbox.want(notification(incident="b"))
    with capture_logs() as logs:
        await sender(receiver, outbox, clock).drain()
    assert [message.notification.incident for message in receiver.messages] == ["b"]
    assert "notification.failed" in [entry["event"] for entry in logs]


async def test_an_outbox_that_is_away_is_asked_again_and_nothing_is_sent_twice(receiver, outbox, clock):
    outbox.want(notification())
    outbox.down = 3
    await sender(receiver, outbox, clock).drain()
    assert kinds(receiver) == ["post"]


async def test_a_confirmation_that_cannot_be_recorded_is_tried_until_it_is(outbox, clock):
    class Cutting(RecordingNotifier):
        async def post(self, notification, message_id):
            outbox.down = 4
            return await super().post(notification, message_id)

    receiver = Cutting()
    key = outbox.want(notification())
    await sender(receiver, outbox, clock).drain()
    assert kinds(receiver) == ["post"]
    assert outbox.log[key].reference == "m1"


async def test_messages_go_at_the_rate_of_the_bucket(receiver, outbox, clock):
    for index in range(12):
        outbox.want(notification(incident=f"i{index}"))
    start = clock.now()
    await sender(receiver, outbox, clock, rate=1.0, burst=5).drain()
    assert len(receiver.messages) == 12
    assert clock.now() - start == pytest.approx(7.0)


async def test_of_a_hundred_waiting_incidents_the_oldest_critical_leaves_first(receiver, outbox, clock):
    severities = ["info", "warning", "critical"]
    for index in range(100):
        outbox.want(notification(incident=f"{index:03}", severity=severities[index % 3], history=(OPENED, WORSE)))
    await sender(receiver, outbox, clock, rate=1.0, burst=1).drain()
    posted = [message.notification for message in receiver.messages]
    expected = sorted(posted, key=lambda each: (-severities.index(each.severity), each.incident))
    assert len(posted) == 100
    assert posted == expected
    assert kinds(receiver) == ["post"] * 100 + ["line"] * 100
    assert all(message.lines == [WORSE] for message in receiver.messages)


async def test_without_a_rate_nothing_waits(receiver, outbox, clock):
    for index in range(12):
        outbox.want(notification(incident=f"i{index}"))
    await sender(receiver, outbox, clock, rate=None).drain()
    assert clock.slept == []


async def test_a_stuck_receiver_delays_no_other(outbox):
    class Stuck(RecordingNotifier):
        async def post(self, notification, message_id):
            await asyncio.Event().wait()

    stuck, other = Stuck("stuck"), RecordingNotifier("other")
    clock = ManualClock()
    pipeline = Pipeline([stuck, other], outbox, clock=clock, sleep=clock.sleep)
    task = asyncio.create_task(pipeline.run())
    await turns()
    outbox.want(notification(), "stuck")
    outbox.want(notification(), "other")
    pipeline.wake()
    await turns()
    assert len(other.messages) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_stop_lets_the_send_in_flight_end(outbox):
    release = asyncio.Event()

    class Slow(RecordingNotifier):
        async def post(self, notification, message_id):
            await release.wait()
            return await super().post(notification, message_id)

    receiver = Slow()
    clock = ManualClock()
    key = outbox.want(notification(incident="a"))
    outbox.want(notification(incident="b"))
    worker = sender(receiver, outbox, clock)
    task = asyncio.create_task(worker.run())
    await turns()
    worker.stop()
    release.set()
    await task
    assert outbox.log[key].reference == "m1"
    assert len(receiver.messages) == 1


async def test_stop_ends_a_long_wait_at_once(receiver, outbox):
    clock = ManualClock()
    outbox.want(notification())
    receiver.fail_next(DeliveryRetry("ratelimited", retry_after=900))
    worker = sender(receiver, outbox, clock)
    task = asyncio.create_task(worker.run())
    await turns()
    worker.stop()
    await task
    assert clock.now() == ManualClock().now()


async def test_an_idle_worker_reads_nothing_until_it_is_woken(receiver, outbox):
    clock = ManualClock()
    worker = sender(receiver, outbox, clock)
    task = asyncio.create_task(worker.run())
    await turns()
    assert outbox.reads == 1
    clock.advance(100_000)
    await turns()
    assert outbox.reads == 1
    outbox.want(notification())
    worker.wake()
    await turns()
    assert len(receiver.messages) == 1
    worker.stop()
    await task


@pytest.mark.parametrize("drops_repeats", [True, False])
@pytest.mark.parametrize("kill_at", range(10))
async def test_killed_at_any_await_and_restarted_the_receiver_shows_the_same(outbox, kill_at, drops_repeats):
    """Each await of outbox and receiver is a place to die. Without deduplication at most one send repeats."""
    receiver = RecordingNotifier(drops_repeats=drops_repeats)
    left = [kill_at]

    def dying(call):
        async def wrapped(*arguments):
            if left[0] == 0:
                left[0] = -1
                raise asyncio.CancelledError
            left[0] -= 1
            answer = await call(*arguments)
            if left[0] == 0:
                left[0] = -1
                raise asyncio.CancelledError
            left[0] -= 1
            return answer

        return wrapped

    for target, names in ((outbox, ("record", "settle")), (receiver, ("post", "edit", "line"))):
        for name in names:
            setattr(target, name, dying(getattr(target, name)))
    outbox.want(notification(history=(OPENED, WORSE), state="closed"))
    for _ in range(2):
        clock = ManualClock(self_advancing=True)
        worker = sender(receiver, outbox, clock)
        try:
            await worker.drain()
        except asyncio.CancelledError:
            continue
    assert outbox.rows == {}
    told = [(message.notification.state, message.lines) for message in receiver.messages]
    if drops_repeats:
        assert told == [("closed", [WORSE])]
    else:
        assert len(receiver.calls) <= 3
        assert told[-1][1][-1] == WORSE


async def test_a_receiver_may_have_a_burst_of_its_own(outbox, clock):
    receiver = RecordingNotifier("slack")
    for index in range(4):
        outbox.want(notification(incident=f"i{index}"), "slack")
    start = clock.now()
    await Pipeline([receiver], outbox, clock=clock, sleep=clock.sleep, bursts={"slack": 1}).drain()
    assert len(receiver.messages) == 4
    assert clock.now() - start == pytest.approx(3.0)


async def test_two_receivers_of_one_name_are_refused(outbox, clock):
    with pytest.raises(ValueError, match="recording"):
        Pipeline([RecordingNotifier(), RecordingNotifier()], outbox, clock=clock)


async def test_closing_the_pipeline_closes_the_notifiers(receiver, outbox, clock):
    await Pipeline([receiver], outbox, clock=clock).close()
    assert receiver.closed


async def turns(n=30):
    """Let every task go as far as it can without the clock."""
    for _ in range(n):
        await asyncio.sleep(0)
