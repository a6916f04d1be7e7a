"""The invariant of frame limits on connections whose decoding depends on states: one byte too many is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.protocols import Connection, LocalProtocolError, Message, RemoteProtocolError
from wireproof.protocols.connection import MINIMUM_FRAME_LIMIT
from wireproof.protocols.errors import ErrorCode
from wireproof.protocols.fields import Blob, Rest, is_bytes

__all__ = ["check_limit_here", "enlarged"]

MORE, FEW = 1024, 8
"""Most bytes by which an enlarged frame exceeds the smallest limit; every other one does so by a few bytes only."""


def enlarged(codec: Any, message: Message, source: bytes) -> Message | None:
    """Return a message with a field so long that limits near the size of its frame can be set; None if none can be."""
    fields = [(name, kind) for name, kind in codec.layout(type(message)).fields if is_bytes(kind)]
    wide = [name for name, kind in fields if isinstance(kind, Rest) or (isinstance(kind, Blob) and _holds(kind))]
    wide = wide or [name for name, kind in fields if not isinstance(kind, Blob)]
    if not wide:
        return None
    drawn = int.from_bytes(source[1:3])
    size = MINIMUM_FRAME_LIMIT + 1 + drawn // 2 % (MORE if drawn % 2 else FEW)
    name = wide[source[0] % len(wide)] if source else wide[0]
    try:
        beside = len(codec.encode(msgspec.structs.replace(message, **{name: b"l"}))) - 1
        changed = msgspec.structs.replace(message, **{name: b"l" * max(size - beside, 1)})
        return changed if len(codec.encode(changed)) > MINIMUM_FRAME_LIMIT else None
    except LocalProtocolError:
        return None


def _holds(kind: Blob) -> bool:
    return kind.size.maximum >= MINIMUM_FRAME_LIMIT + MORE


def check_limit_here(under: Callable[[int], Connection], message: Message, data: bytes) -> None:
    """Read a message under a limit of its size, and one byte less: it is taken, and refused. Raises `InvariantError`.

    `under` makes a connection with a limit. What is refused for another reason is not judged.
    """
    taken = _read(under(len(data)), data)
    if taken != message:
        if taken == ErrorCode.FRAME_TOO_LARGE and _read(under(2 * len(data)), data) == message:
            detail = f"{len(data)} bytes of {message.NAME} under a limit of as many: {taken}"
            raise InvariantError("a frame of the limit is taken", detail, message.NAME)
        return
    refused = _read(under(len(data) - 1), data)
    if refused != ErrorCode.FRAME_TOO_LARGE:
        detail = f"{message.NAME} of {len(data)} bytes, {len(data) - 1} are allowed: {refused}"
        raise InvariantError("a frame beyond the limit is refused", detail[:400], message.NAME)


def _read(connection: Connection, data: bytes) -> object:
    connection.receive_data(data)
    try:
        return connection.next_event()
    except RemoteProtocolError as error:
        return error.code
