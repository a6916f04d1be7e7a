"""The numbers and words of the document, named as it names them."""

from __future__ import annotations

from enum import IntEnum


class FrameType(IntEnum):
    """The byte after the length of a frame."""

    ERROR = 0
    PING = 1
    MESSAGE = 2
    SUBSCRIBED = 3
    UNSUBSCRIBED = 4


class Replay(IntEnum):
    """From where a subscriber wants messages, in the order of the type."""

    FROM_BEGINNING = 0
    FROM_MESSAGE = 1
    FROM_CURRENT = 2


class Delivery(IntEnum):
    """Who gets a message of a queue."""

    BROADCAST = 0
    ROUND_ROBIN = 1


class Persistence(IntEnum):
    """Whether a queue is kept on disk."""

    TRANSIENT = 0
    PERSISTENT = 1


class Sync(IntEnum):
    """When a message of a persistent queue is written."""

    STRONG = 0
    WEAK = 1
    ASYNC = 2


VERSION, UNSUPPORTED = 1, -1
