"""The input of the parser's fuzz target: an endpoint, the requests that wait for replies, and a stream.

Byte 0 selects the endpoint (side, profile, variant, link, state), byte 1 the cuts of the stream, byte 2 the number of
pending requests (client side); one byte for each of them selects it from the seeds; the rest is the stream. So any
bytes are a valid input, and every seed can be written as one. `check` runs all checks on an input; `check_one` runs
one of them, drawn from the input: that is the execution which fuzzers count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from itertools import islice
from random import Random
from typing import Any
from zlib import crc32

from wireproof.conformance.model.wording import describe
from wireproof.fuzz.carried_requests import picker
from wireproof.fuzz.codec_checks import CHECK_BY_BYTE, CodecCheck, check_of
from wireproof.fuzz.input_description import InputDescription
from wireproof.fuzz.invariants.codec_invariants import (
    StreamReading,
    check_datagrams,
    check_economy,
    check_frame,
    check_limit,
    check_requests,
    check_stream,
    check_written,
    pieces,
)
from wireproof.fuzz.invariants.dialogue import Dialogue
from wireproof.fuzz.invariants.frame_limits import check_limit_here, enlarged
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.invariants.other_readings import check_prefixes, check_runs_of_requests
from wireproof.fuzz.invariants.redrawn import check_redrawn
from wireproof.fuzz.invariants.second_reader import check_second_reader
from wireproof.fuzz.messages_of_states import coming, first_messages
from wireproof.fuzz.seeds import by_state, exchanges, requests
from wireproof.fuzz.state_paths import StatePath, connections_after, examples, state_paths
from wireproof.fuzz.structural_cuts import structural_cuts
from wireproof.fuzz.table_seeds import cut_by, tables
from wireproof.protocols import (
    Connection,
    EndOfStream,
    LocalProtocolError,
    Message,
    NeedData,
    RemoteProtocolError,
    Request,
    protocol,
)  # fmt: skip
from wireproof.protocols.errors import ErrorCode
from wireproof.protocols.frames import Decoder, FrameContext
from wireproof.reference_server.registry import reader_of, texts_of

__all__ = [
    "CHECKS",
    "CodecCheck",
    "Endpoint",
    "check",
    "check_of",
    "check_one",
    "combinations",
    "decode_seeds",
    "described",
    "rebuild_codecs",
    "seeds",
]

MEANING = frozenset({ErrorCode.BAD_VALUE, ErrorCode.BAD_STATUS, ErrorCode.FRAME_TOO_LARGE})
"""Errors of a frame that is read well and has values that are not allowed, or is longer than a server takes it."""
SHORTEST = 3
MOST_PENDING = 7
READ_TWICE = 4
"""Of so many inputs that decode a frame one is also read by a second reader, where there is one."""
DIALOGUES = 8
"""Dialogues of each server's endpoint that are seeds."""
FRAME_LIMIT = 1 << 20
BYTES_ALONE = 64
CUTS = 32
STRUCTURAL = 0x20
"""A bit of byte 1: the stream is cut at borders of its structure, which the lower bits and its checksum choose."""
FRACTIONS = tuple(tuple(seed * step * 40503 & 0xFFFF for step in (1, 3, 7, 11)) for seed in range(CUTS))
"""Where streams are cut, in units of size / 2^16."""


class Endpoint:
    """One side of a connection under one profile and variant, in the state that `path` leads to."""

    def __init__(self, name: str, profile: str, variant: str, role: str, link: str = "", path: StatePath = ()) -> None:
        spoken = protocol(name)
        self.protocol, self.profile, self.variant, self.role, self.path = name, profile, variant, role, path
        self.link_name = link or next(iter(spoken.links))
        self.link = spoken.link_of(link)
        self.is_client = role == "client"
        self.is_stream = self.link.transport == "stream"
        self.codec: Any = spoken.codec(spoken.profiles[profile], variant)
        self.stands_alone = hasattr(self.codec, "decode_request") and not path and self.is_stream
        """Whether frames are decoded without a connection, because they do not depend on earlier ones."""
        self._decode: Decoder | None = None
        if self.stands_alone:
            self._decode = self.codec.decode_answer if self.is_client else self.codec.decode_request
        self._make: Any = self.link.client if self.is_client else self.link.server
        self.reader = reader_of(name, link=self.link_name, role=role, is_new=not path)

    @cached_property
    def known(self) -> tuple[Request, ...]:
        """The requests that bytes select from: those that may be sent in this state."""
        found = requests(self.protocol, self.profile, self.variant)
        return found if self.stands_alone else tuple(islice(filter(self._may_be_asked, found), 256))

    def _may_be_asked(self, request: Request) -> bool:
        """Return whether a client may send a request here, and a server does not read another one in its bytes."""
        try:
            connections_after(self.link, self.codec, (*self.path, request))
        except (LocalProtocolError, LookupError):
            return False
        except RemoteProtocolError:
            return True
        return True

    @cached_property
    def _decoders(self) -> tuple[Decoder, ...]:
        """Decoders of the first frame: of a server; or of a client without pending request, then for each one."""
        waits = [()] if not self.is_client else [(), *((one,) for one in self.known)]
        return tuple(self.connection(pending)._decode_next for pending in waits)

    def check_frame(self, data: bytes) -> None:
        """Decode the first frame only, without a connection; one time of four also read the stream twice.

        Raises `InvariantError`.
        """
        if self.reader is not None and not data[1] % READ_TWICE:
            self._check_second_reader(data)
        decode = self._decode
        context, at = FrameContext(FRAME_LIMIT), 3
        if decode is None:
            self._check_frame_here(data, context)
            return
        if self.is_client:
            count, known = data[2] % (MOST_PENDING + 1), self.known
            context.request = known[data[3] % len(known)] if count else None
            at += count
        check_frame(decode, data, at, context)
        if (context.depth, context.limit) != (0, FRAME_LIMIT):
            detail = f"depth {context.depth}, limit {context.limit} after {data[at:].hex()}"
            raise InvariantError("a frame leaves to the next one what holds for it", detail[:400], "context")

    def _check_second_reader(self, data: bytes) -> None:
        if self.reader is not None:
            pending, stream = self.parts(data)
            check_second_reader(self.connection(pending), stream, self.reader, self.profile)

    def _check_frame_here(self, data: bytes, context: FrameContext) -> None:
        decode, at = self._decoder_here(data)
        if self.is_stream:
            check_frame(decode, data, at, context)
        else:
            check_frame(decode, data[at:], 0, context)

    def _decoder_here(self, data: bytes) -> tuple[Decoder, int]:
        """Return the decoder of an input that depends on the state, and where the stream begins."""
        at, number, decoders = 3, 0, self._decoders
        if self.is_client and len(decoders) > 1:
            count = data[2] % (MOST_PENDING + 1)
            number = 1 + data[3] % (len(decoders) - 1) if count else 0
            at += count
        return decoders[number], at

    def check_limit(self, data: bytes) -> None:
        """Decode the first frame of a stream under limits near its size. Raises `InvariantError`."""
        if self.is_stream and not self.stands_alone and (coming := self._coming):
            pending, message = coming[data[2] % len(coming)]
            large = enlarged(self.codec, message, data[3:])
            if large is not None:
                check_limit_here(lambda limit: self._under(limit, pending), large, self.codec.encode(large))
        if self.is_stream and self.stands_alone:
            pending, stream = self.parts(data)
            assert self._decode is not None
            request = pending[0] if pending else None
            check_limit(self._decode, stream, self.codec.layout, request)
            check_prefixes(self._decode, stream, FRAME_LIMIT, request)

    @cached_property
    def _coming(self) -> Sequence[tuple[Sequence[Request], Message]]:
        return coming(self)

    def _under(self, limit: int, pending: Sequence[Request] = ()) -> Connection:
        """Return a connection in the state of `path` with that frame limit, which waits for replies to `pending`."""
        client, server = connections_after(self.link, self.codec, self.path, max_frame=limit)
        for one in pending:
            client.await_reply(one)
        return client if self.is_client else server  # type: ignore[return-value]

    def check_written(self, data: bytes) -> None:
        """Read the whole stream; its messages must encode to the bytes they were read from.

        Where there is a second reader, it reads the same. Raises `InvariantError`.
        """
        self._check_second_reader(data)
        if self.stands_alone and not self.is_client:
            check_requests(self.codec, data, 3, FRAME_LIMIT)
            return
        pending, stream = self.parts(data)
        reading = check_stream(lambda: self.connection(pending), stream, tls=self.link.tls)
        forms = {"is_other_form": self.codec.is_other_form} if hasattr(self.codec, "is_other_form") else {}
        check_written(self.codec.encode, reading, stream, **forms)

    def check_redrawn(self, data: bytes) -> None:
        """Write a request with another value in one field; which one, the sum of the input draws, so that seeds differ.

        Raises `InvariantError`.
        """
        self.redraw(data[2], crc32(data).to_bytes(4, "big")[:2] + data[3:].ljust(2, b"\0"))

    def redraw(self, which: int, source: bytes) -> None:
        """Write a request with another value in one field: see `check_redrawn`. Raises `InvariantError`."""
        known = self.known
        if self.is_client or not known:
            return
        make = self._make if not self.path else lambda *_, **__: self.connection()

        def decode(written: bytes) -> Message | NeedData | None:
            connection = make(self.codec, max_frame=FRAME_LIMIT)
            connection.receive_data(written)
            try:
                event = connection.next_event()
            except RemoteProtocolError as error:
                if error.code in MEANING or (error.code == ErrorCode.UNKNOWN_TYPE and not self.stands_alone):
                    return None
                raise
            return None if isinstance(event, EndOfStream) else event

        check_redrawn(self.codec, known[which % len(known)], decode, source)

    def check_segmentation(self, data: bytes) -> None:
        """Read the stream whole and in pieces and check all invariants of a connection; datagrams one by one.

        Raises `InvariantError`.
        """
        pending, stream = self.parts(data)
        cuts: Iterable[int] = _cuts(data[1] % CUTS, len(stream))
        if not self.is_stream:
            check_datagrams(lambda: self.connection(pending), pieces(stream, cuts) if stream else [])
            return

        def chosen(reading: StreamReading) -> Iterable[int]:
            nonlocal cuts
            if data[1] & STRUCTURAL:
                cuts = structural_cuts(reading, self.codec.layout, len(stream), data[1], crc32(stream))
            return cuts

        check_stream(lambda: self.connection(pending), stream, chosen, tls=self.link.tls)
        if not self.is_client:
            check_runs_of_requests(self.connection, pieces(stream, cuts))

    def check_economy(self, data: bytes) -> None:
        """Read the stream in pieces and count the bytes copied and the memory taken. Raises `InvariantError`."""
        pending, stream = self.parts(data)
        cuts = _cuts(data[1] % CUTS, len(stream)) if self.is_stream else ()
        check_economy(lambda: self.connection(pending), stream, cuts)

    def check_dialogue(self, data: bytes) -> None:
        """Let both sides speak to each other as the input draws it. Raises `InvariantError`."""
        if self.is_client or not self.is_stream or not self.known:
            return
        sides = connections_after(self.link, self.codec, self.path, max_frame=FRAME_LIMIT)
        messages = examples(self.protocol, self.profile, self.variant)
        Dialogue(self.link, self.codec, sides, self.known, messages).play(data[3:])

    def parts(self, data: bytes) -> tuple[list[Request], bytes]:
        """Return the pending requests and the stream of an input."""
        if not self.is_client or not self.known:
            return [], data[3:]
        known, count = self.known, data[2] % (MOST_PENDING + 1)
        return [known[byte % len(known)] for byte in data[3 : 3 + count]], data[3 + count :]

    def connection(self, pending: Sequence[Request] = ()) -> Connection:
        """Return a new connection in the state of `path` that waits for the replies to `pending`.

        Of requests that may not be pending together only the first ones are used.
        """
        if self.path:
            connection: Any = connections_after(self.link, self.codec, self.path, max_frame=FRAME_LIMIT)[
                not self.is_client
            ]
        else:
            connection = self._make(self.codec, max_frame=FRAME_LIMIT)
        for request in pending:
            try:
                connection.await_reply(request)
            except LocalProtocolError:
                break
        return connection  # type: ignore[no-any-return]


@cache
def combinations(name: str) -> tuple[Endpoint, ...]:
    """Return both sides for every profile, variant, link and state of a protocol."""
    return tuple(
        Endpoint(name, profile.name, variant, role, link, path)
        for profile in protocol(name).profiles.values()
        for variant in profile.variants
        for link in protocol(name).links
        for path in state_paths(name, profile.name, variant, link)
        for role in ("server", "client")
    )


@cache
def _by_byte(name: str) -> tuple[Endpoint, ...]:
    endpoints = combinations(name)
    return tuple(endpoints[byte % len(endpoints)] for byte in range(256))


def decode_seeds(name: str) -> None:
    """Decode all seeds of a protocol by the code as it is now; what they say is kept when codecs are rebuilt."""
    for _ in seeds(name):
        pass
    for endpoint in combinations(name):
        requests(endpoint.protocol, endpoint.profile, endpoint.variant)


def rebuild_codecs(name: str) -> None:
    """Discard cached codecs, so that they are built from the code as it is now; the seeds stay as they are."""
    getattr(protocol(name).codec, "cache_clear", lambda: None)()
    combinations.cache_clear()
    _by_byte.cache_clear()


def _cuts(seed: int, size: int) -> Sequence[int]:
    """Return the offsets at which a stream of `size` bytes is cut: every byte of a short one, or four places."""
    return range(min(size, BYTES_ALONE)) if seed == 0 else [part * size >> 16 for part in FRACTIONS[seed]]


CHECKS = {
    CodecCheck.FRAME: Endpoint.check_frame,
    CodecCheck.LIMIT: Endpoint.check_limit,
    CodecCheck.REDRAWN: Endpoint.check_redrawn,
    CodecCheck.WRITTEN: Endpoint.check_written,
    CodecCheck.SEGMENTATION: Endpoint.check_segmentation,
    CodecCheck.ECONOMY: Endpoint.check_economy,
    CodecCheck.DIALOGUE: Endpoint.check_dialogue,
}
BY_BYTE = tuple(CHECKS[what] for what in CHECK_BY_BYTE)


def check_one(name: str, data: bytes) -> None:
    """Run the check that `check_of` returns on one input. Raises `InvariantError`."""
    if len(data) > SHORTEST:
        BY_BYTE[crc32(data) & 0xFF](_by_byte(name)[data[0]], data)


def check(name: str, data: bytes) -> None:
    """Run all checks of the codec on one input. Raises `InvariantError`."""
    if len(data) > SHORTEST:
        endpoint = _by_byte(name)[data[0]]
        for check in CHECKS.values():
            check(endpoint, data)


def described(name: str, data: bytes) -> InputDescription:
    """Return the endpoint of an input, the requests that wait for replies, and the stream, as text."""
    endpoint = _by_byte(name)[data[0]]
    pending, stream = endpoint.parts(data)
    where = f"{endpoint.role} side of link {endpoint.link_name or 'default'}"
    led = [f"after {describe(one)}" for one in endpoint.path]
    asked = [f"waits for the reply to {describe(one)}" for one in pending]
    read = f"reads {stream.hex() or 'nothing'}"
    return InputDescription(endpoint.profile, endpoint.variant, (where, *led, *asked, read))


def seeds(name: str) -> Iterator[bytes]:
    """Yield every exchange of the vectors as an input of both sides, then examples for every state."""
    for number, endpoint in enumerate(combinations(name)):
        pick = picker(endpoint.codec, endpoint.known)
        for one in exchanges(name, endpoint.profile, endpoint.variant) if not endpoint.path else ():
            if protocol(name).link_of(one.link) is not endpoint.link:
                continue
            if endpoint.role == "server":
                yield bytes([number, len(one.sent) & 0xFF, 0]) + one.sent
                continue
            picked = [at for at in map(pick, one.asked) if at is not None]
            if len(one.asked) == len(picked) <= MOST_PENDING:
                yield bytes([number, len(one.received) & 0xFF, len(picked), *picked]) + one.received
        if by_state(name, endpoint.profile, endpoint.variant):
            yield from first_messages(number, endpoint)
        if endpoint.stands_alone and endpoint.is_client:
            made = tables(endpoint.codec, endpoint.known)
            yield from (one for rest in made for one in cut_by(number, rest))
        if endpoint.reader and not endpoint.is_client:
            yield from (bytes([number, 0, 0]) + text for text in texts_of(name, endpoint.link_name))
        if not endpoint.is_client:
            yield from (bytes([number]) + Random(f"{number} {one}").randbytes(50) for one in range(DIALOGUES))
