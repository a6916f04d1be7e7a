"""Both sides of a TMQP connection, and what is said on it; frames laid out by hand."""

from __future__ import annotations

from wireproof.protocols import NEED_DATA, Connection
from wireproof.protocols.tmqp import DOC, TWINO, Codec, TmqpClient, TmqpServer
from wireproof.protocols.tmqp.replies import ProtocolReply, Welcome
from wireproof.protocols.tmqp.requests import Hello, Protocol

CODEC, RELEASED = Codec.of(DOC, "standard"), Codec.of(TWINO, "standard")


def read(connection: Connection) -> list[object]:
    """Return the events that are there."""
    found: list[object] = []
    while (event := connection.next_event()) is not NEED_DATA:
        found.append(event)
    return found


def session(codec: Codec = CODEC) -> tuple[TmqpClient, TmqpServer]:
    """Return both sides of a connection whose handshake is over."""
    client, server = TmqpClient(codec), TmqpServer(codec)
    hello = Hello(payload=b"CONNECT /\r\n")
    server.receive_data(client.send(Protocol()) + client.send(hello))
    assert read(server) == [Protocol(), hello]
    welcome = Welcome(one_delivery=1, content_type=202, id=b"w", target=b"me")
    client.receive_data(server.send(ProtocolReply()) + server.send(welcome))
    assert read(client) == [ProtocolReply(), welcome]
    assert client.pending == ()
    return client, server


def frame(kind: int, flags: int = 0x10, *, parts: tuple[bytes, bytes, bytes] = (b"", b"", b""), number: int = 0,
          headers: bytes | None = None, size: bytes | None = None, payload: bytes = b"") -> bytes:  # fmt: skip
    """Return a frame laid out by hand; `size` instead of the one byte of the payload's."""
    sizes = bytes(map(len, parts))
    block = b"" if headers is None else len(headers).to_bytes(2, "little") + headers
    sized = bytes([len(payload)]) if size is None else size
    return bytes([kind, flags]) + sizes + number.to_bytes(2, "little") + sized + b"".join(parts) + block + payload
