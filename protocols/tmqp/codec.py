"""The compiled codec of a profile: decoders by type and, for server operations, by content type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from wireproof.protocols import codec
from wireproof.protocols.errors import ErrorCode, MalformedFrameError
from wireproof.protocols.fields import Constant
from wireproof.protocols.frames import Decoder, Encoder, FrameContext, compile_decoder, compile_encoder
from wireproof.protocols.json_bodies import compile_json
from wireproof.protocols.messages import Message, Request
from wireproof.protocols.packed import compile_packed, same_when_read
from wireproof.protocols.profile import Profile, Variant
from wireproof.protocols.tmqp.enums import OLD_VERSION, VERSION, FrameType
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.profiles import MESSAGES, OPERATIONS, RELEASED_NUMBERS, SENT
from wireproof.protocols.tmqp.replies import OtherFrame, Pong, ServerPing
from wireproof.protocols.tmqp.requests import AnswerPing, Custom, Hello, Ping

__all__ = ["Codec"]

Made = TypeVar("Made")
_PINGS = frozenset({Ping, AnswerPing, ServerPing, Pong})

SERVER = int(FrameType.SERVER)
TYPES = 0x3F
"""The bits of the first byte that hold the type."""
SMALLEST = 8
"""Bytes of the smallest frame."""
REST = bytes(6)
"""What follows the first two bytes of a ping."""
LARGEST_HEAD = 1024
"""More than a frame without headers and payload takes."""
NUMBER = 5
BLOCK = 2
"""Bytes of the size of a block of headers."""
NO_HEADERS = {"a line without a colon": b"Queue-Id 7\r\n", "a line without a name": b":7\r\n"}
"""Lines that are ignored."""
"""Where the content type lies."""


class Codec(codec.Codec):
    """Reads and writes the bytes of one profile."""

    def __init__(self, profile: Profile, variant: Variant) -> None:
        super().__init__(profile, variant)
        self._compiled: dict[type[Message], tuple[Decoder, Encoder]] = {}
        self.encoders: dict[type[Message], Encoder] = _WhenUsed(lambda message: self._both(message)[1])
        self.decoders: dict[type[Message], Decoder] = _WhenUsed(lambda message: self._both(message)[0])
        self._known = frozenset(profile.messages.values())
        self._asked = self._by_type(MESSAGES, Custom, Ping, AnswerPing)
        self._plain: dict[int, Decoder] = {}
        """Type -> the decoder of what a client sends so, where nothing else tells what it is; made when first used."""
        self._sent = self._by_type(SENT, OtherFrame, ServerPing, Pong)
        self._operations = {
            number: request
            for request in OPERATIONS
            if request in profile.replies
            for number in (RELEASED_NUMBERS[request], self._number(request))
        }

    def decode(self, kind: type[Message], data: bytes) -> Message:
        """Return the one message of class `kind` that `data` is; raises `MalformedFrameError`."""
        return codec.decode_whole(self.decoders[kind], kind, data)

    def is_other_form(self, message: Message, data: bytes) -> bool:
        """Say whether `data` reads as `message`: sizes, headers and pings have several forms."""
        return same_when_read(self.decoders[type(message)], message, data)

    def other_forms(self, message: Message) -> Mapping[str, bytes]:
        """Return the request with a line among its headers that is none: without a colon, or without a name."""
        if not isinstance(message, RequestFrame) or not message.headers:
            return {}
        plain, lines = self.encode(message), b"".join(b"%s:%s\r\n" % (one.name, one.value) for one in message.headers)
        block = len(lines).to_bytes(BLOCK, "little") + lines
        more = {
            what: (len(lines) + len(line)).to_bytes(BLOCK, "little") + line + lines for what, line in NO_HEADERS.items()
        }
        return {what: plain.replace(block, one, 1) for what, one in more.items()}

    def decode_protocol(
        self, kind: type[Message], data: bytes, at: int, end: int, context: FrameContext
    ) -> tuple[Message | None, int]:
        """Decode the eight bytes that a side begins with; `MalformedFrameError` (unknown_type) for any others.

        They are refused at the first byte that is wrong, as an older version at its end.
        """
        given = data[at : min(at + len(VERSION), end)]
        if not (VERSION.startswith(given) or OLD_VERSION.startswith(given)):
            wrong = next(place for place in range(len(given)) if not _begins(given[: place + 1]))
            detail = f"expected {VERSION.decode()}, got {given[: wrong + 1].hex(' ')}"
            raise MalformedFrameError(ErrorCode.UNKNOWN_TYPE, detail, at + wrong)
        if end - at < len(VERSION):
            return None, end - at + 1
        return self.decoders[kind](data, at, end, context)

    def decode_first(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        """Decode the first frame of a client: a `Hello`, or any other; raises `MalformedFrameError`."""
        if end - at < SMALLEST:
            return None, SMALLEST
        is_hello = data[at] & TYPES == FrameType.SERVER and _number(data, at) == self._number(Hello)
        return self.decoders[Hello](data, at, end, context) if is_hello else self.decode_asked(data, at, end, context)

    def decode_asked(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        """Decode a frame of a client; raises `MalformedFrameError` for one that is too large."""
        kind = data[at] & TYPES
        plain = self._plain.get(kind)
        if plain is not None:
            return plain(data, at, end, context)
        message = self._asked[kind]
        if kind == SERVER:
            if end - at < SMALLEST:
                return None, SMALLEST
            message = self._operations.get(_number(data, at), message)
        elif message not in _PINGS:
            self._plain[kind] = self.decoders[message]
        return self._decode(message, data, at, end, context)

    def decode_sent(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        """Decode a frame of a server; raises `MalformedFrameError` for one that is too large."""
        return self._decode(self._sent[data[at] & TYPES], data, at, end, context)

    def _decode(
        self, kind: type[Message], data: bytes, at: int, end: int, context: FrameContext
    ) -> tuple[Message | None, int]:
        if kind in _PINGS:
            return _ping(self.decoders[Custom], kind(), data, at, end, context)
        return self.decoders[kind](data, at, end, context)

    def _number(self, request: type[Request]) -> int:
        """Return the content type that names an operation here."""
        kind = dict(self.layout(request).fields)["content_type"]
        return kind.value if isinstance(kind, Constant) else -1

    def _by_type(
        self, table: Mapping[FrameType, type[Message]], other: type[Message], ping: type[Message], pong: type[Message]
    ) -> list[type[Message]]:
        """Return the message of each type of frame in one direction."""
        found = [other] * (TYPES + 1)
        for kind, message in table.items():
            found[self.layout(message).lead[0] & TYPES if kind != FrameType.CUSTOM else kind] = message
        found[FrameType.PING], found[FrameType.PONG] = ping, pong
        return found

    def _both(self, message: type[Message]) -> tuple[Decoder, Encoder]:
        """Return decoder and encoder of `message`, compiled when they are first used; `KeyError` for an unknown one."""
        if message not in self._known:
            raise KeyError(message)
        if message not in self._compiled:
            layout, order = self.layout(message), self.profile.byte_order
            if layout.is_json:
                self._compiled[message] = compile_json(layout)
            elif layout.is_packed:
                self._compiled[message] = compile_packed(layout, order)
            else:
                self._compiled[message] = compile_decoder(layout, order), compile_encoder(layout, order)
        return self._compiled[message]


class _WhenUsed(dict[type[Message], Made]):
    """What is made for a message when it is first asked for."""

    def __init__(self, make: Callable[[type[Message]], Made]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, message: type[Message]) -> Made:
        found = self[message] = self._make(message)
        return found


def _begins(given: bytes) -> bool:
    return VERSION.startswith(given) or OLD_VERSION.startswith(given)


def _number(data: bytes, at: int) -> int:
    return data[at + NUMBER] | data[at + NUMBER + 1] << 8


def _ping(
    decode: Decoder, message: Message, data: bytes, at: int, end: int, context: FrameContext
) -> tuple[Message | None, int]:
    """Decode a ping: its header bit announces nothing (E4), and what it holds is not looked at."""
    if data[at + 2 : min(at + SMALLEST, end)] == REST:
        return message, at + SMALLEST
    there = min(end, at + LARGEST_HEAD)
    found, stop = _without_flags(decode, data, at, there, context)
    if found is None and there < end:
        found, stop = _without_flags(decode, data, at, end, context)
    return (None, stop) if found is None else (message, at + stop)


def _without_flags(
    decode: Decoder, data: bytes, at: int, end: int, context: FrameContext
) -> tuple[Message | None, int]:
    """Decode a copy of a frame whose second byte is 00; an error gives its place in `data`."""
    plain = data[at : at + 1] + b"\0" + data[at + 2 : end]
    try:
        return decode(plain, 0, end - at, context)
    except MalformedFrameError as error:
        raise MalformedFrameError(error.code, error.message, at + error.at) from None
