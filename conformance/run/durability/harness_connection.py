"""One connection of the harness to a server that may die: every wait has a deadline, and what passed is kept."""

from __future__ import annotations

import socket
import time
from pathlib import Path
from typing import Protocol

from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.run.durability.conversation import Conversation
from wireproof.protocols import NEED_DATA, Message, ProtocolError
from wireproof.protocols.connection import EndOfStream

__all__ = ["ByteStream", "GoneError", "HarnessConnection", "SocketByteStream"]

TIMEOUT = 5.0
"""Seconds in which something must come that is due."""
BEGINNING, END = 5, 6
"""How many of the first and of the last messages of a connection are kept as evidence."""
AROUND = 2
"""How many messages before and after one that a breach is about are kept, too."""


class GoneError(OSError):
    """Raised when the server is gone, or sends what is not due."""


class ByteStream(Protocol):
    """The bytes of one connection, over sockets or in simulation."""

    def now(self) -> float:
        """Return seconds since any instant."""

    def write(self, data: bytes) -> None:
        """Send bytes; raises `OSError`."""

    def read(self, timeout: float) -> bytes | None:
        """Return what comes within `timeout` seconds: None for nothing, empty at the end. Raises `OSError`."""

    def close(self) -> None:
        """Close the connection."""


class HarnessConnection:
    """One connection on which messages are sent and received."""

    def __init__(
        self, talk: Conversation, link: str, wire: ByteStream, name: str = "", timeout: float = TIMEOUT
    ) -> None:
        """Shake hands; `name` is what evidence calls the connection. Raises `OSError`, and closes `wire` then."""
        self._link = talk.spoken.link_of(link)
        self._talk, self._wire, self._timeout, self._name = talk, wire, timeout, name or link or "server"
        self._codec = talk.spoken.codec(talk.spoken.profiles[talk.profile], talk.variant)
        self.side = self._link.client(self._codec, max_frame=1 << 26)
        self._began = wire.now()
        self._events: list[TraceEvent] = [self._event(Kind.OPENED, link=link)]
        self._delivered: dict[int, list[int]] = {}
        """Message id -> where its deliveries are in `_events`."""
        try:
            for request in self._link.handshake():
                self.send(request)
        except BaseException:
            self.close()
            raise

    def _event(self, kind: Kind, data: bytes = b"", link: str = "") -> TraceEvent:
        return TraceEvent(round((self._wire.now() - self._began) * 1e6), self._name, kind, data, link)

    def send(self, *messages: Message) -> None:
        """Send messages; raises `OSError`."""
        data = b"".join(self.side.send(one) for one in messages)
        self._events.append(self._event(Kind.SENT, data))
        self._wire.write(data)

    def receive(self, timeout: float | None = None) -> Message | None:
        """Return the next message, None where none comes in `timeout` seconds.

        Raises `OSError` at the end, and `GoneError` where the server sends what is not due.
        """
        deadline = self._wire.now() + (self._timeout if timeout is None else timeout)
        while True:
            try:
                event = self.side.next_event()
            except ProtocolError as error:
                raise GoneError(f"it sends what is not due: {error}") from None
            if isinstance(event, EndOfStream):
                raise self._gone()
            if event is not NEED_DATA:
                assert isinstance(event, Message)
                self._note(event)
                return event
            data = self._wire.read(max(deadline - self._wire.now(), 0.0))
            if data is None:
                return None
            if not data:
                raise self._gone()
            self.side.receive_data(data)

    def _gone(self) -> GoneError:
        self._events.append(self._event(Kind.ENDED))
        return GoneError("the server closed the connection")

    def _note(self, message: Message) -> None:
        delivered = self._talk.delivered(message)
        if delivered is not None:
            self._delivered.setdefault(delivered[0], []).append(len(self._events))
        self._events.append(self._event(Kind.RECEIVED, self._codec.encode(message)))

    def evidence(self, about: int = 0) -> Trace:
        """Return what was sent and received: its beginning, its end, and what is beside the message with id `about`.

        Each message is an event of its own, so what is left out in between is whole messages.
        """
        wanted = {*range(BEGINNING), *range(len(self._events) - END, len(self._events))}
        for number in range(about - AROUND, about + AROUND + 1) if about else ():
            wanted.update(self._delivered.get(number, ()))
        return Trace(self._events[at] for at in sorted(wanted) if 0 <= at < len(self._events))

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()

    def __enter__(self) -> HarnessConnection:
        return self

    def __exit__(self, *given: object) -> None:
        self.close()


class SocketByteStream:
    """The bytes of a connection over a socket."""

    now = staticmethod(time.monotonic)

    def __init__(self, address: Address, timeout: float = TIMEOUT) -> None:
        """Connect; raises `OSError`."""
        self._socket, self._timeout = _connected(address, timeout), timeout

    def write(self, data: bytes) -> None:
        """Send bytes; raises `OSError`."""
        self._socket.settimeout(self._timeout)
        self._socket.sendall(data)

    def read(self, timeout: float) -> bytes | None:
        """Return what comes within `timeout` seconds; see `ByteStream`. Raises `OSError`."""
        if timeout <= 0:
            return None
        self._socket.settimeout(timeout)
        try:
            return self._socket.recv(1 << 16)
        except TimeoutError:
            return None

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def _connected(address: Address, timeout: float) -> socket.socket:
    if address.scheme != "unix":
        return socket.create_connection((address.host, address.port), timeout)
    found = socket.socket(socket.AF_UNIX)
    found.settimeout(timeout)
    try:
        found.connect(str(Path(address.path)))
    except OSError:
        found.close()
        raise
    return found
