"""Delivery: one worker for each receiver reconciles what should be told with what was.

For each row of the outbox, posts of critical incidents first, then other posts, then edits and lines:
decide (`action.py`) → record the intent → send → record the
confirmation. Each receiver has a worker of its own, so one that is stuck delays neither another nor evaluation.
A receiver that asks for patience holds its own line: nothing is sent meanwhile, and the state of what waits
is read anew, so that the latest is told once instead of each step on the way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from msgspec.structs import replace

from sentinel.errors import BusUnavailable, DeliveryRefused, DeliveryRetry
from sentinel.notify.action import (
    Action,
    Edit,
    Line,
    Post,
    confirm,
    forget_message,
    in_doubt,
    intend,
    next_action,
    refuse,
)
from sentinel.notify.bucket import TokenBucket
from sentinel.notify.retry import Backoff
from sentinel.ports import Clock, Notifier, Outbox, OutboxRow, Told
from sentinel.severity import SEVERITIES

PARKED_SECONDS = 10 * 60.0

MOST_POSTS_ANEW = 3
"""How often in a row a lost message is posted anew before its incident is parked: a loop would flood a channel."""

Sleep = Callable[[float], Awaitable[None]]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Parked:
    """A row that its receiver refused: left alone until `until`, or until there is something new to tell."""

    until: float
    digest: str
    history: tuple[str, ...]

    def holds(self, row: OutboxRow, now: float) -> bool:
        unchanged = self.digest == row.notification.digest and self.history == _history(row)
        return unchanged and now < self.until


class Sender:
    """The worker of one receiver.

    `rate`: messages a second on average, None for no limit; `burst`: how many may go at once.
    `sent`, `retried`, `refused`, `in_doubt` count sends since the start: taken, put off, refused, and repeated
    because the answer to an earlier try was lost.
    """

    def __init__(
        self,
        notifier: Notifier,
        outbox: Outbox,
        *,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
        rate: float | None = 1.0,
        burst: int = 5,
        backoff: Backoff | None = None,
    ) -> None:
        self.notifier = notifier
        self.sent = 0
        self.retried = 0
        self.refused = 0
        self.in_doubt = 0
        self._outbox = outbox
        self._clock = clock
        self._sleep = sleep
        self._bucket = TokenBucket(rate, burst) if rate is not None else None
        self._backoff = backoff or Backoff()
        self._outage = Backoff(0.1, 5.0)
        self._parked: dict[str, _Parked] = {}
        self._turns: dict[str, int] = {}
        self._woken = asyncio.Event()
        self._stopping = asyncio.Event()
        self._log = log.bind(receiver=notifier.name)

    @property
    def name(self) -> str:
        return self.notifier.name

    @property
    def parked(self) -> int:
        """How many incidents wait because the receiver refused them."""
        return len(self._parked)

    def wake(self) -> None:
        """There may be something new to tell."""
        self._woken.set()

    def stop(self) -> None:
        """Let the send in flight end, then return from `run`. What is left stays in the outbox."""
        self._stopping.set()

    async def run(self) -> None:
        """Tell everything, then wait to be woken; for ever, until `stop`.

        Cancelling it is safe at any moment: a send that was in flight is in doubt and is repeated with the same id.
        """
        while not self._stopping.is_set():
            self._woken.clear()
            if await self._pass():
                await self._wait_for_work()

    async def drain(self) -> None:
        """Return when nothing is left that can be told now, or after `stop`. Not beside a running `run`."""
        while not self._stopping.is_set() and not await self._pass():
            pass

    async def _pass(self) -> bool:
        """Go through the rows once. False: time has passed meanwhile, so the rows must be read anew."""
        try:
            rows = [row for row in await self._outbox.unsettled() if row.receiver == self.name]
            keys = {row.key for row in rows}
            self._parked = {key: parked for key, parked in self._parked.items() if key in keys}
            self._turns = {key: turn for key, turn in self._turns.items() if key in keys}
            for row in sorted(rows, key=self._urgency):
                if self._stopping.is_set():
                    return True
                parked = self._parked.get(row.key)
                if parked is not None and parked.holds(row, self._clock.now()):
                    continue
                self._parked.pop(row.key, None)
                if not await self._deliver(row):
                    return False
        except BusUnavailable as error:
            pause = self._outage.next()
            self._log.warning("outbox.failed", error=str(error), retry_in=round(pause, 3))
            await self._pause(pause)
            return False
        self._outage.reset()
        return True

    def _urgency(self, row: OutboxRow) -> tuple[int, int]:
        """Sorts what waits; the outbox's order, oldest first, decides between equals.

        An incident is posted once, so posts cannot starve edits for ever; among edits and lines the incident that was
        served longest ago is next, so that one that keeps changing cannot starve the others.
        """
        if row.told.reference is None:
            return -1 - SEVERITIES.index(row.notification.severity), 0
        return 0, self._turns.get(row.key, 0)

    async def _deliver(self, row: OutboxRow) -> bool:
        """Tell all of one row. False: a wait came between, so the row may be out of date."""
        action = next_action(row)
        if action is None:
            await self._outbox.settle(row.key, replace(row.told, intent=None))
        if action is not None:
            if self._stopping.is_set():
                return False
            if self._bucket is not None and (wait := self._bucket.take(self._clock.now())) > 0:
                await self._pause(wait)
                return False
            told = await self._attempt(row, action)
            if told is None:
                return row.key in self._parked
            self._turns[row.key] = self.sent
            # One message a turn: what is left of this incident must not go before a new one's post.
            return next_action(replace(row, told=told)) is None
        return True

    async def _attempt(self, row: OutboxRow, action: Action) -> Told | None:
        """One action: intent → send → confirm. What is told now, or None when the receiver did not take it."""
        repeat = in_doubt(row.told, action)
        facts = {"incident": row.notification.incident, "run": row.notification.run, "action": action.intent}
        told = intend(row.told, action, row.notification.digest)
        await self._outbox.record(row.key, told)
        if repeat:
            self.in_doubt += 1
        try:
            reference = await self._send(row, action)
        except DeliveryRetry as error:
            self.retried += 1
            pause = self._backoff.next(error.retry_after)
            self._log.warning(
                "notification.deferred",
                **facts,
                code=error.code,
                reason=error.message,
                in_doubt=error.ambiguous,
                retry_in=round(pause, 3),
                tries=self._backoff.tries,
            )
            # The wait comes first whatever else fails: never a request inside it.
            try:
                if not error.ambiguous:
                    await self._outbox.record(row.key, row.told)
            finally:
                await self._pause(pause)
            return None
        except DeliveryRefused as error:
            posts_anew = row.told.reference is not None and row.told.failures < MOST_POSTS_ANEW
            if error.lost_reference and posts_anew:
                self._log.warning("notification.lost", **facts, code=error.code, reference=row.told.reference)
                told = forget_message(told)
                await self._outbox.record(row.key, told)
                return told
            self._backoff.reset()
            await self._refuse(row, facts, error.code, error.message)
            return None
        except Exception as error:
            # A fault of ours in one notifier must stop neither its other incidents nor the daemon.
            self._log.exception("notification.failed", **facts)
            await self._refuse(row, facts, f"bug:{type(error).__name__}", str(error))
            return None
        self.sent += 1
        self._backoff.reset()
        told = confirm(told, action, row.notification.digest, reference)
        await self._remember(row, told)
        self._log.info("notification.sent", **facts, reference=told.reference, repeat=repeat)
        return told

    async def _send(self, row: OutboxRow, action: Action) -> str | None:
        match action:
            case Post(message_id=message_id):
                return await self.notifier.post(row.notification, message_id)
            case Edit(reference=reference):
                await self.notifier.edit(reference, row.notification)
            case Line(reference=reference, line=line, message_id=message_id):
                await self.notifier.line(reference, row.notification, line, message_id)
        return None

    async def _refuse(self, row: OutboxRow, facts: Mapping[str, str], code: str, reason: str) -> None:
        told = refuse(row.told)
        self.refused += 1
        self._parked[row.key] = _Parked(
            until=self._clock.now() + PARKED_SECONDS,
            digest=row.notification.digest,
            history=_history(row),
        )
        self._log.error(
            "notification.refused",
            **facts,
            code=code,
            reason=reason,
            failures=told.failures,
            retry_in=PARKED_SECONDS,
        )
        await self._outbox.record(row.key, told)

    async def _remember(self, row: OutboxRow, told: Told) -> None:
        """Record a confirmation, however long the outbox is away: what was taken must not be sent again."""
        settled = next_action(replace(row, told=told)) is None
        write = self._outbox.settle if settled else self._outbox.record
        while True:
            try:
                await write(row.key, told)
            except BusUnavailable as error:
                if self._stopping.is_set():
                    raise
                pause = self._outage.next()
                self._log.warning("outbox.failed", error=str(error), retry_in=round(pause, 3))
                await self._pause(pause)
            else:
                self._outage.reset()
                return

    async def _wait_for_work(self) -> None:
        """Sleep until woken, stopped, or the first parked row may be tried again."""
        waits: list[Coroutine[Any, Any, bool]] = [self._woken.wait(), self._stopping.wait()]
        if self._parked:
            soonest = min(parked.until for parked in self._parked.values())
            waits.append(_slept(self._sleep(max(soonest - self._clock.now(), 0.0))))
        await _first_of(waits)

    async def _pause(self, seconds: float) -> None:
        """Sleep, but not past `stop`. Being woken does not shorten it."""
        await _first_of([self._stopping.wait(), _slept(self._sleep(seconds))])


class Pipeline:
    """The senders of all receivers.

    `bursts`: receiver name → its own `burst`.
    `senders` by receiver name; `run` returns after `stop`, or raises what a sender raised that is not about delivery.
    """

    def __init__(
        self,
        notifiers: Iterable[Notifier],
        outbox: Outbox,
        *,
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
        rate: float | None = 1.0,
        burst: int = 5,
        bursts: Mapping[str, int] | None = None,
    ) -> None:
        self.senders: dict[str, Sender] = {}
        for notifier in notifiers:
            if notifier.name in self.senders:
                raise ValueError(f"two receivers are named {notifier.name!r}")
            most = (bursts or {}).get(notifier.name, burst)
            self.senders[notifier.name] = Sender(notifier, outbox, clock=clock, sleep=sleep, rate=rate, burst=most)

    def wake(self) -> None:
        """There may be something new to tell."""
        for sender in self.senders.values():
            sender.wake()

    def stop(self) -> None:
        """Let the sends in flight end, then return from `run`."""
        for sender in self.senders.values():
            sender.stop()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for sender in self.senders.values():
                tasks.create_task(sender.run(), name=f"sender:{sender.name}")

    async def drain(self) -> None:
        """Return when no receiver has anything left that can be told now. Not beside a running `run`."""
        async with asyncio.TaskGroup() as tasks:
            for sender in self.senders.values():
                tasks.create_task(sender.drain(), name=f"sender:{sender.name}")

    async def close(self) -> None:
        """Close the notifiers' connections."""
        for sender in self.senders.values():
            await sender.notifier.close()


def _history(row: OutboxRow) -> tuple[str, ...]:
    return tuple(line.id for line in row.notification.history)


async def _slept(sleep: Awaitable[None]) -> bool:
    await sleep
    return True


async def _first_of(waits: Iterable[Awaitable[bool]]) -> None:
    """Return when one of them is done; the others are cancelled and have ended."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
