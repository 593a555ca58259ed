"""The trainer's side: events go into a bounded queue, and a background thread sends them to Redis.

    with Publisher("redis://10.0.0.5:6379/0", run="grpo-7b") as p:
        for step in range(1000):
            ...
            p.step(step, {"kl": 0.03, "reward": 0.6})
            p.checkpoint(step, f"out/checkpoint-{step}")

Training comes first. No method raises, whatever it is given, and none waits for the network; what cannot be sent is
counted in `dropped` and said once in the log of `sentinel.publisher`. Use one publisher per run, on rank 0.

- When the queue is full the oldest event goes, since the newest tells most about the present.
- When Redis is away the thread tries again for ever, with growing pauses. A batch whose answer was lost is sent again:
  the daemon knows events that it has seen by their numbers.
- A child made by fork has no thread; its calls do nothing but count as dropped. Make a new publisher there.
- Values are converted when they are handed over, so a tensor may change afterwards. For a tensor on an accelerator
  that waits for the device: pass numbers that the trainer has fetched anyway.
"""

from __future__ import annotations

import atexit
import logging
import os
import random
import re
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from sentinel import wire

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

_BATCH = 500
_SOCKET_TIMEOUT_SECONDS = 5.0
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 5.0
_MOST_SAMPLES = 16
_LONGEST_TEXT = 4000
# Settings under such names stay on the trainer's machine. "max_tokens" and "pad_token_id" are no secrets.
_SECRET = re.compile(r"(?i)api_?key|secret|passw|credential|(hub|auth|access|hf|wandb|bearer)_?token")

_log = logging.getLogger("sentinel.publisher")


class Publisher:
    """Publishes the events of one run. See the module's text for what it promises.

    `url`: `redis://`, `rediss://` or `unix:///path/to.sock`; the default is the environment's SENTINEL_URL, else
    the embedded Valkey of this user's daemon if it is there, else `redis://127.0.0.1:6379/0`. `run`: the run's id, 1 to
    200 printable characters; the default is SENTINEL_RUN.
    `labels`, `config`, `framework` and its `version`, `attempt` describe the run; values of `config` whose names look
    like secrets are left out. `queue_size`: events kept while Redis is away. `flush_timeout`: the longest that
    `close`, the end of a `with` block and the end of the process wait for what is queued, in seconds. `maxlen`: trim
    the stream to about so many entries while writing; normally the daemon does that. `announce`: say that the run
    starts and ends; False for a second publisher of the same run, such as one that samples the GPUs.
    """

    def __init__(
        self,
        url: str | None = None,
        run: str | None = None,
        labels: Mapping[str, object] | None = None,
        config: Mapping[str, object] | None = None,
        framework: str | None = None,
        version: str | None = None,
        attempt: int | None = None,
        queue_size: int = 10_000,
        flush_timeout: float = 5.0,
        maxlen: int | None = None,
        announce: bool = True,
    ) -> None:
        self._pid = os.getpid()
        # Reentrant, so that a signal handler that publishes cannot lock itself out.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._queue: deque[bytes] = deque()
        self._in_flight = 0
        self._id = f"{random.getrandbits(32):08x}"
        self._seq = 0
        self._sent = 0
        self._dropped = 0
        self._warned: set[str] = set()
        self._closing = False
        self._dead = False
        self._finished = False
        self._thread: threading.Thread | None = None
        self._url = url or wire.default_url()
        self._run = ""
        self._queue_size = 10_000
        self._flush_timeout = 5.0
        self._maxlen: int | None = None
        try:
            # redis imports this, and it refuses to be imported once the interpreter is ending: a script shorter than
            # the background thread's import of redis would send nothing. Alone it takes 2 ms.
            import concurrent.futures.thread  # noqa: F401

            self._queue_size = max(1, int(queue_size))
            self._flush_timeout = _seconds(flush_timeout)
            self._maxlen = None if maxlen is None else max(1, int(maxlen))
            self._run = _sound_run(run if run is not None else os.environ.get("SENTINEL_RUN"))
            started = {
                "labels": {str(name): str(value) for name, value in (labels or {}).items()},
                "config": _settings(config),
                "framework": framework,
                "version": None if version is None else str(version),
                "attempt": attempt,
            }
            # Not through the queue: the event that says what the run is must not be the oldest that is dropped.
            opening = [_numbered(self._encode("run_started", started), 0)] if announce else []
            self._in_flight = len(opening)
            self._finished = not announce
            thread = threading.Thread(target=self._work, args=(opening,), name="sentinel-publisher", daemon=True)
            thread.start()
            self._thread = thread
            atexit.register(self.close)
        except Exception as error:
            # Includes "can't start new thread": the trainer must go on without us.
            self._dead = True
            self._warn("start", f"nothing will be published: {error}")

    # --- what a trainer says ---

    def step(self, step: int, metrics: Mapping[str, object]) -> None:
        """The metrics of one training step, under the trainer's own names. What is no number is left out."""
        self._say("step", lambda: {"step": _whole(step), "metrics": self._metrics(metrics)})

    def sample(self, metrics: Mapping[str, object], labels: Mapping[str, object] | None = None) -> None:
        """Metrics without a step, such as those of a GPU: `sample({"gpu.util": 93}, {"gpu": "3"})`."""
        self._say(
            "sample",
            lambda: {
                "metrics": self._metrics(metrics),
                "labels": {str(name): str(value) for name, value in (labels or {}).items()},
            },
        )

    def checkpoint(
        self,
        step: int,
        path: str | os.PathLike[str],
        state: Literal["saved", "deleted", "pinned"] = "saved",
    ) -> None:
        """A checkpoint is complete on disk (or was deleted, or pinned). Say it after the save, not before."""
        self._say("checkpoint", lambda: {"step": _whole(step), "path": os.fspath(path), "state": state})

    def phase(self, name: str, step: int | None = None) -> None:
        """A new stage or dataset begins."""
        self._say("phase", lambda: {"name": str(name), "step": _whole_or_none(step)})

    def completions(self, samples: Iterable[Mapping[str, object]], step: int | None = None) -> None:
        """A few prompts and answers with their rewards: 16 at most, each text cut at 4,000 characters."""
        self._say(
            "completions",
            lambda: {
                "step": _whole_or_none(step),
                "samples": [
                    {
                        str(name): value[:_LONGEST_TEXT] if isinstance(value, str) else value
                        for name, value in one.items()
                    }
                    for one, _ in zip(samples, range(_MOST_SAMPLES), strict=False)
                ],
            },
        )

    def heartbeat(self) -> None:
        """The trainer is alive though it has nothing to log. Call it from the training loop, not from a timer."""
        self._say("heartbeat", dict)

    def finish(
        self,
        status: Literal["ok", "failed", "stopped"] = "ok",
        step: int | None = None,
        reason: str | None = None,
    ) -> None:
        """The run ended. Said once; later calls do nothing. The end of a `with` block says it by itself."""
        if self._finished:
            return
        self._finished = True
        self._say(
            "run_finished",
            lambda: {
                "status": status,
                "step": _whole_or_none(step),
                "reason": None if reason is None else str(reason)[:500],
            },
        )

    # --- its own life ---

    @property
    def dropped(self) -> int:
        """Events that were not sent and never will be, and single metrics that were left out."""
        return self._dropped

    @property
    def sent(self) -> int:
        """Events that Redis has acknowledged."""
        return self._sent

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all that was said so far is sent, `flush_timeout` seconds at most. True if it is."""
        if self._thread is None or self._forked():
            return False
        limit = self._flush_timeout
        if timeout is not None:
            try:
                limit = _seconds(timeout)
            except (TypeError, ValueError) as error:
                self._warn("flush", f"flush: {error}")
        with self._changed:
            drained = self._changed.wait_for(lambda: not self._queue and not self._in_flight, limit)
            return drained and not self._dead

    def close(self) -> None:
        """Send what is queued, for `flush_timeout` seconds at most, and stop. What is left then counts as dropped."""
        if self._forked():
            return
        with self._changed:
            if self._closing:
                return
            self._closing = True
            self._changed.notify_all()
        atexit.unregister(self.close)
        try:
            if self._thread is not None and self._thread.is_alive():
                self._thread.join(self._flush_timeout)
        except RuntimeError as error:
            # close() called by the thread itself, out of a destructor.
            self._warn("close", f"not flushed: {error}")
        with self._lock:
            # From here on the thread keeps what it has in flight to itself: an answer may still come.
            self._dead = True
            lost = len(self._queue) + self._in_flight
            self._queue.clear()
            self._in_flight = 0
            self._dropped += lost
            self._changed.notify_all()
        if lost:
            self._warn("lost", f"{lost} events were not sent before the end")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None or (issubclass(kind, SystemExit) and getattr(error, "code", None) in (None, 0)):
            self.finish("ok")
        elif issubclass(kind, KeyboardInterrupt):
            self.finish("stopped", reason="interrupted")
        else:
            self.finish("failed", reason=_spelled(kind, error))
        self.close()

    # --- inside ---

    def _forked(self) -> bool:
        return os.getpid() != self._pid

    def _say(self, kind: str, body: Any) -> None:
        # Before any lock: in a forked child another thread's lock would stay locked for ever.
        if self._closing or self._dead or self._forked():
            self._dropped += 1
            return
        try:
            self._put(self._encode(kind, body()))
        except Exception as error:
            with self._lock:
                self._dropped += 1
            self._warn(kind, f"an event of type '{kind}' was not published: {_spelled(type(error), error)}")

    def _encode(self, kind: str, body: Mapping[str, object]) -> bytes:
        # The trainer's clock travels along for people who read the stream; the daemon does not use it.
        now = time.time()  # noqa: TID251  # a trainer has no service clock
        event = {"type": kind, "run": self._run, "time": round(now, 3), "publisher": self._id}
        event.update((name, value) for name, value in body.items() if value is not None)
        raw = wire.encode(event)
        if len(raw) > wire.MAX_EVENT_BYTES - 64:
            if body.get("config"):
                self._warn("config", f"the configuration is left out: the event would have {len(raw)} bytes")
                return self._encode(kind, {**body, "config": None})
            raise ValueError(f"it has {len(raw)} bytes; {wire.MAX_EVENT_BYTES} are allowed")
        return raw

    def _put(self, raw: bytes) -> None:
        overflow = False
        with self._changed:
            if len(self._queue) >= self._queue_size:
                self._queue.popleft()
                self._dropped += 1
                overflow = True
            # Numbered here and not when it was encoded: two threads must queue in the order of their numbers.
            self._seq += 1
            self._queue.append(_numbered(raw, self._seq))
            self._changed.notify_all()
        if overflow:
            self._warn("full", f"the queue of {self._queue_size} events is full; the oldest are dropped")

    def _metrics(self, metrics: Mapping[str, object]) -> dict[str, float | None]:
        sound: dict[str, float | None] = {}
        for key, value in metrics.items():
            try:
                sound[str(key)] = wire.number_of(value)
            except ValueError as error:
                with self._lock:
                    self._dropped += 1
                self._warn("metric", f"metric '{str(key)[:80]}' is left out: {error}")
        return sound

    def _warn(self, topic: str, message: str) -> None:
        """Log a fault once per topic: a trainer's log is no place for a warning a step."""
        if topic in self._warned:
            return
        self._warned.add(topic)
        try:
            _log.warning("sentinel: %s", message)
        except Exception:
            # A log handler of the trainer's that raises. There is nobody left to tell; `dropped` has the count.
            return

    # --- the background thread ---

    def _work(self, opening: list[bytes]) -> None:
        try:
            sender = _Sender(self._url, self._run, self._maxlen)
        except Exception as error:
            self._give_up(f"nothing will be published: {error}")
            return
        pause = _FIRST_PAUSE_SECONDS
        batch = opening
        try:
            while True:
                with self._changed:
                    while not self._queue and not batch and not self._closing:
                        self._changed.wait()
                    if self._given_up() or (not self._queue and not batch):
                        return
                    while self._queue and len(batch) < _BATCH:
                        batch.append(self._queue.popleft())
                    self._in_flight = len(batch)
                try:
                    left, refusal = sender.send(batch)
                except Exception as error:
                    left, refusal = batch, error
                with self._changed:
                    if self._given_up():
                        return
                    self._sent += len(batch) - len(left)
                    batch = left
                    self._in_flight = len(batch)
                    self._changed.notify_all()
                    if refusal is None:
                        pause = _FIRST_PAUSE_SECONDS
                        continue
                self._warn("redis", f"Redis takes no events, still trying: {refusal}")
                with self._changed:
                    # The time that close() waits is short: no long pause begins in it, or goes on into it.
                    if self._closing:
                        pause = _FIRST_PAUSE_SECONDS
                        self._changed.wait_for(lambda: self._dead, pause)
                    else:
                        self._changed.wait_for(lambda: self._dead or self._closing, pause * random.uniform(0.5, 1.0))
                pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
        finally:
            sender.close()

    def _given_up(self) -> bool:
        return self._dead

    def _give_up(self, message: str) -> None:
        with self._changed:
            self._dead = True
            self._dropped += len(self._queue) + self._in_flight
            self._queue.clear()
            self._in_flight = 0
            self._changed.notify_all()
        self._warn("start", message)


def open_client(url: str) -> Any:
    """A synchronous client that tries nothing twice by itself: whoever sends knows what may be sent again.

    Connects on first use. Raises ValueError for a URL that is none.
    """
    # Here and not at the top: this import takes longer than all the rest, and happens beside the training.
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    try:
        client = redis.Redis.from_url(
            url,
            socket_timeout=_SOCKET_TIMEOUT_SECONDS,
            socket_connect_timeout=_SOCKET_TIMEOUT_SECONDS,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
        # Options that no connection takes are found out only when one is made.
        pool = client.connection_pool
        pool.connection_class(**pool.connection_kwargs)
    except (ValueError, TypeError):
        # Not the parser's own words, which can hold a part of the password.
        raise ValueError("this is no Redis URL; write redis://host:6379/0 or unix:///path") from None
    return client


class _Sender:
    """One connection to Redis, which comes back by itself. Only the background thread uses it."""

    def __init__(self, url: str, run: str, maxlen: int | None) -> None:
        self._client = open_client(url)
        self._run = run
        self._maxlen = maxlen
        self._key: str | None = None

    def send(self, batch: list[bytes]) -> tuple[list[bytes], Exception | None]:
        """What Redis refused of the batch, in order, with the first refusal. Raises when the connection breaks."""
        try:
            if self._key is None:
                self._key = wire.events_key(wire.partition_of(self._run, self._partitions()))
            pipe = self._client.pipeline(transaction=False)
            for raw in batch:
                pipe.xadd(self._key, {wire.EVENT_FIELD: raw}, maxlen=self._maxlen)
            answers = pipe.execute(raise_on_error=False)
        except Exception:
            # The partitions may be others when Redis is back.
            self._key = None
            raise
        left = [raw for raw, answer in zip(batch, answers, strict=True) if isinstance(answer, Exception)]
        refusal = next((answer for answer in answers if isinstance(answer, Exception)), None)
        return left, refusal

    def _partitions(self) -> int:
        import redis  # loaded by now

        try:
            text = self._client.get(wire.PARTITIONS_KEY)
            return max(1, int(text)) if text is not None else 1
        except ValueError:
            return 1
        except redis.RedisError as error:
            # A trainer whose account may only XADD is told NOPERM here; one partition is the rule.
            if "NOPERM" in str(error).upper() or "no permissions" in str(error).lower():
                return 1
            raise

    def close(self) -> None:
        try:
            self._client.close()
        except Exception as error:
            _log.debug("closing the connection: %s", error)


def _seconds(value: float) -> float:
    """A time to wait that threads can wait; raises TypeError or ValueError for what is none."""
    seconds = float(value)
    if seconds != seconds:
        raise ValueError("a timeout is a number of seconds, not NaN")
    return min(max(seconds, 0.0), threading.TIMEOUT_MAX)


def _numbered(raw: bytes, seq: int) -> bytes:
    """An encoded event with its number, by which the daemon knows one that was sent twice."""
    return b'%b,"seq":%d}' % (raw[:-1], seq)


def _sound_run(run: str | None) -> str:
    if not isinstance(run, str) or not run.strip() or len(run) > 200 or not run.isprintable():
        raise ValueError("`run` must be a text of 1 to 200 printable characters")
    return run


def _whole(value: object) -> int:
    number = wire.number_of(value)
    if number is None or not number.is_integer() or not 0 <= number < 2**53:
        raise ValueError(f"a step must be a whole number from 0 to 2^53 - 1, not {str(value)[:40]}")
    return int(number)


def _whole_or_none(value: object) -> int | None:
    return None if value is None else _whole(value)


def _settings(config: Any) -> dict[str, object]:
    """The configuration as plain data, without what looks like a secret. Objects with `to_dict()` are taken too."""
    if config is None:
        return {}
    if not isinstance(config, Mapping):
        config = config.to_dict()
    return {
        str(name): _settings(value) if isinstance(value, Mapping) else _setting(value)
        for name, value in config.items()
        if not _SECRET.search(str(name))
    }


def _setting(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_setting(item) for item in value[:100]]
    return str(value)[:1000]


def _spelled(kind: type[BaseException], error: BaseException | None) -> str:
    try:
        return f"{kind.__name__}: {error}"[:500]
    except Exception:
        # An exception whose own text raises must not hide itself behind ours.
        return kind.__name__
