"""Faults in the request totals that end a connection row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.connections import shown
from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask
from wireproof.protocols.throttr.replies import ConnectionRow
from wireproof.protocols.throttr.requests import Get, Insert, Publish, Purge, Query, Set, Stat
from wireproof.reference_server.throttr.server_requests import ROW_COUNTS
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.tally import no_requests

__all__ = ["MUTANTS"]

TOTALS = ConnectionRow.__struct_fields__[-18:]
REFUSABLE = (Insert, Query, Set, Get, Purge, Stat, Publish)


def _totals(number: Callable[[str, Any, Ask], int], names: tuple[str, ...] = TOTALS) -> HandlerPatch:
    """Show `number(name, row, ask)` for the totals `names` of every row."""
    return shown(**{name: lambda row, ask, name=name: number(name, row, ask) for name in names})


def _moved(**places: str) -> HandlerPatch:
    """Show in the place of each field what belongs into another: `insert="set"`."""
    names = {f"{place}_requests": f"{shown}_requests" for place, shown in places.items()}
    return _totals(lambda name, row, ask: int(getattr(row, names[name])), tuple(names))


class _Refusing(ThrottrSession):
    """Counts what it refuses."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.refused = no_requests()


def _accepted(name: str, row: Any, ask: Ask) -> int:
    session = ask.state.sessions[row.id]
    refused = session.refused[ROW_COUNTS[TOTALS.index(name)]] if isinstance(session, _Refusing) else 0
    return max(int(getattr(row, name)) - refused, 0)


# fmt: off
MUTANTS = (
    mutant("connection-totals-halved", "INSERTs are counted in pairs.", "CONNECTIONS-22", "METRICS-13",
           handlers=_totals(lambda name, row, ask: row.insert_requests & ~1, ("insert_requests",))),
    mutant("connection-totals-as-in-info", "UPDATE and PURGE stand before GET and SET, as in INFO.", "CONNECTIONS-23",
           handlers=_moved(set="query", query="update", get="purge", update="get", purge="set")),
    mutant("connection-totals-info-before-list", "The totals of LIST and INFO have changed places.", "CONNECTIONS-24",
           handlers=_moved(list="info", info="list")),
    mutant("connection-totals-publish-last", "The total of PUBLISH stands behind those of SUBSCRIBE and UNSUBSCRIBE.", "CONNECTIONS-25",
           handlers=_moved(publish="subscribe", subscribe="unsubscribe", unsubscribe="publish")),
    mutant("connection-totals-channel-first", "The totals of CHANNELS and CHANNEL have changed places.", "CONNECTIONS-26",
           handlers=_moved(channels="channel", channel="channels")),
)  # fmt: skip
# fmt: on
