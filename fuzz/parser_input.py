"""The input of the parser's fuzz target: which side reads, under which profile and variant, what was asked, what comes.

Three bytes choose the combination, the cuts and how many requests are pending (client side); a byte for each of these
picks it from the seeds; the rest is the stream. So any bytes are an input, and every seed can be written as one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from fuzz.invariants.codec import check_requests, check_stream, check_written
from fuzz.seeds import exchanges, requests
from protocols import Connection, Request, protocol

__all__ = ["ParserInput", "check", "combinations", "seeds"]

MOST_PENDING = 7
FRAME_LIMIT = 1 << 20
CUTS = 4
CUT_BELOW = 64
"""One input in four is cut: reading twice costs more than twice."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a connection under one profile and variant."""

    protocol: str
    profile: str
    variant: str
    role: str
    codec: Any

    def connection(self) -> Connection:
        """Return a fresh connection of this side."""
        spoken = protocol(self.protocol)
        make = spoken.client if self.role == "client" else spoken.server
        connection: Connection = make(self.codec, max_frame=FRAME_LIMIT)  # type: ignore[assignment]
        return connection


@cache
def combinations(name: str) -> tuple[Side, ...]:
    """Return both sides under every profile and variant."""
    spoken = protocol(name)
    return tuple(
        Side(name, profile.name, variant, role, spoken.codec(profile, variant))
        for profile in spoken.profiles.values()
        for variant in profile.variants
        for role in ("server", "client")
    )


@dataclass(frozen=True, slots=True)
class ParserInput:
    """One decoded input."""

    side: Side
    pending: Sequence[Request]
    cuts: Sequence[int]
    stream: bytes

    @staticmethod
    def of(name: str, data: bytes) -> ParserInput | None:
        """Return what `data` says; None when it is too short to say anything."""
        if len(data) < 3:
            return None
        sides = combinations(name)
        side = sides[data[0] % len(sides)]
        count = data[2] % (MOST_PENDING + 1) if side.role == "client" else 0
        known = requests(name, side.profile, side.variant)
        picked = data[3 : 3 + count]
        stream = data[3 + count :]
        return ParserInput(side, [known[byte % len(known)] for byte in picked], _cuts(data[1], len(stream)), stream)

    def connection(self) -> Connection:
        """Return the connection that reads the stream."""
        connection: Any = self.side.connection()
        for request in self.pending:
            connection.await_reply(request)
        return connection  # type: ignore[no-any-return]


def _cuts(seed: int, size: int) -> list[int]:
    """Return where the stream is cut: byte by byte as far as that is cheap, at a few places, or mostly nowhere."""
    if seed >= CUT_BELOW:
        return []
    if seed == 0:
        return list(range(min(size, 64)))
    source = random.Random(seed)
    return [source.randrange(size + 1) for _ in range(CUTS)]


def check(name: str, data: bytes) -> None:
    """Hold the codec's invariants over one input; raises `Violation`."""
    found = ParserInput.of(name, data)
    if found is None:
        return
    if found.side.role == "server" and not found.cuts:
        check_requests(found.side.codec, data, 3, FRAME_LIMIT)
    else:
        reading = check_stream(found.connection, found.stream, found.cuts)
        check_written(found.side.codec.encode, reading, found.stream)


def seeds(name: str) -> Iterator[bytes]:
    """Yield every exchange of the vectors as an input of both sides."""
    for number, side in enumerate(combinations(name)):
        known = {type(request): at for at, request in enumerate(requests(name, side.profile, side.variant)) if at < 256}
        for one in exchanges(name, side.profile, side.variant):
            if side.role == "server":
                yield bytes([number, len(one.sent) % 256, 0]) + one.sent
            elif len(one.asked) <= MOST_PENDING and all(type(asked) in known for asked in one.asked):
                picked = bytes(known[type(asked)] for asked in one.asked)
                yield bytes([number, len(one.received) % 256, len(picked)]) + picked + one.received
