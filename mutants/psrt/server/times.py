"""Faults of time: the server timeout on control sockets, and beacons on data sockets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.psrt.server.messages import fed_by
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import lead
from wireproof.protocols.psrt.replies import Beacon
from wireproof.protocols.psrt.requests import Nop
from wireproof.reference_server.psrt.feed import Feed
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.psrt.state import DENIED, ERROR, Answer

__all__ = ["MUTANTS"]


class _Waits(PsrtSession):
    """Waits for ever where `for_ever` says so."""

    def expect(self) -> None:
        """See `PsrtSession`."""
        if self.for_ever():
            self._deadline.clear()
        else:
            super().expect()

    def for_ever(self) -> bool:
        """Say whether nothing is due now."""
        return True


def _waits(where: Callable[[PsrtSession], bool]) -> type[PsrtSession]:
    """Return sessions that wait for ever where `where(session)`."""

    class Waits(_Waits):
        """Waits where it is told to."""

        def for_ever(self) -> bool:
            """See `_Waits`."""
            return where(self)

    return Waits


def _is_greeted(session: PsrtSession) -> bool:
    return session.connection is not None and session.client is None


class _HalfTime(PsrtSession):
    """Waits half as long."""

    def expect(self) -> None:
        """See `PsrtSession`."""
        if self.feed is None:
            self._deadline.set(self.state.clock.monotonic_ns() + self.state.timeout_ns // 2)
        else:
            self._deadline.clear()


class _DoubleTime(PsrtSession):
    """Waits twice as long."""

    def expect(self) -> None:
        """See `PsrtSession`."""
        if self.feed is None:
            self._deadline.set(self.state.clock.monotonic_ns() + 2 * self.state.timeout_ns)
        else:
            self._deadline.clear()


def _only(counts: Callable[[Any, Answer], bool]) -> type[PsrtSession]:
    """Return sessions that only a request and its answer where `counts` keep alive."""

    class Only(PsrtSession):
        """Does not begin its timeout anew for the others."""

        is_kept = False

        def answer(self, request: Any, answer: Answer) -> None:
            """See `PsrtSession`."""
            super().answer(request, answer)
            self.is_kept = self.client is not None and self.feed is None and not counts(request, answer)

        def expect(self) -> None:
            """See `PsrtSession`."""
            if getattr(self, "client", None) is None or not self.is_kept:
                super().expect()
            self.is_kept = False

    return Only


class _EachByte(PsrtSession):
    """Begins its timeout anew with each byte."""

    def data_received(self, data: bytes) -> None:
        """See `PsrtSession`."""
        super().data_received(data)
        if not self.closed:
            self.expect()


class _Told(PsrtSession):
    """Says FF before it closes a connection for its silence."""

    def too_late(self) -> None:
        """See `PsrtSession`."""
        self._write(b"\xff")
        super().too_late()


class _DataToo(PsrtSession):
    """Closes data sockets that send nothing, too."""

    def expect(self) -> None:
        """See `PsrtSession`."""
        self._deadline.set(self.state.clock.monotonic_ns() + self.state.timeout_ns)


class _SinceLogin(PsrtSession):
    """Closes a session when the timeout has passed since its login."""

    def expect(self) -> None:
        """See `PsrtSession`."""
        if getattr(self, "client", None) is None or not getattr(self, "has_begun", False):
            super().expect()
            self.has_begun = self.client is not None


class _Never(Feed):
    """Sends no beacon."""

    def wake(self) -> None:
        """See `Feed`."""


def _every(part: float) -> type[PsrtSession]:
    """Return sessions whose beacons come each `part` of TIMEOUT_SEC."""

    class Every(Feed):
        """Has another interval."""

        def interval(self, timeout_s: int) -> int:
            """See `Feed`."""
            return round(super().interval(timeout_s) * 2 * part)

    return fed_by(Every)


class _Once(Feed):
    """Sends one beacon."""

    has_sent = False

    def wake(self) -> None:
        """See `Feed`."""
        if not self.has_sent:
            super().wake()
            self.has_sent = True


class _OnceFed(Feed):
    """Sends no more beacons once a message came."""

    def flush(self) -> None:
        """See `Feed`."""
        is_message = bool(self._waiting)
        super().flush()
        if is_message:
            self._timer.cancel()


class _Torn(Feed):
    """Sends a beacon between topic and message of the first push."""

    is_first = True

    def push(self, frame: bytes) -> None:
        """See `Feed`."""
        if self.is_first and len(frame) > 6:
            self.is_first = False
            frame = frame[:6] + b"\0" + frame[6:]
        super().push(frame)


class _WaitsForAnswer(PsrtSession):
    """Closes a data socket whose client does not answer a beacon before the next one."""

    is_answered = True

    def attach(self, *given: Any) -> None:
        """See `PsrtSession`."""
        super().attach(*given)
        assert self.feed is not None
        write = self.feed._write

        def told(data: bytes) -> None:
            if data != b"\0":
                write(data)
            elif self.is_answered:
                self.is_answered = False
                write(data)
            else:
                self.end()

        self.feed._write = told

    def data_received(self, data: bytes) -> None:
        """See `PsrtSession`."""
        if self.feed is not None:
            self.is_answered = True
        super().data_received(data)


ALIVE = ("TIMEOUT-3", "TIMEOUT-2", "TIMEOUT-9", "TIMEOUT-11", "NOP-3")
_TIMEOUTS: tuple[ServerMutant, ...] = (
    mutant("timeout-none", "No connection is ever closed for its silence.", "TIMEOUT-1", "TIMEOUT-4", "TIMEOUT-5",
          "TIMEOUT-6", "TIMEOUT-7", "TIMEOUT-10", "ATTACH-6", "STARTTLS-8", "STARTTLS-13",
          session=_waits(lambda session: True)),
    mutant("timeout-halved", "Connections are closed after half the server timeout.", "TIMEOUT-2", *ALIVE,
          "ATTACH-9", "BEACON-2", "STARTTLS-13", "TIMEOUT-4", "TIMEOUT-5", "TIMEOUT-6", session=_HalfTime),
    mutant("timeout-doubled", "Connections are closed after twice the server timeout.", "TIMEOUT-1", "TIMEOUT-4",
          "TIMEOUT-5", "TIMEOUT-6", "TIMEOUT-7", "TIMEOUT-10", "ATTACH-6", "STARTTLS-8", "STARTTLS-13",
          session=_DoubleTime),
    mutant("timeout-not-of-greetings", "A connection that greets nobody stays open.", "TIMEOUT-4",
          session=_waits(lambda session: getattr(session, "connection", None) is None)),
    mutant("timeout-not-of-logins", "A connection that was greeted and does not log in stays open.", "TIMEOUT-5",
          "STARTTLS-8", session=_waits(lambda session: _is_greeted(session) and not session.is_data)),
    mutant("timeout-not-of-tokens", "A data socket that shows no token stays open.", "TIMEOUT-6", "STARTTLS-8",
          session=_waits(lambda session: session.connection is not None and session.is_data)),
    mutant("timeout-not-of-sessions", "A session that is silent stays open.", "TIMEOUT-1", "TIMEOUT-7", "TIMEOUT-10",
          "ATTACH-6", "STARTTLS-13",
          session=_waits(lambda session: session.client is not None and not session.is_data)),
    mutant("timeout-begun-anew-by-nop", "Only NOP begins the timeout anew.", "TIMEOUT-3", "TIMEOUT-11", "TIMEOUT-2",
          session=_only(lambda request, answer: isinstance(request, Nop))),
    mutant("timeout-not-begun-anew-by-errors", "A request answered FE or FF does not begin the timeout anew.",
          "TIMEOUT-11", "TIMEOUT-3", session=_only(lambda request, answer: answer not in (DENIED, ERROR))),
    mutant("timeout-since-login", "A session is closed when the timeout has passed since its login.", "TIMEOUT-3",
          *ALIVE, "BEACON-2", "BEACON-3", "BEACON-4", "ATTACH-9", "ATTACH-11", "STARTTLS-13", session=_SinceLogin),
    mutant("timeout-begun-anew-by-each-byte", "Each byte begins the timeout anew.", "TIMEOUT-7", "TIMEOUT-4",
          "TIMEOUT-5", "TIMEOUT-6", session=_EachByte),
    mutant("timeout-told", "FF is sent before a connection is closed for its silence.", "TIMEOUT-1", "TIMEOUT-4",
          "TIMEOUT-5", "TIMEOUT-6", "TIMEOUT-7", "STARTTLS-8", "STARTTLS-13", "FRAMING-9", session=_Told),
    mutant("timeout-of-data-sockets", "A data socket that sends nothing is closed after the server timeout.",
          "TIMEOUT-9", "BEACON-2", "BEACON-3", "BEACON-7", session=_DataToo),
)  # fmt: skip
_BEACONS: tuple[ServerMutant, ...] = (
    mutant("beacon-never", "No beacons are sent.", "BEACON-2", "BEACON-1", "BEACON-3", "BEACON-4", "STARTTLS-13",
          session=fed_by(_Never)),
    mutant("beacon-once", "One beacon is sent, and no more.", "BEACON-2", "BEACON-3", "BEACON-4", "BEACON-7",
          "STARTTLS-13", session=fed_by(_Once)),
    mutant("beacon-too-seldom", "A beacon is sent each 1.5 times TIMEOUT_SEC.", "BEACON-2", "BEACON-3", "BEACON-4",
          "BEACON-1", "STARTTLS-13", session=_every(1.5)),
    mutant("beacon-in-minutes", "TIMEOUT_SEC is taken for minutes.", "BEACON-2", "BEACON-3", "BEACON-4", "BEACON-1",
          "STARTTLS-13", session=_every(30)),
    mutant("beacon-in-tenths", "TIMEOUT_SEC is taken for tenths of a second.", "BEACON-4", "BEACON-3",
          session=_every(0.05)),
    mutant("beacon-too-often", "A beacon is sent each tenth of TIMEOUT_SEC.", "BEACON-4", "BEACON-3",
          session=_every(0.1)),
    mutant("beacon-by-tick", "A beacon is left out where a message came since the last tick.", "BEACON-3",
          rules={"beacon_by_silence": False}, profiles=("1",)),
    mutant("beacon-ff", "A beacon is the byte FF.", "BEACON-1", "BEACON-2", "BEACON-3", "BEACON-4", "STARTTLS-13",
          "BEACON-7", profile=lead(Beacon, 0xFF)),
    mutant("beacon-of-2-bytes", "A beacon is 00 01.", "BEACON-1", "BEACON-2", "BEACON-3", "BEACON-4", "STARTTLS-13",
          "BEACON-7", profile=lead(Beacon, 0, 1)),
    mutant("beacon-wants-an-answer", "A data socket whose client does not answer a beacon is closed.", "BEACON-7",
          "BEACON-2", "TIMEOUT-9", "BEACON-3", "BEACON-4", session=_WaitsForAnswer),
    mutant("beacon-until-a-message", "No beacons are sent once a message came.", "BEACON-2", "BEACON-3",
          session=fed_by(_OnceFed)),
    mutant("beacon-within-a-push", "A beacon stands within a push.", "BEACON-5", "MESSAGE-4", "MESSAGE-6", "MESSAGE-3",
          "SUBSCRIBE-6", session=fed_by(_Torn)),
)  # fmt: skip
MUTANTS = _TIMEOUTS + _BEACONS
