"""What people have said, in Redis: two hashes that the command line and Slack write and every daemon reads."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, TypeVar

import msgspec
import structlog
from redis.asyncio import Redis

from sentinel import wire
from sentinel.alerts.people import Acknowledgement, People, Silence
from sentinel.connection import CONNECTION_ERRORS, unavailable

KEPT_SECONDS = 5 * 86400.0
"""How long an expired silence can still be looked up; Alertmanager's `--data.retention` is 120 h."""

_T = TypeVar("_T")

_encode = msgspec.json.Encoder().encode
_silences = msgspec.json.Decoder(Silence)
_acks = msgspec.json.Decoder(Acknowledgement)

log = structlog.get_logger(__name__)


class PeopleStore:
    """`client` comes from `sentinel.connection.connect`. Every method raises BusUnavailable and nothing else."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self._unreadable: set[bytes] = set()

    async def read(self) -> People:
        """All silences, expired ones too, in order of their beginning, and all acknowledgements."""
        silences = await self._read(wire.SILENCES_KEY, _silences)
        acks = await self._read(wire.ACKS_KEY, _acks)
        ordered = sorted(silences.values(), key=lambda one: (one.starts, one.id))
        return People(tuple(ordered), acks)

    async def silence(self, silence: Silence) -> None:
        await self._ask(self._client.hset(wire.SILENCES_KEY, silence.id, _encode(silence)))

    async def expire(self, silence_id: str, now: float) -> Silence | None:
        """End a silence now. None when there is none of this id; one that has ended stays as it is."""
        raw = await self._ask(self._client.hget(wire.SILENCES_KEY, silence_id))
        if raw is None:
            return None
        try:
            silence = _silences.decode(raw)
        except msgspec.MsgspecError:
            # Nobody can read it, so nobody heeds it.
            await self._ask(self._client.hdel(wire.SILENCES_KEY, silence_id))
            return None
        if silence.ends > now:
            silence = msgspec.structs.replace(silence, ends=now)
            await self.silence(silence)
        return silence

    async def acknowledge(self, ack: Acknowledgement) -> bool:
        """False when somebody has done so before; the first one stays."""
        return bool(await self._ask(self._client.hsetnx(wire.ACKS_KEY, ack.incident, _encode(ack))))

    async def unacknowledge(self, incident: str) -> bool:
        """False when it was not acknowledged."""
        return bool(await self._ask(self._client.hdel(wire.ACKS_KEY, incident)))

    async def forget(self, now: float) -> None:
        """Drop silences that expired long ago."""
        for silence in (await self.read()).silences:
            if silence.ends < now - KEPT_SECONDS:
                await self._ask(self._client.hdel(wire.SILENCES_KEY, silence.id))

    async def _read(self, key: str, decoder: msgspec.json.Decoder[_T]) -> dict[str, _T]:
        raw: dict[Any, Any] = await self._ask(self._client.hgetall(key))
        sound: dict[str, _T] = {}
        for name, value in raw.items():
            try:
                sound[name.decode()] = decoder.decode(value)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                if name not in self._unreadable:
                    self._unreadable.add(name)
                    log.error("people.unreadable", key=key, field=repr(name)[2:-1], reason=str(error))
        return sound

    async def _ask(self, command: Awaitable[Any]) -> Any:
        try:
            return await command
        except CONNECTION_ERRORS as error:
            raise unavailable(error) from error
