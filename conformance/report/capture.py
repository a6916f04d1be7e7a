"""Writes a play as a capture for Wireshark: TCP streams and UDP datagrams with the times of the trace.

The trace holds bytes, not packets, so handshakes, sequence numbers and acknowledgements are made up. Needs scapy.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from wireproof.conformance.model.trace import Kind, TraceEvent

if TYPE_CHECKING:
    from scapy.packet import Packet

__all__ = ["MISSING", "is_available", "write_capture"]

MISSING = "capture.pcapng is not written: scapy is not installed (extra wireproof[fuzz])"
HOST, FIRST_PORT = "127.0.0.1", 40_000
LARGEST = 60_000
"""Most bytes of one segment or datagram."""
ENDS = {Kind.HALF_CLOSED: (True, "FA"), Kind.CLOSED: (True, "FA"), Kind.ENDED: (False, "FA"), Kind.RESET: (False, "RA")}
"""Event -> (sent by the client, flags of the segment)."""


def is_available() -> bool:
    """Return whether scapy is installed."""
    return find_spec("scapy") is not None


@dataclass
class _TcpFlow:
    """One connection: its ports and the next sequence number of each side."""

    client_port: int
    server_port: int
    client: int = 1000
    server: int = 2000

    def segment(self, by_client: bool, flags: str, data: bytes = b"") -> Packet:
        """Return the next segment of a side."""
        from scapy.layers.inet import IP, TCP
        from scapy.packet import Raw

        ports = (self.client_port, self.server_port) if by_client else (self.server_port, self.client_port)
        counts = (self.client, self.server) if by_client else (self.server, self.client)
        ack = counts[1] if "A" in flags else 0
        made = IP(src=HOST, dst=HOST) / TCP(sport=ports[0], dport=ports[1], seq=counts[0], ack=ack, flags=flags)
        counted = len(data) + ("S" in flags or "F" in flags)
        if by_client:
            self.client = (self.client + counted) & 0xFFFFFFFF
        else:
            self.server = (self.server + counted) & 0xFFFFFFFF
        return made / Raw(data) if data else made


@dataclass
class _UdpFlow:
    """One UDP socket."""

    client_port: int
    server_port: int

    def packet(self, by_client: bool, data: bytes) -> Packet:
        """Return one datagram of a side."""
        from scapy.layers.inet import IP, UDP
        from scapy.packet import Raw

        ports = (self.client_port, self.server_port) if by_client else (self.server_port, self.client_port)
        return IP(src=HOST, dst=HOST) / UDP(sport=ports[0], dport=ports[1]) / Raw(data)


def write_capture(path: Path, events: Iterable[TraceEvent], port: int, datagrams: Container[str] = ()) -> None:
    """Write the trace as a pcapng file; the server listens on `port`. Raises `OSError`, `ImportError`.

    `datagrams` are the names of the links over UDP.
    """
    from scapy.utils import PcapNgWriter

    writer = PcapNgWriter(str(path))
    try:
        for at, packet in _packets(events, port, datagrams):
            packet.time = at
            writer.write(packet)
    finally:
        writer.close()


def _packets(events: Iterable[TraceEvent], port: int, datagrams: Container[str]) -> Iterator[tuple[float, Packet]]:
    flows: dict[str, _TcpFlow | _UdpFlow] = {}
    opened = 0
    for event in events:
        packets: list[Packet] = []
        if event.kind is Kind.OPENED and event.link in datagrams:
            flows[event.connection] = _UdpFlow(FIRST_PORT + opened, port)
            opened += 1
        elif event.kind is Kind.OPENED:
            flow = flows[event.connection] = _TcpFlow(FIRST_PORT + opened, port)
            opened += 1
            packets = [flow.segment(True, "S"), flow.segment(False, "SA"), flow.segment(True, "A")]
        elif event.connection in flows:
            packets = list(_of(flows[event.connection], event))
        else:
            continue
        yield from ((event.at_us / 1e6, packet) for packet in packets)


def _of(flow: _TcpFlow | _UdpFlow, event: TraceEvent) -> Iterator[Packet]:
    if isinstance(flow, _UdpFlow):
        if event.kind in (Kind.SENT, Kind.RECEIVED):
            yield flow.packet(event.kind is Kind.SENT, event.data[:LARGEST])
    elif event.kind in (Kind.SENT, Kind.RECEIVED):
        for at in range(0, len(event.data), LARGEST):
            yield flow.segment(event.kind is Kind.SENT, "PA", event.data[at : at + LARGEST])
    elif event.kind in ENDS:
        by_client, flags = ENDS[event.kind]
        yield flow.segment(by_client, flags)
