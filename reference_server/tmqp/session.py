"""One connection: its bytes in and out, its deadlines and its end. The meaning of requests is in the handlers.

Frames for a connection are gathered while requests are handled, and written with one call afterwards. A peer that does
not read what it is sent is not served either; what others send to it waits, up to a limit that ends the connection.
"""

from __future__ import annotations

import logging

from msgspec.structs import replace

from wireproof.protocols import NEED_DATA
from wireproof.protocols.connection import EndOfStream
from wireproof.protocols.errors import RemoteProtocolError
from wireproof.protocols.messages import Reply, Request
from wireproof.protocols.tmqp import TmqpServer
from wireproof.protocols.tmqp.enums import VERSION
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.replies import ProtocolReply, ServerPing
from wireproof.protocols.tmqp.requests import Acknowledge, Hello, Produce, Protocol, Respond, Route, SendDirect
from wireproof.reference_server.deadline import Deadline
from wireproof.reference_server.service import Close, Peer, Write
from wireproof.reference_server.stream_session import StreamSession
from wireproof.reference_server.tmqp.channels import Channels
from wireproof.reference_server.tmqp.client import Client
from wireproof.reference_server.tmqp.state import Handlers, RefusedError, State

__all__ = ["TmqpSession"]

log = logging.getLogger(__name__)

TURN, DELIVERIES = 256, 1024
"""Requests of one connection, and deliveries that they cause, in one turn of the loop, about."""
RELAYED = (Produce, Route, SendDirect, Acknowledge, Respond)
"""What goes to masters, too."""
TLS_RECORD = 0x16
"""What a TLS handshake begins with, and no other client."""


class TmqpSession(StreamSession[State, TmqpServer]):
    """The server's side of one connection."""

    def __init__(self, state: State, handlers: Handlers, name: str, peer: Peer, write: Write, close: Close) -> None:
        super().__init__(state, TmqpServer(state.codec, max_frame=state.limits.max_frame), peer, write, close)
        self.name, self._handlers = name, handlers
        self.client: Client | None = None
        """The client whose hello was accepted here."""
        self.version = VERSION
        """What the client spoke first."""
        self._begun = self._is_ignored = self._is_pinged = False
        self._ping_interval = self._ns("ping_interval")
        self._deadline = Deadline(state.clock, self.missed)
        self._deadline.set(state.clock.monotonic_ns() + self._ns("request_timeout"))
        state.sessions[self] = None

    @property
    def known(self) -> Client:
        """The client; requests are handled only once there is one."""
        assert self.client is not None
        return self.client

    def data_received(self, data: bytes) -> None:
        """Handle the bytes that the transport read; what begins a TLS handshake switches to TLS."""
        if self.closed or self._finishing:
            return
        if not self._begun:
            self._begun = True
            if data[0] == TLS_RECORD and self.peer.secure is not None:
                self.connection.start_tls()
                self.peer.secure(data)
                return
        if self.client is not None:
            self.listen()
        self.connection.receive_data(data)
        self._work()

    def connection_lost(self) -> None:
        """Drop the state of a connection that is gone; may be called twice."""
        if self.closed:
            return
        self.closed = True
        self._out.clear()
        del self.state.sessions[self]
        self._deadline.clear()
        client = self.client
        if client is not None:
            client.write = None
            client.served = None
            channels = Channels(self.state)
            self.state.clients.remove(client)
            channels.events.leave(client)
            for channel in list(client.channels):
                channels.leave(channel, client)
            channels.events.of_client(b"ClientDisconnected", client)
        self.state.flush()

    def greeting(self) -> tuple[Reply, ...]:
        """Return the eight bytes, if they were not sent yet (E6)."""
        return () if self.state.rules.answers_protocol_at_once else (ProtocolReply(self.version),)

    def opened(self, client: Client) -> None:
        """Serve a client from now on."""
        self.client = client
        self.state.clients.add(client)
        client.write = self.push
        client.served = self.served
        Channels(self.state).events.of_client(b"ClientConnected", client)
        self.listen()

    def listen(self) -> None:
        """Wait for the next frame of the client; after silence it is pinged."""
        self._is_pinged = False
        self._deadline.set(self.state.clock.monotonic_ns() + self._ping_interval)

    def take(self, request: Request) -> None:
        """Handle one request: what is dead is dropped, who lies about itself is disconnected (E36)."""
        if isinstance(request, RequestFrame):
            if request.ttl == 0 and type(request) is not Hello:
                return
            if not (self._is_known(request) and self.is_honest(request)):
                return
            if self.client is not None and not request.id and self.state.rules.gives_ids:
                request = replace(request, id=self.state.new_id(), pending_response=0)
            if self.client is not None and self.state.nodes and isinstance(request, RELAYED):
                self.relay(request, self.client)
        elif not (self.client or isinstance(request, Protocol) or self.state.rules.refuses_without_hello):
            self._ignore()
            return
        try:
            answer = self._handlers[type(request)](request, self, self.state.clock.monotonic_ns())
        except RefusedError as refusal:
            self.finish(f"{request.NAME}: {refusal}")
            return
        if answer is not None:
            self.answer(answer)

    def relay(self, request: RequestFrame, client: Client) -> None:
        """Send a message of a client to the masters of this server."""
        self.state.relay(request, client.id)

    def missed(self) -> None:
        """Ping a client that is silent; close a connection whose deadline passed."""
        if self.client is None or self._is_pinged:
            log.info("%s: %s, closing", self.peer, "pinged in vain" if self._is_pinged else "no hello")
            self.end()
            return
        self._is_pinged = True
        self.push(self.connection.send(ServerPing()))
        self.state.flush()
        self._deadline.set(self.state.clock.monotonic_ns() + self._ns("ping_timeout"))

    def _is_known(self, request: RequestFrame) -> bool:
        """Say whether a client sent HELLO, or does; without that it is closed or ignored (E7)."""
        if self.client is not None or type(request) is Hello:
            return not self._is_ignored
        if self.state.rules.refuses_without_hello:
            self.finish("expected a hello")
        else:
            self._ignore()
        return False

    def _ignore(self) -> None:
        """Handle nothing more of who sent another frame first; it gets the eight bytes (E7)."""
        self.answer(self.greeting() if not self._is_ignored else None)
        self._is_ignored = True

    def is_honest(self, request: RequestFrame) -> bool:
        """Say whether the source is the client's own; another one closes the connection."""
        if self.client is None or request.source in (b"", self.client.id):
            return True
        self.finish("a source that is not its own")
        return False

    def _work(self) -> None:
        """Handle what was received, as far as the peer reads, some of it in each turn of the loop."""
        if self._is_busy:
            return
        left, most = TURN, self.state.spent + DELIVERIES
        while left and self.state.spent < most and not (self.is_slow or self._finishing or self.closed):
            try:
                request = self.connection.next_event()
            except RemoteProtocolError as error:
                self.finish(str(error))
                break
            if not isinstance(request, Request):
                assert request is NEED_DATA or isinstance(request, EndOfStream)
                break
            self.take(request)
            left -= 1
        self.state.flush()
        self._follow(is_over=bool(left) and self.state.spent < most)

    def _follow(self, *, is_over: bool) -> None:
        """Go on in the next turn, or close if that was decided, once the pulls of a client that ends are served."""
        if not (is_over and self._ended and not self._finishing and self.client is not None and self.client.pulls):
            super()._follow(is_over=is_over)

    def eof_received(self) -> None:
        """Handle the end of the stream: the client ends once its pulls are served."""
        if self.client is not None and self.client.pulls:
            self._ended = True
        else:
            super().eof_received()

    def served(self) -> None:
        """End, if a client that asks no more waited for the last of its pulls."""
        if self._ended:
            self.state.later(self._end_when_served)

    def _end_when_served(self) -> None:
        if not self.closed:
            self._work()

    def _ns(self, option: str) -> int:
        return round(float(self.state.options[option]) * 1e9)
