"""The numbers of the document, named as it names them; those of the released servers are in `profiles.py`."""

from __future__ import annotations

from enum import IntEnum


class FrameType(IntEnum):
    """The lower six bits of a frame ("Message Types", E1)."""

    CUSTOM = 0x00
    TERMINATE = 0x08
    PING = 0x09
    PONG = 0x0A
    SERVER = 0x10
    QUEUE_MESSAGE = 0x11
    DIRECT = 0x12
    ACKNOWLEDGE = 0x13
    RESPONSE = 0x14
    PULL = 0x15
    EVENT = 0x16
    ROUTER = 0x17


class ResultCode(IntEnum):
    """What the content type of a response says ("Response Messages"); a server greets with 202 (E8)."""

    OK = 0
    FAILED = 1
    ACCEPTED = 202
    BAD_REQUEST = 400
    UNAUTHORIZED = 401
    NOT_FOUND = 404
    UNACCEPTABLE = 406
    DUPLICATE = 481
    LIMIT_EXCEEDED = 482
    BUSY = 503
    SEND_ERROR = 581


class QueueStatus(IntEnum):
    """The states of a queue ("Channel Queue Options")."""

    BROADCAST = 0
    PUSH = 1
    ROUND_ROBIN = 2
    PULL = 3
    CACHE = 4
    PAUSED = 5
    STOPPED = 6


VERSION, OLD_VERSION = b"TMQP/2.0", b"TMQ/1.01"
HELLO = 101
"""The content type of the first frame (E7)."""
UNSUBSCRIBE, SUBSCRIBE = 0, 1
DEFAULT_TTL, LONGEST_TTL = 16, 31
"""Hops of a message; one that arrives with none left is dropped (E36)."""
