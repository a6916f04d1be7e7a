"""Compares one operation with what it should be; every difference names clause and byte."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from wireproof.conformance.interop.blamed_clauses import PUSH, Clauses
from wireproof.conformance.interop.differences import ChosenIds, unlike
from wireproof.conformance.interop.proxied_connection import ProxiedConnection
from wireproof.conformance.interop.proxy import Proxy
from wireproof.conformance.interop.results import Breach, Side
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.model.violation import Violation
from wireproof.conformance.model.wording import describe
from wireproof.conformance.sdk.driver_protocol import DriverAnswer, DriverEvent, FailureKind
from wireproof.conformance.sdk.play.operation_check import event_differs
from wireproof.conformance.sdk.reported_values import differences
from wireproof.conformance.sdk.shown_bytes import first_difference, shown
from wireproof.protocols import Push, Reply, Request
from wireproof.protocols.fields import UInt, is_bytes
from wireproof.protocols.plain import Plain

__all__ = ["Judge", "stream_fault"]

SIDES = {Guilty.HARNESS: Side.CLIENT, Guilty.TARGET: Side.SERVER}
"""The monitor's words for who asks and who answers."""
NAMES = {"type": "the type byte"}


def stream_fault(first: Violation) -> Breach:
    """Return what the monitor saw as the fault of a side."""
    expected = f"what the protocol allows ({first.error})"
    return Breach(SIDES[first.side], first.clause, first.offset, expected, first.detail, ends=True)


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges what crossed on one connection."""

    plain: Plain
    clauses: Clauses
    proxy: Proxy
    connection: ProxiedConnection
    mark: bytes
    ids: ChosenIds
    """Those of this scene."""
    largest: Callable[[str, int], int]
    """The largest number that the client carries in a field of that name and of so many bytes."""

    def request(
        self, asked: Request, came: bytes, read: Sequence[Request], detail: DriverAnswer | Breach
    ) -> Breach | None:
        """Return how what a client sent, bytes that are read as `read`, differs from what it had to ask."""
        expected = self.plain.protocol.codec(self.plain.profile, self.plain.variant.name).encode(asked)
        if came == expected or self._says(read, asked):
            return None
        if not came and self.proxy.is_closed_by_server(self.connection.client):
            clause = self.clauses.of_answer(asked.NAME)
            return Breach(Side.SERVER, clause, None, "a connection kept open", "it was closed", ends=True)
        byte = first_difference(expected, came)
        field = self._field_of(asked, read) if self._has_spellings else self._field_at(asked, byte)
        reported = (
            f"; it reports {detail.kind}: {detail.error.detail}"
            if isinstance(detail, DriverAnswer) and detail.error
            else ""
        )
        return Breach(
            Side.CLIENT,
            self.clauses.of_request(asked.NAME, field),
            byte,
            f"{self._shown(expected, byte)} ({NAMES.get(field, field)} at byte {byte})",
            f"{self._shown(came, byte)}{reported}",
            ends=not self._is_whole(came),
        )

    @property
    def _has_spellings(self) -> bool:
        return self.plain.protocol.link.has_spellings

    def _shown(self, data: bytes, at: int) -> str:
        """Return bytes for people: what may be spelled is text."""
        return repr(data)[1:] if self._has_spellings else shown(data, at)

    def _says(self, read: Sequence[Request], asked: Request) -> bool:
        """Say whether requests are the one that was to be asked, where it may be written in several ways."""
        canonical = self.plain.protocol.sdk.canonical
        return self._has_spellings and [canonical(one) for one in read] == [canonical(asked)]

    def _field_of(self, asked: Request, read: Sequence[Request]) -> str:
        """Return the first field that was not asked as it had to be."""
        came = next((one for one in read if type(one) is type(asked)), None)
        names = asked.__struct_fields__ if came is not None else ()
        return next((one for one in names if getattr(came, one) != getattr(asked, one)), "type")

    def stream(self) -> Breach | None:
        """Return what the passive monitor says of the connections of this scene."""
        first = self.proxy.monitor.report().first
        if first is None:
            undecided = any(one.undecided for one in self.proxy.monitor.report().connections)
            detail = "bytes that can be read in one way", "they can be read in another way, too"
            return Breach(Side.NOBODY, None, None, *detail, Verdict.UNTESTABLE, ends=True) if undecided else None
        return stream_fault(first)

    def silent(self, asked: Request, detail: DriverAnswer | Breach) -> Breach:
        """Return what it is that a request was not answered."""
        clause = self.clauses.of_answer(asked.NAME)
        if self.proxy.is_closed_by_server(self.connection.client):
            return Breach(Side.SERVER, clause, None, "an answer", "it closed the connection", ends=True)
        waited = detail.verdict is Verdict.HANG if isinstance(detail, Breach) else detail.kind is FailureKind.TIMEOUT
        if self.connection.over is not None and not waited:
            return Breach(Side.CLIENT, None, None, "the answer awaited", "it closed the connection", ends=True)
        came = self.connection.dissection.of_server.buffered
        got = f"{came} bytes of it" if came else "nothing"
        return Breach(Side.SERVER, clause, None, "a whole answer", f"{got} in time", Verdict.HANG, ends=True)

    def reply(self, asked: Request, mine: Reply, theirs: tuple[Reply, int]) -> Breach | None:
        """Return how a reply differs from the reference's; what no clause binds is nobody's fault."""
        found = unlike(self.plain, mine, theirs[0], self.mark, self.ids)
        if found is None:
            return None
        clause = self.clauses.of_reply(asked.NAME, found.reply, found.field)
        side = Side.SERVER if clause else Side.NOBODY
        verdict = Verdict.FAIL if clause else Verdict.UNTESTABLE
        return Breach(side, clause, found.byte, found.expected, found.got, verdict)

    def unasked(self, found: tuple[Reply, int]) -> Breach:
        """Return what it is that a server answers what nobody asked."""
        clause = self.clauses.of_reply(PUSH, PUSH, "")
        return Breach(Side.SERVER, clause, found[1], "no answer", f"the answer {describe(found[0])}")

    def by_harness(self, asked: Request, mine: Reply | None, theirs: Reply | str) -> Breach | None:
        """Return how the answer to the harness itself differs from the reference's; text says why there is none."""
        if mine == theirs:
            return None
        got = theirs if isinstance(theirs, str) else describe(theirs)
        expected = describe(mine) if mine is not None else "nothing"
        return Breach(Side.SERVER, self.clauses.of_answer(asked.NAME), None, expected, got, ends=True)

    def report(self, asked: Request, theirs: Reply, detail: DriverAnswer | Breach) -> Breach | None:
        """Return how what a driver reports differs from the reply that came."""
        clause = self.clauses.of_report(asked.NAME)
        if isinstance(detail, Breach):
            return Breach(detail.side, clause, None, detail.expected, detail.got, detail.verdict, detail.ends)
        expected = self.plain.result(theirs)
        if detail.error is not None:
            if self._is_beyond(theirs):
                got = "the driver says that its SDK has no such numbers"
                return Breach(Side.NOBODY, None, None, str(expected), got, Verdict.UNTESTABLE)
            return Breach(Side.CLIENT, clause, None, f"the result {expected}", f"{detail.kind}: {detail.error.detail}")
        if type(asked) in self.plain.protocol.sdk.parting and not detail.result:
            return None
        found = differences(expected, detail.result)
        if not found:
            return None
        return Breach(Side.CLIENT, clause, None, f"{describe(theirs)} reported as it came", "; ".join(found[:3]))

    def reported(self, connection: ProxiedConnection) -> tuple[Push, int] | None:
        """Take the next push that is about this scene."""
        while connection.pushes:
            push, place = connection.pushes.pop(0)
            if any(self.mark in value for value in self._bodies(push)):
                return push, place
        return None

    def not_pushed(self, push: Push) -> Breach:
        """Return what it is that nothing was pushed."""
        clause = self.clauses.of_reply(PUSH, PUSH, "")
        return Breach(Side.SERVER, clause, None, f"the push {describe(push)}", "nothing was pushed", Verdict.HANG)

    def too_many(self, found: tuple[Push, int]) -> Breach:
        """Return what it is that was pushed to nobody's order."""
        clause = self.clauses.of_reply(PUSH, PUSH, "")
        return Breach(Side.SERVER, clause, found[1], "no push, or one only", f"the push {describe(found[0])}")

    def push(self, mine: Push, theirs: tuple[Push, int]) -> Breach | None:
        """Return how a push differs from the reference's."""
        found = unlike(self.plain, mine, theirs[0], self.mark, self.ids)
        if found is None:
            return None
        clause = self.clauses.of_reply(PUSH, PUSH, "")
        return Breach(Side.SERVER, clause, found.byte, found.expected, found.got)

    def not_reported(self, push: Push, detail: str) -> Breach:
        """Return the breach of a driver that does not report a push."""
        clause = self.clauses.of_event(push.NAME)
        return Breach(Side.CLIENT, clause, None, f"the event message of {describe(push)}", detail, Verdict.HANG)

    def event(self, push: Push, event: DriverEvent) -> Breach | None:
        """Return how an event differs from the push that came."""
        found = event_differs(self.plain.event(push), event, self.plain.protocol.sdk.optional)
        if found is None:
            return None
        clause = self.clauses.of_event(push.NAME)
        expected = f"{describe(push)} reported as it came"
        return Breach(Side.CLIENT, clause, None, expected, f"{found.field}: {found.got}" if found.field else found.got)

    def _field_at(self, asked: Request, byte: int) -> str:
        """Return the field of a request that a byte belongs to; `NAME_size` for the size of a body."""
        layout = self.plain.layout(type(asked))
        if byte < len(layout.lead):
            return "type"
        places = layout.places(asked)
        bodies = [one.field for one in places if one.body]
        names = [f"{one.field}_size" if not one.body and one.field in bodies else one.field for one in places]
        held = (name for name, one in zip(names, places, strict=True) if byte < one.stop)
        return next(held, bodies[-1] if bodies else "type")

    def _is_whole(self, came: bytes) -> bool:
        """Say whether the last bytes are whole requests, so that the connection can be read on."""
        return bool(came) and self.connection.dissection.of_client.is_whole

    def _is_beyond(self, reply: Reply) -> bool:
        fields = self.plain.layout(type(reply)).fields
        numbers = [(name, kind) for name, kind in fields if isinstance(kind, UInt)]
        return any(getattr(reply, name) > self.largest(name, kind.width) for name, kind in numbers)

    def _bodies(self, push: Push) -> list[bytes]:
        fields = self.plain.layout(type(push)).fields
        return [getattr(push, name) for name, kind in fields if is_bytes(kind)]
