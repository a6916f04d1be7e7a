"""The peers the codec is measured against by hand: what one would write for this stream with `struct` and a dict.

It reads and builds the same message objects as the codec, under 7.1.0 and uint16, for the eight request types of the
stream; nothing of the codec but its message classes is used.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from wireproof.protocols.messages import Request
from wireproof.protocols.throttr.requests import Get, Insert, Publish, Purge, Query, Set, Stat, Update

Decode = Callable[[bytes, int, int], tuple[Request | None, int]]

INSERT, KEYED, UPDATE, SET, PUBLISH = (Struct(code) for code in ("<xHBHB", "<xB", "<xBBHB", "<xBHBB", "<xBH"))
PACK_INSERT, PACK_KEYED, PACK_UPDATE = Struct("<BHBHB").pack, Struct("<BB").pack, Struct("<BBBHB").pack
PACK_SET, PACK_PUBLISH = Struct("<BBHBB").pack, Struct("<BBH").pack


def decode_insert(data: bytes, at: int, end: int) -> tuple[Request | None, int]:
    if at + 7 > end:
        return None, at
    quota, ttl_type, ttl, size = INSERT.unpack_from(data, at)
    stop = at + 7 + size
    if stop > end:
        return None, at
    return Insert(quota, ttl_type, ttl, data[at + 7 : stop]), stop


def decode_update(data: bytes, at: int, end: int) -> tuple[Request | None, int]:
    if at + 6 > end:
        return None, at
    attribute, change, value, size = UPDATE.unpack_from(data, at)
    stop = at + 6 + size
    if stop > end:
        return None, at
    return Update(attribute, change, value, data[at + 6 : stop]), stop


def decode_set(data: bytes, at: int, end: int) -> tuple[Request | None, int]:
    if at + 6 > end:
        return None, at
    ttl_type, ttl, key_size, value_size = SET.unpack_from(data, at)
    middle = at + 6 + key_size
    stop = middle + value_size
    if stop > end:
        return None, at
    return Set(ttl_type, ttl, data[at + 6 : middle], data[middle:stop]), stop


def decode_publish(data: bytes, at: int, end: int) -> tuple[Request | None, int]:
    if at + 4 > end:
        return None, at
    channel_size, payload_size = PUBLISH.unpack_from(data, at)
    middle = at + 4 + channel_size
    stop = middle + payload_size
    if stop > end:
        return None, at
    return Publish(data[at + 4 : middle], data[middle:stop]), stop


def keyed(message: Callable[[bytes], Request]) -> Decode:
    def decode(data: bytes, at: int, end: int) -> tuple[Request | None, int]:
        if at + 2 > end:
            return None, at
        (size,) = KEYED.unpack_from(data, at)
        stop = at + 2 + size
        if stop > end:
            return None, at
        return message(data[at + 2 : stop]), stop

    return decode


DECODERS: dict[int, Decode] = {
    0x01: decode_insert,
    0x02: keyed(Query),
    0x03: decode_update,
    0x04: keyed(Purge),
    0x05: decode_set,
    0x06: keyed(Get),
    0x09: keyed(Stat),
    0x13: decode_publish,
}


class HandDecoder:
    """Chunks in, lists of messages out; keeps the unfinished end of a chunk."""

    def __init__(self) -> None:
        self.rest = b""

    def feed(self, chunk: bytes) -> list[Request]:
        data = self.rest + chunk if self.rest else chunk
        at, end, found = 0, len(data), []
        while at < end:
            decode = DECODERS.get(data[at])
            if decode is None:
                raise ValueError(f"unknown request type {data[at]:02x} at {at}")
            message, stop = decode(data, at, end)
            if message is None:
                break
            found.append(message)
            at = stop
        self.rest = data[at:]
        return found


def encode_insert(m: Insert) -> bytes:
    return PACK_INSERT(1, m.quota, m.ttl_type, m.ttl, len(m.key)) + m.key


def encode_update(m: Update) -> bytes:
    return PACK_UPDATE(3, m.attribute, m.change, m.value, len(m.key)) + m.key


def encode_set(m: Set) -> bytes:
    return PACK_SET(5, m.ttl_type, m.ttl, len(m.key), len(m.value)) + m.key + m.value


def encode_publish(m: Publish) -> bytes:
    return PACK_PUBLISH(0x13, len(m.channel), len(m.payload)) + m.channel + m.payload


ENCODERS: dict[type, Callable[..., bytes]] = {
    Insert: encode_insert,
    Query: lambda m: PACK_KEYED(2, len(m.key)) + m.key,
    Update: encode_update,
    Purge: lambda m: PACK_KEYED(4, len(m.key)) + m.key,
    Set: encode_set,
    Get: lambda m: PACK_KEYED(6, len(m.key)) + m.key,
    Stat: lambda m: PACK_KEYED(9, len(m.key)) + m.key,
    Publish: encode_publish,
}


def hand_encode(messages: list[Request]) -> bytes:
    return b"".join([ENCODERS[type(message)](message) for message in messages])
