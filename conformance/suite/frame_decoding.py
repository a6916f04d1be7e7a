"""Reads the bytes of a frame through our own codec, on the kind of line and behind what went before it there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Protocol as Interface

from wireproof.conformance.suite.resolved_patterns import plain
from wireproof.protocols import NEED_DATA, Message, Protocol, ProtocolError, Reply, Request
from wireproof.protocols.codec import Codec
from wireproof.protocols.fields import Flag, Kind, Raw, UInt
from wireproof.protocols.links import Link
from wireproof.protocols.messages import declared_layout

__all__ = ["named", "read_back", "readings"]

Before = Sequence[Message]
"""What crossed before, of both sides; a request whose reply is not told was answered with zeros."""


class Reader(Interface):
    """One side of a link, as far as frames are read through it."""

    def receive_data(self, data: bytes) -> object:
        """Take what came; nothing: the end."""

    def next_event(self) -> object:
        """Return the next message, or what stands for one."""

    def send(self, message: Message) -> object:
        """Note what is sent."""


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
    """Yield (kind of line, what is read) for each place where the bytes may stand: that told, or any in an opening."""
    for name, one in protocol.links.items():
        if link in (None, name):
            handshake = one.handshake()
            places = [handshake[:number] for number in range(len(handshake) + 1)] if after is None else [after]
            for before in places:
                with suppress(_UnfitError):
                    yield name, _read(one, codec, direction, data, [*before, *([request] if request else [])])


class _UnfitError(Exception):
    """Raised where what goes before cannot be said."""


def _read(link: Link, codec: Codec, direction: str, data: bytes, before: Before) -> object:
    reader = link.server(codec) if direction == "request" else link.client(codec)
    open_request = _said(reader, codec, before, asking=direction != "request")
    if open_request is not None and direction != "reply":
        _answer(reader, codec, open_request, asking=direction != "request")
    try:
        reader.receive_data(data)
        event = reader.next_event()
        if event is NEED_DATA:
            reader.receive_data(b"")
            event = reader.next_event()
    except ProtocolError as error:
        return error.code.value
    return named(event) if isinstance(event, Message) else str(event)


def _said(reader: Reader, codec: Codec, before: Before, *, asking: bool) -> Message | None:
    """Let `reader` go through what went before; return the last request, when it is not answered yet."""
    due: Message | None = None
    for message in before:
        if isinstance(message, Reply):
            _cross(reader, codec, message, ours=not asking)
            due = None
            continue
        if due is not None:
            _answer(reader, codec, due, asking=asking)
        _cross(reader, codec, message, ours=asking)
        due = message
    return due


def _answer(reader: Reader, codec: Codec, request: Message, *, asking: bool) -> None:
    replies = codec.profile.replies[type(request)] if isinstance(request, Request) else ()
    if replies:
        _cross(reader, codec, _zeros(replies[0]), ours=not asking)


def _cross(reader: Reader, codec: Codec, message: Message, *, ours: bool) -> None:
    """Let `reader` send a message, or read it; `_UnfitError` where it cannot."""
    try:
        if ours:
            reader.send(message)
            return
        reader.receive_data(codec.encode(message))
        if type(reader.next_event()) is not type(message):
            raise _UnfitError
    except ProtocolError:
        raise _UnfitError from None


def _zeros(kind: type[Message]) -> Message:
    return kind(**{name: _zero(one) for name, one in declared_layout(kind).items()})


def _zero(kind: Kind) -> object:
    match kind:
        case UInt():
            return 0
        case Flag():
            return False
        case Raw(size):
            return bytes(size)
    return b""
