"""The errors a codec may raise, and nothing else may leave it.

`ProtocolError` > `LocalProtocolError` (we were asked for something illegal) and `RemoteProtocolError` (the peer
sent it). A remote error names a code of the closed set below, the offset in the peer's byte stream and the clause.
"""

from __future__ import annotations

from enum import StrEnum


class ErrorCode(StrEnum):
    """What can be wrong with bytes or with a call; the same set for every protocol."""

    UNKNOWN_TYPE = "unknown_type"
    """The byte that names the message is in no table of the profile."""
    BAD_STATUS = "bad_status"
    """A status byte is outside its closed set."""
    BAD_VALUE = "bad_value"
    """A field holds what its layout cannot carry."""
    FRAME_TOO_LARGE = "frame_too_large"
    """The announced size of a frame is beyond the limit given to the connection."""
    LYING_LENGTH = "lying_length"
    """A length or count contradicts the bytes that it describes."""
    TRUNCATED = "truncated"
    """The stream ended inside a frame."""
    UNEXPECTED_MESSAGE = "unexpected_message"
    """A message came that nothing asked for, or out of its order."""
    ILLEGAL_STATE = "illegal_state"
    """The state table has no such move."""


class ProtocolError(Exception):
    """Base of everything a codec raises; catch this one at the edge of a transport."""

    def __init__(self, code: ErrorCode, message: str, *, offset: int | None = None, clause: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.offset = offset
        self.clause = clause

    def __str__(self) -> str:
        """Return all of it; put together only when somebody reads it, most are handled unread."""
        where = "" if self.offset is None else f" at byte {self.offset}"
        cited = "" if self.clause is None else f" [{self.clause}]"
        return f"{self.code}{where}: {self.message}{cited}"


class LocalProtocolError(ProtocolError):
    """Raised by encoding and `send` when the caller asks for something illegal; mend the caller."""


class RemoteProtocolError(ProtocolError):
    """Raised by `next_event` when the peer broke the protocol; nothing after it can be framed, so close."""

    def anew(self) -> RemoteProtocolError:
        """Return another one that says the same, for who keeps it: one that was raised keeps the calls it left.

        They refer to all that was read, and often to who keeps the error: a cycle, which is seldom freed.
        """
        return RemoteProtocolError(self.code, self.message, offset=self.offset, clause=self.clause)


class MalformedFrameError(ProtocolError):
    """Raised by a decoder that met bytes it cannot frame, `at` bytes into what it was given.

    Connections make it a `RemoteProtocolError` with the offset in the stream and the clause; only decoders that are
    called directly let it out.
    """

    def __init__(self, code: ErrorCode, message: str, at: int) -> None:
        super().__init__(code, message, offset=at)
        self.at = at
