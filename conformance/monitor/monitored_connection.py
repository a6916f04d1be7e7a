"""One connection as the monitor watches it: the harness's bytes read as a server would, the target's as a client would.

A request counts from the moment its last byte was sent, as it was decoded from the wire; so a reply to nothing, or
before its request was whole, is the target's. After a harness's fault nothing on the connection is judged. Since bytes
by hand that are no request the target is not judged any more; its bytes are read on only to see whether the player
read the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from wireproof.conformance.model.intended import Account
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.model.verdict import Guilty
from wireproof.conformance.model.violation import MISREAD, Violation
from wireproof.conformance.model.wording import describe
from wireproof.conformance.monitor.ambiguity import Asking
from wireproof.conformance.monitor.harness_stream import Fault, Sending, writes_back
from wireproof.protocols import Message, Push, RemoteProtocolError, Request


class Watched:
    """The state of one connection; `see` takes its events."""

    def __init__(
        self,
        name: str,
        opened: int,
        codec: Any,
        asking: Asking,
        sending: Sending,
        account: Account | None,
    ) -> None:
        self.name = name
        self.opened = opened
        self.undecided = False
        self._codec = codec
        self._asking = asking
        self._account = account
        self._sending = sending
        self._now = self._sent_at = (opened, 0)
        """The last event, and the last that sent something: number and time."""
        self._heard = 0
        self._deaf = False
        self._ours: Violation | None = None
        self._theirs: Violation | None = None

    def see(self, number: int, event: TraceEvent) -> None:
        """Take the next event of the connection; `number` is its place in the trace."""
        self._now = number, event.at_us
        if event.kind is Kind.SENT:
            self._sent_at = self._now
        if not event.data and event.kind in (Kind.SENT, Kind.RECEIVED):
            return
        if event.kind is Kind.SENT:
            self._ask(self._sending.take(number, event.data))
            return
        self.settle(number)
        if event.kind is Kind.RECEIVED:
            self._receive(event.data)
        elif event.kind is Kind.SECURED:
            self._asking.start_tls()
            self._sending.start_tls()
        elif event.kind in (Kind.HALF_CLOSED, Kind.CLOSED):
            self._sending.end()
            self._ask(())
        elif event.kind in (Kind.ENDED, Kind.RESET) and not self._is_lost_write(number):
            self._receive(b"")

    def settle(self, number: int) -> None:
        """Say that the writes before that event are done."""
        self._ask(self._sending.settle(number))

    def unframed_since(self) -> int | None:
        """Return the event since which the target is not judged."""
        return self._sending.unframed_since()

    def violation(self) -> Violation | None:
        """Return what was wrong first."""
        unframed, theirs = self.unframed_since(), self._theirs
        if theirs is not None and unframed is not None and theirs.event >= unframed:
            theirs = None
        found = [one for one in (self._ours, theirs, self._refused()) if one is not None]
        return min(found, key=Violation.order, default=None)

    def _refused(self) -> Violation | None:
        """Return the player's refusal of what was read here without complaint."""
        refused = self._account.refused if self._account is not None else None
        if refused is None:
            return None
        unfinished = self._sending.unframed is None and self.unframed_since() is not None
        if self._asking.received <= refused.offset and (self._theirs or self.undecided or unfinished):
            return None
        told = f"the player's decoder refuses ({refused.code}) what the monitor's reads"
        where = refused.offset, MISREAD, None, refused.event, refused.at_us, told
        return Violation(Guilty.HARNESS, self.name, Guilty.TARGET, *where)

    def _is_lost_write(self, number: int) -> bool:
        return self._account is not None and number in self._account.lost

    def _ask(self, requests: Iterable[Request]) -> None:
        """Follow what the harness sent: its fault, or the requests that the target may answer from now on."""
        if self._sending.mutant is not None:
            self._blame_us(self._sending.mutant, Guilty.HARNESS, self._sent_at)
        for request in requests:
            if not self._deaf:
                self._asking.await_reply(request)

    def _blame_us(self, mutant: Fault, stream: Guilty, when: tuple[int, int]) -> None:
        self._deaf = True
        if self._ours is None:
            where = mutant.offset, mutant.error, mutant.clause, *when, mutant.told
            self._ours = Violation(Guilty.HARNESS, self.name, stream, *where)

    def _receive(self, data: bytes) -> None:
        if self._deaf:
            return
        self._asking.receive_data(data)
        while not self._deaf:
            try:
                event = self._asking.next_event()
            except RemoteProtocolError as error:
                self._blame_them(error)
                return
            if not isinstance(event, Message):
                break
            self._hear(event, self._asking.span)
        self._deaf = self._deaf or not data

    def _blame_them(self, error: RemoteProtocolError) -> None:
        self._deaf = True
        if self._asking.can_be_read_otherwise():
            self.undecided = True
            return
        offset = self._asking.span[1] if error.offset is None else error.offset
        where = offset, error.code, error.clause, *self._now, error.message
        self._theirs = Violation(Guilty.TARGET, self.name, Guilty.TARGET, *where)

    def _hear(self, message: Message, span: tuple[int, int]) -> None:
        """Hold a message of the target against what the player took it for, and against the encoder."""
        heard = self._account.heard if self._account is not None else ()
        if self._heard < len(heard) and heard[self._heard] != (span, message):
            told = f"the player read {describe(heard[self._heard][1])}, the monitor {describe(message)}"
        elif not writes_back(self._codec, message, self._asking.bytes_of(span)):
            told = f"{describe(message)} is not written as it was read"
        else:
            self._heard += 1
            if not isinstance(message, Push):
                self._ask(self._sending.answered(message))
            return
        self._blame_us(Fault(span[0], MISREAD, told), Guilty.TARGET, self._now)
