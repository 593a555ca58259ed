"""One wire record → one event, or a DecodeError with a reason.

A record comes in three shapes: a stream entry whose one field `event` holds JSON, a stream entry of flat
fields, and a line of a recording. The first is what the library writes and has a fast path: a strict decoder that
takes what healthy trainers send. What it refuses (a NaN, a number as a string, a fault) goes to the tolerant path,
which looks at one field after the other and can say what is wrong with it.

A metric that is no number is dropped alone; the event's other metrics are used. Anything else that is wrong
refuses the whole record. Nothing but DecodeError is ever raised, whatever the bytes are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping

import msgspec
import pydantic_core

from sentinel.errors import DecodeError
from sentinel.events import (
    EVENT_TYPES,
    PROTOCOL_VERSION,
    Checkpoint,
    Completions,
    ControlAck,
    Event,
    Heartbeat,
    MetricValue,
    Phase,
    RunFinished,
    RunStarted,
    Sample,
    StepMetrics,
)
from sentinel.wire import MAX_EVENT_BYTES, NOT_A_NUMBER, OUT_OF_RANGE, number_of_text

MAX_KEY_LENGTH = 200
MAX_RUN_LENGTH = 200
MAX_TEXT_LENGTH = 4096
MAX_METRICS = 2000
MAX_STEP = 2**53
"""Steps are below this: from here on a double no longer tells neighbors apart."""
MAX_DEPTH = 8
"""Deeper values inside `config` and `samples` are cut off."""

REASONS: tuple[str, ...] = (
    "undecodable",
    "too-large",
    "bad-json",
    "unknown-version",
    "unknown-type",
    "missing-run",
    "bad-run",
    "missing-step",
    "bad-step",
    "too-many-metrics",
    "bad-metrics",
    "bad-field",
)
"""Every `DecodeError.reason`: a closed list, since each is a metric label."""


class Decoded(msgspec.Struct, frozen=True, gc=False):
    """An event, and the metrics that were left out of it: pairs of key and reason, both fit to print."""

    event: Event
    dropped: tuple[tuple[str, str], ...] = ()


# The strict decoders. Ill-fitting input costs an exception and a second parse, well under ten times a good record.
_strict_step = msgspec.json.Decoder(StepMetrics)
_strict_row = msgspec.json.Decoder(dict[str, float | None])

# Keys that passed `_key_fault`, so that the fast path asks once a key and not once a step.
_known_keys: set[str] = set()
_MOST_KNOWN_KEYS = 20_000


def entry_time(entry_id: str) -> float:
    """Seconds since the epoch, by the clock of Redis, at which a stream entry (`"1790000000000-0"`) was added.

    Raises ValueError for anything that is not such an id.
    """
    return int(entry_id.partition("-")[0]) / 1000.0


def decode(fields: Mapping[bytes, bytes], *, position: str, time: float | None) -> Decoded:
    """The event of a stream entry, in either encoding.

    `time` (seconds since the epoch, from the entry's id) and `position` are stored in the event; the sender's
    own time is ignored. Raises DecodeError.
    """
    raw = fields.get(b"event")
    if raw is not None and len(fields) == 1:
        if len(raw) > MAX_EVENT_BYTES:
            raise _too_large(len(raw))
        try:
            event = _strict_step.decode(raw)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            pass
        else:
            if _is_sound(event):
                event.time = time
                event.position = position
                return Decoded(event)
    else:
        size = sum(len(key) + len(value) for key, value in fields.items())
        if size > MAX_EVENT_BYTES:
            raise _too_large(size)
    document = _unflatten(fields) if raw is None else _parse(raw)
    decoded = _build(document, default_run=None)
    decoded.event.time = time
    decoded.event.position = position
    return decoded


def decode_line(text: str | bytes, *, run: str, position: str) -> Decoded:
    """The event of one line of a recording. `run` is the id for lines that name none. Raises DecodeError."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(raw) > MAX_EVENT_BYTES:
        raise _too_large(len(raw))
    event: Event
    try:
        if b'"metrics"' in raw:
            event = _strict_step.decode(raw)
            if _is_sound(event):
                event.time = _recorded_time(event.time)
                event.position = position
                return Decoded(event)
        else:
            row = _strict_row.decode(raw)
            step = row.get("step")
            if (
                step is not None
                and step.is_integer()
                and 0 <= step < MAX_STEP
                and row.keys().isdisjoint(_TIME_KEYS)
                and _are_known_keys(row)
                and _run_fault(run) is None
            ):
                del row["step"]
                return Decoded(StepMetrics(run=run, step=int(step), metrics=row, position=position))
    except (msgspec.MsgspecError, ValueError, RecursionError):
        pass
    return decode_row(_parse(raw), run=run, position=position)


def decode_row(row: Mapping[str, object], *, run: str, position: str) -> Decoded:
    """The event of one object of a recording: an event of the wire format, or a bare row of a trainer.

    - An event has a `type` we know, or `metrics`. A missing `run` is `run`. Its own `time` is kept.
    - A bare row is `{"step": 12, "kl": 0.03, ...}` or `{"step": 12, "data": {...}}`; `global_step` and `_step`
      are taken for a step that is missing. Its run is always `run`. A key `time`, `timestamp`, `_timestamp` or
      `wall_time` that holds plausible seconds since the epoch is the event's time, otherwise it is a metric. What
      is no number (text, lists) is ignored, since trainers log much beside numbers.

    Raises DecodeError.
    """
    if _is_event(row):
        decoded = _build(row, default_run=run)
        decoded.event.time = _recorded_time(row.get("time"))
    else:
        decoded = _build_bare(row, run)
    decoded.event.position = position
    return decoded


# --- the fast path's checks ------------------------------------------------------------------------------


def _is_sound(event: StepMetrics) -> bool:
    return (
        event.v == PROTOCOL_VERSION
        and 0 <= event.step < MAX_STEP
        and _run_fault(event.run) is None
        and len(event.metrics) <= MAX_METRICS
        and _are_known_keys(event.metrics)
        and (event.publisher is None or _is_publisher(event.publisher))
        and (event.seq is None or 0 <= event.seq < MAX_STEP)
    )


def _is_publisher(text: str) -> bool:
    return 0 < len(text) <= 64 and text.isprintable()


def _are_known_keys(metrics: Mapping[str, MetricValue]) -> bool:
    if metrics.keys() <= _known_keys:
        return True
    if len(metrics) > MAX_METRICS or any(_key_fault(key) for key in metrics):
        return False
    # A flood of names must not become our memory; forgetting costs the next events one look at each key.
    if len(_known_keys) > _MOST_KNOWN_KEYS:
        _known_keys.clear()
    _known_keys.update(metrics)
    return True


def _run_fault(run: str) -> str | None:
    if not run.strip():
        return "the run's id is empty"
    if len(run) > MAX_RUN_LENGTH:
        return f"the run's id has {len(run)} characters; {MAX_RUN_LENGTH} are allowed"
    # isprintable() is false for controls, line breaks, direction marks and lone surrogates.
    if not run.isprintable():
        return f"the run's id holds characters that cannot be printed: {shown(run)}"
    return None


def _key_fault(key: str) -> str | None:
    if not key.strip():
        return "the name is empty"
    if len(key) > MAX_KEY_LENGTH:
        return f"the name has {len(key)} characters; {MAX_KEY_LENGTH} are allowed"
    if not key.isprintable():
        return "the name holds characters that cannot be printed"
    return None


# --- the tolerant path -----------------------------------------------------------------------------------


class _Token:
    """A number token that the parser cannot give as an int or a finite float."""


_out_of_range = _Token()
_infinity = _Token()
_minus_infinity = _Token()
_NAMES = {_infinity: "inf", _minus_infinity: "-inf"}
_CONSTANTS: dict[str, object] = {"NaN": math.nan, "Infinity": _infinity, "-Infinity": _minus_infinity}


def _parse_int(token: str) -> object:
    # A double has 309 digits before the point at most; int() itself refuses 4,300.
    return int(token) if len(token) <= 310 else _out_of_range


# 1e400 parses to inf in C. The tokens Infinity come as marks of their own, so that the two stay apart, which is
# cheaper than a Python function for each float.
_tolerant = json.JSONDecoder(parse_int=_parse_int, parse_constant=_CONSTANTS.__getitem__)


def _parse(raw: bytes) -> Mapping[str, object]:
    # A run that went bad sends a NaN at every step, so that case has a fast parser of its own. It gives inf for
    # 1e400 and for the token Infinity alike: only without the token is an inf known to be out of range.
    if b"Infinity" not in raw:
        try:
            quick = pydantic_core.from_json(raw)
        except ValueError:
            quick = None
        if isinstance(quick, dict):
            return quick
    try:
        document = _tolerant.decode(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DecodeError("bad-json", f"not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise DecodeError("bad-json", "the JSON is nested too deep") from None
    except json.JSONDecodeError as error:
        raise DecodeError("bad-json", f"not JSON: {error.msg} at character {error.pos}") from None
    if not isinstance(document, dict):
        raise DecodeError("bad-json", f"the JSON is {_kind(document)}, not an object")
    return document


def _unflatten(fields: Mapping[bytes, bytes]) -> Mapping[str, object]:
    """The document that flat fields stand for. Values stay text; the builders read numbers from text too."""
    if b"run" not in fields:
        names = ", ".join(shown(key.decode("utf-8", "replace"), 40) for key in list(fields)[:5]) or "none"
        raise DecodeError("undecodable", f"neither a field 'event' nor a field 'run'; fields: {names}")
    # Bytes that are not UTF-8 become U+FFFD in a name and in a text, and no number in a metric.
    texts = {key.decode("utf-8", "replace"): value.decode("utf-8", "replace") for key, value in fields.items()}
    kind = texts.setdefault("type", "step")
    if kind not in ("step", "sample"):
        return {
            key: _parse_flat_json(key, text) if key in ("labels", "config", "samples") else text
            for key, text in texts.items()
        }
    document: dict[str, object] = {}
    metrics: dict[str, object] = {}
    own = {"run", "type", "time", "v", "step"} if kind == "step" else {"run", "type", "time", "v", "labels"}
    for key, text in texts.items():
        if key in own:
            document[key] = _parse_flat_json(key, text) if key == "labels" else text
        else:
            metrics[key] = text
    document["metrics"] = metrics
    return document


def _parse_flat_json(key: str, text: str) -> object:
    try:
        return _tolerant.decode(text)
    except (json.JSONDecodeError, RecursionError):
        raise DecodeError("bad-field", f"the field '{key}' must hold JSON: {shown(text)}") from None


def _build(document: Mapping[str, object], *, default_run: str | None) -> Decoded:
    version = document.get("v", PROTOCOL_VERSION)
    if version not in (PROTOCOL_VERSION, str(PROTOCOL_VERSION)) or isinstance(version, bool):
        raise DecodeError("unknown-version", f"version {shown(version)}; this sentinel reads {PROTOCOL_VERSION}")
    kind = document.get("type", "step")
    build = _BUILDERS.get(kind) if isinstance(kind, str) else None
    if build is None:
        raise DecodeError("unknown-type", f"type {shown(kind)} is none of {', '.join(EVENT_TYPES)}")
    decoded = build(document, _run(document, default_run))
    publisher, seq = document.get("publisher"), document.get("seq")
    if isinstance(publisher, str) and _is_publisher(publisher) and seq is not None:
        number = _whole(seq)
        if number is None or not 0 <= number < MAX_STEP:
            raise DecodeError("bad-field", f"'seq' must be a whole number below 2**53, not {shown(seq)}")
        decoded.event.publisher, decoded.event.seq = publisher, number
    return decoded


def _run(document: Mapping[str, object], default: str | None) -> str:
    run = document.get("run")
    if run is None:
        if default is None:
            raise DecodeError("missing-run", "the event names no run")
        run = default
    if not isinstance(run, str):
        raise DecodeError("bad-run", f"the run's id must be text, not {_kind(run)}")
    fault = _run_fault(run)
    if fault is not None:
        raise DecodeError("bad-run", fault)
    return run


def _step(document: Mapping[str, object]) -> int:
    step = _optional_step(document)
    if step is None:
        raise DecodeError("missing-step", "the event names no step")
    return step


def _optional_step(document: Mapping[str, object]) -> int | None:
    value = document.get("step")
    if value is None:
        return None
    number = _whole(value)
    if number is None or not 0 <= number < MAX_STEP:
        raise DecodeError("bad-step", f"the step must be a whole number from 0 to 2^53 - 1, not {shown(value)}")
    return number


def _whole(value: object) -> int | None:
    """The whole number that a value is or spells (12, 12.0, "12"), or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        # Digits first: a double would round the last ones away before the range is checked.
        if len(value) <= 20 and value.isascii() and value.isdigit():
            return int(value)
        try:
            value = number_of_text(value)
        except ValueError:
            return None
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def _metrics(value: object) -> tuple[dict[str, MetricValue], tuple[tuple[str, str], ...]]:
    """The metrics that are numbers, and the others with the reason why not."""
    if value is None:
        return {}, ()
    if not isinstance(value, Mapping):
        raise DecodeError("bad-metrics", f"metrics must be an object of names and numbers, not {_kind(value)}")
    if len(value) > MAX_METRICS:
        raise DecodeError("too-many-metrics", f"{len(value)} metrics in one event; {MAX_METRICS} are allowed")
    metrics: dict[str, MetricValue] = {}
    dropped: list[tuple[str, str]] = []
    for key, raw in value.items():
        fault = None if key in _known_keys else _key_fault(key)
        if fault is None:
            try:
                metrics[key] = _number(raw)
                continue
            except ValueError as error:
                fault = str(error)
        dropped.append((shown(key, 80), fault))
    return metrics, tuple(dropped)


def _number(value: object) -> MetricValue:
    if isinstance(value, float):
        if math.isinf(value):
            raise ValueError(OUT_OF_RANGE)
        return value
    if value is None:
        return None
    if isinstance(value, str):
        return number_of_text(value)
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            raise ValueError(OUT_OF_RANGE) from None
    if value is _infinity:
        return math.inf
    if value is _minus_infinity:
        return -math.inf
    raise ValueError(OUT_OF_RANGE if value is _out_of_range else f"{NOT_A_NUMBER}, but {_kind(value)}")


def _text(document: Mapping[str, object], name: str) -> str:
    text = _optional_text(document, name)
    if text is None:
        raise DecodeError("bad-field", f"the event has no '{name}'")
    return text


def _optional_text(document: Mapping[str, object], name: str) -> str | None:
    value = document.get(name)
    if value is None:
        return None
    # A version may arrive as the number 5.2.
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        raise DecodeError("bad-field", f"'{name}' must be text, not {_kind(value)}")
    if not value.strip() or len(value) > MAX_TEXT_LENGTH or not value.isprintable():
        raise DecodeError(
            "bad-field", f"'{name}' must be 1 to {MAX_TEXT_LENGTH} printable characters, not {shown(value)}"
        )
    return value


def _note(document: Mapping[str, object], name: str) -> str | None:
    """Free text of a person or an exception: made fit rather than refused."""
    value = document.get(name)
    return None if value is None else shown(value, 500)


def _choice(document: Mapping[str, object], name: str, default: str, choices: tuple[str, ...]) -> str:
    value = document.get(name, default)
    if value not in choices:
        raise DecodeError("bad-field", f"'{name}' must be one of {', '.join(choices)}, not {shown(value)}")
    return str(value)


def _labels(document: Mapping[str, object]) -> dict[str, str]:
    value = document.get("labels")
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DecodeError("bad-field", f"'labels' must be an object of names and texts, not {_kind(value)}")
    if len(value) > MAX_KEY_LENGTH:
        raise DecodeError("bad-field", f"{len(value)} labels; {MAX_KEY_LENGTH} are allowed")
    return {
        shown(name, MAX_KEY_LENGTH): shown(text, MAX_KEY_LENGTH) for name, text in value.items() if text is not None
    }


def _plain(value: object, depth: int = 0) -> object:
    """A value that any JSON encoder takes: no lone surrogates, no huge integers, not deep."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth >= MAX_DEPTH:
        return "..."
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    return _NAMES.get(value, OUT_OF_RANGE) if isinstance(value, _Token) else _kind(value)


def _build_run_started(document: Mapping[str, object], run: str) -> Decoded:
    config = document.get("config")
    if config is not None and not isinstance(config, Mapping):
        raise DecodeError("bad-field", f"'config' must be an object, not {_kind(config)}")
    attempt = document.get("attempt")
    number = None if attempt is None else _whole(attempt)
    if attempt is not None and (number is None or not 0 <= number < 2**31):
        raise DecodeError("bad-field", f"'attempt' must be a whole number, not {shown(attempt)}")
    return Decoded(
        RunStarted(
            run=run,
            labels=_labels(document),
            config={str(_plain(key)): _plain(value, 1) for key, value in (config or {}).items()},
            framework=_optional_text(document, "framework"),
            version=_optional_text(document, "version"),
            attempt=number,
        )
    )


def _build_step(document: Mapping[str, object], run: str) -> Decoded:
    step = _step(document)
    metrics, dropped = _metrics(document.get("metrics"))
    return Decoded(StepMetrics(run=run, step=step, metrics=metrics), dropped)


def _build_sample(document: Mapping[str, object], run: str) -> Decoded:
    metrics, dropped = _metrics(document.get("metrics"))
    return Decoded(Sample(run=run, metrics=metrics, labels=_labels(document)), dropped)


def _build_checkpoint(document: Mapping[str, object], run: str) -> Decoded:
    state = _choice(document, "state", "saved", ("saved", "deleted", "pinned"))
    return Decoded(
        Checkpoint(run=run, step=_step(document), path=_text(document, "path"), state=state)  # type: ignore[arg-type]
    )


def _build_phase(document: Mapping[str, object], run: str) -> Decoded:
    return Decoded(Phase(run=run, name=_text(document, "name"), step=_optional_step(document)))


def _build_completions(document: Mapping[str, object], run: str) -> Decoded:
    samples = document.get("samples", [])
    if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples):
        raise DecodeError("bad-field", "'samples' must be a list of objects")
    plain = [{str(_plain(key)): _plain(value, 1) for key, value in sample.items()} for sample in samples]
    return Decoded(Completions(run=run, step=_optional_step(document), samples=plain))


def _build_heartbeat(document: Mapping[str, object], run: str) -> Decoded:
    return Decoded(Heartbeat(run=run))


def _build_control_ack(document: Mapping[str, object], run: str) -> Decoded:
    return Decoded(
        ControlAck(
            run=run,
            request=_text(document, "request"),
            state=_text(document, "state"),
            step=_optional_step(document),
            reason=_note(document, "reason"),
        )
    )


def _build_run_finished(document: Mapping[str, object], run: str) -> Decoded:
    status = _choice(document, "status", "ok", ("ok", "failed", "stopped"))
    return Decoded(
        RunFinished(
            run=run,
            status=status,  # type: ignore[arg-type]
            step=_optional_step(document),
            reason=_note(document, "reason"),
        )
    )


_BUILDERS: dict[str, Callable[[Mapping[str, object], str], Decoded]] = {
    "run_started": _build_run_started,
    "step": _build_step,
    "sample": _build_sample,
    "checkpoint": _build_checkpoint,
    "phase": _build_phase,
    "completions": _build_completions,
    "heartbeat": _build_heartbeat,
    "control_ack": _build_control_ack,
    "run_finished": _build_run_finished,
}


# --- rows of a recording ---------------------------------------------------------------------------------

_STEP_KEYS = ("step", "global_step", "_step")
_TIME_KEYS = ("time", "timestamp", "_timestamp", "wall_time")
# 2001 to 2096 in seconds since the epoch: no duration, and no count of milliseconds.
_PLAUSIBLE_TIMES = (1e9, 4e9)


def _is_event(row: Mapping[str, object]) -> bool:
    if isinstance(row.get("metrics"), Mapping):
        return True
    kind = row.get("type")
    if kind is None:
        return False
    if isinstance(kind, str) and kind in _BUILDERS:
        return True
    # A trainer may log a text of its own under "type": with numbers beside it, the line is a row. Without them it
    # is an event whose type was misspelled.
    return "run" in row or not any(
        isinstance(value, int | float) and not isinstance(value, bool)
        for key, value in row.items()
        if key not in _STEP_KEYS and key not in _TIME_KEYS and key != "v"
    )


def _recorded_time(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e12 else None


def _build_bare(row: Mapping[str, object], run: str) -> Decoded:
    # A file may hold several runs: a row that names its run by a text belongs to that one.
    named = row.get("run")
    run = _run({"run": named} if isinstance(named, str) else {}, run)
    step_key = next((key for key in _STEP_KEYS if row.get(key) is not None), "step")
    step = _step({"step": row.get(step_key)})
    data = row.get("data")
    values = {**row, **data} if isinstance(data, Mapping) else dict(row)
    time: float | None = None
    for key in _TIME_KEYS:
        stamp = values.get(key)
        if isinstance(stamp, int | float) and _PLAUSIBLE_TIMES[0] <= stamp <= _PLAUSIBLE_TIMES[1]:
            time = float(stamp) if time is None else time
            del values[key]
    for key in (step_key, "data"):
        values.pop(key, None)
    metrics, dropped = _metrics(values)
    # Text is no fault in a bare row; everything else that is no number is.
    faults = tuple(
        (key, reason) for key, reason in dropped if not isinstance(values.get(key), str) or reason == OUT_OF_RANGE
    )
    return Decoded(StepMetrics(run=run, step=step, metrics=metrics, time=time), faults)


# --- words -----------------------------------------------------------------------------------------------


def shown(value: object, limit: int = 60) -> str:
    """A value of a stranger in a sentence of ours: one line, printable, at most `limit` characters."""
    if isinstance(value, str):
        text = value
    else:
        # Never the text of a container: it may be deep enough to end in a RecursionError.
        text = str(value) if value is None or isinstance(value, bool | int | float) else _kind(value)
    if not text.isprintable():
        text = "".join(
            character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text[: limit + 1]
        )
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _kind(value: object) -> str:
    """What a JSON value is, in a person's words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, str):
        return "text"
    if isinstance(value, int | float | _Token):
        return "a number"
    return "a list" if isinstance(value, list) else "an object"


def _too_large(size: int) -> DecodeError:
    return DecodeError("too-large", f"the entry has {size} bytes; {MAX_EVENT_BYTES} are allowed")
