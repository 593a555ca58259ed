"""One partition: read, decode, evaluate, commit. The loop that everything else serves.

    entries → decode → engine → incidents → one transaction (position, alerts, outbox) → the senders are woken

Start: restore the snapshot; read on from its position *silently* to the last committed position, since all that was
said on the way was committed before; read on to the end of the stream, committing; only then let the senders speak.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Protocol

import msgspec
import structlog

from sentinel.alerts.incident import IncidentBook, forgotten
from sentinel.alerts.notification import Notification
from sentinel.decode import decode, entry_time
from sentinel.engine.engine import Engine
from sentinel.engine.recorded import RecordedRun
from sentinel.engine.transition import Transition
from sentinel.errors import BusUnavailable, DecodeError, SnapshotError
from sentinel.metrics import Dictionary
from sentinel.notify.retry import Backoff
from sentinel.ports import Batch, Bus, Clock, Entry, Store
from sentinel.rules.model import RuleSet
from sentinel.service.clock import monotonic
from sentinel.service.figures import Figures
from sentinel.service.logs import Throttle
from sentinel.service.saved import Saved, decode_saved, encode_saved
from sentinel.severity import Severity, rank

READ_COUNT = 500
"""Entries asked for at once; more brings nothing (measured: 2.0, 1.4, 1.3 µs an event at 100, 500, 1000)."""

LONGEST_BLOCK = 5.0

LARGEST_LEAD = 300.0
"""Seconds by which an entry's id may be ahead of the clock of Redis; its own ids never are."""

LONGEST_BATCH = 0.2
"""Seconds that a batch may take before what it has led to is committed and others get their turn."""

GAP_SECONDS = 5.0
"""While the reader lags, how often it looks whether the stream was trimmed past it."""


LONGEST_COMMIT = 10.0
"""Seconds. A commit that takes longer is given up and tried again with the next one; the loop must be seen to turn."""

KEPT_REJECTED = 1000
"""Entries that wait to be set aside, at most; the stream of rejected ones keeps no more."""

BEGINNING = "0-0"

log = structlog.get_logger(__name__)


class Anchored(Clock, Protocol):
    """A clock that can be set by the server's."""

    def anchor(self, server_time: float) -> None: ...


class Partition:
    """One partition's state and its loop.

    `problem`: why the stream is not being read, `degraded`: why what was found is not being saved; None when all is
    well. `last_turn`: when the loop was last seen to turn, in seconds on the monotonic clock.

    `references`: recorded runs by name. `receivers`: who is told. `notify_from`: incidents that never reached this
    severity are not told. `speak` is called after each commit that has something to tell, and once when the backlog has
    been read.
    """

    def __init__(
        self,
        bus: Bus,
        store: Store,
        rules: RuleSet,
        *,
        clock: Anchored,
        figures: Figures,
        receivers: Sequence[str],
        dictionary: Dictionary | None = None,
        references: Mapping[str, RecordedRun] | None = None,
        notify_from: Severity = "warning",
        speak: Callable[[], None] = lambda: None,
    ) -> None:
        self.engine = Engine(rules, dictionary=dictionary, references=references)
        self.book = IncidentBook()
        self.position = BEGINNING
        self.caught_up = asyncio.Event()
        self.problem: str | None = "the backlog is being read"
        self.degraded: str | None = None
        self.last_turn: float | None = None
        self._bus = bus
        self._store = store
        self._clock = clock
        self._figures = figures
        self._receivers = tuple(receivers)
        self._notify_from = rank(notify_from)
        self._speak = speak
        self._stopping = asyncio.Event()
        self._throttle = Throttle()
        self._committed: str | None = None
        self._alerts: dict[str, bytes | None] = {}
        self._desired: dict[tuple[str, str], Notification] = {}
        self._since_snapshot = 0
        self._rejected: deque[tuple[Entry, DecodeError]] = deque(maxlen=KEPT_REJECTED)
        self._keeping: asyncio.Task[None] | None = None
        self._understood = 0
        self._lagging = False
        self._checked = 0.0

    # --- starting -------------------------------------------------------------------------------------------

    async def restore(self) -> None:
        """Take up the saved state. Raises BusUnavailable; bad state is set aside, said, and not fatal."""
        self._clock.anchor(await self._bus.server_time())
        self._committed = await self._store.position()
        found = await self._store.load_snapshot()
        self.position = BEGINNING
        if found is not None:
            position, data = found
            try:
                saved = decode_saved(data)
                self.engine.restore(saved.engine)
                self.book.restore(saved.incidents)
                self.position = position
            except Exception as error:
                # Whatever is wrong with it: a daemon that cannot start because of what it saved would never start.
                log.error("snapshot.unusable", reason=str(error), exc_info=not isinstance(error, SnapshotError))
                await self._store.set_aside_snapshot(str(error) or type(error).__name__)
                self.engine = Engine(
                    self.engine.rules, dictionary=self.engine.dictionary, references=self.engine.references
                )
                self.book = IncidentBook()
        self._end_removed()
        await self._check_stream()
        log.info("state.restored", position=self.position, committed=self._committed, runs=len(self.engine.runs))

    async def _check_stream(self) -> None:
        await self._check_not_reset()
        await self._check_gap()

    async def _check_gap(self) -> None:
        """A stream that no longer holds the entry we stand at was trimmed past us: what came between is lost."""
        self._checked = monotonic()
        # Without a snapshot we begin at the beginning, and what is missing is what came before the committed position.
        place = self.position if self.position != BEGINNING else self._committed
        if place is None or place == BEGINNING or await self._bus.holds(place):
            return
        if not _later(await self._bus.tail_id(), place):
            return  # trimmed to its end: nothing came after
        lost = self.engine.lose()
        self._figures.gaps.inc()
        log.error("stream.gap", position=place, runs=lost, remedy="raise keep_entries, or start more daemons")

    async def _check_not_reset(self) -> None:
        """A stream that ends before our position is another stream: reading on from here would wait for ever."""
        tail = await self._bus.tail_id()
        ahead = [place for place in (self.position, self._committed) if place is not None and _later(place, tail)]
        if ahead:
            # What was found and not yet committed is as true as before, and stays to be told.
            log.error("stream.reset", position=max(ahead, key=_order), tail=tail)
            self.position = BEGINNING
            self._committed = None

    def _end_removed(self) -> None:
        """End the alerts whose rules went away, or changed, while nobody watched."""
        alive = {record.id for _, _, record in self.engine.active() if record.level >= 0}
        for run_id in list(self.book.open):
            run = self.engine.runs.get(run_id)
            if run is not None:
                self._apply(self.book.removed(run, alive))

    async def catch_up(self) -> None:
        """Read everything that is there. Nothing is told before the end of it. Raises BusUnavailable.

        `stop` ends it early; what was read then is read again at the next start.
        """
        first_start = self._committed is None
        read = 0
        while not self._stopping.is_set():
            entries = await self._bus.read(self.position, count=READ_COUNT, block_seconds=0.0)
            if not entries:
                break
            read += self._take_batch(entries, committed=self._committed)
            self.last_turn = monotonic()
            if not first_start and (self._committed is None or _later(self.position, self._committed)):
                await self.commit()
        if self._stopping.is_set():
            return
        if first_start:
            # What began and ended before anyone asked is history, not news. Nothing was committed on the way: a
            # crash before here begins anew.
            self._desired = {key: told for key, told in self._desired.items() if told.state == "firing"}
        else:
            await self._close_forgotten()
        if self._uncommitted:
            await self.commit()
        self.problem = None
        self.last_turn = monotonic()
        self.caught_up.set()
        self._speak()
        log.info("backlog.read", entries=read, position=self.position)

    async def _close_forgotten(self) -> None:
        """End what was committed as open and is not known any more: its state was lost, and the stream was trimmed."""
        known = {incident.id for incident in self.book.open.values()}
        for notification in await self._store.open_incidents():
            if notification.incident in known or any(key[0] == notification.incident for key in self._desired):
                continue
            log.error("incident.forgotten", incident=notification.incident, run=notification.run)
            last = forgotten(notification)
            for receiver in self._receivers:
                self._desired[last.incident, receiver] = last
        alive = {record.id for _, _, record in self.engine.active()}
        for alert in await self._store.alerts():
            if alert not in alive:
                self._alerts.setdefault(alert, None)

    # --- the loop -------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Read and evaluate until `stop`. Redis may go and come back; nothing is lost by that."""
        backoff = Backoff(0.1, 5.0)
        while not self._stopping.is_set():
            try:
                if self.problem is not None:
                    self._clock.anchor(await self._bus.server_time())
                    await self._check_stream()
                elif self._lagging and monotonic() - self._checked >= GAP_SECONDS:
                    await self._check_gap()
                await self.turn()
            except BusUnavailable as error:
                self.problem = str(error)
                self._figures.read_failures.inc()
                self.last_turn = monotonic()
                held = self._throttle.admit("bus.failed", self._clock.now())
                pause = backoff.next()
                if held is not None:
                    log.warning("bus.failed", reason=str(error), retry_in=round(pause, 2), held_back=held)
                await self._pause(pause)
                continue
            if self.problem is not None:
                log.info("bus.recovered")
            self.problem = None
            backoff.reset()

    async def turn(self) -> None:
        """One turn of the loop: wait for entries or for the next thing due, take them into account, commit."""
        before = self._clock.now()
        wakeup = self.engine.next_wakeup()
        wait = LONGEST_BLOCK if wakeup is None else min(max(wakeup - before, 0.0) + 0.001, LONGEST_BLOCK)
        if self._alerts or self._desired:
            # A commit was refused: try it again soon, but read on meanwhile.
            wait = min(wait, 0.5)
        entries = await self._read(wait)
        if entries is None:
            return
        self._take_batch(entries)
        if not entries:
            # Everything from before the read has been read, since the stream had nothing.
            self._tick(before)
        now = self._clock.now()
        self.last_turn = monotonic()
        lag = max(now - entry_time(self.position), 0.0) if entries else 0.0
        self._lagging = lag > 1.0
        self._figures.lag_seconds.set(lag)
        if self._uncommitted:
            try:
                async with asyncio.timeout(LONGEST_COMMIT):
                    await self.commit()
            except (BusUnavailable, TimeoutError) as error:
                self.degraded = f"what was found cannot be saved: {str(error) or 'Redis does not answer in time'}"
                self._figures.commit_failures.inc()
                held = self._throttle.admit("commit.failed", now)
                if held is not None:
                    log.error("commit.failed", reason=self.degraded, held_back=held)
                # What was not committed is kept and goes with the next one. If reading fails too, the loop backs off.
                await self._pause(0.1)
            self.last_turn = monotonic()

    def _take_batch(self, entries: Sequence[Entry], *, committed: str | None = None) -> int:
        """Entries into the engine, as many as fit into LONGEST_BATCH and at least one; those left are read again.

        Returns how many. `committed`: while catching up, the position up to which all was said before the restart.
        """
        began = monotonic()
        taken = 0
        for entry in entries:
            self._take(entry, silently=committed is not None and not _later(entry.id, committed))
            taken += 1
            if monotonic() - began > LONGEST_BATCH:
                break
        self._take_notices()
        # Once a batch: a counter takes a lock, which costs as much as a rule.
        self._figures.events.inc(self._understood)
        self._understood = 0
        return taken

    def _take_notices(self) -> None:
        """Say what the engine noticed beside alerts: once a run and ten seconds, and count all of it."""
        notices = self.engine.notices
        while notices:
            notice = notices.popleft()
            self._figures.notices.labels(kind=notice.kind).inc()
            held = self._throttle.admit(f"{notice.kind} {notice.run}", self._clock.now())
            if held is not None:
                tell = log.info if notice.level == "info" else log.warning
                tell(notice.kind, run=notice.run, held_back=held, **notice.facts)

    @property
    def _uncommitted(self) -> bool:
        return bool(self.position != self._committed or self._alerts or self._desired)

    async def _read(self, wait: float) -> Sequence[Entry] | None:
        """The next entries; None when `stop` came first. A read that is broken off has consumed nothing."""
        reading = asyncio.ensure_future(self._bus.read(self.position, count=READ_COUNT, block_seconds=wait))
        stopping = asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((reading, stopping), return_when=asyncio.FIRST_COMPLETED)
            return await reading if reading.done() else None
        finally:
            stopping.cancel()
            if not reading.done():
                reading.cancel()
                await asyncio.wait((reading,))

    async def commit(self) -> None:
        """Position, alerts and outbox in one transaction. Raises BusUnavailable, and then keeps what it had to say."""
        if self.position == BEGINNING and not self._desired:
            return
        alerts, desired = dict(self._alerts), dict(self._desired)
        batch = Batch(
            position=self.position,
            alerts=alerts,
            desired=[(receiver, notification) for (_, receiver), notification in desired.items()],
        )
        began = monotonic()
        await self._store.commit(batch)
        self._figures.commits.inc()
        self._figures.commit_seconds.observe(monotonic() - began)
        self.degraded = None
        self._committed = batch.position
        self._alerts = {key: value for key, value in self._alerts.items() if alerts.get(key, 0) is not value}
        self._desired = {key: value for key, value in self._desired.items() if desired.get(key) is not value}
        if desired and self.caught_up.is_set():
            self._speak()

    def _take(self, entry: Entry, *, silently: bool = False) -> None:
        """One entry into the engine. Whatever it holds, the loop goes on with the next.

        `silently`: what it leads to was committed before the restart.
        """
        self.position = entry.id
        self._since_snapshot += 1
        time = entry_time(entry.id)
        if time > (now := self._clock.now()) + LARGEST_LEAD:
            # An id that somebody made up. Time must not jump: every run that is silent until then would end as stale.
            if self._throttle.admit("entry.ahead", now) is not None:
                log.warning("entry.ahead", entry=entry.id, seconds=round(time - now))
            time = now
        # What fell due before the entry is told as things stood before it, however the entries are batched.
        if self.engine.soonest < time:
            self._tick(time, silently=silently)
        try:
            decoded = decode(entry.fields, position=entry.id, time=time)
        except DecodeError as error:
            self._reject(entry, error, kept_before=silently)
            return
        self._understood += 1
        if decoded.dropped:
            self._figures.dropped_metrics.inc(len(decoded.dropped))
            held = self._throttle.admit("metric.dropped", self._clock.now())
            if held is not None:
                key, reason = decoded.dropped[0]
                log.warning("metric.dropped", run=decoded.event.run, metric=key, reason=reason, held_back=held)
        try:
            said = self.engine.handle(decoded.event)
        except Exception as error:
            # A fault of ours. It must not come back with the entry after every restart.
            log.exception("entry.failed", entry=entry.id, run=decoded.event.run)
            fault = DecodeError("fault", f"evaluating it failed: {type(error).__name__}: {error}")
            self._reject(entry, fault, kept_before=silently)
            return
        if said:
            self._apply(said, silently=silently)

    def _tick(self, now: float, *, silently: bool = False) -> None:
        """Let time pass in the engine, up to `now`."""
        try:
            said = self.engine.tick(now)
        except Exception:
            log.exception("tick.failed", now=now)
            return
        self._apply(said, silently=silently)

    def _reject(self, entry: Entry, error: DecodeError, *, kept_before: bool) -> None:
        self._figures.rejected.labels(reason=error.reason).inc()
        held = self._throttle.admit(f"entry.rejected {error.reason}", self._clock.now())
        if held is not None:
            log.warning("entry.rejected", entry=entry.id, reason=error.reason, message=str(error), held_back=held)
        if kept_before:
            return
        self._rejected.append((entry, error))
        if self._keeping is None or self._keeping.done():
            self._keeping = asyncio.create_task(self._keep(), name="rejected")

    async def _keep(self) -> None:
        """Set the rejected entries aside, one after the other: a flood of them must not take all connections."""
        while self._rejected:
            entry, error = self._rejected.popleft()
            try:
                await self._bus.reject(entry, error.reason, str(error))
            except BusUnavailable as failure:
                if self._throttle.admit("reject.failed", self._clock.now()) is not None:
                    log.warning("reject.failed", entry=entry.id, reason=str(failure))

    def _apply(self, transitions: Iterable[Transition], *, silently: bool = False) -> None:
        """Note what is to be committed and told of some transitions; `silently`: that was done before the restart."""
        for run_id, group in groupby(transitions, key=lambda transition: transition.run):
            of_run = list(group)
            run = self.engine.runs.get(run_id)
            notifications = [] if run is None else self.book.apply(of_run, run)
            if not silently:
                self._note(of_run, notifications)

    def _note(self, transitions: Sequence[Transition], notifications: Sequence[Notification]) -> None:
        """What the next commit must hold of one run's transitions, and the log of them."""
        for transition in transitions:
            self._figures.transitions.labels(state=transition.state, severity=transition.severity).inc()
            self._alerts[transition.id] = None if transition.state != "firing" else _record(transition)
            if transition.state == "pending":
                continue
            log.info(
                f"alert.{'fired' if transition.state == 'firing' else transition.state}",
                run=transition.run,
                alert=transition.alert,
                severity=transition.severity,
                step=transition.step,
                onset_step=transition.onset_step,
                id=transition.id,
            )
        for notification in notifications:
            if max(rank(episode.severity) for episode in notification.episodes) < self._notify_from:
                continue
            for receiver in self._receivers:
                self._desired[notification.incident, receiver] = notification

    # --- beside the loop ------------------------------------------------------------------------------------

    def reload(self, rules: RuleSet) -> None:
        """Put other rules in force; the next turn commits what that ends."""
        self._apply(self.engine.reload(rules))

    async def snapshot(self) -> None:
        """Save the state if anything came since the last time. Raises BusUnavailable."""
        # With something left to commit it would hold alerts that a restart then takes for told.
        if not self._since_snapshot or self._uncommitted:
            return
        position = self.position
        try:
            data = encode_saved(Saved(self.engine.snapshot(), self.book.snapshot()))
        except (OverflowError, TypeError, ValueError) as error:
            # A fault of ours. Without snapshots a restart reads the stream from its beginning: slower, not wrong.
            self._figures.snapshot_failures.inc()
            log.error("snapshot.failed", reason=f"{type(error).__name__}: {error}")
            return
        taken, self._since_snapshot = self._since_snapshot, 0
        try:
            await self._store.save_snapshot(position, data)
        except BusUnavailable:
            self._since_snapshot += taken
            raise
        self._figures.snapshots.inc()
        self._figures.snapshot_bytes.set(len(data))
        self._figures.runs.set(len(self.engine.runs))
        log.debug("snapshot.saved", position=position, bytes=len(data))

    def stop(self) -> None:
        self._stopping.set()

    async def drain(self) -> None:
        """Commit and save what there is, after `run` has returned. Raises BusUnavailable."""
        if not self.caught_up.is_set():
            return
        if self._uncommitted:
            await self.commit()
        await self.snapshot()
        if self._keeping is not None:
            await asyncio.wait((self._keeping,))

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return


def _record(transition: Transition) -> bytes:
    """An open alert as the store keeps it: JSON."""
    facts = {
        name: getattr(transition, name)
        for name in ("id", "run", "attempt", "alert", "symptom", "severity", "state", "step", "time", "onset_step")
    }
    facts |= {"value": transition.value, "threshold": transition.threshold, "labels": transition.labels}
    return msgspec.json.encode(facts | {"summary": transition.summary, "source": transition.rule.source})


def _order(entry_id: str) -> tuple[int, int]:
    milliseconds, _, sequence = entry_id.partition("-")
    return int(milliseconds), int(sequence or 0)


def _later(one: str, other: str) -> bool:
    return _order(one) > _order(other)
