import json
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sentinel import wire
from sentinel.decode import (
    MAX_METRICS,
    MAX_STEP,
    REASONS,
    Decoded,
    decode,
    decode_line,
    decode_row,
    entry_time,
)
from sentinel.errors import DecodeError
from sentinel.events import (
    EVENT_TYPES,
    Checkpoint,
    Completions,
    ControlAck,
    Heartbeat,
    Phase,
    RunFinished,
    RunStarted,
    Sample,
    StepMetrics,
)


def of_json(text: str | bytes) -> Decoded:
    raw = text if isinstance(text, bytes) else text.encode()
    return decode({b"event": raw}, position="5000-0", time=5.0)


def of_document(**document: object) -> Decoded:
    return of_json(wire.encode(document))


def of_fields(*pairs: str) -> Decoded:
    raw = [pair.encode() for pair in pairs]
    return decode(dict(zip(raw[::2], raw[1::2], strict=True)), position="5000-0", time=5.0)


def reason_of(text: str | bytes) -> str:
    with pytest.raises(DecodeError) as caught:
        of_json(text)
    assert caught.value.reason in REASONS
    assert str(caught.value).isprintable()
    return caught.value.reason


def step_json(metrics: str, *, run: str = '"r"', step: str = "1") -> str:
    return f'{{"v":1,"type":"step","run":{run},"step":{step},"metrics":{metrics}}}'


# --- both encodings ---


def test_a_step_carries_the_streams_time_and_not_the_senders():
    decoded = of_json('{"v":1,"type":"step","run":"r","step":3,"time":99.5,"metrics":{"kl":0.5}}')
    assert decoded.event == StepMetrics(run="r", step=3, metrics={"kl": 0.5}, time=5.0, position="5000-0")
    assert decoded.dropped == ()


def test_flat_fields_are_a_step():
    decoded = of_fields("run", "grpo-7b", "step", "120", "kl", "0.04", "reward", "0.61", "time", "7")
    assert decoded.event == StepMetrics(
        run="grpo-7b", step=120, metrics={"kl": 0.04, "reward": 0.61}, time=5.0, position="5000-0"
    )


def test_flat_fields_of_every_other_type():
    assert of_fields("run", "r", "type", "checkpoint", "step", "5", "path", "out/c-5").event == Checkpoint(
        run="r", step=5, path="out/c-5", time=5.0, position="5000-0"
    )
    sample = of_fields("run", "r", "type", "sample", "gpu.util", "93", "labels", '{"gpu":3}').event
    assert isinstance(sample, Sample)
    assert (sample.metrics, sample.labels) == ({"gpu.util": 93.0}, {"gpu": "3"})
    started = of_fields("run", "r", "type", "run_started", "config", '{"beta":0.1}', "attempt", "2").event
    assert isinstance(started, RunStarted)
    assert (started.config, started.attempt) == ({"beta": 0.1}, 2)
    assert isinstance(of_fields("run", "r", "type", "heartbeat").event, Heartbeat)
    finished = of_fields("run", "r", "type", "run_finished", "status", "failed").event
    assert isinstance(finished, RunFinished)
    assert finished.status == "failed"


def test_json_of_every_other_type():
    started = of_document(
        type="run_started", run="r", labels={"team": "a", "n": 4}, config={"x": [1, {"y": math.nan}]}, version=5.2
    ).event
    assert isinstance(started, RunStarted)
    assert started.labels == {"team": "a", "n": "4"}
    assert started.version == "5.2"
    assert isinstance(of_document(type="phase", run="r", name="stage 2").event, Phase)
    completions = of_document(type="completions", run="r", samples=[{"prompt": "p", "reward": 1}]).event
    assert isinstance(completions, Completions)
    ack = of_document(type="control_ack", run="r", request="q1", state="saved", step=4).event
    assert isinstance(ack, ControlAck)
    assert ack.step == 4


def test_not_finite_metrics_are_numbers_as_tokens_and_as_text():
    tokens = of_json(step_json('{"a":NaN,"b":Infinity,"c":-Infinity,"d":null,"e":1}'))
    texts = of_json(step_json('{"a":"nan","b":"inf","c":"-Infinity","d":"None","e":"1.0"}'))
    flat = of_fields("run", "r", "step", "1", "a", "NaN", "b", "+inf", "c", "-inf", "d", "null", "e", "1")
    for decoded in (tokens, texts, flat):
        metrics = decoded.event.metrics
        assert decoded.dropped == ()
        assert math.isnan(metrics.pop("a"))
        assert metrics == {"b": math.inf, "c": -math.inf, "d": None, "e": 1.0}


BAD_VALUES = [
    "[]",
    "{}",
    "true",
    "false",
    '"abc"',
    '"1_000"',
    '"0x1f"',
    '"٣"',
    '" 1 "',
    '""',
    "1e400",
    "-1e400",
    '"1e400"',
    "9" * 4300,
    "9" * 5000,
    '"' + "9" * 4300 + '"',
]


@pytest.mark.parametrize("with_infinity", [False, True])
@pytest.mark.parametrize("value", BAD_VALUES, ids=lambda value: value[:12])
def test_a_metric_that_is_no_number_is_dropped_alone(value, with_infinity):
    also = ',"inf":Infinity' if with_infinity else ""
    decoded = of_json(step_json(f'{{"kl":0.5,"bad":{value},"reward":1{also}}}'))
    assert {"kl": 0.5, "reward": 1.0}.items() <= decoded.event.metrics.items()
    assert "bad" not in decoded.event.metrics
    [(key, reason)] = decoded.dropped
    assert key == "bad"
    assert reason.startswith("not a number")


@pytest.mark.parametrize("key", ["k" * 201, "a\\nb", "a\\u202eb", "\\ud800", "", "  ", "\\u0000"])
def test_a_metric_with_an_unusable_name_is_dropped_alone(key):
    for _ in range(2):
        decoded = of_json(step_json(f'{{"kl":0.5,"{key}":1}}'))
        assert decoded.event.metrics == {"kl": 0.5}
        [(name, _)] = decoded.dropped
        assert name.isprintable()
        assert len(name) <= 80


def test_names_with_blanks_and_slashes_are_fine():
    decoded = of_json(step_json('{"completions / mean_length":1,"actor/lr(1e-4)":2}'))
    assert decoded.dropped == ()
    assert len(decoded.event.metrics) == 2


@pytest.mark.parametrize(("step", "expected"), [("12", 12), ("12.0", 12), ('"12"', 12), ('"12.0"', 12), ("0", 0)])
def test_a_step_may_be_any_spelling_of_a_whole_number(step, expected):
    assert of_json(step_json("{}", step=step)).event.step == expected


@pytest.mark.parametrize(
    "step",
    ["-1", "3.5", '"3.5"', "1e300", str(MAX_STEP), str(2**63), str(2**200), "true", "NaN", '"x"', "[]", "9" * 5000],
    ids=lambda step: step[:12],
)
def test_a_step_that_is_no_whole_number_in_range_is_refused(step):
    assert reason_of(step_json("{}", step=step)) == "bad-step"


@pytest.mark.parametrize("run", ["<!channel>", "grpo/7b@2", "läuft", "実験-1", "a b"])
def test_any_printable_run_is_fine(run):
    assert of_json(step_json("{}", run=json.dumps(run))).event.run == run
    assert of_fields("run", run, "step", "1").event.run == run


@pytest.mark.parametrize(
    "run", ["", " ", "a\nb", "a\x00b", "a\u202eb", "a\u2028b", "\ud800", "x" * 201, "x" * 10240, "\x1b[31m"]
)
def test_a_run_that_cannot_be_printed_is_refused(run):
    assert reason_of(step_json("{}", run=json.dumps(run))) == "bad-run"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "bad-json"),
        ("{", "bad-json"),
        ("[]", "bad-json"),
        ("3", "bad-json"),
        (b"\xff\xfe", "bad-json"),
        (b'{"run":"\xff"}', "bad-json"),
        ('{"a":' * 100_000, "too-large"),
        ('{"a":' * 30_000, "bad-json"),
        ("[" * 200_000 + "Infinity", "bad-json"),
        ('{"type":"step","step":1,"metrics":{}}', "missing-run"),
        ('{"type":"step","run":null,"step":1}', "missing-run"),
        ('{"type":"step","run":7,"step":1}', "bad-run"),
        ('{"type":"step","run":"r","metrics":{}}', "missing-step"),
        ('{"type":"step","run":"r","step":null}', "missing-step"),
        ('{"type":"step","run":"r","step":1,"metrics":[1]}', "bad-metrics"),
        ('{"type":"steps","run":"r","step":1}', "unknown-type"),
        ('{"type":["step"],"run":"r","step":1}', "unknown-type"),
        ('{"v":2,"type":"step","run":"r","step":1,"metrics":{}}', "unknown-version"),
        ('{"v":true,"type":"step","run":"r","step":1,"metrics":{}}', "unknown-version"),
        ('{"type":"checkpoint","run":"r","step":1}', "bad-field"),
        ('{"type":"checkpoint","run":"r","step":1,"path":"a\\nb"}', "bad-field"),
        ('{"type":"checkpoint","run":"r","step":1,"path":"a","state":"gone"}', "bad-field"),
        ('{"type":"checkpoint","run":"r","path":"a"}', "missing-step"),
        ('{"type":"phase","run":"r","name":[]}', "bad-field"),
        ('{"type":"run_started","run":"r","attempt":"two"}', "bad-field"),
        ('{"type":"run_started","run":"r","config":7}', "bad-field"),
        ('{"type":"sample","run":"r","labels":7}', "bad-field"),
        ('{"type":"run_finished","run":"r","status":"great"}', "bad-field"),
        ('{"type":"completions","run":"r","samples":[1]}', "bad-field"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "bytes",
)
def test_each_fault_has_its_reason(text, reason):
    assert reason_of(text) == reason


def test_too_many_metrics_are_refused():
    metrics = json.dumps({f"m{i}": i for i in range(MAX_METRICS + 1)})
    assert reason_of(step_json(metrics)) == "too-many-metrics"


def test_an_entry_that_is_too_large_is_refused_undecoded():
    assert reason_of(b"x" * (wire.MAX_EVENT_BYTES + 1)) == "too-large"
    with pytest.raises(DecodeError) as caught:
        of_fields("run", "r", "step", "1", "kl", "1" * wire.MAX_EVENT_BYTES)
    assert caught.value.reason == "too-large"
    with pytest.raises(DecodeError) as caught:
        of_fields("event", step_json("{}"), "junk", "1" * wire.MAX_EVENT_BYTES)
    assert caught.value.reason == "too-large"


def test_fields_without_event_and_run_are_undecodable():
    for pairs in ((), ("kl", "1"), ("\x00", "\x1b")):
        with pytest.raises(DecodeError) as caught:
            of_fields(*pairs)
        assert caught.value.reason == "undecodable"
        assert str(caught.value).isprintable()


def test_configuration_is_made_plain():
    deep = json.loads("[" * 50 + "]" * 50)
    event = of_document(
        type="run_started", run="r", config={"deep": deep, "big": 2**70, "odd": "\ud800", "lr": math.inf}
    ).event
    assert isinstance(event, RunStarted)
    json.dumps(event.config, allow_nan=False).encode()
    assert event.config["big"] == str(2**70)


def test_the_time_of_an_entry_is_in_its_id():
    assert entry_time("1790000000123-7") == 1790000000.123


# --- recordings ---


def test_a_bare_row_is_a_step_of_the_files_run():
    decoded = decode_line('{"step": 12, "kl": 0.03, "loss": "NaN"}', run="file", position="f:1")
    assert decoded.event.run == "file"
    assert decoded.event.step == 12
    assert decoded.event.time is None
    assert decoded.event.position == "f:1"
    assert decoded.event.metrics["kl"] == 0.03
    assert math.isnan(decoded.event.metrics["loss"])


def test_the_fast_and_the_tolerant_path_of_a_row_agree():
    text = '{"step": 12.0, "kl": 0.03, "n": 4, "x": null}'
    fast = decode_line(text, run="file", position="f:1")
    assert fast == decode_row(json.loads(text), run="file", position="f:1")


def test_verls_file_logger_is_a_bare_row():
    row = decode_line('{"step": 3, "data": {"actor/kl_loss": 0.1, "critic/x": null}}', run="v", position="v:1")
    assert row.event == StepMetrics(run="v", step=3, metrics={"actor/kl_loss": 0.1, "critic/x": None}, position="v:1")


def test_text_in_a_bare_row_is_ignored_without_a_word_and_what_else_is_no_number_is_counted():
    line = '{"step":1,"kl":1,"type":"train","global_step/max_steps":"1/10","a":[1],"b":true,"c":{},"d":1e999}'
    decoded = decode_line(line, run="r", position="f:1")
    assert decoded.event.metrics == {"kl": 1.0}
    assert [key for key, _ in decoded.dropped] == ["a", "b", "c", "d"]
    assert decoded.dropped[-1] == ("d", wire.OUT_OF_RANGE)


def test_a_bare_row_that_names_its_run_belongs_to_it():
    assert decode_line('{"run":"b","step":1,"kl":1}', run="a", position="").event.run == "b"
    assert decode_line('{"run":3,"step":1,"kl":1}', run="a", position="").event.run == "a"


@pytest.mark.parametrize("key", ["time", "timestamp", "_timestamp", "wall_time"])
def test_a_plausible_time_in_a_bare_row_is_the_events_time(key):
    assert decode_line(f'{{"step":1,"kl":1,"{key}":1790000000.5}}', run="r", position="").event == StepMetrics(
        run="r", step=1, metrics={"kl": 1.0}, time=1790000000.5
    )
    duration = decode_line(f'{{"step":1,"{key}":42.5}}', run="r", position="").event
    assert (duration.time, duration.metrics) == (None, {key: 42.5})


def test_a_step_under_another_name_is_found():
    assert decode_line('{"global_step":7,"kl":1}', run="r", position="").event.step == 7
    assert decode_line('{"_step":8,"kl":1}', run="r", position="").event.step == 8


def test_an_event_in_a_recording_keeps_its_run_and_its_time():
    text = '{"v":1,"type":"step","run":"other","step":1,"time":12.5,"metrics":{"kl":0.5}}'
    assert decode_line(text, run="file", position="f:2").event == StepMetrics(
        run="other", step=1, metrics={"kl": 0.5}, time=12.5, position="f:2"
    )
    checkpoint = decode_line('{"type":"checkpoint","step":5,"path":"c","time":3}', run="file", position="f:3").event
    assert checkpoint == Checkpoint(run="file", step=5, path="c", time=3.0, position="f:3")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"kl":1}', "missing-step"),
        ('{"type":"chekpoint","step":5,"path":"c"}', "unknown-type"),
        ("nonsense", "bad-json"),
        ("[1]", "bad-json"),
        ('{"step":1,"kl":0.', "bad-json"),
        ('{"step":-1,"kl":1}', "bad-step"),
    ],
)
def test_a_bad_line_has_its_reason(line, reason):
    with pytest.raises(DecodeError) as caught:
        decode_line(line, run="r", position="f:1")
    assert caught.value.reason == reason


# --- properties ---

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
field_names = st.sampled_from(
    ["type", "v", "run", "step", "metrics", "path", "state", "labels", "config", "samples", "attempt", "name", "time"]
)
documents = st.dictionaries(field_names | st.text(max_size=5), json_values, max_size=8)
typed = st.tuples(documents, st.sampled_from(EVENT_TYPES)).map(lambda pair: {**pair[0], "type": pair[1], "run": "r"})


@given(st.dictionaries(st.binary(max_size=20) | st.sampled_from([b"event", b"run", b"step", b"type"]), st.binary()))
def test_no_bytes_raise_anything_but_a_decode_error(fields):
    try:
        decode(fields, position="1-0", time=1.0)
    except DecodeError as error:
        assert error.reason in REASONS
        assert str(error).isprintable()


@given(documents | typed)
@settings(max_examples=300)
def test_no_document_raises_anything_but_a_decode_error(document):
    raw = wire.encode(document)
    flat = {k.encode("utf-8", "replace"): str(v).encode("utf-8", "replace") for k, v in document.items()}
    for attempt in (
        lambda: of_json(raw),
        lambda: decode(flat, position="1-0", time=1.0),
        lambda: decode_line(raw, run="file", position="f:1"),
    ):
        try:
            decoded = attempt()
        except DecodeError as error:
            assert error.reason in REASONS
            assert str(error).isprintable()
        else:
            assert decoded.event.run.isprintable()
            assert all(key.isprintable() and reason.isprintable() for key, reason in decoded.dropped)


keys = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=50).filter(
    lambda key: key not in ("run", "step", "type", "time", "v", "event")
)


@given(
    st.dictionaries(keys, st.floats() | st.none()),
    st.integers(0, MAX_STEP - 1),
    st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=200),
)
@example({}, MAX_STEP - 1, "r")
def test_a_step_survives_both_encodings(metrics, step, run):
    compact = of_json(wire.encode({"type": "step", "run": run, "step": step, "metrics": metrics}))
    pairs = ["run", run, "step", str(step)]
    for key, value in metrics.items():
        pairs += [key, "null" if value is None else repr(value)]
    for decoded in (compact, of_fields(*pairs)):
        assert decoded.dropped == ()
        assert (decoded.event.run, decoded.event.step) == (run, step)
        assert repr(decoded.event.metrics) == repr(metrics)


@given(
    st.dictionaries(keys, st.floats(allow_nan=False) | st.none()), st.dictionaries(keys, st.sampled_from(BAD_VALUES))
)
def test_every_good_metric_survives_beside_bad_ones(good, bad):
    bad = {key: value for key, value in bad.items() if key not in good}
    texts = [f"{json.dumps(key)}:{json.dumps(value)}" for key, value in good.items()]
    texts += [f"{json.dumps(key)}:{value}" for key, value in bad.items()]
    decoded = of_json(step_json("{" + ",".join(texts) + "}"))
    assert decoded.event.metrics == good
    assert {key for key, _ in decoded.dropped} == set(bad)
