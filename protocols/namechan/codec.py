"""The compiled codec of a profile: the version, frames of a server, lines of a client."""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct, error

from wireproof.protocols import codec
from wireproof.protocols.errors import ErrorCode, MalformedFrameError, ProtocolError
from wireproof.protocols.fields import Rest, UInt
from wireproof.protocols.frames import (
    Decoder,
    Encoder,
    FrameContext,
    bad_value,
    build,
    compile_decoder,
    compile_encoder,
    too_large,
)
from wireproof.protocols.messages import Message, Request
from wireproof.protocols.namechan.profiles import FRAMES, HOOK, LINES, SIZE
from wireproof.protocols.namechan.replies import Outcome, VersionReply
from wireproof.protocols.namechan.requests import Blank, Version
from wireproof.protocols.onepass import compile_onepass
from wireproof.protocols.profile import Layout, Profile, Variant
from wireproof.protocols.sexp import SexpError, SexpReader, read_sexp
from wireproof.protocols.sexp_messages import message_of, text_of, tokens_of
from wireproof.protocols.sexp_writing import spellings

__all__ = ["Codec", "LineReader"]

HEAD = SIZE + 1
Layouts = Mapping[bytes, Layout]
"""Constructor -> the message that it begins."""


class Codec(codec.Codec):
    """Reads and writes the bytes of one profile."""

    def __init__(self, profile: Profile, variant: Variant) -> None:
        super().__init__(profile, variant)
        self.lines = self._constructors(LINES)
        """What a client may send on a line."""
        self.hook = self._constructors(HOOK)
        """What a harness may send on a line."""
        self.frames = {self.layout(one).lead: one for one in FRAMES}
        """Type byte -> the message of a frame."""
        self._bodies = {one: _body_codec(self.layout(one), profile.byte_order) for one in FRAMES}
        self._decode_versions = {
            one: compile_decoder(self.layout(one), profile.byte_order) for one in (Version, VersionReply)
        }
        self._encoders: dict[type[Message], Encoder] = {}
        self._known = frozenset(profile.messages.values())

    def encode(self, message: Message) -> bytes:
        """Return the bytes of `message`; `LocalProtocolError` when the profile has no such one or it does not fit."""
        kind = type(message)
        if kind not in self._known:
            raise self.no_such(message, "message")
        if kind in self._bodies:
            return self._bodies[kind][1](message)
        if isinstance(message, Blank):
            return b"\n"
        if isinstance(message, Outcome):
            if type(message.text) is not bytes or b"\n" in message.text:
                raise bad_value(message, self.layout(Outcome))
            return message.text + b"\n"
        layout = self.layout(kind)
        if layout.is_sexp:
            return text_of(layout, message) + b"\n"
        if kind not in self._encoders:
            self._encoders[kind] = compile_encoder(layout, self.profile.byte_order)
        return self._encoders[kind](message)

    def spellings(self, message: Message) -> Mapping[str, bytes]:
        """Return name -> other bytes that every server reads as `message`; none where there is one form only."""
        layout = self.layout(type(message))
        if not isinstance(message, Request) or not layout.is_sexp:
            return {}
        return spellings(tokens_of(layout, message))

    def is_other_form(self, message: Message, data: bytes) -> bool:
        """Say whether `data` reads as `message`: s-expressions have many spellings."""
        try:
            if type(message) in self._bodies:
                found, stop = self.decode_frame(data, 0, len(data), FrameContext(len(data)))
            elif isinstance(message, Request) and not isinstance(message, Version):
                layouts = self.hook if type(message) in HOOK else self.lines
                found, stop = LineReader(layouts).decode(data, 0, len(data), FrameContext(len(data) + 1))
            else:
                return self.encode(message) == data
        except ProtocolError:
            return False
        return found == message and stop == len(data)

    def decode_version(
        self, kind: type[Version | VersionReply], data: bytes, at: int, end: int, context: FrameContext
    ) -> tuple[Message | None, int]:
        """Decode the eight bytes that a side begins with."""
        return self._decode_versions[kind](data, at, end, context)

    def decode_frame(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        """Decode a frame of a server; raises `MalformedFrameError`."""
        if end - at < HEAD:
            return None, HEAD
        size = int.from_bytes(data[at : at + SIZE], "big")
        kind, stop = self.frames.get(data[at + SIZE : at + HEAD]), at + SIZE + size
        if size == 0:
            detail = "expected a length of at least 1, which counts the type"
            raise MalformedFrameError(ErrorCode.LYING_LENGTH, detail, at)
        if kind is None:
            detail = f"expected a type from 0 to {len(self.frames) - 1}, got {data[at + SIZE]:02x}"
            raise MalformedFrameError(ErrorCode.UNKNOWN_TYPE, detail, at + SIZE)
        if stop - at > context.limit:
            raise too_large(at, stop - at, context.limit)
        if stop > end:
            return None, stop - at
        return self._bodies[kind][0](data, at + SIZE, stop, context)[0], stop

    def decode_outcome(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        """Decode a line of the hook's answers; raises what `decode` raises."""
        context.resume, stop = None, data.find(b"\n", at, end)
        if stop < 0:
            if end - at >= context.limit:
                raise too_large(at, end - at + 1, context.limit)
            context.resume = _LineEnd(end - at)
            return None, end - at + 1
        if stop - at >= context.limit:
            raise too_large(at, stop - at + 1, context.limit)
        return Outcome(data[at:stop]), stop + 1

    def _constructors(self, requests: tuple[type[Request], ...]) -> Layouts:
        mine = [self.layout(one) for one in requests if one in self.profile.replies]
        return {one.lead: one for one in mine if one.is_sexp}


class _Progress:
    """A line of which not all bytes are there; `FrameContext.resume` of a connection."""

    def __init__(self, limit: int) -> None:
        self.reader = SexpReader()
        self._limit = limit
        self._error: SexpError | None = None

    def is_whole(self, data: bytes | bytearray, at: int, end: int) -> bool:
        """Read on; say whether the line is whole. Raises `SexpError`."""
        if self._error is not None:
            raise self._error
        return self.reader.read_on(data, at, min(end, at + self._limit))

    def __call__(self, gathered: bytearray) -> int:
        """Read what was gathered; return how many bytes are needed for another look."""
        try:
            is_whole = self.is_whole(gathered, 0, len(gathered))
        except SexpError as error:
            self._error, is_whole = error, True
        return len(gathered) + (not is_whole)


class _LineEnd:
    """Looks for the end of a line in what comes next; `FrameContext.resume` of a connection."""

    def __init__(self, seen: int) -> None:
        self._seen = seen

    def __call__(self, gathered: bytearray) -> int:
        """Return how many bytes are needed for another look."""
        is_whole = gathered.find(b"\n", self._seen) >= 0
        self._seen = len(gathered)
        return len(gathered) + (not is_whole)


class LineReader:
    """Reads the lines of one connection, in any pieces, each byte once."""

    def __init__(self, layouts: Layouts) -> None:
        self._layouts = layouts
        self._lines = 1
        """Lines before the one that is read, and that one."""

    def decode(self, data: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        """Decode a line; raises `MalformedFrameError` (bad_value, frame_too_large), which says line and column."""
        progress = context.resume if isinstance(context.resume, _Progress) else _Progress(context.limit)
        context.resume, reader = None, progress.reader
        try:
            if not progress.is_whole(data, at, end):
                if end - at >= context.limit:
                    raise too_large(at, end - at + 1, context.limit)
                context.resume = progress
                return None, end - at + 1
            message = Blank() if reader.found is None else message_of(reader.found, self._layouts.get)
        except SexpError as error:
            raise self._malformed(error, data, at) from None
        self._lines += data.count(b"\n", at, at + reader.stop)
        return message, at + reader.stop

    def _malformed(self, error: SexpError, data: bytes, at: int) -> MalformedFrameError:
        before = data[at : at + error.at]
        line, column = self._lines + before.count(b"\n"), len(before) - (before.rfind(b"\n") + 1) + 1
        return MalformedFrameError(ErrorCode.BAD_VALUE, f"line {line}, column {column}: {error.message}", at + error.at)


def _body_codec(layout: Layout, byte_order: str) -> tuple[Decoder, Encoder]:
    """Return the decoder of what the length of a frame counts, and the encoder of the frame."""
    return _record_codec(layout) if layout.is_sexp else _plain_codec(layout, byte_order)


def _plain_codec(layout: Layout, byte_order: str) -> tuple[Decoder, Encoder]:
    read, write = compile_onepass(layout, byte_order)

    def decode(buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Message, int]:
        """Decode what a length counts; raises `MalformedFrameError` (lying_length)."""
        try:
            message, stop = read(buf, at, end, context)
        except MalformedFrameError as error:
            raise MalformedFrameError(ErrorCode.LYING_LENGTH, error.message, at - SIZE) from None
        if stop != end:
            detail = f"{layout.message.NAME}: expected a length of {stop - at}, got {end - at}"
            raise MalformedFrameError(ErrorCode.LYING_LENGTH, detail, at - SIZE)
        return message, stop

    *numbers, last = (type(kind) for _, kind in layout.fields)
    if all(one is UInt for one in numbers) and last in (UInt, Rest):
        return decode, _packer(layout, byte_order)
    return decode, _sized(write)


def _sized(write: Encoder) -> Encoder:
    """Return the encoder of a frame, of the one of what its length counts."""

    def encode(message: Message) -> bytes:
        body = write(message)
        return len(body).to_bytes(SIZE, "big") + body

    return encode


def _packer(layout: Layout, byte_order: str) -> Encoder:
    """Return the encoder of a frame of numbers and maybe a rest: a replay writes one for each of its messages."""
    numbers = [(name, kind) for name, kind in layout.fields if isinstance(kind, UInt)]
    rest = [name for name, kind in layout.fields if isinstance(kind, Rest)]
    head = Struct(f"{byte_order}I{len(layout.lead)}s" + "".join(kind.code for _, kind in numbers))
    values = "".join(f", message.{name}" for name, _ in numbers)
    source = [
        "def encode(message):",
        "    try:",
        f"        body = message.{rest[0]}" if rest else "        body = b''",
        "        if type(body) is bytes:",
        f"            return pack({head.size - SIZE} + len(body), lead{values}) + body",
        "    except (error, AttributeError):",
        "        pass",
        "    raise bad_value(message, layout)",
    ]
    owner = f"{layout.message.NAME} in a frame"
    scope = {"pack": head.pack, "lead": layout.lead, "error": error, "bad_value": bad_value, "layout": layout}
    found: Encoder = build("encode", owner, source, **scope)
    return found


def _record_codec(layout: Layout) -> tuple[Decoder, Encoder]:
    known = {b"": layout, layout.message.NAME.capitalize().encode(): layout}

    def decode(buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Message, int]:
        """Decode the expression of a frame; raises `MalformedFrameError` (bad_value)."""
        begin = at + len(layout.lead)
        try:
            return message_of(read_sexp(buf[begin:end]), known.get), end
        except SexpError as error:
            raise MalformedFrameError(ErrorCode.BAD_VALUE, error.message, begin + error.at) from None

    def body_of(message: Message) -> bytes:
        return layout.lead + text_of(layout, message)

    return decode, _sized(body_of)
