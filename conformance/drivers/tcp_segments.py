"""How writes become TCP segments: each write leaves by itself, and the kernel says whether it did.

A case played under another segmentation is a list of writes that the target must not see joined. A program does not
decide that: the kernel may join writes that wait for room in a window (Nagle's algorithm is off, the window is not),
and the verdict "fails when a request comes in two segments" would then rest on segments that never were.

So after each such write the driver waits until the kernel holds none of its bytes, at most `LEAVING`. Bytes that were
sent cannot be joined with later ones by this machine. If their acknowledgement comes soon (`ACKNOWLEDGING`), the target
has them, too; it is not waited for longer, since a target may delay it for 40 ms and more.

Linux reports all this in `struct tcp_info`: bytes not sent, segments not acknowledged, and the number of segments sent,
from which those sent again are subtracted. `missed` makes the play untestable if a write did not leave by itself, and
`evidence` goes into the record. Of UNIX sockets, and on other systems, nothing is known and nothing is claimed; there
only the pauses separate writes.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

TCP_INFO = struct.Struct("=24xI72xI40xI8xI")
"""Of `struct tcp_info` (linux/tcp.h): unacked, total_retrans, notsent_bytes and data_segs_out."""
LEAVING = 0.2
"""Seconds a write has to leave this machine by itself."""
ACKNOWLEDGING = 0.002
"""Seconds its acknowledgement is waited for: a target may delay it, and what has left cannot be joined any more."""
LOOK_AGAIN = 0.0005


@dataclass(slots=True)
class Cuts:
    """What became of the writes that had to leave by themselves, on one connection."""

    asked: int = 0
    seen: int = 0
    """Those of which nothing was left in the kernel before the next was written."""
    segments: int | None = None
    """Segments with data that the connection sent, each counted once; None where it is unknown."""

    async def leave(self, transport: asyncio.Transport, pause: float) -> None:
        """Wait, bounded, until what was written has left; `pause` seconds at least. A closing transport has no cuts."""
        loop = asyncio.get_running_loop()
        began, sock = loop.time(), transport.get_extra_info("socket")
        await asyncio.sleep(pause)
        while not transport.is_closing():
            late, state = loop.time() - began, send_state(sock)
            left = state is not None and state.sent and not transport.get_write_buffer_size()
            if state is None or late >= LEAVING or (left and (state.acknowledged or late >= ACKNOWLEDGING)):
                self.asked += 1
                self.seen += left
                self.segments = state.segments if state else None
                return
            await asyncio.sleep(LOOK_AGAIN)


class SendState(NamedTuple):
    """How the sending side of a connection stands."""

    sent: bool
    """Nothing waits in the kernel."""
    acknowledged: bool
    segments: int


def send_state(sock: Any) -> SendState | None:
    """Return how the sending side of a socket stands, or None where it is unknown."""
    if sys.platform != "linux" or sock.family == socket.AF_UNIX:
        return None
    try:
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO.size)
    except OSError:
        return None
    if len(info) < TCP_INFO.size:
        return None
    unacknowledged, again, waiting, segments = TCP_INFO.unpack(info)
    return SendState(waiting == 0, waiting == 0 and unacknowledged == 0, segments - again)


def hold_for_the_end(transport: asyncio.Transport) -> None:
    """Let what is written next wait, some 200 ms at most, for the end of our side, so that both leave in one segment.

    A target then reads the last request and the end in one go. Only Linux can be asked for it, and only for TCP.
    """
    sock = transport.get_extra_info("socket")
    if sys.platform == "linux" and sock.family != socket.AF_UNIX:
        with suppress(OSError):  # the target may have reset the connection already
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)


def evidence(cuts: Iterable[Cuts]) -> dict[str, int | None] | None:
    """Return what a record says of the cuts of all connections of a play; None when none was asked for."""
    made = [one for one in cuts if one.asked]
    if not made:
        return None
    known = [one.segments for one in made if one.segments is not None]
    return {
        "writes": sum(one.asked for one in made),
        "segments": sum(known) if len(known) == len(made) else None,
    }


def missed(cuts: Iterable[Cuts]) -> str | None:
    """Return in words that a write did not leave by itself; None when all did, or it is unknown."""
    known = [one for one in cuts if one.segments is not None]
    asked, seen = sum(one.asked for one in known), sum(min(one.seen, one.segments or 0) for one in known)
    return None if seen >= asked else f"{asked} writes were to leave by themselves, {seen} did"
