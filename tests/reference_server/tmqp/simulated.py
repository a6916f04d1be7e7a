"""A TMQP server in simulation and clients that talk to it in messages: no socket, and time that stands still."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wireproof.mutants.registry import server_patch
from wireproof.protocols.connection import EndOfStream
from wireproof.protocols.messages import Message
from wireproof.protocols.tmqp import PROFILES, Codec, Header, TmqpClient
from wireproof.protocols.tmqp.bodies import ChannelOptions, QueueOptions
from wireproof.protocols.tmqp.requests import CreateChannel, CreateQueue, Hello, Join, Produce, Protocol, Pull
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.service import Limits, Peer, seeded_ids
from wireproof.reference_server.tmqp import RULES, Patch, create

SECOND = 1_000_000_000
WAITS = {"pending_response": 1}


def rows(**headers: str) -> tuple[Header, ...]:
    """Headers by name, `_` for `-`."""
    return tuple(Header(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items())


def hello(client: str = "", name: str = "", kind: str = "", **more: str) -> Hello:
    given = {"Client-Id": client, "Client-Name": name, "Client-Type": kind, **more}
    lines = ["CONNECT /", *(f"{key}:{value}" for key, value in given.items() if value)]
    return Hello(payload="".join(f"{line}\r\n" for line in lines).encode())


class Line:
    """One connection."""

    def __init__(self, server: Server, peer: Peer) -> None:
        self.server = server
        self.raw = bytearray()
        self.closed = False
        self.codec = TmqpClient(server.codec)
        self.session: Any = server.service.connect(peer, self._write, self._close)

    def _write(self, data: bytes) -> None:
        self.raw += data
        self.codec.receive_data(data)

    def _close(self) -> None:
        self.closed = True

    def send(self, *messages: Message) -> list[Message]:
        """Send messages in one segment; what the server wrote since the last look."""
        self.session.data_received(b"".join(map(self.codec.send, messages)))
        return self.take()

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self.session.data_received(data)

    def take(self) -> list[Message]:
        """What the server wrote since the last look."""
        self.server.clock.advance(0)
        found: list[Message] = []
        while isinstance(event := self.codec.next_event(), Message):
            found.append(event)
        assert not isinstance(event, EndOfStream)
        return found

    def codes(self, *messages: Message) -> list[tuple[str, int]]:
        """The names and content types of what comes after sending messages."""
        return [(one.NAME, getattr(one, "content_type", -1)) for one in self.send(*messages)]


class Server:
    """A server under one profile on a virtual clock."""

    def __init__(
        self,
        profile: str = "doc",
        *,
        limits: Mapping[str, Any] | None = None,
        mutant: str | Patch | None = None,
        config: Path | None = None,
        **options: Any,
    ) -> None:
        self.clock = VirtualClock()
        self.traced: list[str] = []
        self.rules = RULES[profile]
        self.codec = Codec.of(PROFILES[profile], "standard")
        self.service = create(
            PROFILES[profile],
            "standard",
            clock=self.clock,
            ids=seeded_ids(7),
            limits=Limits(**(limits or {})),
            trace=self.traced.append,
            patch=server_patch("tmqp", mutant) if isinstance(mutant, str) else mutant,
            options={**options, "config": config},
        )

    def line(self, peer: Peer | None = None) -> Line:
        """Connect and say nothing."""
        return Line(self, peer or Peer("tcp", "127.0.0.1", 40000))

    def client(self, id_: str = "", name: str = "", kind: str = "", **more: str) -> Line:
        """A client whose hello is accepted."""
        line = self.line()
        replies = line.send(Protocol(), hello(id_, name, kind, **more))
        assert [one.NAME for one in replies] == ["PROTOCOL_REPLY", "WELCOME"], replies
        return line

    def channel(self, line: Line, name: str = "ch", **options: Any) -> None:
        payload = self.codec.encode(ChannelOptions(**options)) if options else b""
        created = line.send(CreateChannel(id=b"c", target=name.encode(), payload=payload, **WAITS))
        assert [getattr(one, "content_type", -1) for one in created] == [0], created

    def queue(self, line: Line, number: int = 1, name: str = "ch", **options: Any) -> None:
        payload = self.codec.encode(QueueOptions(**options)) if options else b""
        headers = rows(Queue_Id=str(number))
        request = CreateQueue(id=b"q", target=name.encode(), headers=headers, payload=payload, **WAITS)
        created = line.send(request)
        assert [getattr(one, "content_type", -1) for one in created] == [0], created

    def join(self, line: Line, name: str = "ch") -> list[Message]:
        """Join; what came beside the answer."""
        found = line.send(Join(id=b"j", target=name.encode(), **WAITS))
        answers = [one for one in found if one.NAME == "RESPONSE"]
        assert [getattr(one, "content_type", -1) for one in answers] == [0], found
        return [one for one in found if one.NAME != "RESPONSE"]

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(round(seconds * SECOND))


def produce(payload: bytes = b"x", number: int = 1, name: str = "ch", **more: Any) -> Produce:
    return Produce(target=name.encode(), content_type=number, payload=payload, **{"id": b"m", **more})


def pull(count: str = "1", number: int = 1, name: str = "ch", **headers: str) -> Pull:
    given = rows(**({"Count": count} if count else {}), **headers)
    return Pull(pending_response=1, id=b"p", target=name.encode(), content_type=number, headers=given)


def payloads(messages: list[Message]) -> list[bytes]:
    return [one.payload for one in messages if one.NAME == "MESSAGE"]  # type: ignore[attr-defined]


def heading(message: Any, name: bytes) -> bytes | None:
    return next((one.value for one in message.headers if one.name == name), None)
