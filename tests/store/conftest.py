import pytest

from sentinel.connection import connect


@pytest.fixture
async def client(valkey_url):
    client = connect(valkey_url)
    yield client
    await client.aclose()
