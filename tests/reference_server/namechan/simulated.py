"""A namechan server in simulation and clients that talk to it in messages: no socket, and time that stands still."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from wireproof.mutants.registry import server_patch
from wireproof.protocols.messages import Message
from wireproof.protocols.namechan import PROFILES, Codec, HookClient, NamechanClient
from wireproof.protocols.namechan.requests import Connect, HookCreate, HookPublish, Subscribe, Version
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.namechan import Patch, create
from wireproof.reference_server.namechan.options import OPTIONS
from wireproof.reference_server.service import Limits, Peer, seeded_ids

SECOND = 1_000_000_000


class Line:
    """One connection."""

    def __init__(self, server: Server, codec: NamechanClient, listener: str = "") -> None:
        self.server, self.codec = server, codec
        self.raw = bytearray()
        self.closed = False
        self.session: Any = server.service.connect(Peer(listener=listener), self._write, self._close)

    def _write(self, data: bytes) -> None:
        self.raw += data
        self.codec.receive_data(data)

    def _close(self) -> None:
        self.closed = True

    def send(self, *messages: Message) -> list[Message]:
        """Send messages in one segment; what the server wrote since the last look."""
        return self.write(b"".join(map(self.codec.send, messages)))

    def write(self, data: bytes) -> list[Message]:
        """Send bytes; what the server wrote since the last look."""
        self.session.data_received(data)
        return self.take()

    def take(self) -> list[Message]:
        """What the server wrote since the last look."""
        self.server.clock.advance(0)
        found: list[Message] = []
        while isinstance(event := self.codec.next_event(), Message):
            found.append(event)
        return found


class Server:
    """A server under one profile on a virtual clock."""

    def __init__(
        self, profile: str = "1", *, data: Path | None = None, mutant: str | Patch | None = None, **options: Any
    ) -> None:
        self.clock = VirtualClock()
        self.traced: list[str] = []
        self.codec = Codec.of(PROFILES[profile], "standard")
        limits = {name: options.pop(name) for name in list(options) if name not in {one.name for one in OPTIONS}}
        self.service = create(
            PROFILES[profile],
            "standard",
            clock=self.clock,
            ids=seeded_ids(7),
            limits=Limits(**limits),
            trace=self.traced.append,
            patch=server_patch("namechan", mutant) if isinstance(mutant, str) else mutant,
            options={**options, "data": data},
        )
        self.hook = Line(self, HookClient(self.codec), "hook")

    def line(self) -> Line:
        """Connect and say nothing."""
        return Line(self, NamechanClient(self.codec))

    def client(self) -> Line:
        """A client whose handshake is over."""
        line = self.line()
        assert [one.NAME for one in line.send(Version(), Connect(id=b"me"))] == ["VERSION_REPLY"]
        return line

    def queue(self, *settings: int, topic: bytes = b"t") -> None:
        """Make a queue: delivery, persistence, sync."""
        assert texts(self.hook.send(HookCreate(topic, *settings))) == [b"ok"]

    def publish(self, *bodies: bytes, topic: bytes = b"t") -> None:
        assert texts(self.hook.send(*(HookPublish(topic, body) for body in bodies))) == [b"ok"] * len(bodies)

    def subscriber(self, replay: int = 2, message: int = 0, topic: bytes = b"t") -> tuple[Line, list[Message]]:
        """A client that subscribed, and what came after Subscribed."""
        line = self.client()
        answer, *more = line.send(Subscribe(topic, replay, message))
        assert answer.NAME == "SUBSCRIBED", answer
        return line, more

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(round(seconds * SECOND))

    def killed(self) -> None:
        """End as by a signal: nothing more is written."""
        if "store" in vars(self.service.state):
            self.service.state.store.close()


def texts(messages: list[Message]) -> list[bytes]:
    return [one.text for one in messages]  # type: ignore[attr-defined]


def pushed(messages: list[Message]) -> list[tuple[int, bytes]]:
    return [(one.id, one.body) for one in messages if one.NAME == "MESSAGE"]  # type: ignore[attr-defined]
