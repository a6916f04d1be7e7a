"""The input of the parser's fuzz target: which side of a link reads, standing where, what was asked, what comes.

Three bytes choose the combination, the cuts and how many requests are pending (client side); a byte for each of these
picks it from the seeds; the rest is the stream. So any bytes are an input, and every seed can be written as one.
`check` holds everything over an input; `check_one` holds one thing, drawn from the input, and is what fuzzers count.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache, cached_property
from typing import Any
from zlib import crc32

from wireproof.fuzz.invariants.codec_invariants import (
    check_datagrams,
    check_economy,
    check_frame,
    check_requests,
    check_stream,
    check_written,
    pieces,
)
from wireproof.fuzz.seeds import by_state, exchanges, requests
from wireproof.fuzz.state_paths import StatePath, connections_after, examples, state_paths
from wireproof.protocols import Connection, LocalProtocolError, Request, protocol
from wireproof.protocols.frames import Decoder, FrameContext

__all__ = [
    "CHECKS",
    "CodecCheck",
    "Endpoint",
    "check",
    "check_of",
    "check_one",
    "combinations",
    "rebuild_codecs",
    "seeds",
]

SHORTEST = 3
MOST_PENDING = 7
FRAME_LIMIT = 1 << 20
NO_FRAME = b"\x16\x03\x01\x00"
"""What begins TLS: a seed where nothing else may come."""
BYTES_ALONE = 64
CUTS = 32
FRACTIONS = tuple(tuple(seed * step * 40503 & 0xFFFF for step in (1, 3, 7, 11)) for seed in range(CUTS))
"""Where streams are cut, in parts of 2^16 of their size."""


class CodecCheck(Enum):
    """What one execution holds over its input."""

    FRAME = "a frame is decoded"
    WRITTEN = "the stream is written again"
    SEGMENTATION = "the stream is cut"
    ECONOMY = "what reading takes is counted"


RARE_CHECKS = {CodecCheck.SEGMENTATION: 3, CodecCheck.WRITTEN: 6, CodecCheck.ECONOMY: 2}
"""Of 256 inputs: what costs 20 times as much as decoding a frame is done as much more seldom."""
CHECK_BY_BYTE = [what for what, times in RARE_CHECKS.items() for _ in range(times)]
CHECK_BY_BYTE += [CodecCheck.FRAME] * (256 - len(CHECK_BY_BYTE))


class Endpoint:
    """One side of a line under one profile and variant, standing where `way` leads."""

    def __init__(self, name: str, profile: str, variant: str, role: str, link: str = "", path: StatePath = ()) -> None:
        spoken = protocol(name)
        self.protocol, self.profile, self.variant, self.role, self.path = name, profile, variant, role, path
        self.link_name = link or next(iter(spoken.links))
        self.link = spoken.link_of(link)
        self.is_client = role == "client"
        self.is_stream = self.link.transport == "stream"
        self.codec: Any = spoken.codec(spoken.profiles[profile], variant)
        self.stands_alone = hasattr(self.codec, "decode_request") and not path and self.is_stream
        """Frames are read without a connection: what was said before them tells nothing."""
        self._decode: Decoder | None = None
        if self.stands_alone:
            self._decode = self.codec.decode_answer if self.is_client else self.codec.decode_request
        self._make: Any = self.link.client if self.is_client else self.link.server

    @cached_property
    def known(self) -> tuple[Request, ...]:
        """The requests that bytes pick from: those that may be sent here."""
        found = requests(self.protocol, self.profile, self.variant)
        return found if self.stands_alone else tuple(filter(self._may_be_asked, found))[:256]

    def _may_be_asked(self, request: Request) -> bool:
        client = connections_after(self.link, self.codec, self.path)[0]
        try:
            client.send(request)
        except LocalProtocolError:
            return False
        return True

    @cached_property
    def _decoders(self) -> tuple[Decoder, ...]:
        """What decodes the first frame: of a server, or of a client that waits for nothing, then for each request."""
        waits = [()] if not self.is_client else [(), *((one,) for one in self.known)]
        return tuple(self.connection(pending)._decode for pending in waits)

    def check_frame(self, data: bytes) -> None:
        """Decode the first frame and nothing else: no connection is made."""
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

    def _check_frame_here(self, data: bytes, context: FrameContext) -> None:
        at, number, decoders = 3, 0, self._decoders
        if self.is_client and len(decoders) > 1:
            count = data[2] % (MOST_PENDING + 1)
            number = 1 + data[3] % (len(decoders) - 1) if count else 0
            at += count
        if self.is_stream:
            check_frame(decoders[number], data, at, context)
        else:
            check_frame(decoders[number], data[at:], 0, context)

    def check_written(self, data: bytes) -> None:
        """Read the stream whole; its messages are written as the bytes they were read from."""
        if self.stands_alone and not self.is_client:
            check_requests(self.codec, data, 3, FRAME_LIMIT)
            return
        pending, stream = self.parts(data)
        reading = check_stream(lambda: self.connection(pending), stream, tls=self.link.tls)
        check_written(self.codec.encode, reading, stream)

    def check_segmentation(self, data: bytes) -> None:
        """Read the stream whole and cut, and hold all that a connection is held to; datagrams each by itself."""
        pending, stream = self.parts(data)
        cuts = _cuts(data[1] % CUTS, len(stream))
        if self.is_stream:
            check_stream(lambda: self.connection(pending), stream, cuts, tls=self.link.tls)
        else:
            check_datagrams(lambda: self.connection(pending), pieces(stream, cuts) if stream else [])

    def check_economy(self, data: bytes) -> None:
        """Read the stream cut, and count bytes copied and memory taken."""
        pending, stream = self.parts(data)
        cuts = _cuts(data[1] % CUTS, len(stream)) if self.is_stream else ()
        check_economy(lambda: self.connection(pending), stream, cuts)

    def parts(self, data: bytes) -> tuple[list[Request], bytes]:
        """Return the requests that wait and the stream."""
        if not self.is_client or not self.known:
            return [], data[3:]
        known, count = self.known, data[2] % (MOST_PENDING + 1)
        return [known[byte % len(known)] for byte in data[3 : 3 + count]], data[3 + count :]

    def connection(self, pending: Sequence[Request] = ()) -> Connection:
        """Return a fresh connection that stands where the way leads and waits for the replies to `pending`.

        Of those that may not be asked one behind the other, the first ones.
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
    """Return both sides under every profile and variant, of every link, wherever it can stand."""
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


def rebuild_codecs(name: str) -> None:
    """Let codecs be made anew, of the code as it is now; what the seeds ask was read by the code as it was."""
    for endpoint in combinations(name):
        _ = endpoint.known
    getattr(protocol(name).codec, "cache_clear", lambda: None)()
    combinations.cache_clear()
    _by_byte.cache_clear()


def _cuts(seed: int, size: int) -> Sequence[int]:
    """Return where the stream is cut: byte by byte as far as that is cheap, or at a few places."""
    return range(min(size, BYTES_ALONE)) if seed == 0 else [part * size >> 16 for part in FRACTIONS[seed]]


CHECKS = {
    CodecCheck.FRAME: Endpoint.check_frame,
    CodecCheck.WRITTEN: Endpoint.check_written,
    CodecCheck.SEGMENTATION: Endpoint.check_segmentation,
    CodecCheck.ECONOMY: Endpoint.check_economy,
}
BY_BYTE = tuple(CHECKS[what] for what in CHECK_BY_BYTE)


def check_of(data: bytes) -> CodecCheck:
    """Return what `check_one` holds over an input."""
    return CHECK_BY_BYTE[crc32(data) & 0xFF]


def check_one(name: str, data: bytes) -> None:
    """Hold one of the codec's invariants over one input, see `held`; raises `Violation`."""
    if len(data) > SHORTEST:
        BY_BYTE[crc32(data) & 0xFF](_by_byte(name)[data[0]], data)


def check(name: str, data: bytes) -> None:
    """Hold all of the codec's invariants over one input; raises `Violation`."""
    if len(data) > SHORTEST:
        endpoint = _by_byte(name)[data[0]]
        for check in CHECKS.values():
            check(endpoint, data)


def seeds(name: str) -> Iterator[bytes]:
    """Yield every exchange of the vectors as an input of both sides; examples of what may come where a line stands."""
    for number, endpoint in enumerate(combinations(name)):
        known = {request: at for at, request in enumerate(endpoint.known) if at < 256}
        kinds = {type(request): at for request, at in known.items()}
        for one in exchanges(name, endpoint.profile, endpoint.variant) if not endpoint.path else ():
            if protocol(name).link_of(one.link) is not endpoint.link:
                continue
            if endpoint.role == "server":
                yield bytes([number, len(one.sent) & 0xFF, 0]) + one.sent
            elif len(one.asked) <= MOST_PENDING and all(type(asked) in kinds for asked in one.asked):
                picked = bytes(kinds[type(asked)] for asked in one.asked)
                yield bytes([number, len(one.received) & 0xFF, len(picked)]) + picked + one.received
        if by_state(name, endpoint.profile, endpoint.variant):
            yield from _examples(name, number, endpoint)


def _examples(name: str, number: int, endpoint: Endpoint) -> Iterator[bytes]:
    """Yield what may come first where a side stands, and from the opening on all that leads anywhere."""
    messages = examples(name, endpoint.profile, endpoint.variant)
    come: list[tuple[bytes, bytes]] = [(b"", NO_FRAME)]
    if endpoint.is_client:
        pushes = [one for kind in endpoint.codec.profile.pushes for one in messages.get(kind, ())]
        come += [(b"", endpoint.codec.encode(one)) for one in pushes]
        for at, request in enumerate(endpoint.known):
            replies = [one for kind in endpoint.codec.profile.replies[type(request)] for one in messages.get(kind, ())]
            come += [(bytes([at]), endpoint.codec.encode(one)) for one in replies]
    else:
        asked = [[one] for one in endpoint.known]
        led = state_paths(name, endpoint.profile, endpoint.variant, endpoint.link_name) if not endpoint.path else ()
        asked += [[one for one in path if isinstance(one, Request)] for path in led]
        come += [(b"", b"".join(map(endpoint.codec.encode, some))) for some in asked]
    for picked, data in come:
        yield bytes([number, len(data) & 0xFF, len(picked)]) + picked + data
