"""Links between servers: slaves connect to masters, and what their clients send goes there, too (tmqp.md 2.11).

A link is an ordinary connection on a listener of its own. What a node sends is handled as if its source were here, but
answers go nowhere and it is not relayed again.
"""

from __future__ import annotations

from collections.abc import Callable

from wireproof.protocols import NEED_DATA
from wireproof.protocols.errors import RemoteProtocolError
from wireproof.protocols.messages import Message
from wireproof.protocols.tmqp import TmqpClient
from wireproof.protocols.tmqp.frames import RequestFrame
from wireproof.protocols.tmqp.replies import ServerPing, Welcome
from wireproof.protocols.tmqp.requests import AnswerPing, Hello, Protocol
from wireproof.reference_server.service import Close, Peer, Session, Write
from wireproof.reference_server.tmqp.client import Client
from wireproof.reference_server.tmqp.session import RELAYED, TmqpSession
from wireproof.reference_server.tmqp.state import Handlers, State

__all__ = ["NODES", "MasterSession", "Node", "SlaveSession"]

NODES = "nodes"
"""The name of the listener for slaves."""


class Node:
    """A server that is linked."""

    def __init__(
        self, id_: bytes, name: bytes, host: str, push: Callable[[bytes], None], *, is_slave: bool, since_ns: int
    ) -> None:
        self.id, self.name, self.host, self.push = id_, name, host.encode(), push
        self.is_slave, self.since_ns = is_slave, since_ns


class SlaveSession(TmqpSession):
    """The connection of a slave to this server."""

    node: Node | None = None

    def opened(self, client: Client) -> None:
        """Take the other side as a node; it is no client, and cannot be written to as one."""
        self.node = Node(client.id, client.name, self.peer.host, self.push, is_slave=True, since_ns=client.since_ns)
        self.state.nodes[self.node] = None
        self.client = client
        self.listen()

    def connection_lost(self) -> None:
        """Forget the node."""
        if self.node is not None:
            self.state.nodes.pop(self.node, None)
            self.client = None
        super().connection_lost()

    def relay(self, request: RequestFrame, client: Client) -> None:
        """Relay nothing: it came from a node."""

    def is_honest(self, request: RequestFrame) -> bool:
        """Take messages of any source, in its name."""
        if self.node is None or not isinstance(request, RELAYED):
            return self.node is None
        source = request.source or self.node.id
        self.client = Client(source, b"", b"", is_admin=False, since_ns=self.node.since_ns)
        return True


class MasterSession(Session):
    """The connection of this server to a master."""

    def __init__(self, state: State, handlers: Handlers, name: str, peer: Peer, write: Write, close: Close) -> None:
        self._state, self._peer, self._write, self._close = state, peer, write, close
        self._codec = TmqpClient(state.codec, max_frame=state.limits.max_frame)
        self._node: Node | None = None
        self._out: list[bytes] = []
        self._size = 0
        self._waits = self._is_over = False
        lines = f"CONNECT /\r\nClient-Name:{state.config.nodes.name}\r\nClient-Type:node\r\n"
        write(self._codec.send(Protocol()) + self._codec.send(Hello(payload=lines.encode())))

    def data_received(self, data: bytes) -> None:
        """Answer pings; once the master has accepted this server, relay to it."""
        if self._is_over:
            return
        self._codec.receive_data(data)
        try:
            while (event := self._codec.next_event()) is not NEED_DATA:
                if isinstance(event, ServerPing):
                    self._push(self._codec.send(AnswerPing()))
                elif isinstance(event, Message) and isinstance(event, Welcome):
                    self._welcomed(event)
        except RemoteProtocolError:
            self.eof_received()

    def eof_received(self) -> None:
        """Handle the end of the stream."""
        if not self._is_over:
            self.connection_lost()
            self._close()

    def connection_lost(self) -> None:
        """Forget the node."""
        self._is_over = True
        self._out.clear()
        if self._node is not None:
            self._state.nodes.pop(self._node, None)

    def pause_writing(self) -> None:
        """Keep what is relayed: the write buffer is full."""
        self._waits = True

    def resume_writing(self) -> None:
        """Write what was kept."""
        self._waits = False
        data, self._size = b"".join(self._out), 0
        self._out.clear()
        if data and not self._is_over:
            self._write(data)

    def _welcomed(self, welcome: Welcome) -> None:
        now = self._state.clock.monotonic_ns()
        host = f"{self._peer.host}:{self._peer.port}"
        self._node = Node(welcome.target, b"", host, self._push, is_slave=False, since_ns=now)
        self._state.nodes[self._node] = None

    def _push(self, frame: bytes) -> None:
        """Write a frame; a master after which too much waits is disconnected."""
        if self._is_over:
            return
        if not self._waits:
            self._write(frame)
            return
        self._out.append(frame)
        self._size += len(frame)
        if self._size > self._state.limits.push_limit:
            self.eof_received()
