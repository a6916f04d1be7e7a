"""Faults of STARTTLS: when TLS begins, what is said before, and what is taken for what came inside."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.psrt.server.mutant import HandlerPatch, ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import with_handler
from wireproof.protocols.psrt.requests import Attach, DataGreeting, Greeting, Login
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.psrt.state import Answer, Handler, RefusedError, State

__all__ = ["MUTANTS"]

HANDSHAKE = 0x16


class _Secured(PsrtSession):
    """Knows whether it is inside TLS."""

    is_secured = False

    def secure(self) -> bool:
        """See `PsrtSession`."""
        self.is_secured = super().secure()
        return self.is_secured


class _AnswersFirst(PsrtSession):
    """Says in clear what it will say inside TLS."""

    def secure(self) -> bool:
        """See `PsrtSession`."""
        self._write((b"\xee\xab" if self.is_data else b"\xee\xaa") + b"\1\0")
        return super().secure()


class _SaysOk(PsrtSession):
    """Says 01 in clear before TLS begins."""

    def secure(self) -> bool:
        """See `PsrtSession`."""
        self._write(b"\1")
        return super().secure()


class _AnswersInClear(PsrtSession):
    """Says its greeting in clear, and nothing inside TLS."""

    def secure(self) -> bool:
        """See `PsrtSession`."""
        self._write((b"\xee\xab" if self.is_data else b"\xee\xaa") + b"\1\0")
        self.is_told = super().secure()
        return self.is_told

    def answer(self, request: Any, answer: Answer) -> None:
        """See `PsrtSession`."""
        is_told = getattr(self, "is_told", False) and isinstance(request, Greeting | DataGreeting)
        super().answer(request, answer)
        if is_told:
            self._out.pop()


class _TakesClearText(PsrtSession):
    """Takes what came in clear behind the greeting for the first that came inside TLS."""

    def secure(self) -> bool:
        """See `PsrtSession`."""
        if self.peer.secure is None or self.connection is None:
            return False
        self.flush()
        early = self.connection.start_tls()
        is_clear = early[:1] not in (b"", bytes([HANDSHAKE]))
        self.peer.secure(b"" if is_clear else early)
        if is_clear:
            self.connection.receive_data(early)
        return True


class _FallsBack(PsrtSession):
    """Goes on in clear where no TLS follows the greeting."""

    def secure(self) -> bool:
        """See `PsrtSession`."""
        assert self.connection is not None
        ahead = bytes(self.connection._buffer.data[self.connection._buffer.at : self.connection._buffer.end])
        if ahead and ahead[0] != HANDSHAKE:
            self.connection.receive_data(self.connection.start_tls())
            return True
        return super().secure()


class _NoTlsForData(PsrtSession):
    """Has no TLS for data sockets."""

    def secure(self) -> bool:
        """See `PsrtSession`."""
        return not self.is_data and super().secure()


class _NoTls(PsrtSession):
    """Takes STARTTLS for the plain mode, which a target that has TLS may not."""

    def secure(self) -> bool:
        """See `PsrtSession`."""
        assert self.connection is not None
        self.connection.receive_data(self.connection.start_tls()) if self.connection.buffered else (
            self.connection.start_tls()
        )
        return True


class _Unguarded(PsrtSession):
    """Waits for ever for the end of a handshake."""

    is_inside = False

    def secure(self) -> bool:
        """See `PsrtSession`."""
        self.is_inside = super().secure()
        return self.is_inside

    def expect(self) -> None:
        """See `PsrtSession`."""
        if self.is_inside:
            self._deadline.clear()
            self.is_inside = False
        else:
            super().expect()


class _Fragile(_Secured):
    """Ends all connections when a handshake fails."""

    def connection_lost(self) -> None:
        """See `PsrtSession`."""
        is_failed = self.is_secured and self.client is None and not self.closed
        super().connection_lost()
        for one in list(self.state.sessions) if is_failed else ():
            one.end()


class _NoTimeout(_Secured):
    """Has no timeout inside TLS."""

    def expect(self) -> None:
        """See `PsrtSession`."""
        if self.is_secured:
            self._deadline.clear()
        else:
            super().expect()


class _NoBeacon(_Secured):
    """Sends no beacons inside TLS."""

    def attach(self, *given: Any) -> None:
        """See `PsrtSession`."""
        super().attach(*given)
        if self.is_secured and self.feed is not None:
            self.feed._timer.cancel()


class _NoPush(_Secured):
    """Writes pushes to data sockets in clear only."""

    def attach(self, *given: Any) -> None:
        """See `PsrtSession`."""
        super().attach(*given)
        if self.is_secured and self.feed is not None:
            self.feed.stop()


class _HeaderAlone(_Secured):
    """Says its greeting inside TLS without the version."""

    def answer(self, request: Any, answer: Answer) -> None:
        """See `PsrtSession`."""
        super().answer(request, answer)
        if self.is_secured and isinstance(request, Greeting | DataGreeting):
            self._out[-1] = self._out[-1][:2]


class _Silent(_Secured):
    """Says no greeting inside TLS: the client has what it wants."""

    def answer(self, request: Any, answer: Answer) -> None:
        """See `PsrtSession`."""
        super().answer(request, answer)
        if self.is_secured and isinstance(request, Greeting | DataGreeting):
            self._out.pop()


class _SilentData(_Secured):
    """Says no greeting on a data socket inside TLS."""

    def answer(self, request: Any, answer: Answer) -> None:
        """See `PsrtSession`."""
        super().answer(request, answer)
        if self.is_secured and isinstance(request, DataGreeting):
            self._out.pop()


def _alike(where: bool) -> HandlerPatch:
    """Refuse a data socket in clear, or inside TLS, whose control socket is not."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Attach, session: Any, now: int) -> Answer:
            client = state.clients.get(request.token)
            control = [one for one in state.sessions if one.client is not None and one.client is client]
            inside = [getattr(one, "is_secured", False) for one in control if not one.is_data]
            if inside and inside[0] is where and session.is_secured is not where:
                raise RefusedError("not as the control socket")
            return correct(request, session, now)

        return handle

    return with_handler(Attach, make)


def _nobody_inside(correct: Handler, state: State) -> Handler:
    def handle(request: Login, session: Any, now: int) -> Answer:
        if session.is_secured and not request.login:
            raise RefusedError("nobody inside TLS")
        return correct(request, session, now)

    return handle


INSIDE = ("STARTTLS-2", "STARTTLS-4", "STARTTLS-5", "STARTTLS-9", "STARTTLS-13")
INSIDE_DATA = ("STARTTLS-3", "STARTTLS-5", "STARTTLS-10", "STARTTLS-13")
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("tls-greeting-twice", "The greeting is said in clear and once more inside TLS.", "STARTTLS-1", *INSIDE,
          *INSIDE_DATA, "STARTTLS-8", "STARTTLS-6", "STARTTLS-7", session=_AnswersFirst),
    mutant("tls-greeting-in-clear", "The greeting is said in clear, and TLS begins then.", "STARTTLS-1", *INSIDE,
          *INSIDE_DATA, "STARTTLS-8", "STARTTLS-6", "STARTTLS-7", session=_AnswersInClear),
    mutant("tls-told-with-01", "01 is said in clear before TLS begins.", "STARTTLS-1", *INSIDE, *INSIDE_DATA,
          "STARTTLS-8", "STARTTLS-6", "STARTTLS-7", session=_SaysOk),
    mutant("tls-takes-clear-text", "Clear text behind EE AA 01 is taken for what came inside TLS.", "STARTTLS-7",
          "STARTTLS-6", session=_TakesClearText),
    mutant("tls-falls-back", "Where no TLS follows EE AA 01 the session goes on in clear.", "STARTTLS-6",
          "STARTTLS-7", session=_FallsBack),
    mutant("tls-ignored", "STARTTLS is taken for the plain mode.", "STARTTLS-1", *INSIDE, *INSIDE_DATA, "STARTTLS-6",
          "STARTTLS-7", "STARTTLS-8", session=_NoTls),
    mutant("tls-not-for-data-sockets", "A data socket cannot go on inside TLS.", "STARTTLS-3", *INSIDE_DATA,
          session=_NoTlsForData),
    mutant("tls-handshake-for-ever", "A handshake may take as long as it likes.", "STARTTLS-8", profiles=("1",),
          session=_Unguarded),
    mutant("tls-failure-ends-all", "A handshake that fails ends all connections.", "STARTTLS-12", session=_Fragile),
    mutant("tls-without-timeout", "Inside TLS there is no server timeout.", "STARTTLS-13", "STARTTLS-8",
          session=_NoTimeout),
    mutant("tls-without-beacons", "Inside TLS there are no beacons.", "STARTTLS-13", session=_NoBeacon),
    mutant("tls-without-pushes", "Inside TLS there are no pushes.", "STARTTLS-5", *INSIDE_DATA, session=_NoPush),
    mutant("tls-greeting-without-version", "Inside TLS the greeting has no version.", "STARTTLS-2", *INSIDE,
          *INSIDE_DATA, session=_HeaderAlone),
    mutant("tls-without-greeting", "Inside TLS there is no greeting.", "STARTTLS-2", *INSIDE, *INSIDE_DATA,
          session=_Silent),
    mutant("tls-data-without-greeting", "Inside TLS there is no greeting of a data socket.", "STARTTLS-3",
          *INSIDE_DATA, session=_SilentData),
    mutant("tls-data-socket-as-control", "A session inside TLS must have its data socket inside TLS.", "STARTTLS-9",
          session=_Secured, handlers=_alike(True)),
    mutant("tls-control-as-data-socket", "A session in clear must have its data socket in clear.", "STARTTLS-10",
          "STARTTLS-3", "STARTTLS-5", "STARTTLS-13", session=_Secured, handlers=_alike(False)),
    mutant("tls-not-for-anybody", "Inside TLS nobody can log in without a name.", "STARTTLS-4", *INSIDE, *INSIDE_DATA,
          session=_Secured, handlers=with_handler(Login, _nobody_inside)),
)  # fmt: skip
