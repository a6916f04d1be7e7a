"""One connection: its bytes in and out, its deadlines and its end. The meaning of requests is in the handlers.

The first three bytes show whether it is a control or a data socket. Everything read is answered at once, with one
write; while the peer does not read its answers, nothing more is decoded. Messages to data sockets are written after the
current answers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from wireproof.protocols import NEED_DATA
from wireproof.protocols.connection import EndOfStream
from wireproof.protocols.errors import RemoteProtocolError
from wireproof.protocols.messages import Reply, Request
from wireproof.protocols.psrt import ControlServer, DataServer
from wireproof.protocols.psrt.enums import DATA_HEADER
from wireproof.protocols.psrt.replies import DataGreetingReply, GreetingReply, Response, Token
from wireproof.protocols.psrt.requests import (
    Attach,
    DataGreeting,
    Greeting,
    Login,
    Publish,
    PublishRepl,
    ReplData,
    Subscribe,
    Unsubscribe,
)
from wireproof.reference_server.deadline import Deadline
from wireproof.reference_server.psrt.client import Client
from wireproof.reference_server.psrt.feed import Feed
from wireproof.reference_server.psrt.local import LocalOpening
from wireproof.reference_server.psrt.state import Answer, Handlers, RefusedError, State
from wireproof.reference_server.service import Close, Peer, Session, Write

__all__ = ["PsrtSession"]

log = logging.getLogger(__name__)

GREETING_SIZE = 3
SPARE = 1024
"""Bytes of a frame that do not count towards its limit."""
_STAND_INS: dict[type[Request], Reply] = {
    Greeting: GreetingReply(1),
    DataGreeting: DataGreetingReply(1),
    Login: Token(bytes(32)),
}
"""The reply that the connection records for a request whose answer is raw bytes."""


class PsrtSession(Session):
    """The server's side of one connection."""

    feed_type = Feed
    """The class that writes to an attached data socket."""
    control_type, data_type = ControlServer, DataServer
    """The decoders of the two channel types."""

    def __init__(self, state: State, handlers: Handlers, name: str, peer: Peer, write: Write, close: Close) -> None:
        self.state, self.peer, self.name = state, peer, name
        self._handlers, self._write, self._close = handlers, write, close
        self.connection: ControlServer | DataServer | None = None
        """None until the channel type is known."""
        self.client: Client | None = None
        """The client that logged in here, or whose token was attached here."""
        self.feed: Feed | None = None
        """Set once a token is attached; then input is ignored."""
        self._handshake = LocalOpening() if peer.family == "unix" else None
        self._first = b""
        self._out: list[bytes] = []
        self._waits = self._ended = self._finishing = self._begun = self._is_checking = self.closed = False
        self._put_off: Callable[[], None] | None = None
        """What answers a login whose password was checked while the peer did not read."""
        self._deadline = Deadline(state.clock, self.too_late)
        state.sessions[self] = None
        self.expect()

    @property
    def is_data(self) -> bool:
        """Whether this is a data socket."""
        return isinstance(self.connection, DataServer)

    def data_received(self, data: bytes) -> None:
        """Handle the bytes that the transport read."""
        if self.closed or self._finishing or self.feed is not None:
            return
        if self._handshake is not None:
            data = self._handshake.translated(data)
        if self.connection is None:
            self._first += data
            if len(self._first) < GREETING_SIZE:
                return
            data, self._first = self._first, b""
            self.connection = self.met(data)
        if data:
            self.connection.receive_data(data)
            self._work()

    def eof_received(self) -> None:
        """Handle the end of the stream: on a control socket the client ends, on a data socket P16 decides."""
        if self.closed:
            return
        self._ended = True
        self._follow_end()

    @property
    def unwritten(self) -> int:
        """See `Session.unwritten`."""
        return sum(map(len, self._out))

    def connection_lost(self) -> None:
        """Drop the state of a connection that is gone; may be called twice."""
        if self.closed:
            return
        self.closed = True
        self.connection, self._first = None, b""
        self._out.clear()
        del self.state.sessions[self]
        self._deadline.clear()
        client = self.client
        if client is None:
            return
        if self.feed is None:
            self.state.forget(client)
        else:
            self.feed.stop()
            client.data = None
            client.is_spent = self._ended and not self.state.rules.end_frees_token

    def pause_writing(self) -> None:
        """Stop handling and writing: the write buffer is full."""
        self._waits = True
        if self.feed is not None:
            self.feed.pause()

    def resume_writing(self) -> None:
        """Continue: the write buffer has room."""
        self._waits = False
        if self.feed is not None:
            self.feed.resume()
        go_on, self._put_off = self._put_off, None
        if go_on is not None:
            go_on()
        if self.connection is not None and not self.closed:
            self._work()
            self._follow_end()

    def _follow_end(self) -> None:
        """Close if the peer's stream has ended and everything is answered; P16 decides for an attached data socket."""
        is_noticed = self.feed is None or self.state.rules.end_frees_token
        if self._ended and is_noticed and not (self._waits or self._is_checking):
            self.end()

    def met(self, first: bytes) -> ControlServer | DataServer:
        """Return the decoder of a connection that begins with these bytes."""
        options = self.state.options
        topics, message = options["max_topic_length"], options["max_pub_size"]
        limits: dict[type[Request], int] = {
            Publish: message,
            ReplData: message,
            Subscribe: topics,
            Unsubscribe: topics,
            PublishRepl: topics,
        }
        kind: type[ControlServer] | type[DataServer] = self.control_type
        if first.startswith(DATA_HEADER):
            kind = self.data_type
        return kind(self.state.codec, max_frame=max(topics, message) + SPARE, limits=limits)

    def _work(self) -> None:
        """Answer what was received, as far as the peer reads it."""
        assert self.connection is not None
        while not (self._waits or self._is_checking or self._finishing or self.closed or self.feed is not None):
            try:
                request = self.connection.next_event()
            except RemoteProtocolError as error:
                self.refuse(str(error))
                break
            if not isinstance(request, Request):
                assert request is NEED_DATA or isinstance(request, EndOfStream)
                break
            if not self._is_checked(request):
                break
            self.take(request)
        self.flush()
        self.state.flush()
        if self._finishing:
            self.end()
        elif not self.closed:
            self._watch()

    def _is_checked(self, request: Request) -> bool:
        """Return whether a request can be answered now; a password is checked beside the loop, and the rest waits."""
        if not isinstance(request, Login) or self.peer.family == "unix":
            return True
        accounts = self.state.accounts
        check = accounts.slow_check(request.login, request.password)
        if check is None:
            return True
        self._is_checking = True

        def go_on() -> None:
            if self._waits and not self.closed:
                self._put_off = go_on
                return
            accounts.keep(check)
            self._is_checking = False
            if not self.closed and self._is_checked(request):
                self.take(request)
                self._work()
                self._follow_end()

        self.state.clock.call_after(lambda: None if self.closed else check.run(), go_on)
        return False

    def take(self, request: Request) -> None:
        """Answer one request."""
        assert self.connection is not None
        try:
            answer = self._handlers[type(request)](request, self, self.state.clock.monotonic_ns())
        except RefusedError as refusal:
            self.refuse(f"{request.NAME}: {refusal}")
            return
        self.answer(request, answer)
        self._begun = False
        self.expect()

    def answer(self, request: Request, answer: Answer) -> None:
        """Queue the answer to a request."""
        assert self.connection is not None
        if isinstance(answer, bytes):
            self.connection.send(_STAND_INS.get(type(request), Response(1)))
        else:
            answer = self.connection.send(answer)
        self._out.append(answer)

    def flush(self) -> None:
        """Write the queued answers."""
        if self._out and not self.closed:
            data = b"".join(self._out)
            self._out.clear()
            if data:
                self._write(data)

    def secure(self) -> bool:
        """Switch to TLS; return False if there is none."""
        if self.peer.secure is None or self.connection is None:
            return False
        self.flush()
        self.peer.secure(self.connection.start_tls())
        return True

    def attach(self, client: Client, request: Attach) -> None:
        """Become the data socket of a client, once its token is answered."""
        self.client, client.data = client, self
        self.feed = self.feed_type(self.state, request.timeout, self._write, self.too_slow)
        if self._waits:
            self.feed.pause()

    def refuse(self, why: str) -> None:
        """Close once the queued answers are written, and log `why`."""
        log.info("%s: %s, closing", self.peer, why)
        self._finishing = True

    def finish(self) -> None:
        """Close once the queued answers are written."""
        self._finishing = True

    def end(self) -> None:
        """Close; answer nothing more."""
        if not self.closed:
            self.flush()
            self.connection_lost()
            self._close()

    def too_slow(self) -> None:
        """Close a data socket that reads too slowly; its client may attach another one."""
        log.warning("%s: too much waits for a data socket, closing it", self.peer)
        self.end()

    def too_late(self) -> None:
        """Close a connection that missed its deadline."""
        log.info("%s: nothing within %g s, closing", self.peer, self.state.options["timeout"])
        self.end()

    def expect(self) -> None:
        """Set the deadline of the next request; there is none after a token."""
        if self.feed is None:
            self._deadline.set(self.state.clock.monotonic_ns() + self.state.timeout_ns)
        else:
            self._deadline.clear()

    def _watch(self) -> None:
        """Restart the deadline when an operation begins (P20)."""
        if self.client is None or self._begun or self.connection is None or not self.connection.buffered:
            return
        self._begun = True
        if not self.state.rules.idle_counts_for_operation:
            self.expect()
