"""In simulation a client that does not read makes its server stop writing, and go on once it reads."""

import pytest

from wireproof.conformance.drivers.simulation import HIGH_WATER, Simulation
from wireproof.conformance.model.actions import Open, Read, Write
from wireproof.reference_server.service import Close, Peer, Service, Session
from wireproof.reference_server.service import Write as WriteBytes


class Talkative(Session):
    """Answers each byte with 1,000, and keeps what its peer does not take."""

    def __init__(self, write: WriteBytes) -> None:
        self._write, self._kept, self._is_full = write, b"", False

    def data_received(self, data: bytes) -> None:
        for _ in data:
            if self._is_full:
                self._kept += b"k" * 1000
            else:
                self._write(b"w" * 1000)

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._write(self._kept)

    def eof_received(self) -> None: ...

    def connection_lost(self) -> None: ...


class TalkativeService(Service):
    def __init__(self) -> None: ...

    def close(self) -> None: ...

    def connect(self, peer: Peer, write: WriteBytes, close: Close) -> Session:
        return Talkative(write)


@pytest.mark.parametrize(("unread", "at_first"), [(True, HIGH_WATER // 1000 + 1), (False, 100)])
def test_what_is_not_read_piles_up_at_the_server(unread: bool, at_first: int) -> None:
    simulation = Simulation(lambda clock: TalkativeService())
    simulation.perform(Open("a", unread=unread))

    simulation.perform(Write("a", b"x" * 100))
    first, second = (simulation.perform(Read("a", 1.0)).data for _ in range(2))

    assert (first, second) == (b"w" * 1000 * at_first, b"k" * 1000 * (100 - at_first))
