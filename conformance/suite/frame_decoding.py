"""Reads the bytes of a frame through our own codec, on the kind of line and after what went before it there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from wireproof.conformance.suite.resolved_patterns import plain
from wireproof.conformance.suite.symbols import defaults
from wireproof.protocols import Message, Protocol, ProtocolError, Reply, Request, Role
from wireproof.protocols.codec import Codec
from wireproof.protocols.dissect import Dissection
from wireproof.protocols.fields import Atom, Flag, Kind, Raw, UInt, Word
from wireproof.protocols.links import Link
from wireproof.protocols.messages import declared_layout

__all__ = ["named", "read_back", "readings"]

Before = Sequence[Message]
"""What crossed before, of both sides; a request whose reply is not given was answered with zeros."""


def named(message: Message) -> dict[str, object]:
    """Return a message as `{name, fields}`; a message inside a message likewise."""
    fields = {
        name: named(inner) if isinstance(inner := getattr(message, name), Message) else plain(inner)
        for name in message.__struct_fields__
    }
    return {"name": message.NAME, "fields": fields}


def read_back(protocol: Protocol, codec: Codec, direction: str, data: bytes, request: Message | None = None) -> object:
    """Return what our own codec makes of the bytes: `{name, fields}`, or the code of the error.

    They are read on the first kind of line that has such a request, as early as it can be sent there.
    """
    return next(iter(readings(protocol, codec, direction, data, request)))[1]


def readings(
    protocol: Protocol,
    codec: Codec,
    direction: str,
    data: bytes,
    request: Message | None,
    *,
    link: str | None = None,
    after: Before | None = None,
) -> Iterator[tuple[str, object]]:
    """Yield (link, what is read) for each place where the bytes may stand: that given, or any in a handshake."""
    for name, one in protocol.links.items():
        if link in (None, name):
            handshake = one.handshake()
            places = [handshake[:number] for number in range(len(handshake) + 1)] if after is None else [after]
            for before in places:
                with suppress(_UnfitError):
                    yield name, _read(one, codec, direction, data, [*before, *([request] if request else [])])


class _UnfitError(Exception):
    """Raised where what goes before is not known."""


def _read(link: Link, codec: Codec, direction: str, data: bytes, before: Before) -> object:
    dissection = Dissection(link, codec)
    due: Message | None = None
    for message in before:
        if due is not None and not isinstance(message, Reply):
            _answer(dissection, codec, due)
        _cross(dissection, codec, message)
        due = None if isinstance(message, Reply) else message
    if due is not None and direction != "reply":
        _answer(dissection, codec, due)
    sender = Role.CLIENT if direction == "request" else Role.SERVER
    found = dissection.feed(sender, data)
    if found:
        return named(found[0].message)
    dissection.end(sender)
    error = dissection.direction(sender).error
    return error.code.value if error is not None else "nothing"


def _answer(dissection: Dissection, codec: Codec, request: Message) -> None:
    replies = codec.profile.replies[type(request)] if isinstance(request, Request) else ()
    if replies:
        _cross(dissection, codec, _zeros(replies[0]))


def _cross(dissection: Dissection, codec: Codec, message: Message) -> None:
    """Let a message cross; `_UnfitError` where its sender may not send it, or it is read as another one."""
    sender = Role.CLIENT if isinstance(message, Request) else Role.SERVER
    try:
        read = [type(one.message) for one in dissection.feed(sender, codec.encode(message))]
    except ProtocolError:
        raise _UnfitError from None
    if read != [type(message)] or not dissection.is_paired:
        raise _UnfitError


def _zeros(kind: type[Message]) -> Message:
    """Return a message of that class whose fields are as they are where nothing is given, or zeros."""
    return kind(**{name: _zero(one) for name, one in declared_layout(kind).items() if name not in defaults(kind)})


def _zero(kind: Kind) -> object:
    match kind:
        case UInt() | Word() | Atom("number" | "time"):
            return 0
        case Flag():
            return False
        case Raw(size):
            return bytes(size)
    return b""
