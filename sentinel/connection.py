"""A connection to Redis: how the daemon opens one, and what its errors mean to an operator.

No automatic retry, on purpose: redis-py's default retry sends a blocking XREAD again after its answer was cut off,
and the entries of that answer are lost without an error. Whoever called decides what to do again.
"""

from __future__ import annotations

import socket
import ssl

from redis import exceptions
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from sentinel.errors import BusUnavailable, ConfigError

LONGEST_BLOCK_SECONDS = 5.0
"""A blocking read lasts no longer, so that a connection that died is noticed within SOCKET_TIMEOUT_SECONDS."""

SOCKET_TIMEOUT_SECONDS = LONGEST_BLOCK_SECONDS + 5.0

BAD_URL = (
    "this is no Redis URL; write redis://host:6379/0, rediss://user:password@host:6379/0 (a / in a password is %2F) "
    "or unix:///path"
)

CONNECTION_ERRORS = (exceptions.RedisError, OSError)
"""What a command can raise; `explain` puts each into words."""


def connect(url: str) -> Redis:
    """A client for `redis://`, `rediss://` or `unix://` URLs that answers in bytes. Connects on first use.

    Raises ConfigError for a URL that is none.
    """
    # redis-py's connection over a unix socket does not know the option.
    keepalive = {} if url.startswith("unix:") else {"socket_keepalive": True}
    try:
        client = Redis.from_url(
            url,
            socket_timeout=SOCKET_TIMEOUT_SECONDS,
            socket_connect_timeout=5.0,
            **keepalive,
            retry=Retry(NoBackoff(), 0),
            # Plain arrays are what the reader parses; RESP3 measured no faster.
            protocol=2,
        )
        # Options that no connection takes are found out only when one is made.
        pool = client.connection_pool
        pool.connection_class(**pool.connection_kwargs)
    except (ValueError, TypeError):
        # What is wrong is not repeated: the parser's words can hold a part of the password.
        raise ConfigError(BAD_URL) from None
    return client


# What the server's refusals begin with, and what the operator can do. The first match counts.
_REFUSALS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("LOADING",), "is still loading its data; wait, it will answer by itself"),
    (
        ("NOAUTH", "WRONGPASS", "AUTHENTICATION", "INVALID USERNAME", "INVALID PASSWORD"),
        "refuses the credentials; check user and password in the URL",
    ),
    (("NOPERM", "NO PERMISSIONS"), "does not permit a command; give this user rights on the keys sentinel:*"),
    (("WRONGTYPE",), "holds another kind of value under one of our keys; find and move the foreign sentinel:* key"),
    (("OOM", "COMMAND NOT ALLOWED WHEN USED MEMORY"), "is out of memory; raise maxmemory or trim streams"),
    (("MISCONF",), "cannot write to its disk and refuses writes; free its disk"),
    (("READONLY", "YOU CAN'T WRITE AGAINST A READ ONLY"), "is a read-only replica; point the URL at the primary"),
    (("BUSY",), "is blocked by a script; end it with SCRIPT KILL"),
    (("MAX NUMBER OF CLIENTS",), "has no connection left; raise maxclients or close idle clients"),
    (("MOVED", "ASK", "CLUSTERDOWN", "CROSSSLOT"), "is a cluster node that does not hold this slot; check the cluster"),
    (("NOREPLICAS",), "has too few replicas in step and refuses writes; bring a replica back"),
    (("UNKNOWN COMMAND",), "lacks a command; Redis 6.2 or newer is needed"),
    (("UNKNOWN VERSION", "NO SUCH KEY"), "lost a key that was there; look for FLUSHALL or an eviction"),
)


def explain(error: BaseException) -> str:
    """One line: what is wrong with Redis, and the remedy. Never holds the URL, which may hold a password."""
    text = " ".join(str(error).split())[:200]
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ConnectionRefusedError):
            return "Redis refuses the connection; is it running at this address?"
        if isinstance(cause, FileNotFoundError):
            return "there is no socket at this path; is Redis running?"
        if isinstance(cause, PermissionError):
            return "this user may not open the socket of Redis; check its permissions"
        if isinstance(cause, socket.gaierror):
            return "the host name of Redis cannot be resolved; check the URL"
        if isinstance(cause, ssl.SSLError):
            return f"TLS with Redis failed ({text}); check rediss:// and the certificates"
        cause = cause.__cause__ or cause.__context__
    upper = text.upper()
    kind = type(error).__name__
    if isinstance(error, exceptions.BusyLoadingError):
        upper = "LOADING " + upper
    elif isinstance(error, exceptions.AuthenticationError):
        upper = "NOAUTH " + upper
    elif isinstance(error, exceptions.ReadOnlyError):
        upper = "READONLY " + upper
    elif isinstance(error, exceptions.OutOfMemoryError):
        upper = "OOM " + upper
    elif isinstance(error, exceptions.NoPermissionError):
        upper = "NOPERM " + upper
    for words, remedy in _REFUSALS:
        # A word at the start, or right after redis-py's "Command # 1 (...) of pipeline caused error: ".
        if any(upper.startswith(word) or f": {word}" in upper or (" " in word and word in upper) for word in words):
            return f"Redis {remedy} ({text})"
    if isinstance(error, exceptions.TimeoutError | TimeoutError):
        return "Redis does not answer in time; check its load and the network"
    if isinstance(error, exceptions.ConnectionError | OSError):
        return f"the connection to Redis is lost or cannot be made ({text or kind})"
    return f"Redis refuses a command ({text or kind})"


def unavailable(error: BaseException) -> BusUnavailable:
    """The same as an exception, for `raise unavailable(error) from error`."""
    return BusUnavailable(explain(error))
