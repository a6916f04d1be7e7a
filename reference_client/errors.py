"""The errors of a client; it raises no others for anything that can go wrong between it and a server."""

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
    """The base class; `kind` is the kind of error in the driver protocol."""

    kind: ClassVar[str] = "other"


class ClosedError(ClientError, ConnectionError):
    """Raised if there is no connection: nobody listens, or it was closed or lost while a call was pending."""

    kind = "closed"


class DeadlineError(ClientError, TimeoutError):
    """Raised if a deadline passes; a late reply is dropped."""

    kind = "timeout"


class BadReplyError(ClientError):
    """Raised if the server sent bytes that cannot be decoded; the connection is closed, as nothing more can be."""

    kind = "protocol"


class RefusedError(ClientError):
    """Raised if the server refuses a request; the connection stays usable."""

    kind = "refused"

    def __init__(self, detail: str, reply: Reply | None = None) -> None:
        super().__init__(detail)
        self.reply = reply
        """The server's answer; None if it closed without one."""


class AccessError(RefusedError):
    """Raised if the client lacks the right to do it, such as logging in."""


class UntrustedError(ClientError):
    """Raised if the client does not trust the server's certificate, or if that names another host."""


class BadRequestError(ClientError, ValueError):
    """Raised before anything is sent, for values that no request can carry."""

    kind = "refused"


class TooWideError(BadRequestError):
    """Raised before anything is sent, for a number that does not fit into its field."""

    kind = "too_wide"


class TooLongError(BadRequestError):
    """Raised before anything is sent, for bytes whose size does not fit into its size field."""

    kind = "too_long"


class UnsupportedError(BadRequestError):
    """Raised before anything is sent, for a request that the profile does not have."""

    kind = "unsupported"
