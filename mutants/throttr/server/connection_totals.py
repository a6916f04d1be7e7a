"""Faults in the request totals that end a connection row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.connections import shown
from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, both, with_answer
from wireproof.protocols.throttr.replies import ConnectionRow
from wireproof.protocols.throttr.requests import Get, Insert, Publish, Purge, Query, Set, Stat
from wireproof.reference_server.throttr.server_requests import ROW_COUNTS
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import DENIED, State
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


def _of_everybody(name: str, row: Any, ask: Ask) -> int:
    kind = ROW_COUNTS[TOTALS.index(name)]
    return sum(session.counts[kind] for session in ask.state.sessions.values())


class _Inherits(State):
    """Keeps the totals of the connection that went last."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.left = no_requests()

    def forget(self, session: ThrottrSession) -> None:
        """See `State`."""
        super().forget(session)
        self.left = session.counts


class _Heir(ThrottrSession):
    """Goes on counting where another connection stopped."""

    def __init__(self, state: State, *given: Any) -> None:
        super().__init__(state, *given)
        if isinstance(state, _Inherits):
            self.counts = state.left.copy()


class _Refusing(ThrottrSession):
    """Counts what it refuses."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.refused = no_requests()


def _note_refusal(answer: bytes, ask: Ask) -> bytes:
    if answer == DENIED and isinstance(ask.session, _Refusing):
        ask.session.refused[ROW_COUNTS[TOTALS.index(f"{ask.request.NAME.lower()}_requests")]] += 1
    return answer


def _accepted(name: str, row: Any, ask: Ask) -> int:
    session = ask.state.sessions[row.id]
    refused = session.refused[ROW_COUNTS[TOTALS.index(name)]] if isinstance(session, _Refusing) else 0
    return max(int(getattr(row, name)) - refused, 0)


MUTANTS = (
    mutant("connection-totals-of-stat-shared", "The total of STAT in a row is that of all connections.",
          "CONNECTIONS-22", "METRICS-14", handlers=_totals(_of_everybody, ("stat_requests",))),
    mutant("connection-totals-inherited", "A new connection starts with the totals of the one that went last.",
          "CONNECTIONS-22", "METRICS-14", state=_Inherits, session=_Heir),
    mutant("connection-totals-without-refused", "The totals of a row leave out what was answered 00.", "CONNECTIONS-22",
          "METRICS-13", session=_Refusing, handlers=both(with_answer(REFUSABLE, _note_refusal), _totals(_accepted))),
    mutant("connection-totals-halved", "INSERTs are counted in pairs.", "CONNECTIONS-22", "METRICS-13",
          handlers=_totals(lambda name, row, ask: row.insert_requests & ~1, ("insert_requests",))),
    mutant("connection-totals-as-in-info", "UPDATE and PURGE stand before GET and SET, as in INFO.", "CONNECTIONS-23",
          handlers=_moved(set="query", query="update", get="purge", update="get", purge="set")),
    mutant("connection-totals-set-before-insert", "The totals of INSERT and SET have changed places.",
          "CONNECTIONS-23", handlers=_moved(insert="set", set="insert")),
    mutant("connection-totals-purge-before-update", "The totals of UPDATE and PURGE have changed places.",
          "CONNECTIONS-23", handlers=_moved(update="purge", purge="update")),
    mutant("connection-totals-stats-before-stat", "The totals of STAT and STATS have changed places.",
          "CONNECTIONS-24", handlers=_moved(stat="stats", stats="stat")),
    mutant("connection-totals-info-before-list", "The totals of LIST and INFO have changed places.",
          "CONNECTIONS-24", handlers=_moved(list="info", info="list")),
    mutant("connection-totals-publish-last", "The total of PUBLISH stands behind those of SUBSCRIBE and UNSUBSCRIBE.",
          "CONNECTIONS-25", handlers=_moved(publish="subscribe", subscribe="unsubscribe", unsubscribe="publish")),
    mutant("connection-totals-unsubscribe-first", "The totals of SUBSCRIBE and UNSUBSCRIBE have changed places.",
          "CONNECTIONS-25", handlers=_moved(subscribe="unsubscribe", unsubscribe="subscribe")),
    mutant("connection-totals-whoami-first", "The total of WHOAMI has changed places with that of CONNECTIONS.",
          "CONNECTIONS-26", handlers=_moved(connections="whoami", whoami="connections")),
    mutant("connection-totals-channel-first", "The totals of CHANNELS and CHANNEL have changed places.",
          "CONNECTIONS-26", handlers=_moved(channels="channel", channel="channels")),
    mutant("connection-totals-connection-first", "The totals of CONNECTIONS and CONNECTION have changed places.",
          "CONNECTIONS-26", handlers=_moved(connections="connection", connection="connections")),
)  # fmt: skip
