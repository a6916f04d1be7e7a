"""What an SDK was asked for and has not reported yet, and which of it a message of the server answers."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from wireproof.conformance.sdk.play.reply_script import ReplyPiece, ReplyScript
from wireproof.conformance.suite.symbols import SymbolError
from wireproof.protocols import Message, Push, Reply
from wireproof.protocols.messages import Request
from wireproof.protocols.sdk_traits import SdkTraits

__all__ = ["Due", "InFlight", "SdkConnection", "addressed", "answered_by"]


@dataclass(slots=True)
class Due:
    """A request that was asked and is not reported yet."""

    request: Request
    """As it came, once it has come."""
    call: int
    place: int | None = None
    """Which result of its batch it is."""


@dataclass(slots=True)
class InFlight:
    """What is under way on one connection."""

    due: deque[Due] = field(default_factory=deque)
    failed: bool = False
    """What was due has failed where it may, so that answers to it come too late."""


@dataclass(slots=True)
class SdkConnection:
    """One connection of the SDK, with the lines that it opens for its links."""

    name: str
    lines: dict[str, InFlight] = field(default_factory=dict)
    """Name of a line -> what is under way on it."""
    connect_call: int | None = None
    """The call of a connection that the case opens by hand, until it is reported."""
    free: bool = False
    """Pushes may be reported more or less often than they came."""

    def in_flight(self, line: str) -> InFlight:
        """Return what is under way on a line."""
        return self.lines.setdefault(line, InFlight())

    @property
    def is_due(self) -> bool:
        """Whether anything waits for an answer."""
        return self.connect_call is not None or any(one.due for one in self.lines.values())


def answered_by(sdk: SdkTraits, due: Sequence[Due], message: Message | None) -> Due | None:
    """Return what a message answers; None for a push, or where its protocol knows that it answers nothing.

    Raises `SymbolError` for a reply to nothing where replies come in order.
    """
    if message is None or (sdk.matches is None and isinstance(message, Push)):
        return None
    if sdk.matches is not None:
        return next((one for one in due if sdk.matches(one.request, message)), None)
    if not due:
        raise SymbolError(f"{message.NAME} answers nothing that was asked")
    return due[0]


def addressed(
    sdk: SdkTraits, script: ReplyScript, due: Sequence[Due], pieces: Sequence[ReplyPiece]
) -> list[ReplyPiece]:
    """Return the pieces with what says which request a reply answers, where the case does not: the oldest one."""
    name, waiting, found = sdk.matched_by, list(due), list[ReplyPiece]()
    for piece in pieces:
        message = piece.message
        if name and piece.fields and isinstance(message, Reply) and waiting and not getattr(message, name, True):
            message = msgspec.structs.replace(message, **{name: getattr(waiting[0].request, name)})
            piece = script.whole(message)
        one = answered_by(sdk, waiting, message) if name else None
        if one is not None:
            waiting.remove(one)
        found.append(piece)
    return found
