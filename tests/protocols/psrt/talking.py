"""Both sides of PSRT's sockets under the document's codec, and what is said on them."""

from __future__ import annotations

from wireproof.protocols import NEED_DATA, Connection, Message, Reply, Request
from wireproof.protocols.psrt import V1, Codec, ControlClient, ControlServer, DataClient, DataServer
from wireproof.protocols.psrt.replies import DataGreetingReply, GreetingReply, Response, Token
from wireproof.protocols.psrt.requests import Attach, DataGreeting, Greeting, Login

CODEC = Codec.of(V1, "standard")
TOKEN = bytes(range(32))
SESSION: tuple[tuple[Request, Reply], ...] = ((Greeting(0), GreetingReply(1)), (Login(b"", b""), Token(TOKEN)))
DATA_SESSION: tuple[tuple[Request, Reply], ...] = (
    (DataGreeting(0), DataGreetingReply(1)),
    (Attach(TOKEN, 60), Response(1)),
)


def read(connection: Connection) -> list[object]:
    """Return the events that are there."""
    found: list[object] = []
    while (event := connection.next_event()) is not NEED_DATA:
        found.append(event)
    return found


def exchange(client: ControlClient, server: ControlServer | DataServer, request: Request, reply: Message) -> None:
    """Let a client ask and a server answer."""
    server.receive_data(client.send(request))
    assert read(server) == [request]
    client.receive_data(server.send(reply))
    assert read(client) == [reply]


def session() -> tuple[ControlClient, ControlServer]:
    """Return both sides of a control socket, logged in."""
    client, server = ControlClient(CODEC), ControlServer(CODEC)
    for request, reply in SESSION:
        exchange(client, server, request, reply)
    return client, server


def data_session() -> tuple[DataClient, DataServer]:
    """Return both sides of a data socket, attached."""
    client, server = DataClient(CODEC), DataServer(CODEC)
    for request, reply in DATA_SESSION:
        exchange(client, server, request, reply)
    return client, server
