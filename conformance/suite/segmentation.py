"""How the bytes of a case reach the target: whole, cut, slowly, joined with others, spelled otherwise, with an end.

A delivery changes neither what a case asks nor what it expects, so the verdict must be the one of `whole`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

# The problem. TCP hands over bytes and keeps no borders between messages. A reader that takes one `recv` for one
# request passes every test on loopback, where each write arrives in one segment, and fails in production.
#
# Why other ways to send a case, and no other cases. What a case expects does not depend on how its bytes are cut. So
# nothing is expected twice, and each case that is ever written looks for these defects, too.
#
# Which ways, and what they find. `bytes` cuts wherever a reader could stop. `fields` stops where a reader has a whole
# field and may take it for the whole message; `beside` one byte earlier or later, where it has a part of a number.
# `joined` finds readers that drop what is left in the buffer after a request. `dripped` finds time-outs that run anew,
# or not, with each byte. `half-closed` finds servers that drop answers when the peer has nothing more to send.
#
# Why bounds. A body of 64 KiB sent byte by byte would take minutes, and a case about time would be another case. So
# cuts are counted for each write and each play, and spread evenly where there would be too many. A handshake is cut on
# the first connection of a play alone: on the others it would be the same bytes cut again.
#
# What proves a difference. The kernel may join pieces again, so `drivers/tcp_segments.py` checks what left, and a play
# without any change counts for nothing (`Carrier.changes`). A failure is compared with the same case sent
# whole, until enough of them were confirmed (`verdict/confirmation.py`).


Boundaries = Callable[[], Sequence[int]]
Cut = Callable[[int, Boundaries], Iterable[int]]
"""(size of a write, what finds the boundaries of its fields) -> offsets to cut at."""

GAP = 0.001
"""Seconds between two pieces, so that the target has read the first when the second comes."""
SLOW_GAP = 0.01
MOST_CUTS, MOST_CUTS_SLOWLY = 512, 64
"""Cuts of one write; where a delivery asks for more, as many are made, evenly spread."""
ALL_CUTS, ALL_CUTS_SLOWLY = 1500, 100
"""Cuts in one play: what is sent after them comes whole, so that no case takes so long that it is another one."""


@dataclass(frozen=True, slots=True)
class Segmentation:
    """A named way to send what a case sends."""

    name: str
    description: str
    """What it does, for people."""
    cut: Cut | None = None
    gap: float = 0.0
    """Seconds between two pieces."""
    joins: bool = False
    """Each write stands between two harmless requests, in one segment with them."""
    half_closes: bool = False
    """Our sending side ends right after the last request."""
    apart: bool = False
    """Each message of a write goes by itself: for looking into a failure, no delivery that a run asks for."""
    respells: bool = False
    """Each request is written in another legal way, where the protocol has several."""

    @property
    def plain(self) -> bool:
        """Whether nothing is done to what is sent."""
        return not (self.cut or self.joins or self.half_closes or self.respells)

    @property
    def slow(self) -> bool:
        """Whether it takes so long that a case about time would be another case."""
        return self.gap > GAP

    @property
    def bounds(self) -> tuple[int, int]:
        """The most cuts of one write, and of one play."""
        return (MOST_CUTS_SLOWLY, ALL_CUTS_SLOWLY) if self.slow else (MOST_CUTS, ALL_CUTS)


def _every_byte(size: int, boundaries: Boundaries) -> Iterable[int]:
    return range(1, size)


def _at_fields(size: int, boundaries: Boundaries) -> Iterable[int]:
    return boundaries()


def _beside_fields(size: int, boundaries: Boundaries) -> Iterable[int]:
    """One byte before and one after each boundary, the end of the last field included, but never on one."""
    at = set(boundaries())
    return {beside for one in (*at, size) for beside in (one - 1, one + 1)} - at if at else ()


SEGMENTATIONS: Mapping[str, Segmentation] = {
    one.name: one
    for one in (
        Segmentation("whole", "each write in one piece"),
        Segmentation("bytes", "byte by byte", _every_byte, GAP),
        Segmentation("fields", "cut at every field boundary", _at_fields, GAP),
        Segmentation("beside", "cut one byte before and after every field boundary", _beside_fields, GAP),
        Segmentation("joined", "in one segment with a request before and one after", joins=True),
        Segmentation("dripped", "byte by byte, slowly", _every_byte, SLOW_GAP),
        Segmentation("half-closed", "our side ended right after the last request", half_closes=True),
        Segmentation("spelled", "each request in another of its legal spellings, where it has several", respells=True),
    )
}
WHOLE = SEGMENTATIONS["whole"]
SPELLED = SEGMENTATIONS["spelled"]
APART = Segmentation("apart", "each message of a write in a segment of its own", gap=GAP, apart=True)


class Carrier:
    """Cuts the writes of one play, and counts what was done to them."""

    def __init__(self, segmentation: Segmentation, first: int = 0) -> None:
        """`first`: the number of the spelling that the first request gets."""
        self.segmentation = segmentation
        self._spelling = first
        self.changes = 0
        """Cuts, joins and early ends so far: with none, a play shows no more than `whole` does."""
        self._most, self._left = segmentation.bounds

    def spelled(self, data: bytes, spellings: Mapping[str, bytes]) -> bytes:
        """Return what is sent for a request that is usually `data`: one of its other spellings, each in its turn."""
        if not (self.segmentation.respells and spellings):
            return data
        self._spelling += 1
        self.changes += 1
        return list(spellings.values())[self._spelling % len(spellings)]

    def pieces(
        self, data: bytes, boundaries: Boundaries, whole: int = 0, sizes: Sequence[int] = ()
    ) -> Sequence[tuple[bytes, float | None]]:
        """Return the pieces of one write, each with the seconds to wait after it; None: nothing is done to it.

        The first `whole` bytes stay in one piece; `sizes` are those of the messages in it.
        """
        segmentation = self.segmentation
        if segmentation.apart:
            ends = (0, *accumulate(sizes))
            return [(data[start:stop], segmentation.gap) for start, stop in pairwise(ends)] or [(data, None)]
        if segmentation.cut is None or not data:
            return [(data, 0.0 if segmentation.joins and data else None)]
        wanted = segmentation.cut(len(data), boundaries)
        cuts = spread(sorted(one for one in wanted if max(1, whole) <= one < len(data)), min(self._most, self._left))
        self.changes += len(cuts)
        self._left -= len(cuts)
        chunks = [data[start:stop] for start, stop in pairwise((0, *cuts, len(data)))]
        return [(chunk, segmentation.gap) for chunk in chunks[:-1]] + [(chunks[-1], 0.0)]


def spread(cuts: list[int], most: int) -> list[int]:
    """Return at most `most` of the cuts, evenly spread, the first and the last among them."""
    if len(cuts) <= most:
        return cuts
    return [cuts[round(number * (len(cuts) - 1) / max(1, most - 1))] for number in range(most)]
