"""The input of the parser's fuzz target: which side reads, under which profile and variant, what was asked, what comes.

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

from fuzz.invariants.codec import check_economy, check_frame, check_requests, check_stream, check_written
from fuzz.seeds import exchanges, requests
from protocols import Connection, Request, protocol
from protocols.frames import FrameContext

__all__ = ["HOLD", "Held", "Side", "check", "check_one", "combinations", "held", "renew", "seeds"]

SHORTEST = 3
MOST_PENDING = 7
FRAME_LIMIT = 1 << 20
BYTES_ALONE = 64
CUTS = 32
FRACTIONS = tuple(tuple(seed * step * 40503 & 0xFFFF for step in (1, 3, 7, 11)) for seed in range(CUTS))
"""Where streams are cut, in parts of 2^16 of their size."""


class Held(Enum):
    """What one execution holds over its input."""

    FRAME = "a frame is decoded"
    WRITTEN = "the stream is written again"
    SEGMENTATION = "the stream is cut"
    ECONOMY = "what reading takes is counted"


SELDOM = {Held.SEGMENTATION: 3, Held.WRITTEN: 6, Held.ECONOMY: 2}
"""Of 256 inputs: what costs 20 times as much as decoding a frame is done as much more seldom."""
DRAWN = [what for what, times in SELDOM.items() for _ in range(times)]
DRAWN += [Held.FRAME] * (256 - len(DRAWN))


class Side:
    """One side of a connection under one profile and variant."""

    def __init__(self, name: str, profile: str, variant: str, role: str) -> None:
        spoken = protocol(name)
        self.protocol, self.profile, self.variant, self.role = name, profile, variant, role
        self.is_client = role == "client"
        self.codec: Any = spoken.codec(spoken.profiles[profile], variant)
        self._decode = self.codec.decode_answer if self.is_client else self.codec.decode_request
        self._make: Any = spoken.link.client if self.is_client else spoken.link.server

    @cached_property
    def known(self) -> tuple[Request, ...]:
        """The requests that bytes pick from."""
        return requests(self.protocol, self.profile, self.variant)

    def check_frame(self, data: bytes) -> None:
        """Decode the first frame and nothing else: no connection is made."""
        context, at = FrameContext(FRAME_LIMIT), 3
        if self.is_client:
            count, known = data[2] % (MOST_PENDING + 1), self.known
            context.request = known[data[3] % len(known)] if count else None
            at += count
        check_frame(self._decode, data, at, context)

    def check_written(self, data: bytes) -> None:
        """Read the stream whole; its messages are written as the bytes they were read from."""
        if not self.is_client:
            check_requests(self.codec, data, 3, FRAME_LIMIT)
            return
        pending, stream = self._parts(data)
        check_written(self.codec.encode, check_stream(lambda: self.connection(pending), stream), stream)

    def check_segmentation(self, data: bytes) -> None:
        """Read the stream whole and cut, and hold all that a connection is held to."""
        pending, stream = self._parts(data)
        check_stream(lambda: self.connection(pending), stream, _cuts(data[1] % CUTS, len(stream)))

    def check_economy(self, data: bytes) -> None:
        """Read the stream cut, and count bytes copied and memory taken."""
        pending, stream = self._parts(data)
        check_economy(lambda: self.connection(pending), stream, _cuts(data[1] % CUTS, len(stream)))

    def _parts(self, data: bytes) -> tuple[list[Request], bytes]:
        """Return the requests that wait and the stream."""
        if not self.is_client:
            return [], data[3:]
        known, count = self.known, data[2] % (MOST_PENDING + 1)
        return [known[byte % len(known)] for byte in data[3 : 3 + count]], data[3 + count :]

    def connection(self, pending: Sequence[Request] = ()) -> Connection:
        """Return a fresh connection of this side that waits for the replies to `pending`."""
        connection: Any = self._make(self.codec, max_frame=FRAME_LIMIT)
        for request in pending:
            connection.await_reply(request)
        return connection  # type: ignore[no-any-return]


@cache
def combinations(name: str) -> tuple[Side, ...]:
    """Return both sides under every profile and variant."""
    return tuple(
        Side(name, profile.name, variant, role)
        for profile in protocol(name).profiles.values()
        for variant in profile.variants
        for role in ("server", "client")
    )


@cache
def _by_byte(name: str) -> tuple[Side, ...]:
    sides = combinations(name)
    return tuple(sides[byte % len(sides)] for byte in range(256))


def renew(name: str) -> None:
    """Let codecs be made anew, of the code as it is now; what the seeds ask was read by the code as it was."""
    for side in combinations(name):
        _ = side.known
    getattr(protocol(name).codec, "cache_clear", lambda: None)()
    combinations.cache_clear()
    _by_byte.cache_clear()


def _cuts(seed: int, size: int) -> Sequence[int]:
    """Return where the stream is cut: byte by byte as far as that is cheap, or at a few places."""
    return range(min(size, BYTES_ALONE)) if seed == 0 else [part * size >> 16 for part in FRACTIONS[seed]]


HOLD = {
    Held.FRAME: Side.check_frame,
    Held.WRITTEN: Side.check_written,
    Held.SEGMENTATION: Side.check_segmentation,
    Held.ECONOMY: Side.check_economy,
}
BY_BYTE = tuple(HOLD[what] for what in DRAWN)


def held(data: bytes) -> Held:
    """Return what `check_one` holds over an input."""
    return DRAWN[crc32(data) & 0xFF]


def check_one(name: str, data: bytes) -> None:
    """Hold one of the codec's invariants over one input, see `held`; raises `Violation`."""
    if len(data) > SHORTEST:
        BY_BYTE[crc32(data) & 0xFF](_by_byte(name)[data[0]], data)


def check(name: str, data: bytes) -> None:
    """Hold all of the codec's invariants over one input; raises `Violation`."""
    if len(data) > SHORTEST:
        side = _by_byte(name)[data[0]]
        for hold in HOLD.values():
            hold(side, data)


def seeds(name: str) -> Iterator[bytes]:
    """Yield every exchange of the vectors as an input of both sides."""
    for number, side in enumerate(combinations(name)):
        known = {type(request): at for at, request in enumerate(requests(name, side.profile, side.variant)) if at < 256}
        for one in exchanges(name, side.profile, side.variant):
            if side.role == "server":
                yield bytes([number, len(one.sent) & 0xFF, 0]) + one.sent
            elif len(one.asked) <= MOST_PENDING and all(type(asked) in known for asked in one.asked):
                picked = bytes(known[type(asked)] for asked in one.asked)
                yield bytes([number, len(one.received) & 0xFF, len(picked)]) + picked + one.received
