"""The manual clock and the recording notifier."""

import asyncio

import pytest

from sentinel.errors import DeliveryRefused, DeliveryRetry
from sentinel.testing import ManualClock, RecordingNotifier, history_line, notification


async def test_a_sleep_ends_when_its_time_has_come():
    clock = ManualClock(100.0)
    ended = []

    async def sleeper(seconds):
        await clock.sleep(seconds)
        ended.append(seconds)

    tasks = [asyncio.create_task(sleeper(seconds)) for seconds in (5, 2, 9)]
    await asyncio.sleep(0)
    assert clock.sleepers == 3
    clock.advance(5)
    await asyncio.sleep(0)
    assert ended == [2, 5]
    clock.advance(4)
    await asyncio.gather(*tasks)
    assert (ended, clock.now(), clock.slept) == ([2, 5, 9], 109.0, [5, 2, 9])


async def test_a_cancelled_sleep_is_forgotten():
    clock = ManualClock()
    task = asyncio.create_task(clock.sleep(5))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    clock.advance(10)
    assert clock.sleepers == 0


async def test_a_self_advancing_clock_makes_sleeping_free():
    clock = ManualClock(0.0, self_advancing=True)
    await clock.sleep(3600)
    await clock.sleep(-1)
    assert clock.now() == 3600


async def test_sleeping_for_nothing_returns():
    await ManualClock().sleep(0)


def test_time_does_not_run_backwards():
    with pytest.raises(ValueError, match="backwards"):
        ManualClock().advance(-1)


async def test_the_recording_notifier_fails_as_told():
    receiver = RecordingNotifier()
    receiver.fail_next(DeliveryRetry("later"))
    receiver.fail_next(DeliveryRetry("lost", ambiguous=True), accepted=True)
    with pytest.raises(DeliveryRetry, match="later"):
        await receiver.post(notification(), "a")
    assert receiver.messages == []
    with pytest.raises(DeliveryRetry, match="lost"):
        await receiver.post(notification(), "a")
    assert await receiver.post(notification(), "a") == "m1"
    await receiver.line("m1", notification(), history_line(), "b")
    await receiver.line("m1", notification(), history_line(), "b")
    await receiver.edit("m1", notification(headline="x"))
    (message,) = receiver.messages
    assert (len(message.lines), message.edits, message.notification.headline) == (1, 1, "x")


async def test_a_receiver_that_does_not_deduplicate_shows_repeats():
    receiver = RecordingNotifier(drops_repeats=False)
    assert await receiver.post(notification(), "a") != await receiver.post(notification(), "a")
    assert len(receiver.messages) == 2


async def test_an_unknown_reference_is_lost():
    with pytest.raises(DeliveryRefused) as caught:
        await RecordingNotifier().edit("m9", notification())
    assert caught.value.lost_reference
