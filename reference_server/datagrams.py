"""The UDP transport: each datagram is answered by itself, at once or never; it knows no protocol."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

from wireproof.reference_server.service import Peer, Service

__all__ = ["DatagramProtocol"]

log = logging.getLogger(__name__)


class DatagramProtocol(asyncio.DatagramProtocol):
    """One UDP socket of a server.

    Both loops read into more bytes than a datagram can have, so the service sees each one whole, or not at all.
    """

    transport: asyncio.DatagramTransport

    def __init__(self, service: Service) -> None:
        self._service = service
        self._is_full = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what answers are sent with."""
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """Answer, unless the system does not take answers just now: then this one is lost, as on the way."""
        answer = self._service.datagram(Peer("udp", addr[0], addr[1]), data)
        if answer is not None and not self._is_full:
            self.transport.sendto(answer, addr)

    def error_received(self, exc: Exception) -> None:
        """Note that an answer could not be delivered: its port is closed, most of the time."""
        log.debug("udp: %s", exc)

    def pause_writing(self) -> None:
        """Drop answers."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Answer again."""
        self._is_full = False
