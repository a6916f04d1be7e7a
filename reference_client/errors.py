"""What a client raises, and nothing else for what can go wrong between it and a server."""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "BadReplyError",
    "BadRequestError",
    "ClientError",
    "ClosedError",
    "DeadlineError",
    "RefusedError",
    "TooLongError",
    "TooWideError",
    "UnsupportedError",
]


class ClientError(Exception):
    """Base of all; `kind` is the word a driver tells it by."""

    kind: ClassVar[str] = "other"


class ClosedError(ClientError, ConnectionError):
    """Raised when there is no connection to use: nobody listens, it was closed, or it was lost with calls waiting."""

    kind = "closed"


class DeadlineError(ClientError, TimeoutError):
    """Raised when nothing came in time; the reply may still come and is dropped then."""

    kind = "timeout"


class BadReplyError(ClientError):
    """Raised when the server sent what cannot be read; the connection is closed, for nothing after it can be framed."""

    kind = "protocol"


class RefusedError(ClientError):
    """Raised when the server answered 00 where an answer was asked for that has no other way to be absent."""


class BadRequestError(ClientError, ValueError):
    """Raised, before a byte is sent, for values that no request can carry."""

    kind = "refused"


class TooWideError(BadRequestError):
    """Raised, before a byte is sent, for a number that the field cannot hold."""

    kind = "too_wide"


class TooLongError(BadRequestError):
    """Raised, before a byte is sent, for bytes whose size does not fit in the field that tells it."""

    kind = "too_long"


class UnsupportedError(BadRequestError):
    """Raised, before a byte is sent, for a request that the profile does not have."""

    kind = "unsupported"
