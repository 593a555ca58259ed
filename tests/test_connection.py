import ssl

import pytest
from redis import exceptions

from sentinel.connection import explain, unavailable


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionRefusedError(111, "refused"), "is it running"),
        (exceptions.BusyLoadingError("Redis is loading the dataset in memory"), "still loading"),
        (exceptions.AuthenticationError("WRONGPASS invalid username-password pair"), "credentials"),
        (exceptions.ResponseError("NOAUTH Authentication required."), "credentials"),
        (exceptions.NoPermissionError("User x has no permissions to run the 'xread' command"), "does not permit"),
        (exceptions.ResponseError("WRONGTYPE Operation against a key"), "another kind of value"),
        (exceptions.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), "out of memory"),
        (exceptions.ResponseError("MISCONF Redis is configured to save RDB snapshots"), "disk"),
        (exceptions.ReadOnlyError("You can't write against a read only replica."), "read-only replica"),
        (exceptions.ResponseError("BUSY Redis is busy running a script."), "SCRIPT KILL"),
        (exceptions.ConnectionError("max number of clients reached"), "maxclients"),
        (exceptions.ResponseError("Command # 1 (X) of pipeline caused error: OOM command not"), "out of memory"),
        (exceptions.ResponseError("unknown command 'XADD'"), "6.2"),
        (exceptions.TimeoutError("Timeout reading from socket"), "in time"),
        (exceptions.ConnectionError("Connection closed by server."), "lost"),
        (ssl.SSLError("bad handshake"), "TLS"),
        (exceptions.ResponseError("ERR something new"), "something new"),
        (exceptions.ResponseError("two\nlines"), "two lines"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_each_fault_of_redis_is_one_line_with_its_remedy(error, words):
    text = explain(error)
    assert words in text
    assert text.isprintable()
    assert str(unavailable(error)) == text


def test_the_cause_beneath_an_error_counts():
    error = exceptions.ConnectionError("Error 2 connecting")
    error.__cause__ = FileNotFoundError(2, "No such file")
    assert "no socket at this path" in explain(error)
