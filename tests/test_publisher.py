import json
import logging
import math
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import sentinel
from sentinel import Publisher, wire
from sentinel.bus.embedded import EmbeddedServer
from sentinel.decode import decode


def events(client, partition=0):
    entries = client.xrange(wire.events_key(partition))
    return [decode(fields, position=entry_id.decode(), time=None).event for entry_id, fields in entries]


def raw_events(client):
    return [json.loads(fields[b"event"]) for _, fields in client.xrange(wire.events_key(0))]


def run_script(script, **environment):
    return subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


def test_a_run_is_told_from_its_start_to_its_end(valkey, valkey_url):
    with Publisher(
        valkey_url, run="grpo-7b", labels={"team": "a"}, config={"beta": 0.1}, framework="trl", version="0.23"
    ) as p:
        p.step(12, {"kl": 0.03, "loss": math.nan, "reward": np.float32(0.5)})
        p.checkpoint(12, Path("out/checkpoint-12"))
        p.sample({"gpu.util": 93}, {"gpu": 3})
        p.phase("stage-2", 13)
        p.completions([{"prompt": "p", "completion": "x" * 9000, "reward": 1.0}] * 40, step=12)
        p.heartbeat()
    started, step, checkpoint, sample, phase, completions, heartbeat, finished = events(valkey)
    assert {one.run for one in events(valkey)} == {"grpo-7b"}
    assert (started.labels, started.config, started.framework) == ({"team": "a"}, {"beta": 0.1}, "trl")
    assert (step.step, step.metrics["kl"], step.metrics["reward"]) == (12, 0.03, 0.5)
    assert math.isnan(step.metrics["loss"])
    assert (checkpoint.step, checkpoint.path, checkpoint.state) == (12, "out/checkpoint-12", "saved")
    assert (sample.metrics, sample.labels) == ({"gpu.util": 93.0}, {"gpu": "3"})
    assert (phase.name, phase.step) == ("stage-2", 13)
    assert len(completions.samples) == 16
    assert len(completions.samples[0]["completion"]) == 4000
    assert heartbeat.run == "grpo-7b"
    assert finished.status == "ok"
    assert (p.sent, p.dropped) == (8, 0)


def test_an_exception_ends_the_run_as_failed_and_goes_on(valkey, valkey_url):
    with pytest.raises(ValueError, match="boom"), Publisher(valkey_url, run="r"):
        raise ValueError("boom")
    assert events(valkey)[-1].status == "failed"
    assert events(valkey)[-1].reason == "ValueError: boom"


def test_an_interrupt_ends_the_run_as_stopped(valkey, valkey_url):
    with pytest.raises(KeyboardInterrupt), Publisher(valkey_url, run="r"):
        raise KeyboardInterrupt
    assert events(valkey)[-1].status == "stopped"


def test_the_end_is_said_once(valkey, valkey_url):
    with Publisher(valkey_url, run="r") as p:
        p.finish("stopped", step=7)
    assert [one.status for one in events(valkey)[1:]] == ["stopped"]


def test_a_run_goes_to_its_own_partition(valkey, valkey_url):
    valkey.set(wire.PARTITIONS_KEY, 8)
    with Publisher(valkey_url, run="grpo-7b") as p:
        p.step(1, {"kl": 1})
    assert len(events(valkey, 6)) == 3


@pytest.mark.parametrize(
    ("step", "metrics"),
    [
        ("x", {"a": 1}),
        (1.5, {"a": 1}),
        (-1, {"a": 1}),
        (math.nan, {"a": 1}),
        (2**60, {"a": 1}),
        (None, {"a": 1}),
        (1, None),
        (1, 7),
        (1, {"a" * 300_000: 1}),
    ],
)
def test_a_call_that_is_wrong_is_counted_and_does_not_raise(valkey, valkey_url, step, metrics):
    with Publisher(valkey_url, run="r") as p:
        p.step(step, metrics)
        p.step(1, {"good": 1})
    assert p.dropped == 1
    assert [one.metrics for one in events(valkey)[1:-1]] == [{"good": 1.0}]


def test_even_an_error_that_cannot_be_spelled_stays_inside(valkey, valkey_url):
    class UnspeakableError(Exception):
        def __str__(self):
            raise RuntimeError("no")

    class Hostile(dict):
        def items(self):
            raise UnspeakableError

    with Publisher(valkey_url, run="r") as p:
        p.step(1, Hostile())
        p.sample({"a": 1}, Hostile(b=1))
        p.completions(7)
    assert (p.sent, p.dropped) == (2, 3)


def test_a_metric_that_is_no_number_is_left_out_alone(valkey, valkey_url, caplog):
    class Hostile:
        def __float__(self):
            raise RuntimeError("no")

    with Publisher(valkey_url, run="r") as p:
        for step in range(3):
            p.step(np.int64(step), {"a": 1, "b": [1], "c": True, "d": "text", "e": Hostile(), "f": "0.5"})
    assert [one.metrics for one in events(valkey)[1:-1]] == [{"a": 1.0, "f": 0.5}] * 3
    assert p.dropped == 12
    assert len([one for one in caplog.records if "left out" in one.getMessage()]) == 1


@pytest.mark.parametrize("arguments", [{}, {"run": ""}, {"run": "a\nb"}, {"run": 7}, {"run": "r", "queue_size": "x"}])
def test_a_publisher_that_cannot_start_says_so_once_and_does_nothing(arguments, caplog, monkeypatch):
    monkeypatch.delenv("SENTINEL_RUN", raising=False)
    with Publisher("redis://127.0.0.1:1/0", **arguments) as p:
        p.step(1, {"a": 1})
    assert p.dropped == 2
    assert p.sent == 0
    assert len(caplog.records) == 1


def test_a_url_that_is_none_is_said_once(caplog):
    with Publisher("http://somewhere", run="r", flush_timeout=30) as p:
        p.step(1, {"a": 1})
    assert p.dropped == 3
    assert [one.levelno for one in caplog.records] == [logging.WARNING]


def test_the_oldest_event_is_dropped_when_the_queue_is_full(tmp_path, valkey):
    with Publisher(f"unix://{tmp_path}/none.sock", run="r", queue_size=10, flush_timeout=0) as p:
        for step in range(2000):
            p.step(step, {"a": 1})
        queued = [json.loads(raw)["step"] for raw in p._queue]
    assert queued == list(range(1990, 2000))
    # Including run_started and run_finished, all are accounted for.
    assert (p.sent, p.dropped) == (0, 2002)


def test_events_wait_until_redis_is_there_and_the_run_is_announced_first(tmp_path):
    with Publisher(f"unix://{tmp_path}/valkey.sock", run="r", queue_size=5, flush_timeout=30) as p:
        for step in range(100):
            p.step(step, {"a": 1})
        with EmbeddedServer.start(tmp_path) as server:
            assert p.flush(30)
            import redis

            with redis.Redis.from_url(server.url) as client:
                seen = raw_events(client)
            p._flush_timeout = 0
    assert seen[0]["type"] == "run_started"
    assert seen[-1]["step"] == 99


def test_redis_may_go_and_come_back(tmp_path):
    import redis

    with Publisher(f"unix://{tmp_path}/valkey.sock", run="r", flush_timeout=30) as p:
        with EmbeddedServer.start(tmp_path):
            p.step(1, {"a": 1})
            assert p.flush(30)
        p.step(2, {"a": 1})
        with EmbeddedServer.start(tmp_path) as server:
            p.step(3, {"a": 1})
            assert p.flush(30)
            with redis.Redis.from_url(server.url) as client:
                steps = [one["step"] for one in raw_events(client) if one["type"] == "step"]
            p.close()
    assert list(dict.fromkeys(steps)) == [1, 2, 3]


def test_a_server_that_refuses_writes_loses_nothing(valkey, valkey_url):
    valkey.config_set("maxmemory", 1)
    try:
        with Publisher(valkey_url, run="r", flush_timeout=30) as p:
            p.step(1, {"a": 1})
            assert not p.flush(0.3)
            valkey.config_set("maxmemory", 0)
            assert p.flush(30)
    finally:
        valkey.config_set("maxmemory", 0)
    assert p.dropped == 0
    assert [one.step for one in events(valkey)[1:2]] == [1]


def test_an_account_that_may_only_add_is_enough(valkey, valkey_url):
    valkey.acl_setuser("trainer", enabled=True, passwords=["+pw"], commands=["+xadd"], keys=[wire.events_key(0)])
    try:
        with Publisher(valkey_url.replace("unix://", "unix://trainer:pw@"), run="r") as p:
            p.step(1, {"a": 1})
    finally:
        valkey.acl_deluser("trainer")
    assert (p.sent, p.dropped) == (3, 0)


def test_calls_after_the_end_are_counted_and_do_nothing(valkey, valkey_url):
    p = Publisher(valkey_url, run="r")
    p.close()
    p.close()
    p.step(1, {"a": 1})
    p.finish()
    assert p.dropped == 2
    assert not p.flush(0) or p.sent == 1


def test_a_forked_child_publishes_nothing_and_harms_nothing(valkey, valkey_url):
    script = """
import os, sentinel
p = sentinel.Publisher(run="r")
p.step(1, {"a": 1})
child = os.fork()
if child == 0:
    p.step(2, {"a": 1})
    p.close()
    os._exit(p.dropped)
_, status = os.waitpid(child, 0)
p.step(3, {"a": 1})
p.close()
print(os.waitstatus_to_exitcode(status), p.sent, p.dropped)
"""
    assert run_script(script, SENTINEL_URL=valkey_url).stdout.split() == ["1", "3", "0"]
    assert [one.step for one in events(valkey)[1:]] == [1, 3]


def test_what_is_queued_is_sent_at_the_end_of_the_process(valkey, valkey_url):
    script = "import sentinel; p = sentinel.Publisher(); p.step(1, {'a': 1})"
    done = run_script(script, SENTINEL_URL=valkey_url, SENTINEL_RUN="r")
    assert done.stderr == ""
    assert [one.run for one in events(valkey)] == ["r", "r"]


def test_the_process_ends_though_redis_is_away(tmp_path):
    script = "import sentinel; p = sentinel.Publisher(flush_timeout=0.2, run='r'); p.step(1, {'a': 1})"
    done = run_script(script, SENTINEL_URL=f"unix://{tmp_path}/none.sock")
    assert "Traceback" not in done.stderr


def test_secrets_in_the_configuration_stay_at_home(valkey, valkey_url):
    class Arguments:
        def to_dict(self):
            return {"hub_token": "s", "lr": 1e-6, "max_tokens": 5, "nested": {"api_key": "s", "a": [1, object]}}

    with Publisher(valkey_url, run="r", config=Arguments()):
        pass
    assert events(valkey)[0].config == {
        "lr": 1e-6,
        "max_tokens": 5,
        "nested": {"a": [1, "<class 'object'>"]},
    }


def test_a_configuration_that_is_too_large_is_left_out(valkey, valkey_url):
    with Publisher(valkey_url, run="r", config={f"k{n}": "x" * 900 for n in range(400)}, framework="trl"):
        pass
    assert (events(valkey)[0].config, events(valkey)[0].framework) == ({}, "trl")


def test_a_stopped_server_does_not_hold_the_training(tmp_path):
    server = EmbeddedServer.start(tmp_path)
    try:
        p = Publisher(server.url, run="r", flush_timeout=0.1)
        p.step(0, {"a": 1})
        assert p.flush(30)
        os.kill(server.pid, signal.SIGSTOP)
        for step in range(1000):
            p.step(step, {"a": 1})
        p.close()
        assert p.dropped == 1000
    finally:
        os.kill(server.pid, signal.SIGCONT)
        server.stop()


def test_the_version_is_that_of_the_distribution():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert sentinel.__version__ == project["version"]
    assert sentinel.__all__ == ["Publisher", "__version__"]
    with pytest.raises(AttributeError):
        _ = sentinel.Subscriber


def test_a_second_publisher_of_a_run_says_neither_that_it_starts_nor_that_it_ends(valkey, valkey_url):
    with Publisher(valkey_url, run="r", announce=False) as publisher:
        publisher.sample({"gpu.util": 93.0}, {"gpu": "3"})
    assert [event["type"] for event in raw_events(valkey)] == ["sample"]


def test_events_are_numbered_so_that_one_sent_twice_can_be_known(valkey, valkey_url):
    with Publisher(valkey_url, run="r") as publisher:
        publisher.step(1, {"kl": 0.1})
    sent = raw_events(valkey)
    assert [event["seq"] for event in sent] == [0, 1, 2]
    assert len({event["publisher"] for event in sent}) == 1


@pytest.mark.parametrize("timeout", [float("inf"), 1e300, -1.0, float("nan"), "x", None])
def test_no_timeout_raises_into_training(valkey, valkey_url, timeout):
    with Publisher(valkey_url, run="r", flush_timeout=5.0) as publisher:
        publisher.step(1, {"kl": 0.1})
        publisher.flush(timeout)


def test_an_endless_flush_timeout_is_fine(valkey, valkey_url):
    with Publisher(valkey_url, run="r", flush_timeout=float("inf")) as publisher:
        publisher.step(1, {"kl": 0.1})
    assert publisher.dropped == 0
