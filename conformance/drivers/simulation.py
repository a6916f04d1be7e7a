"""The driver in simulation: the reference server in this process, on a virtual clock; bit-identical, no sleeping.

Each case gets a fresh server, so every case is alone; time moves only when a case waits or a read finds nothing.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Literal

from wireproof.conformance.drivers.io_audit import IoAudit, IoAuditError, misdelivered
from wireproof.conformance.model.actions import Action, Answer, Open, Read, ReadUsage, Secure, Shut, Sleep, Write
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.player.connections import ActionGenerator, Result
from wireproof.conformance.player.player import Player
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.service import Peer, Service, Session

logging.getLogger("wireproof.reference_server").addHandler(logging.NullHandler())
"""What simulated servers log is nothing that whoever runs cases asked for; without a handler it goes to stderr."""
Then = Literal["", "end", "more"]
"""What follows a write before the server has another turn of its loop: nothing, the end of our side, another write."""
ServiceFactory = Callable[[VirtualClock], Service]
FIRST_PORT = 40_000
HIGH_WATER = 1 << 16
"""Bytes that wait for a client that does not read, beyond which its server is to write nothing more."""
TLS_HANDSHAKE = b"\x16"
"""The first byte of what a client says that begins TLS: some servers know TLS by it."""


LARGEST_DATAGRAM = 65_507
"""Bytes of the largest datagram over IPv4: sockets refuse a larger one."""


class _Wire:
    """One simulated connection: what the server wrote and whether it closed."""

    def __init__(self, *, unread: bool = False) -> None:
        """`unread`: as in `Open`; only then does what the server wrote pile up."""
        self.session: Session | None = None
        self.written: list[bytes] = []
        self.closed = False
        self.audit = IoAudit()
        self.inside: list[bytes] | None = None
        """What the server, which goes on inside TLS, wrote so far; None once our side does, too, or without TLS."""
        self._first = b""
        self._unread, self._waiting, self._is_full = unread, 0, False

    def write(self, data: bytes) -> None:
        """Keep what the server says."""
        if self.inside is not None:
            self.inside.append(data)
        else:
            self.audit.came(data)
            self.written.append(data)
            self._waiting += len(data)
            if self._unread and not self._is_full and self._waiting > HIGH_WATER and self.session is not None:
                self._is_full = True
                self.session.pause_writing()

    def taken(self) -> bytes:
        """Return what the server wrote, and let it write again if it was to write nothing more."""
        data = b"".join(self.written)
        self.written.clear()
        self._waiting = 0
        if self._is_full and not self.closed and self.session is not None:
            self._is_full = False
            self.session.resume_writing()
        return data

    def close(self) -> None:
        self.closed = True

    def secure(self, first: bytes) -> None:
        """Begin TLS on the server's side: there are no bytes of it here, but none in clear may come either."""
        self.inside, self._first = [], first

    def lose(self) -> None:
        """End both sides: a handshake failed."""
        self.closed, self.inside = True, []
        if self.session is not None:
            self.session.connection_lost()

    def shake_hands(self) -> str:
        """Begin TLS on our side; return why it fails, nothing when it does not."""
        if self.inside is None and not self.closed and self.session is not None:
            self.session.data_received(TLS_HANDSHAKE)
            self._first = self._first.removeprefix(TLS_HANDSHAKE)
        if self.closed:
            return "closed"
        if self.inside is None or self._first:
            self.lose()
            return "clear text where TLS is due" if self._first else "the target does not begin TLS"
        inside, self.inside = self.inside, None
        for data in inside:
            self.write(data)
        return ""


class _SimulatedDatagrams:
    """One simulated socket for datagrams: the answers not read yet."""

    def __init__(self, service: Service, peer: Peer) -> None:
        self._service = service
        self._peer = peer
        self.came: deque[bytes] = deque()
        self.audit = IoAudit()

    def write(self, data: bytes) -> None:
        """Send one datagram."""
        self.audit.left(data)
        answer = self._service.datagram(self._peer, data)
        if answer is not None:
            self.audit.came(answer)
            self.came.append(answer)


def carried_out(asking: ActionGenerator[Result], perform: Callable[[Action], Answer]) -> Result:
    """Perform each action that a player asks for; return its result. Raises what `perform` and the player raise."""
    try:
        action = next(asking)
        while True:
            action = asking.send(perform(action))
    except StopIteration as stop:
        result: Result = stop.value
        return result


class SimulationDriver:
    """Plays cases against a fresh service each, made by `factory(clock)`."""

    def __init__(self, factory: ServiceFactory) -> None:
        self._factory = factory

    def play(self, player: Player) -> Outcome:
        """Run one case to its outcome."""
        try:
            return carried_out(player.play(), Simulation(self._factory).perform)
        except IoAuditError as error:
            return misdelivered(error, player.talk.trace)


class Simulation:
    """One server and its connections, for one play."""

    def __init__(self, factory: ServiceFactory) -> None:
        self._clock = VirtualClock()
        self._service = factory(self._clock)
        self._wires: dict[str, _Wire | _SimulatedDatagrams] = {}
        self._opened = 0

    def hold(self, connection: str, *, is_held: bool) -> int:
        """Let the client of a stream take nothing, or take again what waits for it; return how much is not written."""
        wire = self._wires[connection]
        if isinstance(wire, _Wire) and wire.session is not None and not wire.closed:
            if is_held:
                wire.session.pause_writing()
            else:
                wire.session.resume_writing()
                return 0 if wire.closed else wire.session.unwritten
        return 0

    def _answer(self, kind: Kind, data: bytes = b"") -> Answer:
        return Answer(kind, self._clock.monotonic_ns() / 1e9, data)

    def perform(self, action: Action, *, then: Then = "") -> Answer:
        """Carry out one action of a player; after a write the end of our side, or `more`, comes before any turn."""
        match action:
            case Open(name, _, transport, unread, listener):
                return self._open(name, listener, is_stream=transport == "stream", unread=unread)
            case Write(name, data, apart):
                wire = self._wires[name]
                return wire.audit.checked(action, self._write(wire, data, apart or 0.0, then))
            case Read(name, timeout):
                wire = self._wires[name]
                return wire.audit.checked(action, self._read(wire, timeout))
            case Shut(name, how):
                return self._shut(name, how)
            case Secure(name):
                return self._secure(name)
            case Sleep(seconds):
                self._clock.advance(round(seconds * 1e9))
                return self._answer(Kind.WAITED)
            case ReadUsage():
                return self._answer(Kind.MEASURED)

    def _open(self, name: str, listener: str, *, is_stream: bool, unread: bool) -> Answer:
        port = FIRST_PORT + self._opened
        self._opened += 1
        if is_stream:
            self._wires[name] = wire = _Wire(unread=unread)
            peer = Peer("tcp", "127.0.0.1", port, wire.secure, listener)
            wire.session = self._service.connect(peer, wire.write, wire.close)
        else:
            self._wires[name] = _SimulatedDatagrams(self._service, Peer("udp", "127.0.0.1", port))
        return self._answer(Kind.OPENED, str(port).encode())

    def _write(self, wire: _Wire | _SimulatedDatagrams, data: bytes, pause: float, then: Then) -> Answer:
        if isinstance(wire, _SimulatedDatagrams):
            if len(data) > LARGEST_DATAGRAM:
                return self._answer(Kind.RESET, b"Message too long")
            wire.write(data)
            self._clock.advance(0)
            return self._answer(Kind.SENT)
        assert wire.session is not None
        if wire.closed:
            return self._answer(Kind.RESET, b"closed")
        if data:
            wire.audit.left(data)
            if wire.inside is None:
                wire.session.data_received(data)
            else:
                wire.lose()
        if then == "end" and not wire.closed:
            wire.session.eof_received()
        if then != "more":
            self._clock.advance(round(pause * 1e9))
        return self._answer(Kind.SENT)

    def _read(self, wire: _Wire | _SimulatedDatagrams, timeout: float) -> Answer:
        deadline = self._clock.monotonic_ns() + round(timeout * 1e9)
        if isinstance(wire, _SimulatedDatagrams):
            if wire.came:
                return self._answer(Kind.RECEIVED, wire.came.popleft())
            self._clock.advance_to(deadline)
            return self._answer(Kind.SILENT)
        while not wire.written and not wire.closed:
            following = self._clock.next_ns
            if following is None or following > deadline:
                self._clock.advance_to(deadline)
                break
            self._clock.advance_to(following)
        if wire.written:
            return self._answer(Kind.RECEIVED, wire.taken())
        return self._answer(Kind.ENDED if wire.closed else Kind.SILENT)

    def _secure(self, name: str) -> Answer:
        wire = self._wires[name]
        assert isinstance(wire, _Wire)
        why = wire.shake_hands()
        self._clock.advance(0)
        return self._answer(Kind.RESET, why.encode()) if why else self._answer(Kind.SECURED)

    def _shut(self, name: str, how: str) -> Answer:
        wire = self._wires[name]
        if how == "half" and isinstance(wire, _Wire) and wire.session is not None:
            wire.session.eof_received()
            self._clock.advance(0)
            return self._answer(Kind.HALF_CLOSED)
        del self._wires[name]
        if isinstance(wire, _Wire) and wire.session is not None:
            wire.session.connection_lost()
        return self._answer(Kind.CLOSED)
