"""A PSRT server in simulation and clients that talk to it in bytes: no socket, and time that stands still."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wireproof.mutants.registry import server_patch
from wireproof.protocols.psrt import PROFILES
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.psrt import RULES, Patch, create
from wireproof.reference_server.service import Limits, Peer, seeded_ids

SECOND = 1_000_000_000
HELLO, DATA_HELLO = bytes.fromhex("eeaa00"), bytes.fromhex("eeab00")
SENT_HELLO, SENT_DATA_HELLO = bytes.fromhex("eeaa0100"), bytes.fromhex("eeab0100")
ANONYMOUS = bytes.fromhex("0100000000")
OK, WAITING, UNWANTED, DENIED, ERROR = b"\x01", b"\x02", b"\xe0", b"\xfe", b"\xff"
BEACON = b"\0"
TIMEOUT, DEPTH, TOPIC_LENGTH, PUB_SIZE, QUEUE, DATAGRAM = 3.0, 3, 64, 200, 16, 256
OPTIONS = {
    "timeout": TIMEOUT,
    "max_topic_depth": DEPTH,
    "max_topic_length": TOPIC_LENGTH,
    "max_pub_size": PUB_SIZE,
    "data_queue": QUEUE,
    "udp_frame_size": DATAGRAM,
}


def sized(body: bytes) -> bytes:
    """A body with its LEN before it."""
    return len(body).to_bytes(4, "little") + body


def login(name: bytes, password: bytes) -> bytes:
    return sized(name + b"\0" + password)


def publish(topic: str | bytes, message: bytes = b"", priority: int = 0x7F) -> bytes:
    topic = topic if isinstance(topic, bytes) else topic.encode()
    return b"\x01" + bytes([priority]) + sized(topic + b"\0" + message)


def subscribe(*topics: str) -> bytes:
    return b"\x02" + sized("\0".join(topics).encode())


def unsubscribe(*topics: str) -> bytes:
    return b"\x03" + sized("\0".join(topics).encode())


def replicate(topic: str) -> bytes:
    return b"\x11" + sized(topic.encode())


def repl_data(message: bytes, priority: int = 0x7F) -> bytes:
    return bytes([priority]) + bytes(8) + sized(message)


def pushed(topic: str, message: bytes = b"", priority: int = 0x7F) -> bytes:
    return publish(topic, message, priority)


class Line:
    """One connection."""

    def __init__(self, server: Server, peer: Peer) -> None:
        self.written: list[bytes] = []
        self.closed = False
        self.session: Any = server.service.connect(peer, self.written.append, self._close)

    def _close(self) -> None:
        self.closed = True

    def send(self, *data: bytes) -> bytes:
        """Send bytes in one segment; what the server wrote since the last look."""
        self.session.data_received(b"".join(data))
        return self.take()

    def take(self) -> bytes:
        """What the server wrote since the last look."""
        data = b"".join(self.written)
        self.written.clear()
        return data

    def refuses(self, *data: bytes) -> bool:
        """Whether the server closes without a byte."""
        return self.send(*data) == b"" and self.closed


class Server:
    """A server under one profile on a virtual clock, with the limits the facts were measured with."""

    def __init__(
        self,
        profile: str = "1",
        *,
        limits: Mapping[str, Any] | None = None,
        mutant: str | Patch | None = None,
        **options: Any,
    ) -> None:
        self.clock = VirtualClock()
        self.traced: list[str] = []
        self.rules = RULES[profile]
        self.service = create(
            PROFILES[profile],
            "standard",
            clock=self.clock,
            ids=seeded_ids(7),
            limits=Limits(**(limits or {})),
            trace=self.traced.append,
            patch=server_patch("psrt", mutant) if isinstance(mutant, str) else mutant,
            options={**OPTIONS, **options},
        )

    def line(self, peer: Peer | None = None) -> Line:
        """Connect and say nothing."""
        return Line(self, peer or Peer("tcp", "127.0.0.1", 40000))

    def control(self, name: bytes = b"", password: bytes = b"", peer: Peer | None = None) -> Line:
        """A control socket that is logged in; its token is `line.token`."""
        line = self.line(peer)
        answer = line.send(HELLO, login(name, password))
        assert answer[:4] == SENT_HELLO
        assert len(answer) == 36
        line.token = answer[4:]  # type: ignore[attr-defined]
        return line

    def data(self, control: Any, timeout: int = 255) -> Line:
        """A data socket attached to the token of a control socket."""
        line = self.line()
        assert line.send(DATA_HELLO, control.token, bytes([timeout])) == SENT_DATA_HELLO + OK
        return line

    def both(self, *masks: str, timeout: int = 255) -> tuple[Line, Line]:
        """A client with both sockets, subscribed."""
        control = self.control()
        data = self.data(control, timeout)
        if masks:
            assert control.send(subscribe(*masks)) == OK
        return control, data

    def datagram(self, data: bytes) -> bytes | None:
        return self.service.datagram(Peer("udp", "127.0.0.1", 40001), data)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.clock.advance(round(seconds * SECOND))
