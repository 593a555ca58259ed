import pytest
from click.testing import CliRunner

from sentinel import wire
from sentinel.cli.publish import publish
from sentinel.decode import decode
from sentinel.events import Checkpoint, Heartbeat, RunStarted, Sample, StepMetrics


def call(*arguments, **environment):
    return CliRunner().invoke(publish, list(arguments), env={"SENTINEL_URL": None, "SENTINEL_RUN": None, **environment})


def only_event(client, partition=0):
    [(entry_id, fields)] = client.xrange(wire.events_key(partition))
    return entry_id.decode(), decode(fields, position="", time=None).event


def test_a_step_is_published_and_its_id_printed(valkey, valkey_url):
    done = call("--run", "grpo-7b", "--step", "120", "kl=0.04", "loss=nan", "gpu.util{gpu=3}=93", "--url", valkey_url)
    assert (done.exit_code, done.stderr) == (0, "")
    entry_id, event = only_event(valkey)
    assert done.stdout == entry_id + "\n"
    assert isinstance(event, StepMetrics)
    assert (event.run, event.step) == ("grpo-7b", 120)
    assert event.metrics["kl"] == 0.04
    assert event.metrics["gpu.util{gpu=3}"] == 93.0


def test_url_and_run_come_from_the_environment(valkey, valkey_url):
    assert call("--step", "1", SENTINEL_URL=valkey_url, SENTINEL_RUN="r").exit_code == 0
    assert only_event(valkey)[1].run == "r"


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["--type", "checkpoint", "--step", "100", "--path", "out/checkpoint-100"], Checkpoint),
        (["--type", "heartbeat"], Heartbeat),
        (["--type", "sample", "gpu.util=93", "--label", "gpu=3"], Sample),
        (["--type", "run_started", "--framework", "trl", "--framework-version", "0.23", "--attempt", "2"], RunStarted),
    ],
)
def test_other_types(valkey, valkey_url, arguments, kind):
    done = call("--run", "r", *arguments, "--url", valkey_url)
    assert done.exit_code == 0, done.stderr
    assert isinstance(only_event(valkey)[1], kind)


def test_json_is_sent_as_it_is_to_the_runs_partition(valkey, valkey_url):
    valkey.set(wire.PARTITIONS_KEY, 8)
    text = '{"v":1,"type":"step","run":"grpo-7b","step":3,"metrics":{"kl":NaN}}'
    assert call("--json", text, "--url", valkey_url).exit_code == 0
    [(_, fields)] = valkey.xrange(wire.events_key(6))
    assert fields == {b"event": text.encode()}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--step", "1", "kl=1"], "names no run"),
        (["--run", "r", "kl=1"], "names no step"),
        (["--run", "r", "--step", "1.5", "kl=1"], "whole number"),
        (["--run", "r", "--step", "1", "kl"], "NAME=VALUE"),
        (["--run", "r", "--step", "1", "kl=high"], "metric 'kl': not a number"),
        (["--run", "r", "--type", "checkpoint", "--step", "1"], "no 'path'"),
        (["--run", "r", "--type", "phase", "--name", "x", "kl=1"], "has no metrics"),
        (["--run", "r", "--type", "nonsense"], "is not one of"),
        (["--run", "r", "--type", "sample", "a=1", "--label", "x"], "--label is written"),
        (["--json", "{"], "bad-json"),
        (["--json", '{"type":"heartbeat","run":"r"}', "kl=1"], "leave the other options"),
        (["--run", "r", "--step", "1", "--url", "http://x"], "no Redis URL"),
    ],
)
def test_a_wrong_call_exits_2_and_sends_nothing(valkey, valkey_url, arguments, words):
    done = call(*arguments, SENTINEL_URL=valkey_url)
    assert done.exit_code == 2
    assert words in done.stderr
    assert done.stdout == ""
    assert not valkey.exists(wire.events_key(0))


def test_redis_out_of_reach_exits_75_with_the_remedy(tmp_path):
    done = call("--run", "r", "--step", "1", "--url", f"unix://{tmp_path}/none.sock")
    assert done.exit_code == 75
    assert done.stderr == "sentinel publish: there is no socket at this path; is Redis running?\n"
    assert call("--run", "r", "--step", "1", "--url", "redis://127.0.0.1:1/0").exit_code == 75


@pytest.mark.parametrize("url", ["redis://:tops3cretpw/x@127.0.0.1:1/0", "redis://h/0?foo=x", "http://h"])
def test_a_url_that_is_none_is_a_usage_error_and_never_shows_a_password(url):
    done = call("--run", "r", "--step", "1", "kl=1", "--url", url)
    assert done.exit_code == 2
    assert "no Redis URL" in done.stderr
    assert "tops3cret" not in done.output
