"""One connection as the monitor watches it: the harness's bytes read as a server would, the target's as a client would.

A request counts from the moment its last byte was sent, as it was decoded from the wire; so a reply to nothing, or
before its request was whole, is the target's. After a harness's fault, or bytes that the case declares to be no
request, nothing on the connection is judged.
"""

from __future__ import annotations

from typing import Any

from conformance.ledger import Account
from conformance.meaning import Meaning
from conformance.readings import Asking
from conformance.trace import Kind, TraceEvent
from conformance.verdicts import Guilty
from conformance.violations import MISREAD, NOT_MEANT, Violation
from conformance.wording import describe
from protocols import Connection, ErrorCode, LocalProtocolError, Message, RemoteProtocolError, Request


class Watched:
    """The state of one connection; `see` takes its events."""

    def __init__(
        self, name: str, opened: int, codec: Any, asking: Asking, answering: Connection, account: Account | None
    ) -> None:
        self.name = name
        self.opened = opened
        self.undecided = False
        self._codec = codec
        self._asking = asking
        self._answering = answering
        self._account = account
        self._meaning = Meaning(account.meant) if account is not None else None
        self._number, self._at_us = opened, 0
        self._sent_at = (opened, 0)
        """The last event of the harness's bytes: its number and time."""
        self._sent = bytearray()
        self._heard = 0
        self._our_end = self._deaf = False
        self._unframed: int | None = None
        self._ours: Violation | None = None
        self._theirs: Violation | None = None

    def see(self, number: int, event: TraceEvent) -> None:
        """Take the next event of the connection; `number` is its place in the trace."""
        self._number, self._at_us = number, event.at_us
        if event.kind is Kind.SENT:
            self._sent_at = number, event.at_us
        if not event.data and event.kind in (Kind.SENT, Kind.RECEIVED):
            return
        if event.kind is Kind.SENT:
            self._send(event.data)
            return
        self.settle(number)
        if event.kind is Kind.RECEIVED:
            self._receive(event.data)
        elif event.kind in (Kind.HALF_CLOSED, Kind.CLOSED):
            self._end_sending()
        elif event.kind in (Kind.ENDED, Kind.RESET) and not self._is_lost_write():
            self._receive(b"")

    def violation(self) -> Violation | None:
        """Return what was wrong first."""
        unframed, theirs = self.unframed_since(), self._theirs
        if theirs is not None and unframed is not None and theirs.event >= unframed:
            theirs = None
        found = [one for one in (self._ours, theirs, self._refused(unframed)) if one is not None]
        return min(found, key=Violation.order, default=None)

    def unframed_since(self) -> int | None:
        """Return the event since which nothing is judged; a frame by hand that never became whole counts, too."""
        if self._unframed is None and self._meaning is not None and self._answering.buffered:
            return self._meaning.by_hand_since(self._answering.received)
        return self._unframed

    def _refused(self, unframed: int | None) -> Violation | None:
        """Return the player's refusal of what was read here without complaint."""
        refused = self._account.refused if self._account is not None else None
        if refused is None:
            return None
        passed = self._asking.received > refused.offset
        if not passed and (self._theirs is not None or self.undecided or unframed is not None):
            return None
        told = f"the player's decoder refuses ({refused.code}) what the monitor's reads"
        where = refused.offset, MISREAD, None, refused.event, refused.at_us, told
        return Violation(Guilty.HARNESS, self.name, Guilty.TARGET, *where)

    @property
    def _judged(self) -> bool:
        return self._ours is None and self._unframed is None

    def _is_lost_write(self) -> bool:
        return self._account is not None and self._account.lost == self._number

    def _blame_us(self, offset: int, error: str, told: str, *, clause: str | None = None, sent: bool = True) -> None:
        if self._ours is None:
            number, at_us = self._sent_at if sent else (self._number, self._at_us)
            stream = Guilty.HARNESS if sent else Guilty.TARGET
            self._ours = Violation(Guilty.HARNESS, self.name, stream, offset, error, clause, number, at_us, told)
        self._deaf = True

    # what the harness sent

    def _send(self, data: bytes) -> None:
        if not self._judged:
            return
        if self._our_end:
            self._blame_us(len(self._sent), ErrorCode.ILLEGAL_STATE, "bytes after the end of the stream")
            return
        if self._unwritten(self._number + 1):
            return
        differs = self._meaning.differs(len(self._sent), data) if self._meaning is not None else None
        if differs is not None:
            self._blame_us(differs, NOT_MEANT, "the bytes sent are not those the player gave to the driver")
            return
        self._sent += data
        self._answering.receive_data(data)
        self._read_requests()

    def _unwritten(self, number: int) -> bool:
        """Say whether writes before an event held a message of no bytes at all, and blame us for it."""
        lacking = self._meaning.unwritten(number) if self._meaning is not None else None
        if lacking is not None:
            told = f"{describe(lacking)} was meant, nothing was sent"
            self._blame_us(len(self._sent), NOT_MEANT, told)
        return lacking is not None

    def _read_requests(self) -> None:
        while self._judged:
            try:
                event = self._answering.next_event()
            except RemoteProtocolError as error:
                self._malformed(error)
                return
            if not isinstance(event, Request):
                return
            self._ask(event, *self._answering.span)

    def _malformed(self, error: RemoteProtocolError) -> None:
        start = self._answering.span[1]
        since = self._meaning.by_hand_since(start) if self._meaning is not None else None
        if since is not None:
            self._unframed = since
        else:
            offset = start if error.offset is None else error.offset
            self._blame_us(offset, error.code, error.message, clause=error.clause)

    def _ask(self, request: Request, first: int, stop: int) -> None:
        """Follow a whole request, if it is what was meant; the target may answer it from now on."""
        if self._meaning is not None:
            problem = self._meaning.problem(request, first, stop)
            if problem is not None:
                self._blame_us(first, NOT_MEANT, problem)
                return
            self._unframed = self._meaning.declared(request, first, stop)
        if self._unframed is None and self._written_back(request, self._sent[first:stop], first) and not self._deaf:
            self._asking.await_reply(request)

    def settle(self, number: int) -> None:
        """Once the writes before an event are done, all that was meant must have crossed, as whole messages."""
        if not self._judged or self._meaning is None:
            return
        if self._account is not None and self._account.lost is not None and number >= self._account.lost:
            self._unframed = self._account.lost
            return
        due, whole = self._meaning.due(number), self._answering.received
        if len(self._sent) < due:
            self._blame_us(len(self._sent), NOT_MEANT, f"{due} bytes were to be sent, {len(self._sent)} were")
        elif not self._unwritten(number) and whole < due and self._meaning.by_hand_since(whole) is None:
            self._blame_us(whole, NOT_MEANT, f"{self._meaning.told(whole)} was meant, no whole message was sent")

    def _end_sending(self) -> None:
        if self._judged and not self._our_end:
            self._our_end = True
            self._answering.receive_data(b"")
            self._read_requests()

    # what the target sent

    def _receive(self, data: bytes) -> None:
        if self._deaf:
            return
        self._asking.receive_data(data)
        while not self._deaf:
            if self._unframed is not None and not self._asking.waits:
                self._deaf = True
                return
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
        where = offset, error.code, error.clause, self._number, self._at_us, error.message
        self._theirs = Violation(Guilty.TARGET, self.name, Guilty.TARGET, *where)

    def _hear(self, message: Message, span: tuple[int, int]) -> None:
        """Hold a message of the target against what the player took it for."""
        heard = self._account.heard if self._account is not None else ()
        if self._heard < len(heard) and heard[self._heard] != (span, message):
            told = f"the player read {describe(heard[self._heard][1])}, the monitor {describe(message)}"
            self._blame_us(span[0], MISREAD, told, sent=False)
        self._heard += 1
        self._written_back(message, self._asking.bytes_of(span), span[0], sent=False)

    def _written_back(self, message: Message, data: bytes | bytearray, first: int, *, sent: bool = True) -> bool:
        """Say whether a message is written as it was read: encoder and decoder check each other."""
        try:
            same = self._codec.encode(message) == data
        except LocalProtocolError:
            same = False
        if same:
            return True
        self._blame_us(first, MISREAD, f"{describe(message)} is not written as it was read", sent=sent)
        return False
