"""The passive monitor: reads both directions of a recorded play for itself and says who broke the protocol first.

It names no protocol and believes nobody: requests are decoded as a server would, replies as a client that knows only
the requests so decoded. It also compares what the harness intended (`model.intended`) with what was sent, and what the
player decoded with what came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wireproof.conformance.model.intended import Account
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.conformance.model.verdict import Guilty
from wireproof.conformance.model.violation import Violation
from wireproof.conformance.monitor.ambiguity import Asking
from wireproof.conformance.monitor.harness_stream import Sending
from wireproof.conformance.monitor.monitored_connection import Watched
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
class Report:
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
        self, protocol: Protocol, profile: str, variant: str, accounts: Mapping[int, Account] | None = None
    ) -> None:
        self._protocol = protocol
        self._codec = protocol.codec(protocol.profiles[profile], variant)
        self._accounts = accounts or {}
        self._open: dict[str, Watched] = {}
        self._watched: list[Watched] = []
        self._number = 0

    def feed(self, event: TraceEvent) -> None:
        """Take the next event of the trace."""
        number, self._number = self._number, self._number + 1
        name, kind = event.connection, event.kind
        if kind is Kind.OPENED:
            self._watch(name, number, event.link)
        elif name in self._open:
            self._open[name].see(number, event)
            if kind is Kind.CLOSED:
                del self._open[name]

    def _watch(self, name: str, number: int, link_name: str) -> None:
        link, codec = self._protocol.link_of(link_name), self._codec
        asking, account = Asking(lambda: link.client(codec)), self._accounts.get(number)
        sending = Sending(lambda: link.server(codec), codec, account, link.opening())
        watched = self._open[name] = Watched(name, number, codec, asking, sending, account)
        self._watched.append(watched)

    def finish(self) -> None:
        """Say that nothing more happened: writes that were begun are done."""
        for watched in self._open.values():
            watched.settle(self._number)

    def report(self) -> Report:
        """Return what was seen so far."""
        return Report(
            tuple(
                ConnectionReport(one.name, one.opened, one.violation(), one.unframed_since(), one.undecided)
                for one in self._watched
            )
        )


def monitored(
    trace: Iterable[TraceEvent],
    protocol: Protocol,
    profile: str,
    variant: str,
    accounts: Mapping[int, Account] | None = None,
) -> Report:
    """Return the monitor's report on a whole trace."""
    monitor = Monitor(protocol, profile, variant, accounts)
    for event in trace:
        monitor.feed(event)
    monitor.finish()
    return monitor.report()
