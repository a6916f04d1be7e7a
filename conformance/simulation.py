"""The driver in simulation: the reference server in this process, on a virtual clock; bit-identical, no sleeping.

Each case gets a fresh server, so every case is alone; time moves only when a case waits or a read finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from conformance.actions import Action, Answer, Measure, Open, Read, Shut, Sleep, Write
from conformance.blame import misdelivered
from conformance.outcome import Outcome
from conformance.player import Player
from conformance.tap import Tap, TapError
from conformance.trace import Kind
from reference_server.clock import VirtualClock
from reference_server.service import Peer, Service, Session

ServiceFactory = Callable[[VirtualClock], Service]
FIRST_PORT = 40_000


class _Wire:
    """One simulated connection: what the server wrote and whether it closed."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.written: list[bytes] = []
        self.closed = False
        self.tap = Tap()

    def write(self, data: bytes) -> None:
        """Keep what the server says."""
        self.tap.came(data)
        self.written.append(data)

    def close(self) -> None:
        self.closed = True


class SimulationDriver:
    """Plays cases against a fresh service each, made by `factory(clock)`."""

    def __init__(self, factory: ServiceFactory) -> None:
        self._factory = factory

    def play(self, player: Player) -> Outcome:
        """Run one case to its outcome."""
        session = Simulation(self._factory)
        play = player.play()
        try:
            action = next(play)
            while True:
                action = play.send(session.perform(action))
        except StopIteration as stop:
            outcome: Outcome = stop.value
            return outcome
        except TapError as error:
            return misdelivered(error, player.talk.trace)


class Simulation:
    """One server and its connections, for one play."""

    def __init__(self, factory: ServiceFactory) -> None:
        self._clock = VirtualClock()
        self._service = factory(self._clock)
        self._wires: dict[str, _Wire] = {}
        self._opened = 0

    def _answer(self, kind: Kind, data: bytes = b"") -> Answer:
        return Answer(kind, self._clock.monotonic_ns() / 1e9, data)

    def perform(self, action: Action) -> Answer:
        """Carry out one action of a player."""
        match action:
            case Open(name):
                return self._open(name)
            case Write(name, data, apart):
                wire = self._wires[name]
                return wire.tap.held(action, self._write(wire, data, apart or 0.0))
            case Read(name, timeout):
                wire = self._wires[name]
                return wire.tap.held(action, self._read(wire, timeout))
            case Shut(name, how):
                return self._shut(name, how)
            case Sleep(seconds):
                self._clock.advance(round(seconds * 1e9))
                return self._answer(Kind.WAITED)
            case Measure():
                return self._answer(Kind.MEASURED)

    def _open(self, name: str) -> Answer:
        wire = self._wires[name] = _Wire()
        port = FIRST_PORT + self._opened
        peer = Peer("tcp", "127.0.0.1", port)
        self._opened += 1
        wire.session = self._service.connect(peer, wire.write, wire.close)
        return self._answer(Kind.OPENED, str(port).encode())

    def _write(self, wire: _Wire, data: bytes, pause: float) -> Answer:
        assert wire.session is not None
        if wire.closed:
            return self._answer(Kind.RESET, b"closed")
        if data:
            wire.tap.left(data)
            wire.session.data_received(data)
        self._clock.advance(round(pause * 1e9))
        return self._answer(Kind.SENT)

    def _read(self, wire: _Wire, timeout: float) -> Answer:
        deadline = self._clock.monotonic_ns() + round(timeout * 1e9)
        while not wire.written and not wire.closed:
            following = self._clock.next_ns
            if following is None or following > deadline:
                self._clock.advance_to(deadline)
                break
            self._clock.advance_to(following)
        if wire.written:
            data = b"".join(wire.written)
            wire.written.clear()
            return self._answer(Kind.RECEIVED, data)
        return self._answer(Kind.ENDED if wire.closed else Kind.SILENT)

    def _shut(self, name: str, how: str) -> Answer:
        wire = self._wires[name]
        assert wire.session is not None
        if how == "half":
            wire.session.eof_received()
            self._clock.advance(0)
            return self._answer(Kind.HALF_CLOSED)
        del self._wires[name]
        wire.session.connection_lost()
        return self._answer(Kind.CLOSED)
