"""`sentinel alerts` over what a Redis holds."""

from __future__ import annotations

import msgspec
import redis
from click.testing import CliRunner

from sentinel import wire
from sentinel.alerts.notification import Notification
from sentinel.cli.main import main
from sentinel.store.ledger import StoredRow


def test_an_open_incident_is_shown_and_that_it_waits(valkey_url: str) -> None:
    note = Notification("i1", "r\x1b1", 1, "firing", "critical", "kl is high", 9, None, 7, 2, None, (), ())
    with redis.Redis.from_url(valkey_url) as client:
        client.hset(wire.outbox_key(0), "i1|slack", msgspec.json.encode(StoredRow(1, "slack", note)))
    result = CliRunner().invoke(main, ["alerts", "--url", valkey_url])
    assert result.exit_code == 0, result.output
    assert "critical r\\x1b1: kl is high (since step 7)" in result.output
    assert "slack: waiting in the outbox" in result.output


def test_an_empty_outbox_does_not_claim_that_a_daemon_runs(valkey_url: str) -> None:
    result = CliRunner().invoke(main, ["alerts", "--url", valkey_url])
    assert result.exit_code == 0
    assert "does not show that a daemon is running" in result.output
