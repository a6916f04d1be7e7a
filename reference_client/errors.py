"""What a client raises, and nothing else for what can go wrong between it and a server."""

from __future__ import annotations

from typing import ClassVar

from wireproof.protocols.messages import Reply

__all__ = [
    "AccessError",
    "BadReplyError",
    "BadRequestError",
    "ClientError",
    "ClosedError",
    "DeadlineError",
    "RefusedError",
    "TooLongError",
    "TooWideError",
    "UnsupportedError",
    "UntrustedError",
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
    """Raised when the server does not do what it was asked; the connection can be used on."""

    kind = "refused"

    def __init__(self, told: str, reply: Reply | None = None) -> None:
        super().__init__(told)
        self.reply = reply
        """How it said so; None where it gave no answer but closed."""


class AccessError(RefusedError):
    """Raised when the server says that the client may not do it, logging in for one."""


class UntrustedError(ClientError):
    """Raised when the server's certificate is not signed by whom the client trusts, or names another host."""


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
