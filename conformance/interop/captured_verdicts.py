"""Judges captured connections by the monitor: which side broke the protocol first, at which byte, in which packet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from wireproof.conformance.interop.captured_streams import CapturedConnection
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Guilty
from wireproof.conformance.model.violation import Violation
from wireproof.conformance.monitor.monitor import monitored
from wireproof.conformance.run.probe import Spoken
from wireproof.protocols import ProtocolError, Role, protocol
from wireproof.protocols.dissect import Dissection

__all__ = ["JUDGED", "CapturedVerdict", "judged", "likeliest"]

JUDGED = "judged is the form of what was sent, not whether answers have the right values"
"""What traffic alone shows: what a server holds is not known from one connection."""


@dataclass(frozen=True, slots=True)
class CapturedVerdict:
    """What the monitor says of one captured connection."""

    connection: CapturedConnection
    violation: Violation | None
    undecided: bool
    """Its bytes can be read in two ways: nobody is to blame."""

    @property
    def side(self) -> str:
        """Who broke the protocol first; "" for nobody."""
        if self.violation is None:
            return ""
        return "client" if self.violation.side is Guilty.HARNESS else "server"

    @property
    def packet(self) -> int | None:
        """The number of the packet in which it shows."""
        return None if self.violation is None else self.connection.packets[self.violation.event]


def judged(connection: CapturedConnection, name: str, spoken: Spoken) -> CapturedVerdict:
    """Return the verdict on one connection, as the protocol that was named for it."""
    (report,) = monitored(connection.events, protocol(name), spoken.profile, spoken.variant).connections
    return CapturedVerdict(connection, report.violation, report.undecided)


def likeliest(
    connections: Sequence[CapturedConnection], names: Sequence[str], profile: str | None, variant: str | None
) -> list[tuple[str, Spoken]]:
    """Return what the connections speak, of the named protocols, profiles and variants; several that fit as well.

    What reads most connections without a violation fits best, then what reads most bytes before the first one.
    """
    scores = {one: _score(connections, *one) for one in _every(names, profile, variant)}
    best = max(scores.values(), default=None)
    return [one for one, score in scores.items() if score == best]


def _every(names: Sequence[str], profile: str | None, variant: str | None) -> Iterator[tuple[str, Spoken]]:
    for name in names:
        for one in protocol(name).profiles.values():
            if profile in (None, one.name):
                yield from ((name, Spoken(one.name, each)) for each in one.variants if variant in (None, each))


def _score(connections: Sequence[CapturedConnection], name: str, spoken: Spoken) -> tuple[int, int]:
    right = read = 0
    for connection in connections:
        found = judged(connection, name, spoken)
        until = len(connection.events) if found.violation is None else found.violation.event
        kinds = (Kind.SENT, Kind.RECEIVED)
        read += sum(len(one.data) for one in connection.events[:until] if one.kind in kinds)
        right += found.violation is None and not found.undecided and _is_whole(connection, name, spoken)
    return right, read


def _is_whole(connection: CapturedConnection, name: str, spoken: Spoken) -> bool:
    """Say whether both sides end with a whole message: a layout that is too wide waits for more."""
    known = protocol(name)
    dissection = Dissection(known.link, known.codec(known.profiles[spoken.profile], spoken.variant))
    roles = {Kind.SENT: Role.CLIENT, Kind.RECEIVED: Role.SERVER}
    with suppress(ProtocolError, ValueError):
        for one in connection.events:
            if one.kind in roles:
                dissection.feed(roles[one.kind], one.data)
    return not (dissection.direction(Role.CLIENT).buffered or dissection.direction(Role.SERVER).buffered)
