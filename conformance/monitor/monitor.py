"""The passive monitor: reads both directions of a recorded play for itself and says who broke the protocol first.

A verdict that blames a target must not rest on the word of the player that talked to it. So the monitor takes only the
trace (what crossed, with times), and for each connection:

1. It dissects both directions (`protocols/dissect.py`): requests as a server would read them, replies as a client
   would that asked only the requests so decoded. It names no protocol.
2. It compares each request with what the harness intended to send (`model/intended.py`, `harness_stream.py`). Bytes
   that were not intended, or intended and never sent, are the harness's fault: after it nothing is judged, since the
   target may have answered what nobody intended.
3. Bytes that a case gives by hand may be no request. From there on requests cannot be framed, so the target is judged
   no more (`unframed`); its bytes are still read, to see whether the player read the same.
4. It compares each message of the target with what the player decoded, and with what the encoder writes: if they
   differ, our own codec is wrong, and the harness is at fault.
5. What cannot be read is the target's violation, unless the stream can be read in another way (`ambiguity.py`): then
   nobody is to blame.

The report keeps the first violation of each connection; `blame.py` decides what becomes of the verdict.
"""

# Strategy
#
# The player decides step by step, with the codec that also wrote the requests. If it goes wrong, it goes wrong in
# favour of itself: it sends something else than the case says, or misreads a right answer, and blames the target. The
# monitor shares as little as possible with it: no state, no expectation, no step; only the trace, the layouts and the
# account.
#
# The account (`Intended`) is what makes the harness checkable. Without it, a malformed request on the wire could be a
# bug of ours or what the case wants. With it, each byte sent belongs to a frame that was intended as a message, or was
# written by hand. Bytes by hand are the case's own, and the end of certainty: where a server would frame them
# differently, nothing after them is judged. That loses verdicts and never invents one.
#
# Order decides blame. Violations are compared by the event at which they became visible, and only the first counts,
# because whoever breaks a protocol first makes the rest unpredictable. So connections are read event by event, in the
# order of the trace, and not each direction to its end: a reply that came before the last byte of its request answers
# nothing, although it would fit afterwards.
#
# Doubt favours the accused. A stream that may be read in two ways (a byte that begins a push as well as a reply)
# accuses nobody if either way works (`ambiguity.py`). Where another reader of the same bytes agrees with one reading,
# the doubt is settled (`agreed`): pairs of client and server have such a reader, a single server under test has none.
#
# Two weaknesses are known. Layouts are shared with the player, so a wrong layout is invisible here; the vectors check
# those. And the trace is what the driver reports; `drivers/io_audit.py` checks that it is what crossed.

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wireproof.conformance.model.intended import Intended
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.model.verdict import Guilty
from wireproof.conformance.model.violation import Violation
from wireproof.conformance.monitor.monitored_connection import MonitoredConnection
from wireproof.protocols import Protocol


@dataclass(frozen=True, slots=True)
class ConnectionReport:
    """What was wrong on one connection first, and how far it could be judged."""

    connection: str
    opened: int
    """The number of the event that opened it."""
    violation: Violation | None
    unframed: int | None
    """The event since which nothing is judged: the case sent bytes that are no request, or a write was lost."""
    undecided: bool
    """The target's bytes cannot be read as they seem, but can be in another way: nobody is to blame."""


@dataclass(frozen=True, slots=True)
class MonitorReport:
    """What the monitor saw on every connection, in the order they were opened."""

    connections: tuple[ConnectionReport, ...]

    @property
    def first(self) -> Violation | None:
        """The violation that came first in time."""
        return min((one.violation for one in self.connections if one.violation), key=Violation.order, default=None)

    @property
    def guilty(self) -> Guilty:
        """Who broke the protocol first."""
        return self.first.side if self.first else Guilty.NOBODY


class Monitor:
    """Follows the events of one play; `report` may be asked for at any time."""

    def __init__(
        self, protocol: Protocol, profile: str, variant: str, accounts: Mapping[int, Intended] | None = None
    ) -> None:
        self._protocol = protocol
        self._codec = protocol.codec(protocol.profiles[profile], variant)
        self._accounts = accounts or {}
        self._open: dict[str, MonitoredConnection] = {}
        self._connections: list[MonitoredConnection] = []
        self._number = 0

    def feed(self, event: TraceEvent) -> None:
        """Take the next event of the trace."""
        number, self._number = self._number, self._number + 1
        name, kind = event.connection, event.kind
        if kind is Kind.OPENED:
            self._add(name, number, event.link)
        elif name in self._open:
            self._open[name].see(number, event)
            if kind is Kind.CLOSED:
                del self._open[name]

    def agreed(self, name: str, offset: int) -> None:
        """Take it as known what the target's message at `offset` is: somebody else who read it says the same.

        Where it might have been a push, what follows can then be read in one way only.
        """
        for connection in self._connections:
            if connection.name == name:
                connection.agreed(offset)

    def _add(self, name: str, number: int, link_name: str) -> None:
        link, intended = self._protocol.link_of(link_name), self._accounts.get(number)
        connection = self._open[name] = MonitoredConnection(name, number, link, self._codec, intended)
        self._connections.append(connection)

    def finish(self) -> None:
        """Say that nothing more happened: writes that were begun are done."""
        for connection in self._open.values():
            connection.settle(self._number)

    def report(self) -> MonitorReport:
        """Return what was seen so far."""
        return MonitorReport(
            tuple(
                ConnectionReport(one.name, one.opened, one.violation(), one.unframed_since(), one.undecided)
                for one in self._connections
            )
        )


def monitored(
    trace: Iterable[TraceEvent],
    protocol: Protocol,
    profile: str,
    variant: str,
    accounts: Mapping[int, Intended] | None = None,
) -> MonitorReport:
    """Return the monitor's report on a whole trace."""
    monitor = Monitor(protocol, profile, variant, accounts)
    for event in trace:
        monitor.feed(event)
    monitor.finish()
    return monitor.report()
