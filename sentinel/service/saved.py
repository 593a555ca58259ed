"""What a partition's snapshot holds: the engine's state, and the incidents that were told."""

from __future__ import annotations

import msgspec

from sentinel.errors import SnapshotError


class Saved(msgspec.Struct):
    """Both as the bytes that they make of themselves."""

    engine: bytes
    incidents: bytes


def encode_saved(saved: Saved) -> bytes:
    return _encoder.encode(saved)


def decode_saved(data: bytes) -> Saved:
    """Raises SnapshotError."""
    try:
        return _decoder.decode(data)
    except msgspec.DecodeError as error:
        raise SnapshotError(f"the snapshot cannot be read: {error}") from error


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Saved)
