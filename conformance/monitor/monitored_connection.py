"""One connection as the monitor sees it: the harness's bytes read as a server would, the target's as a client would.

A request counts from the moment its last byte was sent, as it was decoded from the wire; so a reply to nothing, or
before its request was whole, is the target's violation. After a fault of the harness nothing on the connection is
judged. Once bytes by hand that are no request were sent, the target is not judged any more; its bytes are read on only
to see whether the player read the same.
"""

from __future__ import annotations

from wireproof.conformance.model.intended import Intended
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.model.verdict import Guilty
from wireproof.conformance.model.violation import MISREAD, Violation
from wireproof.conformance.model.wording import describe
from wireproof.conformance.monitor.ambiguity import BacktrackingReader
from wireproof.conformance.monitor.harness_stream import HarnessFault, HarnessStream, writes_back
from wireproof.protocols import RemoteProtocolError, Role
from wireproof.protocols.codec import Codec
from wireproof.protocols.dissect import Frame
from wireproof.protocols.links import Link


class MonitoredConnection:
    """The state of one connection; `see` takes its events."""

    def __init__(self, name: str, opened: int, link: Link, codec: Codec, intended: Intended | None) -> None:
        """`opened` is the number of the event that opened it, `account` what the harness intended and decoded."""
        self.name = name
        self.opened = opened
        self.undecided = False
        self._codec = codec
        self._account = intended
        self._reader = BacktrackingReader(lambda: link.client(codec))
        self._harness = HarnessStream(link, codec, intended, self._reader)
        self._dissection = self._harness.dissection
        self._now = self._sent_at = (opened, 0)
        """The last event, and the last that sent something: number and time."""
        self._compared = 0
        """How many messages of the target were read as the player read them."""
        self._is_over = False
        """Whether what the target sends is not read any more."""
        self._harness_violation: Violation | None = None
        self._target_violation: Violation | None = None

    def see(self, number: int, event: TraceEvent) -> None:
        """Take the next event of the connection; `number` is its place in the trace."""
        self._now = number, event.at_us
        if event.kind is Kind.SENT:
            self._sent_at = self._now
        if not event.data and event.kind in (Kind.SENT, Kind.RECEIVED):
            return
        if event.kind is Kind.SENT:
            self._harness.take(number, event.data)
            self._check_harness()
            return
        self.settle(number)
        if event.kind is Kind.RECEIVED:
            self._receive(number, event.data)
        elif event.kind is Kind.SECURED:
            self._dissection.follow_tls()
        elif event.kind in (Kind.HALF_CLOSED, Kind.CLOSED):
            self._harness.end()
            self._check_harness()
        elif event.kind in (Kind.ENDED, Kind.RESET) and not self._is_lost_write(number):
            self._receive(number, b"")

    def settle(self, number: int) -> None:
        """Say that the writes before that event are done."""
        self._harness.settle(number)
        self._check_harness()

    def unframed_since(self) -> int | None:
        """Return the event since which the target is not judged."""
        return self._harness.unframed_since()

    def violation(self) -> Violation | None:
        """Return what was wrong first."""
        unframed, target = self.unframed_since(), None if self.undecided else self._target_violation
        if target is not None and unframed is not None and target.event >= unframed:
            target = None
        found = [one for one in (self._harness_violation, target, self._refused()) if one is not None]
        return min(found, key=Violation.order, default=None)

    def agreed(self, offset: int) -> None:
        """Take it as known that the message of the target at `offset` is what it was read as."""
        self._reader.settle(offset)
        self.undecided = self.undecided and self._reader.can_be_read_otherwise()

    def _refused(self) -> Violation | None:
        """Return the player's refusal of what was read here without complaint."""
        refused = self._account.refused if self._account is not None else None
        if refused is None:
            return None
        unfinished = self._harness.unframed is None and self.unframed_since() is not None
        unread = self._dissection.of_server.read <= refused.offset
        if unread and (self._target_violation or self.undecided or unfinished):
            return None
        described = f"the player's decoder refuses ({refused.code}) what the monitor's reads"
        where = refused.offset, MISREAD, None, refused.event, refused.at_us, described
        return Violation(Guilty.HARNESS, self.name, Guilty.TARGET, *where)

    def _is_lost_write(self, number: int) -> bool:
        return self._account is not None and number in self._account.lost

    def _receive(self, number: int, data: bytes) -> None:
        """Take what the target sent; no bytes are the end of its stream."""
        if self._is_over:
            return
        received = self._dissection.of_server
        if data:
            self._dissection.receive(Role.SERVER, data, number)
        else:
            received.end()
        while not self._is_over and (frame := self._dissection.next_frame()) is not None:
            self._check_harness()
            if frame.sender is Role.SERVER and not self._is_over:
                self._compare(frame)
        self._check_harness()
        if received.error is not None and not self._is_over:
            self._blame_target(received.error)
        self._is_over = self._is_over or not data

    def _check_harness(self) -> None:
        """Blame the harness if it did something wrong."""
        self._harness.check_error()
        if self._harness.fault is not None:
            self._blame_harness(self._harness.fault, Guilty.HARNESS, self._sent_at)

    def _blame_harness(self, fault: HarnessFault, stream: Guilty, when: tuple[int, int]) -> None:
        self._is_over = True
        if self._harness_violation is None:
            where = fault.offset, fault.error, fault.clause, *when, fault.description
            self._harness_violation = Violation(Guilty.HARNESS, self.name, stream, *where)

    def _blame_target(self, error: RemoteProtocolError) -> None:
        self._is_over = True
        self.undecided = self._reader.can_be_read_otherwise()
        offset = self._reader.span[1] if error.offset is None else error.offset
        where = offset, error.code, error.clause, *self._now, error.message
        self._target_violation = Violation(Guilty.TARGET, self.name, Guilty.TARGET, *where)

    def _compare(self, frame: Frame) -> None:
        """Compare a message of the target with what the player decoded there, and with what the encoder writes."""
        decoded = self._account.received if self._account is not None else ()
        span, message = frame.span, frame.message
        if self._compared < len(decoded) and decoded[self._compared] != (span, message):
            described = f"the player read {describe(decoded[self._compared][1])}, the monitor {describe(message)}"
        elif not writes_back(self._codec, message, self._reader.bytes_of(span)):
            described = f"{describe(message)} is not written as it was read"
        else:
            self._compared += 1
            return
        self._blame_harness(HarnessFault(span[0], MISREAD, described), Guilty.TARGET, self._now)
