"""The compiled codec of one profile and variant: decoders by type byte, reply decoders by request, encoders by class.

Built once from the layouts and kept (`Codec.of`). A reply cannot be read without its request, so reply decoders are
chosen by the request's class; how a status byte leads a reply is read from the profile's table of replies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from wireproof.protocols import codec
from wireproof.protocols.errors import ErrorCode, LocalProtocolError, MalformedFrameError
from wireproof.protocols.fields import Repeated, Rows
from wireproof.protocols.frames import Decoder, Encoder, FrameContext, bad_flag, compile_decoder, compile_encoder, shown
from wireproof.protocols.messages import Message, Reply, Request
from wireproof.protocols.profile import Profile, Variant
from wireproof.protocols.runs import Call, Run, compile_run
from wireproof.protocols.tables import compile_repeated, compile_rows
from wireproof.protocols.throttr.replies import EventReply, Status
from wireproof.protocols.throttr.requests import Event

OK, REFUSED = Status(True), Status(False)
MAX_NESTING = 16
"""An EVENT inside an EVENT inside ... is followed this deep; neither document nor release names a limit."""
NO_LIMIT = 1 << 128
"""Beyond what any size field can announce."""


class Codec(codec.Codec):
    """Reads and writes the bytes of one profile and width."""

    def __init__(self, profile: Profile, variant: Variant) -> None:
        super().__init__(profile, variant)
        self.encoders: dict[type[Message], Encoder] = {}
        self.requests: list[Decoder] = [_unknown_type] * 256
        self.replies: dict[type[Request], Decoder] = {}
        self.pushes: list[Decoder | None] = [None] * 256
        for request in profile.replies:
            self.requests[profile.leads[request][0]] = self._compile(request)
        for push in profile.pushes:
            self.pushes[profile.leads[push][0]] = self._compile(push)
        for request, answers in profile.replies.items():
            self.replies[request] = self._reply_decoder(answers)
        self.answers = {request: self._answer_encoders(answers) for request, answers in profile.replies.items()}
        """Request -> the replies it may get now -> their encoders."""
        self.request_encoders: dict[type[Message], Encoder] = {one: self.encoders[one] for one in profile.replies}
        self.push_encoders: dict[type[Message], Encoder] = {push: self.encoders[push] for push in profile.pushes}
        self.silent = frozenset(request for request, answers in profile.replies.items() if not answers)
        """Requests that are never answered."""
        self.bare = frozenset(request for request, answers in profile.replies.items() if Status not in answers)
        """Requests whose reply has no status byte, so that it may begin with any byte (T1..T3, T37)."""

    def encode_requests(self, requests: list[Message]) -> bytes:
        """Return the bytes of requests in this order; `LocalProtocolError` when one is none of this profile's."""
        encoders = self.request_encoders
        try:
            return b"".join([encoders[type(request)](request) for request in requests])
        except KeyError:
            wrong = next(request for request in requests if type(request) not in encoders)
            raise self.no_such(wrong, "request") from None

    def decode_request(self, buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Request | None, int]:
        """Decode one request at `at`, or say how many bytes it needs; `MalformedFrameError` for an unknown type."""
        return self.requests[buf[at]](buf, at, end, context)

    def decode_answer(self, buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Message | None, int]:
        """Decode the reply to `context.request`, or a push where that is None; as `decode_request`.

        Raises `MalformedFrameError` for bytes that are not such a reply.
        """
        if context.request is not None:
            return self.replies[cast(type[Request], type(context.request))](buf, at, end, context)
        push = self.pushes[buf[at]]
        if push is None:
            detail = f"got {buf[at]:02x} although no request is waiting for a reply"
            raise MalformedFrameError(ErrorCode.UNEXPECTED_MESSAGE, detail, at)
        return push(buf, at, end, context)

    def run(self, calls: Mapping[type[Request], Call]) -> Run:
        """Return what decodes a run of requests straight into their calls, see `wireproof.protocols.runs`."""
        return compile_run([(self.layout(request), call) for request, call in calls.items()], self.profile.byte_order)

    def whole_request(self, payload: bytes) -> Request:
        """Return the request in `payload`; `MalformedFrameError` unless it is exactly one whole request (T36)."""
        if not payload:
            raise MalformedFrameError(ErrorCode.TRUNCATED, "expected one whole request, got nothing", 0)
        request, stop = self.decode_request(payload, 0, len(payload), FrameContext(NO_LIMIT))
        if request is None or stop != len(payload):
            code = ErrorCode.TRUNCATED if request is None else ErrorCode.LYING_LENGTH
            raise MalformedFrameError(code, f"expected one whole request of {stop} bytes, got {len(payload)}", 0)
        return request

    def answered(self, requests: list[Request]) -> list[Request]:
        """Return those of `requests` that are answered at all."""
        return [one for one in requests if type(one) not in self.silent] if self.silent else requests

    def is_bare(self, request: type[Request]) -> bool:
        """Say whether the reply of `request` has no status byte, so that it may begin with any byte (T1..T3, T37)."""
        return request in self.bare

    def _compile(self, message: type[Message]) -> Decoder:
        """Compile both directions of `message`, keep its encoder, return its decoder."""
        layout, order = self.layout(message), self.profile.byte_order
        last = layout.fields[-1][1] if layout.fields else None
        decode: Decoder
        encode: Encoder
        if message is EventReply:
            decode, encode = self._decode_event_reply, self._encode_event_reply
        elif isinstance(last, Repeated):
            decode, encode = compile_repeated(layout, order, self.layout)
        elif isinstance(last, Rows):
            decode, encode, _ = compile_rows(layout, order, self.layout)
        else:
            decode, encode = compile_decoder(layout, order), compile_encoder(layout, order)
        self.encoders[message] = encode
        return decode

    def _reply_decoder(self, answers: tuple[type[Reply], ...]) -> Decoder:
        decoders = {answer: self._compile(answer) for answer in answers}
        led = decoders.pop(Status, None) is not None
        body = next(iter(decoders.values()), None)
        return _led_decoder(body) if led else body or _no_reply

    def _answer_encoders(self, answers: tuple[type[Reply], ...]) -> dict[type[Message], Encoder]:
        encoders: dict[type[Message], Encoder] = {answer: self.encoders[answer] for answer in answers}
        if Status in answers and len(answers) > 1:
            encoders[Status] = _encode_refusal
        return encoders

    def _decode_event_reply(self, buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Reply | None, int]:
        """Decode 01 and the reply of the request inside the EVENT that `context` names."""
        event = context.request
        assert isinstance(event, Event)
        if context.depth >= MAX_NESTING:
            raise MalformedFrameError(ErrorCode.UNEXPECTED_MESSAGE, f"EVENT nested more than {MAX_NESTING} deep", at)
        try:
            inner = self.whole_request(event.payload)
        except MalformedFrameError as error:
            detail = f"01 to an EVENT that carries no request: {error.message}"
            raise MalformedFrameError(ErrorCode.UNEXPECTED_MESSAGE, detail, at) from None
        context.request, context.depth, context.limit = inner, context.depth + 1, context.limit - 1
        try:
            reply, stop = self.replies[type(inner)](buf, at + 1, end, context)
        finally:
            context.request, context.depth, context.limit = event, context.depth - 1, context.limit + 1
        return (None, stop + 1) if reply is None else (EventReply(reply), stop)

    def _encode_event_reply(self, message: EventReply) -> bytes:
        lead, reply = b"\x01", message.reply
        while type(reply) is EventReply and len(lead) < MAX_NESTING:
            lead, reply = lead + b"\x01", reply.reply
        if not isinstance(reply, Reply) or type(reply) is EventReply:
            detail = f"expected a reply, nested at most {MAX_NESTING} deep, got {shown(reply)}"
            raise LocalProtocolError(ErrorCode.BAD_VALUE, f"EVENT_REPLY.reply: {detail}")
        return lead + self.encode(reply)

    def check_event_reply(self, event: Request, reply: Message) -> None:
        """Raise `LocalProtocolError` unless `reply` answers, level by level, the request that `event` carries."""
        while isinstance(event, Event) and isinstance(reply, EventReply):
            try:
                event, reply = self.whole_request(event.payload), reply.reply
            except MalformedFrameError as error:
                detail = f"EVENT carries no request: {error.message}"
                raise LocalProtocolError(ErrorCode.UNEXPECTED_MESSAGE, detail) from None
        encode = self.answers[type(event)].get(type(reply))
        if encode is None:
            detail = f"{type(reply).__name__} where a reply to {event.NAME} in an EVENT is due"
            raise LocalProtocolError(ErrorCode.UNEXPECTED_MESSAGE, detail)
        encode(reply)


def _encode_refusal(message: Status) -> bytes:
    if message.ok is False:
        return b"\x00"
    detail = f"STATUS.ok: expected False where 01 has more to follow, got {shown(message.ok)}"
    raise LocalProtocolError(ErrorCode.BAD_VALUE, detail)


def _led_decoder(body: Decoder | None) -> Decoder:
    """Return the decoder of a reply led by a status byte; after 00, or without a body, nothing follows."""

    def decode(buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Reply | None, int]:
        if at >= end:
            return None, 1
        status = buf[at]
        if status == 1:
            return body(buf, at, end, context) if body is not None else (OK, at + 1)
        if status == 0:
            return REFUSED, at + 1
        raise bad_flag(status, at)

    return decode


def _unknown_type(buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Request | None, int]:
    raise MalformedFrameError(ErrorCode.UNKNOWN_TYPE, f"expected a request type, got {buf[at]:02x}", at)


def _no_reply(buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Reply | None, int]:
    raise MalformedFrameError(ErrorCode.UNEXPECTED_MESSAGE, "a reply to a request that has none", at)
