"""Mutants of CONNECTIONS, CONNECTION, WHOAMI and the totals of connections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    both,
    changed,
    field_kind,
    lead,
    with_answer,
    with_found,
    with_reply,
    with_request,
    with_rows,
)
from wireproof.protocols.fields import ABSENT, U32, Repeated
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr.replies import ConnectionRow, ConnectionsFragment, ConnectionsReply
from wireproof.protocols.throttr.requests import (
    ConnectionById,
    ConnectionByIndex,
    Connections,
    Get,
    Insert,
    Publish,
    Purge,
    Query,
    Set,
    Stat,
    Whoami,
)
from wireproof.reference_server.throttr.server_requests import ROW_COUNTS
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, State
from wireproof.reference_server.throttr.tally import no_requests

__all__ = ["MUTANTS"]

FIELDS = ConnectionRow.__struct_fields__
REFUSABLE = (Insert, Query, Set, Get, Purge, Stat, Publish)
Change = Callable[[Any, Ask], Any]


def _listed(change: Change) -> HandlerPatch:
    """Change each row of CONNECTIONS."""
    return with_rows(Connections, lambda rows, ask: [change(row, ask) for row in rows])


def shown(**fields: Callable[[Any, Ask], Any]) -> HandlerPatch:
    """Show other values in every row, in CONNECTIONS and in CONNECTION."""

    def change(row: ConnectionRow, ask: Ask) -> Any:
        return changed(row, **{name: make(row, ask) for name, make in fields.items()})

    return both(_listed(change), with_found((ConnectionByIndex, ConnectionById), change))


def _without_type_and_kind(profile: Profile) -> Profile:
    return field_kind(ConnectionRow, "kind", ABSENT)(field_kind(ConnectionRow, "type", ABSENT)(profile))


class _KeepsOne(State):
    """Whoever went last stays listed."""

    _last: ThrottrSession | None = None

    def forget(self, session: ThrottrSession) -> None:
        last, self._last = self._last, session
        super().forget(session)
        self.sessions[session.id] = session
        if last is not None:
            del self.sessions[last.id]


def _silent(row: Any) -> bool:
    return not any(getattr(row, name) for name in ConnectionRow.__struct_fields__[-18:])


def _rows(change: Callable[[list[Any], Ask], list[Any]]) -> HandlerPatch:
    return with_rows(Connections, change)


def _with_the_next_id(rows: list[Any], ask: Ask) -> list[Any]:
    return [changed(row, id=rows[place - 1].id) for place, row in enumerate(rows)]


SMALL_COUNT = field_kind(ConnectionsReply, "fragments", Repeated(ConnectionsFragment, U32))

# fmt: off
_LAYOUT = (
    mutant("connections-count-of-4-bytes", "The fragment count of CONNECTIONS has 4 bytes.", "CONNECTIONS-2", profile=SMALL_COUNT),
    mutant("connections-count-of-4-bytes-behind-status", "The fragment count of CONNECTIONS has 4 bytes.", "CONNECTIONS-3", profile=SMALL_COUNT),
    mutant("connection-row-of-235-bytes", "Connection rows show neither type nor kind.", "CONNECTIONS-5", "CONNECTIONS-7", "CONNECTIONS-8",
           "CONNECTION-6", profile=_without_type_and_kind),
    mutant("connections-addresses-follow", "The addresses of a fragment are repeated behind its rows.", "CONNECTIONS-30", "FRAGMENT-1",
           handlers=with_answer(Connections, lambda answer, ask: answer + b"127.0.0.1")),
)
_FIELDS = (
    mutant("connections-id-reversed", "A row of CONNECTIONS shows the bytes of the id in the opposite order.", "CONNECTIONS-6", "WHOAMI-6",
           handlers=_listed(lambda row, ask: changed(row, id=row.id[::-1]))),
    mutant("connections-ids-moved-on", "Each row of CONNECTIONS shows the id that belongs to the row before it.", "CONNECTIONS-6",
           handlers=with_rows(Connections, _with_the_next_id)),
    mutant("connection-type-agent", "Every client is shown as an agent.", "CONNECTIONS-7", handlers=shown(type=lambda row, ask: 1)),
    mutant("connection-type-from-one", "Type is counted from 1: 01 for a client, 02 for an agent.", "CONNECTIONS-7",
           handlers=shown(type=lambda row, ask: row.type + 1)),
    mutant("connection-kind-inverted", "Kind is 01 for TCP and 00 for a UNIX stream socket.", "CONNECTIONS-8",
           handlers=shown(kind=lambda row, ask: 1 - row.kind)),
    mutant("connection-ip-version-zero", "IP VERSION is 0.", "CONNECTIONS-9", profiles=("7.3.2",), handlers=shown(ip_version=lambda row, ask: 0)),
    mutant("connection-ip-version-as-a-digit", "IP VERSION is the ASCII digit.", "CONNECTIONS-9", profiles=("7.3.2",),
           handlers=shown(ip_version=lambda row, ask: row.ip_version + 0x30)),
    mutant("connected-at-is-an-age", "CONNECTED AT is how long the connection is open.", "CONNECTIONS-13",
           handlers=shown(connected_at=lambda row, ask: ask.state.wall(ask.now) - row.connected_at)),
)
_LISTED = (
    mutant("connections-without-the-asking", "CONNECTIONS leaves out the connection that asks.", "CONNECTIONS-27", "WHOAMI-6", "FRAGMENT-8",
           handlers=_rows(lambda rows, ask: [row for row in rows if row.id != ask.session.id])),
    mutant("connections-without-the-silent", "CONNECTIONS leaves out who never asked anything.", "CONNECTIONS-27",
           handlers=_rows(lambda rows, ask: [row for row in rows if not _silent(row)])),
    mutant("connections-at-most-16", "CONNECTIONS has at most 16 rows.", "CONNECTIONS-27", "FRAGMENT-8", handlers=_rows(lambda rows, ask: rows[-16:])),
    mutant("connections-with-the-last-gone", "Whoever went last keeps a row in CONNECTIONS.", "CONNECTIONS-28", "CONNECTIONS-27", "CONNECTION-7",
           "CONNECTION-8", "CONNECTION-10", "CONNECTION-12", "INFO-31", "ROBUSTNESS-21", state=_KeepsOne),
)
# fmt: on
CONNECTIONS_MUTANTS = _LAYOUT + _FIELDS + _LISTED


ONE = (ConnectionByIndex, ConnectionById)


def _index(change: Callable[[int, list[bytes]], int]) -> HandlerPatch:
    """Look `change(index, ids in the order of CONNECTIONS)` up."""
    return with_request(
        ConnectionByIndex,
        lambda request, ask: changed(request, index=min(change(request.index, list(ask.state.sessions)), 1 << 32)),
    )


def _by_id(change: Callable[[bytes, Ask], bytes]) -> HandlerPatch:
    """Look `change(id, ask)` up."""
    return with_request(ConnectionById, lambda request, ask: changed(request, id=change(request.id, ask)))


def _alike(size: int) -> Callable[[bytes, Ask], bytes]:
    """Find whose id begins with the same `size` bytes."""
    return lambda wanted, ask: next((one for one in ask.state.sessions if one[:size] == wanted[:size]), wanted)


def _asked_with(byte: int) -> Callable[[Profile], Profile]:
    return lambda profile: lead(ConnectionById, byte)(lead(ConnectionByIndex, byte)(profile))


def _rows_of_one(suffix: str, clause: str) -> tuple[ServerMutant, ...]:
    """Return faults in the row of CONNECTION, which each profile describes in a clause of its own."""
    return (
        mutant(f"connection-row-within-a-fragment{suffix}", "CONNECTION answers its row as a fragment, with its header.",
              clause, handlers=with_found(
                  ONE, lambda row, ask: ACCEPTED + bytes([1, *bytes(7)]) * 2 + ask.state.codec.encode(row)[1:])),
        mutant(f"connection-row-without-its-last-total{suffix}", "CONNECTION's row ends before the total of WHOAMI.",
              clause, handlers=with_found(ONE, lambda row, ask: ask.state.codec.encode(row)[:-8])),
        mutant(f"connection-row-of-the-asking{suffix}", "CONNECTION shows the total of QUERY of the one that asks.",
              clause, "METRICS-14", handlers=with_found(
                  ONE, lambda row, ask: changed(row, query_requests=ask.session.counts[2]))),
        mutant(f"connection-row-query-before-set{suffix}", "SET and QUERY have changed places in CONNECTION's row.",
              clause, handlers=with_found(ONE, lambda row, ask: changed(
                  row, set_requests=row.query_requests, query_requests=row.set_requests))),
        mutant(f"connection-row-connected-now{suffix}", "CONNECTION's row shows the present time as CONNECTED AT.",
              clause, "CONNECTIONS-13", handlers=with_found(
                  ONE, lambda row, ask: changed(row, connected_at=ask.state.wall(ask.now) + 1))),
    )  # fmt: skip


# fmt: off
_REQUEST = (
    mutant("connection-type-25", "CONNECTION is asked with byte 25.", "CONNECTION-1", "FRAMING-7", "FRAMING-8", profile=_asked_with(0x25)),
)
_ANSWER = (
    mutant("connection-always-refused", "CONNECTION answers 00 whoever is there.", "CONNECTION-4", "CONNECTION-5", "CONNECTION-6", "CONNECTION-9",
           "CONNECTION-10", "CONNECTION-11", handlers=with_answer(ONE, lambda answer, ask: DENIED)),
)
_FOUND = (
    mutant("connection-index-one-beyond-is-the-last", "An index equal to the number of connections finds the last one.", "CONNECTION-7",
           handlers=_index(lambda index, ids: index - (index == len(ids)))),
    mutant("connection-index-by-id", "Indexes count in the order of the ids, CONNECTIONS does not.", "CONNECTION-9",
           handlers=_index(lambda index, ids: ids.index(sorted(ids)[index]) if index < len(ids) else index)),
    mutant("connection-index-skips-the-second", "Indexes 1 and 2 name the same connection.", "CONNECTION-10", "CONNECTION-9",
           handlers=_index(lambda index, ids: 2 if index == 1 and len(ids) > 2 else index)),
    mutant("connection-unknown-id-is-the-asking", "CONNECTION answers the asking connection's row to an unknown id.", "CONNECTION-8", "CONNECTION-4",
           "CONNECTION-12", handlers=_by_id(lambda one, ask: one if one in ask.state.sessions else ask.session.id)),
    mutant("connection-zero-id-is-the-asking", "CONNECTION takes 16 zero bytes for the asking connection.", "CONNECTION-8", "CONNECTION-4",
           handlers=_by_id(lambda one, ask: one if any(one) else ask.session.id)),
    mutant("connection-id-by-its-first-byte", "CONNECTION compares only the first byte of ids.", "CONNECTION-8", handlers=_by_id(_alike(1))),
    mutant("connection-own-id-is-the-oldest", "CONNECTION finds the oldest connection for one's own id.", "CONNECTION-11",
           handlers=_by_id(lambda one, ask: next(iter(ask.state.sessions)) if one == ask.session.id else one)),
    mutant("connection-own-id-refused", "CONNECTION does not find the connection that asks.", "CONNECTION-11", "CONNECTION-4",
           handlers=_by_id(lambda one, ask: bytes(16) if one == ask.session.id else one)),
)
# fmt: on
CONNECTION_MUTANTS = (
    _REQUEST + _ANSWER + _rows_of_one("", "CONNECTION-5") + _rows_of_one("-by-id", "CONNECTION-6") + _FOUND
)


ROW_TOTALS = ConnectionRow.__struct_fields__[-18:]


def _totals(number: Callable[[str, Any, Ask], int], names: tuple[str, ...] = ROW_TOTALS) -> HandlerPatch:
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
    refused = session.refused[ROW_COUNTS[ROW_TOTALS.index(name)]] if isinstance(session, _Refusing) else 0
    return max(int(getattr(row, name)) - refused, 0)


# fmt: off
CONNECTION_TOTALS_MUTANTS = (
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
)
# fmt: on


class _Counts(State):
    """Counts those who are gone."""

    gone = 0

    def forget(self, session: ThrottrSession) -> None:
        self.gone += 1
        super().forget(session)


def _gone(ask: Ask) -> int:
    return ask.state.gone if isinstance(ask.state, _Counts) else 0


def _told(change: Callable[[bytes, Ask], bytes]) -> HandlerPatch:
    """Let WHOAMI answer `change(id, ask)`."""
    return with_reply(Whoami, lambda reply, ask: changed(reply, id=change(reply.id, ask)))


def _plus(one: bytes, number: int) -> bytes:
    return one[:-1] + bytes([(one[-1] + number) % 256])


# fmt: off
WHOAMI_MUTANTS = (
    mutant("whoami-as-text", "WHOAMI answers the id as 32 hexadecimal characters.", "WHOAMI-2",
           handlers=with_reply(Whoami, lambda reply, ask: reply.id.hex().encode())),
    mutant("whoami-as-text-behind-status", "WHOAMI answers the id as 32 hexadecimal characters.", "WHOAMI-3",
           handlers=with_reply(Whoami, lambda reply, ask: ACCEPTED + reply.id.hex().encode())),
    mutant("whoami-new-after-others-went", "WHOAMI answers another id once a connection has gone.", "WHOAMI-4", "WHOAMI-6", "CONNECTIONS-6",
           state=_Counts, handlers=_told(lambda one, ask: _plus(one, _gone(ask)))),
    mutant("whoami-of-the-oldest", "WHOAMI answers the id of the oldest connection.", "WHOAMI-5", "CONNECTIONS-6", "CONNECTION-11",
           handlers=_told(lambda one, ask: next(iter(ask.state.sessions)))),
)
# fmt: on


MUTANTS = (
    *CONNECTIONS_MUTANTS,
    *CONNECTION_MUTANTS,
    *CONNECTION_TOTALS_MUTANTS,
    *WHOAMI_MUTANTS,
)
