"""The daemon, wired in one straight function, in dependency order; what was started is stopped in reverse.

embedded Valkey → connections → rules → partition (restore, catch up) → senders → HTTP → schedule → the loop
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TextIO

import structlog
from redis.asyncio import Redis

from sentinel import __version__, wire
from sentinel.bus.embedded import EmbeddedServer
from sentinel.bus.redis_streams import RedisBus
from sentinel.connection import CONNECTION_ERRORS, connect, explain
from sentinel.engine.recorded import RecordedRun
from sentinel.errors import BusUnavailable, ConfigError, RuleError, SentinelError, UsageError
from sentinel.metrics import default
from sentinel.notify.console import ConsoleNotifier
from sentinel.notify.pipeline import Pipeline
from sentinel.notify.retry import Backoff
from sentinel.notify.slack import SlackNotifier
from sentinel.ports import Notifier
from sentinel.resources import read_sources, rule_files
from sentinel.rules.footprint import state_problems
from sentinel.rules.loader import load_rules
from sentinel.rules.model import RuleSet
from sentinel.service import systemd
from sentinel.service.clock import RedisClock, SteadyClock, monotonic
from sentinel.service.figures import Figures
from sentinel.service.health import Health
from sentinel.service.partition import Partition
from sentinel.service.references import read_references
from sentinel.service.schedule import Schedule
from sentinel.service.settings import Settings
from sentinel.store.redis import RedisStore

STOP_SECONDS = 4.0
"""Time for the sends in flight to end after SIGTERM; what is left stays in the outbox."""

RELOAD_SECONDS = 2.0
"""How often rule files are looked at."""

PARTITION = 0

log = structlog.get_logger(__name__)


async def serve(
    settings: Settings,
    *,
    out: TextIO,
    ready: Callable[[Daemon], Awaitable[None]] | None = None,
) -> None:
    """Run until SIGTERM or SIGINT (twice: at once). `ready` is called once everything is up.

    Raises ConfigError or RuleError (exit 78) and BusUnavailable (exit 75) if it cannot start.
    """
    daemon = Daemon(settings, out)
    try:
        async with AsyncExitStack() as stack:
            await daemon.start(stack)
            if ready is not None:
                await ready(daemon)
            await daemon.run()
    finally:
        log.info("daemon.stopped")


class Daemon:
    """What `serve` starts. `url` is the address to give to trainers."""

    def __init__(self, settings: Settings, out: TextIO) -> None:
        self.settings = settings
        self.figures = Figures()
        self.clock = RedisClock()
        self.steady = SteadyClock()
        self.systemd = systemd.Notifier()
        self.url = settings.redis.url or ""
        self.tcp_url: str | None = None
        self.partition: Partition
        self.pipeline: Pipeline
        self.health: Health
        self._bus: RedisBus
        self._out = out
        self._embedded: EmbeddedServer | None = None
        self._stopping = asyncio.Event()
        self._rule_stamp: object = None

    async def start(self, stack: AsyncExitStack) -> None:
        settings = self.settings
        # 1. Rules first: a daemon that cannot judge should not start anything.
        dictionary = default()
        rules = self._read_rules()
        references = self._read_references()
        # 2. Redis, ours or theirs.
        if settings.redis.url is None:
            self._embedded = EmbeddedServer.start(settings.state_folder, tcp_port=settings.embedded.tcp_port)
            stack.callback(self._embedded.stop)
            self.url, self.tcp_url = self._embedded.url, self._embedded.tcp_url
        reading, writing = connect(self.url), connect(self.url)
        stack.push_async_callback(reading.aclose)
        stack.push_async_callback(writing.aclose)
        self._bus = RedisBus(reading, PARTITION)
        store = RedisStore(writing, PARTITION)
        # 3. Who is told.
        notifiers = self._notifiers()
        # Slack takes one message a second in a channel.
        self.pipeline = Pipeline(notifiers, store, clock=self.steady, bursts={"slack": 1})
        stack.push_async_callback(self.pipeline.close)
        # 4. The state, as it was left.
        self.partition = Partition(
            self._bus,
            store,
            rules,
            clock=self.clock,
            figures=self.figures,
            receivers=[notifier.name for notifier in notifiers],
            dictionary=dictionary,
            references=references,
            notify_from=settings.notify_from,
            speak=self.pipeline.wake,
        )
        # 5. HTTP, so that a slow start can be watched.
        self.health = Health(
            self.figures.registry,
            now=monotonic,
            last_turn=lambda: self.partition.last_turn,
            problem=lambda: self.partition.problem or self.partition.degraded,
            refresh=self._refresh,
        )
        if settings.http.enabled:
            try:
                await self.health.start(settings.http.host, settings.http.port)
            except OSError as error:
                where = f"{settings.http.host}:{settings.http.port}"
                raise ConfigError(f"cannot listen on {where} ({error.strerror}); set http.port") from error
            stack.push_async_callback(self.health.stop)
        self._handle_signals(stack)
        await self._until_reachable(self.partition.restore)
        await self._until_reachable(lambda: self._tell_partitions(writing))
        await self._until_reachable(self.partition.catch_up)
        if self._stopping.is_set():
            return
        # 6. Wall-clock work.
        schedule = Schedule()
        schedule.every(settings.snapshot_seconds, self._snapshot, "snapshot")
        schedule.every(RELOAD_SECONDS, self._reload_if_changed, "reload")
        schedule.every(60.0, self._anchor, "anchor")
        schedule.every(3600.0, self._forget, "forget")
        schedule.every(300.0, self._trim, "trim")
        if self.systemd.watchdog_seconds is not None:
            schedule.every(self.systemd.watchdog_seconds, self._feed_watchdog, "watchdog")
        schedule.start()
        stack.callback(schedule.stop)
        log.info(
            "daemon.started",
            version=__version__,
            rules=len(rules),
            receivers=list(self.pipeline.senders),
            http_port=self.health.port,
        )
        self.systemd.ready(f"watching, {len(rules)} rules in force")

    async def run(self) -> None:
        """The loop and the senders, until asked to stop; then a bounded farewell."""
        loop = asyncio.create_task(self.partition.run(), name="partition")
        senders = asyncio.create_task(self._send(), name="senders")
        beside = [asyncio.create_task(self._asked_to_stop(), name="stopping")]
        if self._embedded is not None:
            beside.append(asyncio.create_task(self._watch_embedded(self._embedded), name="embedded"))
        done, _ = await asyncio.wait([loop, senders, *beside], return_when=asyncio.FIRST_COMPLETED)
        self.systemd.stopping()
        log.info("daemon.stopping")
        self.partition.stop()
        self.pipeline.stop()
        for task in beside:
            task.cancel()
        _, late = await asyncio.wait([loop, senders], timeout=STOP_SECONDS)
        for task in late:
            # A receiver that hangs: its send is in doubt and will be repeated with the same id.
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=1.0)
        try:
            await asyncio.wait_for(self.partition.drain(), timeout=STOP_SECONDS)
        except (BusUnavailable, TimeoutError) as error:
            log.warning("drain.failed", reason=str(error) or "timed out")
        for task in done:
            if not task.cancelled():
                task.result()  # raises what ended the loop

    async def _send(self) -> None:
        """The senders; without any, nothing, but as long."""
        if self.pipeline.senders:
            await self.pipeline.run()
        else:
            await self._stopping.wait()

    def stop(self) -> None:
        """Ask for a clean end; asked twice, end at once."""
        if self._stopping.is_set():
            raise SystemExit(130)
        self._stopping.set()
        self.partition.stop()

    # --- parts ----------------------------------------------------------------------------------------------

    def _read_rules(self) -> RuleSet:
        # The stamp comes first: a file that changes while it is read is read again.
        self._rule_stamp = self._stamp()
        try:
            sources = read_sources(self.settings.rules)
        except UsageError as error:
            # Paths of the configuration, not of a command: the operator's to mend.
            raise ConfigError(f"the rules cannot be read: {error}") from error
        rules = load_rules(sources, default())
        if too_much := state_problems(rules, self.settings.max_state_mib):
            raise RuleError(too_much)
        if not rules:
            log.warning("rules.empty", files=self.settings.rules, remedy="nothing can fire: name a pack or a rule file")
        return rules

    def _read_references(self) -> dict[str, RecordedRun]:
        try:
            return read_references([path.expanduser() for path in self.settings.references], default())
        except UsageError as error:
            raise ConfigError(f"the references cannot be read: {error}") from error

    def _notifiers(self) -> list[Notifier]:
        slack = self.settings.slack
        found: list[Notifier] = []
        if slack.channel is not None:
            assert slack.token is not None
            found.append(SlackNotifier(slack.token, slack.channel, base_url=slack.base_url))
        if self.settings.console or (self.settings.console is None and not found):
            found.append(ConsoleNotifier(self._out))
        if not found:
            log.warning("receivers.missing", remedy="set slack.channel, or console: true")
        return found

    async def _until_reachable(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do what needs Redis, again and again while it is away, up to the start's budget."""
        backoff = Backoff(0.1, 5.0)
        deadline = monotonic() + self.settings.redis.start_timeout
        while not self._stopping.is_set():
            try:
                await work()
                return
            except BusUnavailable as error:
                left = deadline - monotonic()
                if left <= 0:
                    raise
                pause = min(backoff.next(), left)
                log.warning("redis.awaited", reason=str(error), retry_in=round(pause, 2), given_up_in=round(left, 1))
                await self._pause(pause)

    async def _pause(self, seconds: float) -> None:
        """Sleep, but not past `stop`."""
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return

    async def _tell_partitions(self, client: Redis) -> None:
        """Publishers learn from Redis how many partitions there are."""
        try:
            await client.set(wire.PARTITIONS_KEY, 1, nx=True)
            told = await client.get(wire.PARTITIONS_KEY)
        except CONNECTION_ERRORS as error:
            log.warning("partitions.untold", reason=explain(error))
            return
        if told != b"1":
            remedy = f"DEL {wire.PARTITIONS_KEY}: publishers spread over several, and only the first is watched"
            log.error("partitions.unwatched", partitions=repr(told)[:40], remedy=remedy)

    def _handle_signals(self, stack: AsyncExitStack) -> None:
        loop = asyncio.get_running_loop()
        handlers: dict[signal.Signals, Callable[[], None]] = {
            signal.SIGTERM: self.stop,
            signal.SIGINT: self.stop,
            signal.SIGHUP: self.reload,
        }
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)
            stack.callback(loop.remove_signal_handler, number)

    async def _asked_to_stop(self) -> None:
        await self._stopping.wait()

    async def _watch_embedded(self, server: EmbeddedServer) -> None:
        while server.is_running:  # noqa: ASYNC110 - a process that ends sets no event of ours
            await asyncio.sleep(1.0)
        raise BusUnavailable("the embedded Valkey has ended; its log is in the state folder")

    # --- scheduled ------------------------------------------------------------------------------------------

    def reload(self) -> None:
        """Read the rules again. Bad ones change nothing and are said."""
        try:
            rules = self._read_rules()
        except RuleError as error:
            self.figures.reload_successful.set(0)
            for problem in error.problems:
                log.error("rules.refused", place=problem.place, problem=problem.message, hint=problem.hint)
            return
        except SentinelError as error:
            self.figures.reload_successful.set(0)
            log.error("rules.refused", problem=str(error))
            return
        self.figures.reload_successful.set(1)
        self.partition.reload(rules)
        log.info("rules.reloaded", rules=len(rules))

    def _stamp(self) -> object:
        """Changes when a rule file does; follows Kubernetes' swapped symlinks."""
        try:
            files = rule_files(self.settings.rules)
            return [(str(file), (found := file.stat()).st_mtime_ns, found.st_size, found.st_ino) for file in files]
        except (SentinelError, OSError) as error:
            return str(error)

    async def _reload_if_changed(self) -> None:
        if self._stamp() != self._rule_stamp:
            self.reload()

    async def _anchor(self) -> None:
        """Our clock and that of Redis drift apart."""
        try:
            self.clock.anchor(await self._bus.server_time())
        except BusUnavailable as error:
            log.debug("anchor.failed", reason=str(error))

    async def _snapshot(self) -> None:
        try:
            await self.partition.snapshot()
        except BusUnavailable as error:
            log.warning("snapshot.failed", reason=str(error))

    async def _trim(self) -> None:
        try:
            await self._bus.trim(self.settings.keep_entries)
        except BusUnavailable as error:
            log.warning("trim.failed", reason=str(error))

    async def _forget(self) -> None:
        forgotten = self.partition.engine.forget_idle(self.clock.now())
        if forgotten:
            log.info("runs.forgotten", runs=forgotten)

    async def _feed_watchdog(self) -> None:
        if self.health.turning:
            self.systemd.watchdog()

    def _refresh(self) -> None:
        """Figures that are cheaper to look up when someone asks."""
        engine = self.partition.engine
        self.figures.runs.set(len(engine.runs))
        self.figures.alerts.set(sum(record.level >= 0 for _, _, record in engine.active()))
        for name, sender in self.pipeline.senders.items():
            for outcome in ("sent", "retried", "refused", "in_doubt"):
                self.figures.notifications.labels(receiver=name, outcome=outcome).set(getattr(sender, outcome))
