"""A protocol with several kinds of line, and a small server of it: streams that may go on inside TLS, and datagrams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wireproof.conformance.drivers.simulation import SimulationDriver
from wireproof.conformance.model.outcome import Outcome, StepEvent
from wireproof.conformance.player.player import Player
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.segmentation import SEGMENTATIONS
from wireproof.conformance.suite.symbolic import steps_of
from wireproof.conformance.suite.symbols import Symbols
from wireproof.protocols import Message, ProtocolError
from wireproof.protocols.psrt import PROTOCOL, ControlServer, DataServer
from wireproof.protocols.psrt.datagrams import DatagramServer
from wireproof.protocols.psrt.enums import DATA_HEADER, DatagramOperation, Mode, ResponseCode
from wireproof.protocols.psrt.replies import (
    Beacon,
    DatagramReply,
    DataGreetingReply,
    GreetingReply,
    PushedMessage,
    Response,
    Token,
)
from wireproof.protocols.psrt.requests import Bye, Datagram, Greeting, Login, Publish, PublishRepl
from wireproof.reference_server.service import Close, Peer, Service, Session, Write

CODEC = PROTOCOL.codec(PROTOCOL.profiles["1"], "standard")
OK = {"RESPONSE": {"code": "OK"}}
GREET = {"send": {"GREETING": {"mode": "PLAIN"}}, "expect": {"GREETING_REPLY": {"version": 1}}}
LOGIN = {"send": {"LOGIN": {"login": "", "password": ""}}, "expect": {"TOKEN": {"token": {"save": "a_token"}}}}
SESSION = (GREET, LOGIN)
SECURED = (
    {"send": {"GREETING": {"mode": "STARTTLS"}}},
    {"secure": "a"},
    {"expect": {"GREETING_REPLY": {"version": 1}}},
    LOGIN,
)
DATA = (
    {"connect": {"name": "d", "link": "data"}},
    {"send": {"DATA_GREETING": {"mode": "PLAIN"}}, "on": "d", "expect": {"DATA_GREETING_REPLY": {"version": 1}}},
    {"send": {"ATTACH": {"token": "@a_token", "timeout": 240}}, "on": "d", "expect": OK},
)
PUBLISH = {"send": {"PUBLISH": {"priority": 127, "topic": "t", "message": "hello"}}, "expect": OK}
PUSHED = {"expect": {"MESSAGE": {"topic": "t", "message": "hello"}}, "on": "d"}
UDP = {"connect": {"name": "u", "link": "datagram"}}
ACKNOWLEDGED = {"DATAGRAM_REPLY": {"code": "OK"}}


def datagram(op: str = "PUBLISH", login: str = "", encryption: str = "PLAIN") -> Mapping[str, Any]:
    """Return a datagram as cases write it."""
    same = {"version": 1, "encryption": encryption, "login": login, "password": ""}
    return {"DATAGRAM": {**same, "op": op, "priority": 127, "topic": "t", "message": "m"}}


class SmallService(Service):
    """Answers everything with OK and pushes what is published to every data socket."""

    def __init__(self, *, twice: bool = False, ignores_tls: bool = False, beacons: bool = False) -> None:
        self.data: list[SmallSession] = []
        self.twice = twice
        """A datagram that asks for no answer gets one."""
        self.ignores_tls = ignores_tls
        self.beacons = beacons
        """A beacon is the last that comes on a data socket."""

    def connect(self, peer: Peer, write: Write, close: Close) -> Session:
        """See `Service`."""
        return SmallSession(self, peer, write, close)

    def datagram(self, peer: Peer, data: bytes) -> bytes | None:
        """See `Service`."""
        server = DatagramServer(CODEC)
        server.receive_data(data)
        try:
            asked = server.next_event()
        except ProtocolError:
            return None
        if isinstance(asked, Datagram) and asked.op == DatagramOperation.PUBLISH_NO_ACK and not self.twice:
            return None
        return server.send(DatagramReply(1, ResponseCode.OK))

    def close(self) -> None:
        """See `Service`."""


class SmallSession(Session):
    """Which socket it is, its first two bytes tell."""

    def __init__(self, service: SmallService, peer: Peer, write: Write, close: Close) -> None:
        self._service = service
        self._peer = peer
        self._write = write
        self._close = close
        self._line: ControlServer | DataServer | None = None
        self._first = b""
        self._closed = False

    def data_received(self, data: bytes) -> None:
        """See `Session`."""
        if self._line is None:
            data = self._first = self._first + data
            if len(data) < len(DATA_HEADER):
                return
            self._line = DataServer(CODEC) if data.startswith(DATA_HEADER) else ControlServer(CODEC)
        self._line.receive_data(data)
        try:
            while not self._closed and isinstance(message := self._line.next_event(), Message):
                self._answer(message, self._line)
        except ProtocolError:
            self._close()

    def _answer(self, message: Message, line: ControlServer | DataServer) -> None:
        if getattr(message, "mode", None) == Mode.STARTTLS:
            if self._service.ignores_tls:
                return
            early = line.start_tls()
            assert self._peer.secure is not None
            self._peer.secure(early)
        if getattr(message, "password", b"") == b"wrong" or getattr(message, "topics", b"") == b"end":
            self._closed = True
            self._close()
            return
        self._write(line.send(self._reply(message, line)))
        if isinstance(message, Publish):
            for other in self._service.data:
                other.push(PushedMessage(message.priority, message.topic, message.message))
        if isinstance(message, Bye):
            self._close()

    def _reply(self, message: Message, line: ControlServer | DataServer) -> Message:
        if message.NAME == "DATA_GREETING":
            return DataGreetingReply(1)
        if message.NAME == "ATTACH":
            self._service.data.append(self)
        if isinstance(message, Greeting):
            return GreetingReply(1)
        if isinstance(message, Login):
            return Token(bytes(range(32)))
        return Response(ResponseCode.OK_WAITING if isinstance(message, PublishRepl) else ResponseCode.OK)

    def push(self, message: Message) -> None:
        """Tell the client of a message."""
        assert self._line is not None
        self._write(self._line.send(message))

    def eof_received(self) -> None:
        """See `Session`."""
        if self._service.beacons and self in self._service.data:
            self.push(Beacon())
        self._close()

    def connection_lost(self) -> None:
        """See `Session`."""
        if self in self._service.data:
            self._service.data.remove(self)

    def pause_writing(self) -> None:
        """See `Session`."""

    def resume_writing(self) -> None:
        """See `Session`."""


def a_case(*steps: Mapping[str, Any]) -> Case:
    """Return a case of these steps."""
    return Case(
        id="made/up", title="A case made up for a test", topic="made", clauses=("PSRT-X-1",), level=None,
        profiles=("1",), variants=(), exclusive=False, fresh_server=False, slow=False,
        steps=steps_of(list(steps)), variables={},
    )  # fmt: skip


def symbols(**variables: Any) -> Symbols:
    """Return the symbols of such a case."""
    return Symbols(PROTOCOL, "1", "standard", case="made/up", namespace="t", variables=variables)


def player(
    steps: Sequence[Mapping[str, Any]],
    segmentation: str = "whole",
    notes: list[StepEvent] | None = None,
    timeout: float = 2.0,
) -> Player:
    """Return a player of these steps."""
    on_step = None if notes is None else notes.append
    return Player(a_case(*steps), symbols(), segmentation=SEGMENTATIONS[segmentation], timeout=timeout, on_step=on_step)


def simulated(*steps: Mapping[str, Any], segmentation: str = "whole", **changes: Any) -> Outcome:
    """Play steps against the small server in simulation."""
    return SimulationDriver(lambda clock: SmallService(**changes)).play(player(steps, segmentation))
