"""The UDP transport: answers each datagram at once or never; knows no protocol."""

from __future__ import annotations

import asyncio
import logging
from typing import cast

from wireproof.reference_server.clock import LoopClock
from wireproof.reference_server.service import Peer, Service, SlowWork

__all__ = ["DatagramProtocol"]

log = logging.getLogger(__name__)

MOST_WAITING = 256
"""Datagrams that wait for slow work."""


class DatagramProtocol(asyncio.DatagramProtocol):
    """One UDP socket of a server.

    Both loops read into a buffer larger than any datagram, so the service gets each one whole or not at all.
    """

    transport: asyncio.DatagramTransport

    def __init__(self, service: Service) -> None:
        self._service = service
        self._is_full = False
        self._waiting = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport, which sends the answers."""
        self._clock = LoopClock(asyncio.get_running_loop())
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Answer the datagram, after slow work if it needs any; too many of these are lost, as UDP allows."""
        slow = self._service.slow_work(data)
        if slow is None:
            self._answer(data, addr)
        elif self._waiting < MOST_WAITING:
            self._waiting += 1
            self._clock.call_after(slow.work, lambda: self._go_on(slow, data, addr))

    def _go_on(self, slow: SlowWork, data: bytes, addr: tuple[str, int]) -> None:
        self._waiting -= 1
        slow.keep()
        if not self.transport.is_closing():
            self._answer(data, addr)

    def _answer(self, data: bytes, addr: tuple[str, int]) -> None:
        """Answer a datagram; the answer is lost while the socket's buffer is full."""
        answer = self._service.datagram(Peer("udp", addr[0], addr[1]), data)
        if answer is not None and not self._is_full:
            self.transport.sendto(answer, addr)

    def error_received(self, exc: Exception) -> None:
        """Log that an answer could not be delivered, usually because its port is closed."""
        log.debug("udp: %s", exc)

    def pause_writing(self) -> None:
        """Drop answers from now on: the socket's buffer is full."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Send answers again."""
        self._is_full = False
