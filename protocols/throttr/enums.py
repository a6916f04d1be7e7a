"""The numbers of the document, named as it names them (sections "TTL Types" and "Request types")."""

from __future__ import annotations

from enum import IntEnum


class RequestType(IntEnum):
    """First byte of every request."""

    INSERT = 0x01
    QUERY = 0x02
    UPDATE = 0x03
    PURGE = 0x04
    SET = 0x05
    GET = 0x06
    LIST = 0x07
    INFO = 0x08
    STAT = 0x09
    STATS = 0x10
    SUBSCRIBE = 0x11
    UNSUBSCRIBE = 0x12
    PUBLISH = 0x13
    CONNECTIONS = 0x14
    CONNECTION = 0x15
    CHANNELS = 0x16
    CHANNEL = 0x17
    WHOAMI = 0x18
    EVENT = 0x19
    """Not in the document; profile 7.3.2 (T11, T36)."""


class TTLType(IntEnum):
    """The unit a TTL is counted in ("TTL Types")."""

    NANOSECONDS = 0x01
    MICROSECONDS = 0x02
    MILLISECONDS = 0x03
    SECONDS = 0x04
    MINUTES = 0x05
    HOURS = 0x06


NANOSECONDS_PER_UNIT = {
    TTLType.NANOSECONDS: 1,
    TTLType.MICROSECONDS: 1_000,
    TTLType.MILLISECONDS: 1_000_000,
    TTLType.SECONDS: 1_000_000_000,
    TTLType.MINUTES: 60_000_000_000,
    TTLType.HOURS: 3_600_000_000_000,
}


class Attribute(IntEnum):
    """What an UPDATE modifies ("UPDATE / Attribute")."""

    QUOTA = 0x00
    TTL = 0x01


class Change(IntEnum):
    """How an UPDATE modifies it ("UPDATE / Change type")."""

    PATCH = 0x00
    INCREASE = 0x01
    DECREASE = 0x02


class KeyType(IntEnum):
    """What a record is (T28)."""

    COUNTER = 0x00
    BUFFER = 0x01


class PushLead(IntEnum):
    """First byte of a pushed message (T11)."""

    MESSAGE = 0x03
    EVENT = 0x19
