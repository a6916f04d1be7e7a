"""Legal servers that look unlike the reference: no MUST or SHOULD case may fail one of them."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.psrt.server.messages import fed_by
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import Ask, changed, with_answer, with_handler, with_request
from wireproof.protocols.psrt.requests import Attach, Datagram, PublishRepl, Sealed
from wireproof.reference_server.psrt.feed import Feed
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.psrt.state import ERROR, OK_WAITING, UNWANTED, Answer, Handler, RefusedError, State
from wireproof.reference_server.psrt.topics import is_mask, normalised

__all__ = ["CONFORMING"]

MS = 1_000_000


def _bare(answer: Answer, ask: Ask) -> Answer:
    """Close without a byte where a token is refused."""
    return b"" if answer == ERROR else answer


def _no_zero(answer: Answer, ask: Ask) -> Answer:
    """Refuse TIMEOUT_SEC 0."""
    if ask.request.timeout == 0:
        raise RefusedError("0 seconds")
    return answer


class _InPieces(PsrtSession):
    """Writes pushes in two pieces: up to the 00 behind the topic, then the message."""

    def attach(self, *given: Any) -> None:
        """See `PsrtSession`."""
        super().attach(*given)
        assert self.feed is not None
        write = self.feed._write

        def told(data: bytes) -> None:
            stop = data.find(b"\0", 6) + 1 if len(data) > 6 else len(data)
            write(data[:stop])
            if data[stop:]:
                write(data[stop:])

        self.feed._write = told


class _ByByte(PsrtSession):
    """Writes answers byte by byte, but for the greeting, which clients read in two parts."""

    def flush(self) -> None:
        """See `PsrtSession`."""
        if self.client is None or self.closed:
            super().flush()
            return
        data = b"".join(self._out)
        self._out.clear()
        for place in range(len(data)):
            self._write(data[place : place + 1])


class _PushesFirst(PsrtSession):
    """Writes pushes before the answer to their PUBLISH."""

    def flush(self) -> None:
        """See `PsrtSession`."""
        self.state.flush()
        super().flush()


class _PushesLate(Feed):
    """Writes pushes 20 ms later, however many there are."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._most = 1 << 20

    def flush(self) -> None:
        """See `Feed`."""
        if self._waiting and not getattr(self, "is_due", False):
            clock = self._state.clock
            clock.call_at(clock.monotonic_ns() + 20 * MS, self.late)
        else:
            super().flush()

    def late(self) -> None:
        """Write what waits."""
        self.is_due = True
        super().flush()
        self.is_due = False


class _BeaconsMoreOften(Feed):
    """Sends beacons at 0.4 times TIMEOUT_SEC."""

    def interval(self, timeout_s: int) -> int:
        """See `Feed`."""
        return round(super().interval(timeout_s) * 0.8)


class _Later(PsrtSession):
    """Closes a little after the timeout has passed."""

    def expect(self) -> None:
        """See `PsrtSession`."""
        super().expect()
        if self.feed is None:
            self._deadline.set(self.state.clock.monotonic_ns() + self.state.timeout_ns + 200 * MS)


def _normalised(request: PublishRepl, ask: Ask) -> PublishRepl:
    return changed(request, topic=normalised(request.topic.decode()).encode())


def _no_masks(answer: Answer, ask: Ask) -> Answer:
    return ERROR if answer in (OK_WAITING, UNWANTED) and is_mask(ask.request.topic.decode()) else answer


def _once(correct: Handler, state: State) -> Handler:
    """Drop a sealed datagram that came before."""
    seen: set[tuple[bytes, bytes]] = set()

    def handle(request: Sealed, sender: Any, now: int) -> Answer:
        if (request.nonce, request.sealed) in seen:
            raise RefusedError("a replay")
        answer = correct(request, sender, now)
        seen.add((request.nonce, request.sealed))
        return answer

    return handle


def _no_zero_priority(correct: Handler, state: State) -> Handler:
    def handle(request: Datagram, sender: Any, now: int) -> Answer:
        if request.priority == 0:
            raise RefusedError("priority 00")
        return correct(request, sender, now)

    return handle


def _silent_when_long(correct: Handler, state: State) -> Handler:
    def handle(request: Any, sender: Any, now: int) -> Answer:
        if sender.size > state.options["udp_frame_size"]:
            raise RefusedError("too long")
        return correct(request, sender, now)

    return handle


def _odd_passwords(correct: Handler, state: State) -> Handler:
    """Take what is no UTF-8 for a wrong password of a datagram."""

    def handle(request: Datagram, sender: Any, now: int) -> Answer:
        return correct(changed(request, password=request.password.decode(errors="replace").encode()), sender, now)

    return handle


class _TokensAlike(State):
    """Gives out tokens that begin alike."""

    def new_token(self) -> bytes:
        """See `State`."""
        return b"psrt" + super().new_token()[4:]


def legal(name: str, description: str, **patches: Any) -> ServerMutant:
    """Return a variety."""
    return mutant(f"legal-{name}", description, **patches)


CONFORMING: tuple[ServerMutant, ...] = (
    legal("attach-refused-by-closing", "A data socket that is refused is closed without a byte.",
          handlers=with_answer(Attach, _bare)),
    legal("attach-time-zero-refused", "TIMEOUT_SEC 0 is refused.", handlers=with_answer(Attach, _no_zero)),
    legal("pushes-in-two-pieces", "A push is written in two pieces.", session=_InPieces),
    legal("answers-byte-by-byte", "Answers behind the login are written byte by byte.", session=_ByByte),
    legal("pushes-before-answers", "A push is written before the answer to its PUBLISH.", session=_PushesFirst),
    legal("pushes-late", "Pushes are written 20 ms later.", session=fed_by(_PushesLate)),
    legal("beacons-a-little-more-often", "Beacons come each 0.4 times TIMEOUT_SEC.",
          session=fed_by(_BeaconsMoreOften)),
    legal("closes-a-little-later", "A silent connection is closed 0.2 s after the timeout.", session=_Later),
    legal("replication-normalises", "The topic of PUBLISH_REPL is normalised.",
          handlers=with_request(PublishRepl, _normalised)),
    legal("replication-refuses-masks", "PUBLISH_REPL to a mask is answered FF.",
          handlers=with_answer(PublishRepl, _no_masks)),
    legal("sealed-replay-dropped", "A sealed datagram that came before is dropped.",
          handlers=with_handler(Sealed, _once)),
    legal("datagram-priority-00-dropped", "A datagram of priority 00 is dropped.",
          handlers=with_handler(Datagram, _no_zero_priority)),
    legal("datagram-too-long-dropped", "A datagram that is too long is dropped without an answer.",
          handlers=with_handler((Datagram, Sealed), _silent_when_long)),
    legal("datagram-password-no-utf-8", "A datagram's password that is no UTF-8 is a wrong one: FE.",
          handlers=with_handler(Datagram, _odd_passwords)),
    legal("idle-counts-for-requests", "The rest of a request must come within the timeout of the one before.",
          rules={"idle_counts_for_operation": True}),
    legal("tokens-begin-alike", "All tokens begin with the same 4 bytes.", state=_TokensAlike),
)  # fmt: skip
