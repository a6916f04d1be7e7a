"""What the codec reads, in the form of the naive reader (`naive_sexp.py`), so that both can be compared."""

from __future__ import annotations

from typing import Any

from wireproof.protocols import NEED_DATA, Message, RemoteProtocolError
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.namechan import V1_PUBLISH, Codec, HookServer, NamechanServer
from wireproof.protocols.namechan.requests import Blank, Version
from wireproof.reference_server.namechan.oracle.reader import PartialError, RefusedError, frame

CODEC = Codec.of(V1_PUBLISH, "standard")


def named(message: Message) -> tuple[str, dict[str, Any]]:
    return message.NAME, {name: getattr(message, name) for name in message.__struct_fields__}


def read(data: bytes, codec: Codec = CODEC, *, hook: bool = False) -> tuple[list[tuple[str, dict[str, Any]]], str]:
    """Return what the codec's reader finds, as `requests` does."""
    server = HookServer(codec) if hook else NamechanServer(codec)
    if not hook:
        server.receive_data(bytes(7) + b"\1")
        assert server.next_event() == Version()
    if data:
        server.receive_data(data)
    found = []
    try:
        while (event := server.next_event()) is not NEED_DATA:
            assert isinstance(event, Message)
            if not isinstance(event, Blank):
                found.append(named(event))
    except RemoteProtocolError:
        return found, "refused"
    return found, "partial" if server.buffered else "whole"


def first_frame(data: bytes) -> tuple[str, dict[str, Any], int] | str:
    try:
        message, stop = CODEC.decode_frame(data, 0, len(data), FrameContext(1 << 33))
    except MalformedFrameError:
        return "refused"
    return "partial" if message is None else (*named(message), stop)


def naive_frame(data: bytes) -> tuple[str, dict[str, Any], int] | str:
    try:
        return frame(data)
    except RefusedError:
        return "refused"
    except PartialError:
        return "partial"
