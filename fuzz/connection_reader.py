"""Reads both directions of one line as they come: what is asked, what is answered, what cannot be read."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from wireproof.protocols import NEED_DATA, EndOfStream, LocalProtocolError, Message, Push, RemoteProtocolError, Request
from wireproof.protocols.connection import Client, Connection, Event
from wireproof.protocols.links import Link

__all__ = ["Following"]


class Following:
    """One line, from its opening on."""

    def __init__(self, link: Link, codec: Any, *, by_state: bool) -> None:
        """`by_state`: what was answered may tell how the next request is read."""
        self.link = link
        self.server: Connection = link.server(codec)
        self.client: Client = link.client(codec)
        self._by_state = by_state
        self.requests: list[Request] = []
        self.stops: list[int] = []
        """Where each request ends in what was sent."""
        self.pairs: list[tuple[Request, Message]] = []
        """Requests with their replies, in order."""
        self.messages: list[tuple[Message, Request | None]] = []
        """What came, with the request it answers; None for a push."""
        self.sent_size = self.came_size = 0
        self.framed = True
        """Whether all that was sent could be read so far."""
        self.broken: RemoteProtocolError | None = None
        """Why what came cannot be read any further."""

    @property
    def whole(self) -> bool:
        """Say whether nothing but whole requests was sent, each of them read."""
        return self.framed and self.server.received == self.sent_size

    def sent(self, data: bytes) -> list[Request]:
        """Take what the client sent; return the requests that can be read now."""
        self.sent_size += len(data)
        if not data or not (self.framed or self._is_datagram):
            return []
        self.server.receive_data(data)
        return self._asked()

    def came(self, data: bytes) -> list[Message]:
        """Take what the server sent; return the messages that can be read now."""
        self.came_size += len(data)
        if not data or self.broken is not None:
            return []
        self.client.receive_data(data)
        found: list[Message] = []
        while (event := self._heard()) is not NEED_DATA and not isinstance(event, EndOfStream):
            request = None if isinstance(event, Push) else self.client.answered
            self.messages.append((event, request))
            if request is not None:
                self.pairs.append((request, event))
            found.append(event)
            if self._by_state and not isinstance(event, Push):
                with suppress(LocalProtocolError):
                    self.server.send(event)
                self._asked()
        return found

    @property
    def _is_datagram(self) -> bool:
        return self.link.transport == "datagram"

    def _asked(self) -> list[Request]:
        found: list[Request] = []
        while isinstance(event := self._read(), Request):
            found.append(event)
            self.stops.append(self.server.span[1])
            with suppress(LocalProtocolError):
                self.client.await_reply(event)
        self.requests += found
        return found

    def _read(self) -> Event:
        while self.framed or self._is_datagram:
            try:
                return self.server.next_event()
            except RemoteProtocolError:
                self.framed = False
        return NEED_DATA

    def _heard(self) -> Event:
        try:
            return self.client.next_event()
        except RemoteProtocolError as error:
            self.broken = error
            return NEED_DATA
