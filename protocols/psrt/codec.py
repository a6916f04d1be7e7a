"""The compiled codec of a profile: decoders and encoders by class, built once from the layouts."""

from __future__ import annotations

from wireproof.protocols import codec
from wireproof.protocols.errors import ErrorCode, MalformedFrameError
from wireproof.protocols.frames import Decoder, Encoder, FrameContext, compile_decoder, compile_encoder
from wireproof.protocols.messages import Message, Reply, Request
from wireproof.protocols.onepass import compile_onepass
from wireproof.protocols.profile import Profile, Variant
from wireproof.protocols.psrt.enums import PROTOCOL_VERSION, Encryption, ResponseCode
from wireproof.protocols.psrt.profiles import OPERATIONS
from wireproof.protocols.psrt.replies import Response
from wireproof.protocols.psrt.requests import Content, Datagram, Sealed

__all__ = ["Codec", "UnfinishedTopicError"]

_CODES = frozenset(ResponseCode)
_ENCRYPTIONS = frozenset(Encryption)


class UnfinishedTopicError(MalformedFrameError):
    """Raised for a datagram without 00 after its topic, the one malformed datagram that is answered (facts 1.9)."""

    def __init__(self, error: MalformedFrameError, op: int, login: bytes, password: bytes) -> None:
        super().__init__(error.code, error.message, error.at)
        self.op = op
        self.login = login
        self.password = password


class Codec(codec.Codec):
    """Reads and writes the bytes of one profile."""

    def __init__(self, profile: Profile, variant: Variant) -> None:
        super().__init__(profile, variant)
        self.encoders: dict[type[Message], Encoder] = {}
        self.decoders: dict[type[Message], Decoder] = {}
        for message in profile.messages.values():
            self._compile(message)
        self.decoders[Response] = _checked_response(self.decoders[Response])
        self.operations: dict[int, type[Request]] = {profile.leads[one][0]: one for one in OPERATIONS}
        """First byte -> the operation it begins."""
        self.pushes: dict[int, type[Message]] = {profile.leads[one][0]: one for one in profile.pushes}
        self.answers: dict[type[Request], tuple[type[Reply], ...]] = dict(profile.replies)

    def decode(self, kind: type[Message], data: bytes) -> Message:
        """Return the one message of class `kind` that `data` is; raises `MalformedFrameError`."""
        return codec.decode_whole(self.decoders[kind], kind, data)

    def decode_datagram(self, data: bytes) -> Datagram | Sealed:
        """Return what a client's datagram says.

        Raises `UnfinishedTopicError` where a datagram in clear has no 00 after its topic, `MalformedFrameError` for
        any other that no server answers: another header, version or encryption, or a part missing (facts 1.9).
        """
        lead = self.layout(Datagram).lead
        if len(data) < len(lead) + 3 or not data.startswith(lead):
            detail = f"expected {lead.hex(' ')}, a version and an encryption; got {data[:5].hex(' ') or 'nothing'}"
            raise MalformedFrameError(ErrorCode.UNKNOWN_TYPE, detail, 0)
        version, encryption = int.from_bytes(data[2:4], "little"), data[4]
        if version != PROTOCOL_VERSION:
            raise MalformedFrameError(ErrorCode.BAD_VALUE, f"version: expected {PROTOCOL_VERSION}, got {version}", 2)
        if encryption not in _ENCRYPTIONS:
            raise MalformedFrameError(
                ErrorCode.BAD_VALUE, f"encryption: expected 00, 02 or 03, got {encryption:02x}", 4
            )
        message = self.decode(Sealed, data) if encryption else self._plain_datagram(data)
        assert isinstance(message, Datagram | Sealed)
        return message

    def decode_content(self, data: bytes) -> Content:
        """Return what was sealed; raises as `decode_datagram`, with nobody named."""
        try:
            message = self.decode(Content, data)
        except MalformedFrameError as error:
            raise UnfinishedTopicError(error, data[0], b"", b"") if len(data) >= 2 else error from None
        assert isinstance(message, Content)
        return message

    def _plain_datagram(self, data: bytes) -> Message:
        try:
            return self.decode(Datagram, data)
        except MalformedFrameError as error:
            login, _, rest = data[5:].partition(b"\0")
            password, ended, rest = rest.partition(b"\0")
            raise UnfinishedTopicError(error, rest[0], login, password) if ended and len(rest) >= 2 else error from None

    def _compile(self, message: type[Message]) -> None:
        """Compile both directions of `message`."""
        layout, order = self.layout(message), self.profile.byte_order
        if layout.in_one_pass:
            self.decoders[message], self.encoders[message] = compile_onepass(layout, order)
            return
        decode = compile_decoder(layout, order)
        self.decoders[message] = _headed(decode, layout.lead) if len(layout.lead) > 1 else decode
        self.encoders[message] = compile_encoder(layout, order)


def _headed(decode: Decoder, lead: bytes) -> Decoder:
    """Return a decoder that refuses the first byte that is not the header's, without waiting for the others."""

    def checked(buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        """Raises `MalformedFrameError` for a value that the document does not allow."""
        for place, byte in enumerate(buf[at : min(at + len(lead), end)]):
            if byte != lead[place]:
                detail = f"expected {lead.hex(' ')}, got {buf[at : at + place + 1].hex(' ')}"
                raise MalformedFrameError(ErrorCode.UNKNOWN_TYPE, detail, at + place)
        if end - at < len(lead):
            return None, end - at + 1
        return decode(buf, at, end, context)

    return checked


def _checked_response(decode: Decoder) -> Decoder:
    def checked(buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        """Raises `MalformedFrameError` for a value that the document does not allow."""
        if at < end and buf[at] not in _CODES:
            detail = f"expected a response code ({', '.join(f'{one:02x}' for one in ResponseCode)}), got {buf[at]:02x}"
            raise MalformedFrameError(ErrorCode.BAD_STATUS, detail, at)
        return decode(buf, at, end, context)

    return checked
