"""Reads the TCP connections of a capture as traces: segments put in order, each event with the number of its packet.

Retransmitted bytes count once. Where bytes are missing the connection ends there, since what follows cannot be framed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from wireproof.conformance.model.trace import Kind, TraceEvent

if TYPE_CHECKING:
    from scapy.packet import Packet

__all__ = ["CaptureError", "CapturedConnection", "captured_connections"]

HALF = 1 << 31
WRAP = 1 << 32
MOST_WAITING = 1000
"""Segments that may wait for one that is missing."""
Endpoint = tuple[str, int]


class CaptureError(ValueError):
    """Raised for a file that is no capture; it names the file."""


@dataclass
class CapturedConnection:
    """One connection of a capture, as the client's side saw it: what it sent is `sent`."""

    client: Endpoint
    server: Endpoint
    events: list[TraceEvent] = field(default_factory=list)
    packets: list[int] = field(default_factory=list)
    """Of each event the number of its packet, from 1, as Wireshark counts."""
    begun: bool = False
    """The capture has its first packet: else what was asked before is not known."""
    note: str = ""
    """Why it cannot be read to its end."""

    @property
    def name(self) -> str:
        """Both ends."""
        return f"{self.client[0]}:{self.client[1]} → {self.server[0]}:{self.server[1]}"


@dataclass
class _Direction:
    """The bytes of one side, in order."""

    expected: int | None = None
    waiting: dict[int, tuple[bytes, int]] = field(default_factory=dict)

    def take(self, sequence: int, data: bytes, number: int) -> Iterator[tuple[bytes, int]]:
        """Yield what can be read now: bytes and the number of their packet."""
        if self.expected is None:
            self.expected = sequence
        if data:
            self.waiting.setdefault(sequence, (data, number))
        moved = True
        while moved:
            moved = False
            for at in sorted(self.waiting, key=lambda one: (one - (self.expected or 0) + HALF) % WRAP):
                behind = (self.expected - at + HALF) % WRAP - HALF
                if behind < 0:
                    break
                held, packet = self.waiting.pop(at)
                if behind < len(held):
                    yield held[behind:], packet
                    self.expected = (at + len(held)) % WRAP
                    moved = True
                    break


def captured_connections(path: Path, ports: Collection[int] = ()) -> list[CapturedConnection]:
    """Return the TCP connections of a .pcap or .pcapng file, by their first packet.

    `ports`: where servers listen, for connections whose first packet is missing. Raises `CaptureError`, `OSError`,
    `ImportError` without scapy.
    """
    from scapy.error import Scapy_Exception
    from scapy.utils import PcapReader

    readers: dict[frozenset[Endpoint], _Connection] = {}
    found = list[CapturedConnection]()
    try:
        with path.open("rb") as file, PcapReader(file) as packets:  # type: ignore[arg-type] # it takes files, too
            first = None
            for number, packet in enumerate(packets, 1):
                first = float(packet.time) if first is None else first
                _see(packet, number, float(packet.time) - first, readers, found, ports)
    except (Scapy_Exception, EOFError) as error:
        raise CaptureError(f"{path} is no capture (.pcap, .pcapng): {error}") from None
    for reader in readers.values():
        reader.finish()
    return found


class _Connection:
    """One connection on its way."""

    def __init__(self, shown: CapturedConnection, at_us: int, number: int) -> None:
        self.shown = shown
        self._sides = {shown.client: _Direction(), shown.server: _Direction()}
        self.over = False
        self._add(Kind.OPENED, at_us, number)

    def _add(self, kind: Kind, at_us: int, number: int, data: bytes = b"") -> None:
        self.shown.events.append(TraceEvent(at_us, "a", kind, data))
        self.shown.packets.append(number)

    def see(self, source: Endpoint, flags: str, sequence: int, data: bytes, at_us: int, number: int) -> None:
        """Take one segment."""
        side, by_client = self._sides[source], source == self.shown.client
        if "S" in flags:
            side.expected, sequence = (sequence + 1) % WRAP, (sequence + 1) % WRAP
        for piece, packet in side.take(sequence, data, number):
            self._add(Kind.SENT if by_client else Kind.RECEIVED, at_us, packet, piece)
        if len(side.waiting) > MOST_WAITING:
            self.over, self.shown.note = True, "bytes are missing in the capture"
        if "R" in flags:
            self._add(Kind.CLOSED if by_client else Kind.RESET, at_us, number)
            self.over = True
        elif "F" in flags and not side.waiting:
            self._add(Kind.HALF_CLOSED if by_client else Kind.ENDED, at_us, number)

    def finish(self) -> None:
        """Say what is missing at the end."""
        if any(one.waiting for one in self._sides.values()):
            self.shown.note = "bytes are missing in the capture"


def _see(
    packet: Packet,
    number: int,
    at: float,
    readers: dict[frozenset[Endpoint], _Connection],
    found: list[CapturedConnection],
    ports: Collection[int],
) -> None:
    from scapy.layers.inet import IP, TCP
    from scapy.layers.inet6 import IPv6

    layer = packet.getlayer(IP) or packet.getlayer(IPv6)
    if layer is None or TCP not in packet:
        return
    segment = packet[TCP]
    source, target = (layer.src, int(segment.sport)), (layer.dst, int(segment.dport))
    flags, pair = str(segment.flags), frozenset((source, target))
    begins = "S" in flags and "A" not in flags
    at_us = round(at * 1e6)
    if pair not in readers or (begins and readers[pair].over):
        if begins:
            ends = source, target
        elif "S" in flags or source[1] in ports or (target[1] not in ports and source[1] < target[1]):
            ends = target, source
        else:
            ends = source, target
        shown = CapturedConnection(*ends, begun="S" in flags)
        found.append(shown)
        readers[pair] = _Connection(shown, at_us, number)
    if not readers[pair].over:
        readers[pair].see(source, flags, int(segment.seq), bytes(segment.payload), at_us, number)
