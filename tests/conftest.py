"""A real Valkey server for the tests that need one: started once, emptied for each test."""

import os
import socket
from collections.abc import Iterator

import pytest
import redis
from hypothesis import settings

from sentinel.bus.embedded import EmbeddedServer

# How long an example takes is the machine's affair. In CI the examples are the same each time, so that a red run is
# about the change; new ones are looked for elsewhere.
settings.register_profile("sentinel", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "sentinel")


@pytest.fixture
def free_port() -> int:
    """A port of the loopback interface that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def valkey_server(tmp_path_factory) -> Iterator[EmbeddedServer]:
    with EmbeddedServer.start(tmp_path_factory.mktemp("valkey")) as server:
        yield server


@pytest.fixture
def valkey(valkey_server) -> Iterator[redis.Redis]:
    """A synchronous client of an empty server; `valkey.url` is in `valkey_url`."""
    with redis.Redis.from_url(valkey_server.url) as client:
        client.flushall()
        yield client


@pytest.fixture
def valkey_url(valkey, valkey_server) -> str:
    return valkey_server.url
