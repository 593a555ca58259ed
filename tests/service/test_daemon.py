"""The daemon as a process, with a real Valkey, and a fake Slack where it is told: what an operator sees of it."""

from __future__ import annotations

import os
import re
import signal
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import redis
from daemon import DaemonProcess, settled, until

from sentinel import Publisher, wire
from sentinel.bus.embedded import EmbeddedServer
from sentinel.testing.fake_slack import FakeSlack

pytestmark = pytest.mark.process

RULES = """\
rules:
  - alert: kl-high
    symptom: kl-high
    critical: kl.ref > {limit}
    for: 2 steps
    summary: "KL is {{value:.3g}}"
"""

BAD_ENTRIES: dict[str, tuple[dict[bytes | str, bytes | str], str]] = {
    "no JSON": ({"event": "{not json"}, "bad-json"),
    "cut JSON": ({"event": '{"v":1,"type":"step","run":"r","st'}, "bad-json"),
    "not UTF-8": ({"event": b'{"run":"\xff\xfe"}'}, "bad-json"),
    "deep": ({"event": "[" * 100_000}, "bad-json"),
    "no payload": ({"color": "blue"}, "undecodable"),
    "a list": ({"event": "[1,2]"}, "bad-json"),
    "another version": ({"event": '{"v":2,"type":"step","run":"r","step":1,"metrics":{}}'}, "unknown-version"),
    "unknown type": ({"event": '{"type":"dance","run":"r"}'}, "unknown-type"),
    "no run": ({"event": '{"type":"step","step":1,"metrics":{}}'}, "missing-run"),
    "control characters": ({"run": "a\x1b[31m\r\n", "step": "1", "kl": "0.1"}, "bad-run"),
    "long run": ({"run": "r" * 10_000, "step": "1"}, "bad-run"),
    "no step": ({"event": '{"type":"step","run":"r","metrics":{"kl":1}}'}, "missing-step"),
    "half a step": ({"run": "r", "step": "3.5", "kl": "0.1"}, "bad-step"),
    "a step like the universe": ({"event": '{"run":"r","step":1e300,"metrics":{"kl":1}}'}, "bad-step"),
    "metrics that are a list": ({"event": '{"run":"r","step":1,"metrics":[1]}'}, "bad-metrics"),
    "10 MB": ({"event": b'{"run":"' + b"x" * 10_000_000 + b'"}'}, "too-large"),
    "too many metrics": ({f"m{index}": "1" for index in range(3000)} | {"run": "r", "step": "1"}, "too-many-metrics"),
    "no path": ({"event": '{"type":"checkpoint","run":"r","step":1}'}, "bad-field"),
}


def add(client: redis.Redis, run: str, step: int, **metrics: float) -> None:
    """One entry as a shell script would write it."""
    client.xadd(wire.events_key(0), {"run": run, "step": step, **metrics})


def trouble(client: redis.Redis, run: str = "r", first: int = 1) -> None:
    for step in range(first, first + 3):
        add(client, run, step, kl=0.9)


@pytest.fixture
async def slack() -> AsyncIterator[FakeSlack]:
    async with FakeSlack() as found:
        yield found


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(RULES.format(limit="0.5"))
    return path


# --- working -----------------------------------------------------------------------------------------------


async def test_with_nothing_configured_a_trainer_is_watched_and_its_alert_printed(tmp_path: Path) -> None:
    daemon = DaemonProcess(None, None, tmp_path / "log", SENTINEL_HTTP_PORT="0", SENTINEL_STATE_DIR=str(tmp_path / "s"))
    for name in ("SENTINEL_HTTP_ENABLED", "SENTINEL_SNAPSHOT_SECONDS", "SENTINEL_RULES"):
        del daemon.environment[name]
    async with daemon:
        url = (await until(lambda: re.search(r'Publisher\("(unix://[^"]+)"', daemon.output)))[1]
        with Publisher(url, run="my-run", framework="trl") as publisher:
            publisher.checkpoint(0, "out/checkpoint-0")
            for step in range(1, 8):
                publisher.step(step, {"kl": 9.0})
            publisher.flush(10.0)
            await until(lambda: "kl.ref" in daemon.output)
        assert "CRITICAL" in daemon.output
        assert "my-run" in daemon.output
        assert await daemon.get("/readyz") == (200, "ok\n")
        assert await daemon.stop() == 0
    assert not (tmp_path / "s" / "valkey.sock").exists()
    assert daemon.said("daemon.stopped")


async def test_entries_added_by_hand_in_the_flat_encoding_fire(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path, rules: Path
) -> None:
    async with DaemonProcess(valkey_url, None, tmp_path / "log", SENTINEL_RULES=str(rules)) as daemon:
        valkey.execute_command("XADD", "sentinel:{0}:events", "*", "run", "grpo-7b", "step", "120", "kl", "0.8")
        valkey.execute_command("XADD", "sentinel:{0}:events", "*", "run", "grpo-7b", "step", "121", "kl", "0.9")
        await until(lambda: "KL is 0.9" in daemon.output)
        assert await daemon.stop() == 0


async def test_without_a_receiver_it_says_so_and_watches_all_the_same(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path
) -> None:
    async with DaemonProcess(valkey_url, None, tmp_path / "log", SENTINEL_CONSOLE="false") as daemon:
        trouble(valkey)
        await daemon.wait_for("alert.fired")
        assert daemon.said("receivers.missing")
        assert await daemon.stop() == 0


async def test_bad_entries_are_set_aside_with_their_reasons_and_do_not_stop_the_line(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path
) -> None:
    async with DaemonProcess(
        valkey_url, None, tmp_path / "log", SENTINEL_HTTP_ENABLED="true", SENTINEL_HTTP_PORT="0"
    ) as daemon:
        for number, (fields, _) in enumerate(BAD_ENTRIES.values()):
            valkey.xadd(wire.events_key(0), fields)
            if number % 6 == 0:
                add(valkey, "good", number // 6 + 1, kl=0.9)
        await until(lambda: valkey.xlen(wire.rejected_key(0)) == len(BAD_ENTRIES))
        await until(lambda: "KL to the reference" in daemon.output)
        rows = [row for _, row in valkey.xrange(wire.rejected_key(0))]
        assert [row[b"reason"].decode() for row in rows] == [reason for _, reason in BAD_ENTRIES.values()]
        assert all(row[b"message"] and len(row[b"fields"]) <= 4096 for row in rows)
        _, metrics = await daemon.get("/metrics")
        assert 'sentinel_rejected_entries_total{reason="bad-run"} 2.0' in metrics
        # A flood of one kind is one line in ten seconds.
        reasons = [line["reason"] for line in daemon.said("entry.rejected")]
        assert sorted(reasons) == sorted({reason for _, reason in BAD_ENTRIES.values()})
        assert await daemon.stop() == 0
    assert "\x1b" not in daemon.log.read_text() + daemon.output


async def test_a_run_that_is_called_channel_pings_nobody(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path, slack: FakeSlack
) -> None:
    async with DaemonProcess(valkey_url, slack, tmp_path / "log") as daemon:
        trouble(valkey, "<!channel> <@U123> *x*")
        await until(lambda: slack.channel("rl-alerts"))
        await settled(valkey_url, valkey)
        assert await daemon.stop() == 0
    assert slack.pings == []
    assert "&lt;!channel&gt;" in slack.channel("rl-alerts")[0].text


# --- Slack that fails --------------------------------------------------------------------------------------

FAULTS: list[tuple[str, dict[str, str]]] = [
    ("429", {"retry_after": "1"}),
    ("ratelimited-in-200", {"retry_after": "1"}),
    ("500", {}),
    ("503", {}),
    ("drop-before", {}),
    ("drop-after", {}),
    ("garbage", {}),
    ("hang", {}),
]


async def test_however_slack_fails_the_channel_ends_as_if_it_had_not(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path
) -> None:
    base = int(time.time() * 1000) - 600_000

    async def channel(log: Path, *, failing: bool) -> list[object]:
        valkey.flushall()
        async with FakeSlack() as slack, DaemonProcess(valkey_url, slack, log) as daemon:
            for number, (kind, options) in enumerate(FAULTS):
                if failing:
                    slack.fail_next(kind, **options)  # type: ignore[arg-type]
                for step in range(1, 4):
                    row = {"run": f"run-{number}", "step": step, "kl": 0.9}
                    valkey.xadd(wire.events_key(0), row, id=f"{base + (10 * number + step) * 1000}-0")
                await settled(valkey_url, valkey)
            assert await daemon.stop() == 0
            assert slack.token not in log.read_text() + daemon.output
            return list(slack.transcript("rl-alerts"))

    calm = await channel(tmp_path / "calm", failing=False)
    assert len(calm) == len(FAULTS)
    assert await channel(tmp_path / "failing", failing=True) == calm


# --- stopping ----------------------------------------------------------------------------------------------


async def test_sigterm_ends_it_though_slack_hangs_and_the_message_is_told_once_after_the_next_start(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path, slack: FakeSlack
) -> None:
    slack.fail_next("hang", 100)
    async with DaemonProcess(valkey_url, slack, tmp_path / "log") as daemon:
        trouble(valkey)
        await until(lambda: slack.requests)
        assert await daemon.stop() == 0
        slack.mend()
        await daemon.start()
        await settled(valkey_url, valkey)
        assert await daemon.stop() == 0
    assert len(slack.channel("rl-alerts")) == 1


async def test_what_is_in_flight_when_sigterm_comes_is_committed(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path
) -> None:
    async with DaemonProcess(valkey_url, None, tmp_path / "log") as daemon:
        trouble(valkey)
        await daemon.wait_for("alert.fired")
        assert await daemon.stop() == 0
    last = valkey.xinfo_stream(wire.events_key(0))["last-generated-id"]
    assert valkey.hget(wire.state_key(0), "position") == last
    assert valkey.hget(wire.snapshot_key(0), "position") == last


async def test_a_second_interrupt_ends_it_at_once(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path, slack: FakeSlack
) -> None:
    slack.fail_next("hang", 100)
    async with DaemonProcess(valkey_url, slack, tmp_path / "log") as daemon:
        trouble(valkey)
        await until(lambda: slack.requests)
        daemon.send(signal.SIGINT)
        await daemon.wait_for("daemon.stopping")
        daemon.send(signal.SIGINT)
        assert await daemon.ended() == 130
    assert "Traceback" not in daemon.log.read_text()


async def test_systemd_hears_of_the_start_the_watchdog_and_the_end(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.bind(str(tmp_path / "n"))
        channel.setblocking(False)
        heard: list[str] = []

        def listen(word: str) -> bool:
            try:
                while True:
                    heard.append(channel.recv(4096).decode())
            except BlockingIOError:
                return any(message.startswith(word) for message in heard)

        async with DaemonProcess(
            valkey_url, None, tmp_path / "log", NOTIFY_SOCKET=str(tmp_path / "n"), WATCHDOG_USEC="400000"
        ) as daemon:
            await until(lambda: listen("WATCHDOG=1"))
            assert heard[0].startswith("READY=1\nSTATUS=watching, 5 rules")
            assert await daemon.stop() == 0
        assert listen("STOPPING=1")


# --- rules that change -------------------------------------------------------------------------------------


async def test_sighup_reads_the_rules_again_and_a_changed_file_needs_no_signal(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path, rules: Path
) -> None:
    rules.write_text(RULES.format(limit="100"))
    async with DaemonProcess(valkey_url, None, tmp_path / "log", SENTINEL_RULES=str(rules)) as daemon:
        daemon.send(signal.SIGHUP)
        await daemon.wait_for("rules.reloaded")
        rules.write_text(RULES.format(limit="0.5"))
        await daemon.wait_for("rules.reloaded", 2)
        trouble(valkey)
        await until(lambda: "KL is 0.9" in daemon.output)
        assert await daemon.stop() == 0


async def test_broken_rules_leave_the_old_ones_in_force_and_are_said(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path, rules: Path
) -> None:
    async with DaemonProcess(
        valkey_url,
        None,
        tmp_path / "log",
        SENTINEL_RULES=str(rules),
        SENTINEL_HTTP_ENABLED="true",
        SENTINEL_HTTP_PORT="0",
    ) as daemon:
        rules.write_text(RULES.format(limit="0.5 +"))
        daemon.send(signal.SIGHUP)
        (refused, *_) = await daemon.wait_for("rules.refused")
        assert re.fullmatch(r".*rules\.yaml:4:\d+", refused["place"])
        assert "sentinel_config_last_reload_successful 0.0" in (await daemon.get("/metrics"))[1]
        rules.write_text(RULES.format(limit="0.5 and mean(kl.ref, 300d) > 1"))
        daemon.send(signal.SIGHUP)
        await until(
            lambda: any("of each run, and 8 MiB are allowed" in str(line) for line in daemon.said("rules.refused"))
        )
        assert await daemon.get("/readyz") == (200, "ok\n")
        trouble(valkey)
        await until(lambda: "KL is 0.9" in daemon.output)
        rules.unlink()
        await until(lambda: any("no such file" in str(line) for line in daemon.said("rules.refused")))
        rules.write_text(RULES.format(limit="0.5"))
        await daemon.wait_for("rules.reloaded")
        assert "sentinel_config_last_reload_successful 1.0" in (await daemon.get("/metrics"))[1]
        assert await daemon.stop() == 0


async def test_the_same_file_a_changed_sentence_and_a_restart_send_nothing(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path, rules: Path, slack: FakeSlack
) -> None:
    async with DaemonProcess(valkey_url, slack, tmp_path / "log", SENTINEL_RULES=str(rules)) as daemon:
        trouble(valkey)
        await until(lambda: slack.channel("rl-alerts"))
        await settled(valkey_url, valkey)
        sent = len(slack.requests)
        daemon.send(signal.SIGHUP)
        await daemon.wait_for("rules.reloaded")
        rules.write_text(rules.read_text().replace("KL is", "The KL is"))
        await daemon.wait_for("rules.reloaded", 2)
        add(valkey, "r", 4, kl=0.95)
        await settled(valkey_url, valkey)
        assert await daemon.stop() == 0
        await daemon.start()
        add(valkey, "r", 5, kl=0.95)
        await settled(valkey_url, valkey)
        await daemon.kill()
        await daemon.start()
        add(valkey, "r", 6, kl=0.95)
        await settled(valkey_url, valkey)
        assert await daemon.stop() == 0
    assert [request.method for request in slack.requests[sent:]] == []
    (message,) = slack.channel("rl-alerts")
    assert "KL is 0.9" in message.text


async def test_an_alert_whose_rule_changes_while_it_is_down_ends_as_removed(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path, rules: Path, slack: FakeSlack
) -> None:
    async with DaemonProcess(valkey_url, slack, tmp_path / "log", SENTINEL_RULES=str(rules)) as daemon:
        trouble(valkey)
        await until(lambda: slack.channel("rl-alerts"))
        await settled(valkey_url, valkey)
        assert await daemon.stop() == 0
        rules.write_text(RULES.format(limit="5"))
        await daemon.start()
        (message,) = slack.channel("rl-alerts")
        await until(lambda: any("its rule was removed" in reply.text for reply in message.thread))
        assert await daemon.stop() == 0


# --- a start that fails ------------------------------------------------------------------------------------


async def failed(daemon: DaemonProcess) -> tuple[int, str]:
    """Exit code and stderr of a daemon that is expected to end by itself."""
    async with daemon:
        return await daemon.ended(), daemon.log.read_text()


class Doomed(DaemonProcess):
    async def __aenter__(self) -> DaemonProcess:
        await self.start(wait=False)
        return self


async def test_a_bad_configuration_exits_78_with_file_line_and_column(tmp_path: Path) -> None:
    config = tmp_path / "sentinel.yaml"
    config.write_text("redis:\n  ulr: redis://h\nconsole: maybe\n")
    daemon = Doomed(None, None, tmp_path / "log")
    daemon.arguments = ["--config", str(config)]
    code, told = await failed(daemon)
    assert code == 78
    assert f"{config}:2:3: error[unknown-key]: there is no key 'ulr' here" in told
    assert "did you mean 'url'?" in told
    assert f"{config}:3:10: error[wrong-type]" in told
    assert "Traceback" not in told


async def test_bad_rules_exit_78_with_file_line_and_column(tmp_path: Path, rules: Path) -> None:
    rules.write_text(RULES.format(limit="mean(kl.rf, 3 steps)"))
    code, told = await failed(Doomed(None, None, tmp_path / "log", SENTINEL_RULES=str(rules)))
    assert code == 78
    assert f"{rules}:4:29: error[unknown-metric]" in told
    assert "did you mean 'kl.ref'?" in told


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"SENTINEL_RULES": "/nowhere/rules.yaml"}, "the rules cannot be read: no such file: /nowhere/rules.yaml"),
        ({"SENTINEL_REDIS_URL": "nonsense"}, "this is no Redis URL"),
        ({"SENTINEL_HTTP_PORT": "many"}, "SENTINEL_HTTP_PORT: "),
        ({"SENTINEL_SLACK_CHANNEL": "#c"}, "there is no bot token"),
    ],
)
async def test_each_wrong_setting_exits_78_with_the_remedy(
    tmp_path: Path, settings: dict[str, str], words: str
) -> None:
    code, told = await failed(Doomed(None, None, tmp_path / "log", **settings))
    assert code == 78
    assert words in told
    assert "Traceback" not in told


async def test_a_port_that_is_taken_exits_78(valkey: redis.Redis, valkey_url: str, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        daemon = Doomed(valkey_url, None, tmp_path / "log", SENTINEL_HTTP_ENABLED="true", SENTINEL_HTTP_PORT=port)
        code, told = await failed(daemon)
    assert code == 78
    assert f"cannot listen on 127.0.0.1:{port}" in told
    assert "set http.port" in told


async def test_redis_that_does_not_come_is_awaited_with_a_clear_message_and_then_exit_75(tmp_path: Path) -> None:
    daemon = Doomed(f"unix://{tmp_path}/none.sock", None, tmp_path / "log", SENTINEL_REDIS_START_TIMEOUT="0.5")
    code, told = await failed(daemon)
    assert code == 75
    assert len(daemon.said("redis.awaited")) >= 2
    assert daemon.said("redis.awaited")[0]["reason"] == "there is no socket at this path; is Redis running?"
    assert "sentinel: there is no socket at this path; is Redis running?" in told
    assert "Traceback" not in told


async def test_sigterm_ends_the_waiting_for_redis(tmp_path: Path) -> None:
    async with Doomed(f"unix://{tmp_path}/none.sock", None, tmp_path / "log") as daemon:
        await daemon.wait_for("redis.awaited", 3)
        assert await daemon.stop() == 0
    assert "Traceback" not in daemon.log.read_text()


# --- Redis that comes and goes -----------------------------------------------------------------------------


async def test_a_redis_that_dies_and_comes_back_costs_nothing(tmp_path: Path, slack: FakeSlack) -> None:
    folder = tmp_path / "v"
    server = EmbeddedServer.start(folder)
    try:
        daemon = DaemonProcess(
            server.url, slack, tmp_path / "log", SENTINEL_HTTP_ENABLED="true", SENTINEL_HTTP_PORT="0"
        )
        async with daemon:
            with redis.Redis.from_url(server.url) as client:
                add(client, "r", 1, kl=0.9)
                add(client, "r", 2, kl=0.9)
                last = client.xinfo_stream(wire.events_key(0))["last-generated-id"]
                await until(lambda: client.hget(wire.state_key(0), "position") == last)
            os.kill(server.pid, signal.SIGKILL)
            await daemon.wait_for("bus.failed")
            status, reason = await daemon.get("/readyz")
            assert (status, bool(reason.strip())) == (503, True)
            assert await daemon.get("/healthz") == (200, "ok\n")
            server.stop()
            server = EmbeddedServer.start(folder)
            with redis.Redis.from_url(server.url) as client:
                await daemon.wait_for("bus.recovered")
                assert await daemon.get("/readyz") == (200, "ok\n")
                # The third of three steps: the two before the crash are remembered.
                add(client, "r", 3, kl=0.9)
                await until(lambda: slack.channel("rl-alerts"))
                add(client, "r", 4, kl=0.01)
                await settled(server.url, client)
            assert await daemon.stop() == 0
        assert len(slack.channel("rl-alerts")) == 1
        assert "resolved" in slack.channel("rl-alerts")[0].thread[-1].text
    finally:
        server.stop()


async def test_a_redis_that_comes_late_is_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "v"
    async with Doomed(f"unix://{folder}/valkey.sock", None, tmp_path / "log") as daemon:
        await daemon.wait_for("redis.awaited")
        with EmbeddedServer.start(folder) as server, redis.Redis.from_url(server.url) as client:
            await daemon.wait_for("daemon.started")
            trouble(client)
            await until(lambda: "KL to the reference" in daemon.output)
            assert await daemon.stop() == 0


async def test_while_redis_refuses_writes_it_reads_on_and_says_so(
    valkey: redis.Redis, valkey_url: str, tmp_path: Path
) -> None:
    async with DaemonProcess(
        valkey_url, None, tmp_path / "log", SENTINEL_HTTP_ENABLED="true", SENTINEL_HTTP_PORT="0"
    ) as daemon:
        add(valkey, "r", 1, kl=0.9)
        add(valkey, "r", 2, kl=0.9)
        last = valkey.xinfo_stream(wire.events_key(0))["last-generated-id"]
        await until(lambda: valkey.hget(wire.state_key(0), "position") == last)
        # One transaction, so that the entry is there and nothing can be written any more when the daemon sees it.
        with valkey.pipeline(transaction=True) as together:
            together.xadd(wire.events_key(0), {"run": "r", "step": 3, "kl": 0.9})
            together.config_set("maxmemory", "1")
            together.execute()
        try:
            await daemon.wait_for("alert.fired")
            await daemon.wait_for("commit.failed")
            status, reason = await daemon.get("/readyz")
            assert status == 503
            assert "out of memory" in reason
            assert await daemon.get("/healthz") == (200, "ok\n")
        finally:
            valkey.config_set("maxmemory", "0")
        await until(lambda: "KL to the reference" in daemon.output)
        await settled(valkey_url, valkey)
        assert await daemon.get("/readyz") == (200, "ok\n")
        assert await daemon.stop() == 0
