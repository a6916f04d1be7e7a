"""Mutants of CONNECTIONS, CONNECTION, WHOAMI and the totals of connections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.edits import Edit, edit, first
from wireproof.mutants.server import Ask, HandlerPatch, both, changed, derived, field_kind, with_answer
from wireproof.mutants.throttr.server.mutant import ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import V732, showing, with_found, with_reply, with_rows
from wireproof.protocols.fields import ABSENT, U32, Repeated
from wireproof.protocols.throttr.replies import ConnectionRow, ConnectionsFragment, ConnectionsReply
from wireproof.protocols.throttr.requests import ConnectionById, ConnectionByIndex, Connections, Whoami
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED

__all__ = ["MUTANTS", "shown"]

ONE = (ConnectionByIndex, ConnectionById)
FIELDS = ConnectionRow.__struct_fields__
SMALL_COUNT = field_kind(ConnectionsReply, "fragments", Repeated(ConnectionsFragment, U32))


def shown(**fields: Callable[[Any, Ask], Any]) -> HandlerPatch:
    """Show other values in every row, in CONNECTIONS and in CONNECTION."""

    def change(row: ConnectionRow, ask: Ask) -> Any:
        return changed(row, **{name: make(row, ask) for name, make in fields.items()})

    return both(with_rows(Connections, lambda rows, ask: [change(row, ask) for row in rows]), with_found(ONE, change))


def _totals(shown: str) -> Edit:
    """Show as the total of `kind` in every row what is an expression of kind and counts."""
    return edit("ServerRequests._row", "counts[kind] for", f"{shown} for")


def _index(index: str) -> Edit:
    """Let CONNECTION look another `index` up; `ids` are those of all connections, in the order of CONNECTIONS."""
    return first(
        "ServerRequests.connection_by_index", f"index, ids = request.index, [*self._state.sessions]; index = {index}",
        "request = ConnectionByIndex(min(index, 1 << 32))",
    )  # fmt: skip


def _by_id(wanted: str) -> Edit:
    """Let CONNECTION look another id up: an expression of `wanted`, `own` and `ids`."""
    return first(
        "ServerRequests.connection_by_id", "wanted, own, ids = request.id, session.id, [*self._state.sessions]",
        f"request = ConnectionById({wanted})",
    )  # fmt: skip


def _whoami(shown: str) -> Edit:
    return edit("ServerRequests.whoami", "WhoamiReply(session.id)", f"WhoamiReply({shown})")


# fmt: off
def _rows_of_one(suffix: str, clause: str) -> tuple[ServerMutant, ...]:
    """Return mutants in the row of CONNECTION, which each profile describes in a clause of its own."""
    return (
        mutant(f"connection-row-within-a-fragment{suffix}", "CONNECTION answers its row as a fragment, with its header.",
               clause, handlers=with_found(
                   ONE, lambda row, ask: ACCEPTED + bytes([1, *bytes(7)]) * 2 + ask.state.codec.encode(row)[1:])),
        mutant(f"connection-row-without-its-last-total{suffix}", "CONNECTION's row ends before the total of WHOAMI.",
               clause, handlers=with_found(ONE, lambda row, ask: ask.state.codec.encode(row)[:-8])),
        mutant(f"connection-row-of-the-asking{suffix}", "CONNECTION shows the total of QUERY of the one that asks.",
               f"{clause} METRICS-14", handlers=showing(ONE, query_requests=lambda total, ask: ask.session.counts[2])),
        mutant(f"connection-row-query-before-set{suffix}", "SET and QUERY have changed places in CONNECTION's row.",
               clause, handlers=with_found(ONE, lambda row, ask: changed(
                   row, set_requests=row.query_requests, query_requests=row.set_requests))),
        mutant(f"connection-row-connected-now{suffix}", "CONNECTION's row shows the present time as CONNECTED AT.",
               f"{clause} CONNECTIONS-13", handlers=showing(ONE, connected_at=lambda at, ask: ask.state.wall(ask.now) + 1)),
    )
# fmt: on

MUTANTS: tuple[ServerMutant, ...] = (
    mutant("connections-count-of-4-bytes", "The fragment count of CONNECTIONS has 4 bytes.", "CONNECTIONS-2",
           profile=SMALL_COUNT),
    mutant("connections-count-of-4-bytes-behind-status", "The fragment count of CONNECTIONS has 4 bytes.",
           "CONNECTIONS-3", profile=SMALL_COUNT),
    mutant("connection-row-of-235-bytes", "Connection rows show neither type nor kind.",
           "CONNECTIONS-5 CONNECTIONS-7 CONNECTIONS-8 CONNECTION-6",
           profile=derived(overrides={(ConnectionRow, "type"): ABSENT, (ConnectionRow, "kind"): ABSENT})),
    mutant("connections-addresses-follow", "The addresses of a fragment are repeated after its rows.",
           "CONNECTIONS-30 FRAGMENT-1", handlers=with_answer(Connections, lambda answer, ask: answer + b"127.0.0.1")),
    mutant("connections-totals-in-a-byte", "The totals of a row keep their low byte only.",
           "CONNECTIONS-22 METRICS-13", _totals("counts[kind] % 256")),
    mutant("connections-id-reversed", "A row of CONNECTIONS shows the bytes of the id in the opposite order.",
           "CONNECTIONS-6 WHOAMI-6",
           handlers=with_rows(Connections, lambda rows, ask: [changed(row, id=row.id[::-1]) for row in rows])),
    mutant("connections-ids-moved-on", "Each row of CONNECTIONS shows the id that belongs to the row before it.",
           "CONNECTIONS-6",
           handlers=with_rows(Connections,
                              lambda rows, ask: [changed(row, id=rows[place - 1].id) for place, row in enumerate(rows)])),
    mutant("connection-type-agent", "Every client is shown as an agent.", "CONNECTIONS-7",
           edit("ServerRequests._row", "CLIENT,", "1,")),
    mutant("connection-type-from-one", "Type is counted from 1: 01 for a client, 02 for an agent.", "CONNECTIONS-7",
           edit("ServerRequests._row", "CLIENT,", "CLIENT + 1,")),
    mutant("connection-kind-inverted", "Kind is 01 for TCP and 00 for a UNIX stream socket.", "CONNECTIONS-8",
           edit("ServerRequests._row", "UNIX if unix else TCP", "TCP if unix else UNIX")),
    mutant("connection-ip-version-zero", "IP VERSION is 0.", "CONNECTIONS-9", profiles=V732,
           handlers=shown(ip_version=lambda row, ask: 0)),
    mutant("connection-ip-version-as-a-digit", "IP VERSION is the ASCII digit.", "CONNECTIONS-9", profiles=V732,
           handlers=shown(ip_version=lambda row, ask: row.ip_version + 0x30)),
    mutant("connection-port-high-byte-first", "PORT is sent high byte first.", "CONNECTIONS-11",
           handlers=shown(port=lambda row, ask: row.port >> 8 | (row.port & 0xFF) << 8)),
    mutant("connected-at-is-an-age", "CONNECTED AT is how long the connection is open.", "CONNECTIONS-13",
           handlers=shown(connected_at=lambda row, ask: ask.state.wall(ask.now) - row.connected_at)),
    mutant("connected-at-not-filled-in", "CONNECTED AT is always 0.", "CONNECTIONS-13",
           handlers=shown(connected_at=lambda row, ask: 0)),
    mutant("connections-without-the-asking", "CONNECTIONS leaves out the connection that asks.",
           "CONNECTIONS-27 WHOAMI-6 FRAGMENT-8",
           handlers=with_rows(Connections, lambda rows, ask: [row for row in rows if row.id != ask.session.id])),
    mutant("connections-without-the-silent", "CONNECTIONS leaves out who never asked anything.", "CONNECTIONS-27",
           handlers=with_rows(Connections,
                              lambda rows, ask: [row for row in rows if any(getattr(row, name) for name in FIELDS[-18:])])),
    mutant("connections-at-most-16", "CONNECTIONS has at most 16 rows.", "CONNECTIONS-27 FRAGMENT-8",
           handlers=with_rows(Connections, lambda rows, ask: rows[-16:])),
    mutant("connections-with-the-last-gone", "Whoever went last keeps a row in CONNECTIONS.",
           "CONNECTIONS-28 CONNECTIONS-27 CONNECTION-7 CONNECTION-8 CONNECTION-10 CONNECTION-12 INFO-31 "
           "ROBUSTNESS-21",
           edit("State.forget", "del self.sessions[session.id]",
                "if 'last' in vars(self): del self.sessions[self.last]",
                "self.last = session.id")),
    mutant("connection-type-25", "CONNECTION is asked with byte 25.", "CONNECTION-1 FRAMING-7 FRAMING-8",
           profile=derived(leads={ConnectionByIndex: b"\x25", ConnectionById: b"\x25"})),
    mutant("connection-always-refused", "CONNECTION answers 00 whoever is there.",
           "CONNECTION-4 CONNECTION-5 CONNECTION-6 CONNECTION-9 CONNECTION-10 CONNECTION-11",
           handlers=with_answer(ONE, lambda answer, ask: DENIED)),
    *_rows_of_one("", "CONNECTION-5"),
    *_rows_of_one("-by-id", "CONNECTION-6"),
    mutant("connection-index-one-beyond-is-the-last", "An index equal to the number of connections finds the last one.",
           "CONNECTION-7", _index("index - (index == len(ids))")),
    mutant("connection-index-by-id", "Indexes count in the order of the ids, CONNECTIONS does not.", "CONNECTION-9",
           _index("ids.index(sorted(ids)[index]) if index < len(ids) else index")),
    mutant("connection-index-skips-the-second", "Indexes 1 and 2 name the same connection.",
           "CONNECTION-10 CONNECTION-9", _index("2 if index == 1 and len(ids) > 2 else index")),
    mutant("connection-unknown-id-is-the-asking", "CONNECTION answers the asking connection's row to an unknown id.",
           "CONNECTION-8 CONNECTION-4 CONNECTION-12", _by_id("wanted if wanted in ids else own")),
    mutant("connection-zero-id-is-the-asking", "CONNECTION takes 16 zero bytes for the asking connection.",
           "CONNECTION-8 CONNECTION-4", _by_id("wanted if any(wanted) else own")),
    mutant("connection-id-by-its-first-byte", "CONNECTION compares only the first byte of ids.", "CONNECTION-8",
           _by_id("next((one for one in ids if one[:1] == wanted[:1]), wanted)")),
    mutant("connection-by-half-an-id", "CONNECTION compares the first eight bytes of an id only.",
           "CONNECTION-8 CONNECTION-4 CONNECTION-3",
           _by_id("next((one for one in ids if one[:8] == wanted[:8]), wanted)")),
    mutant("connection-own-id-is-the-oldest", "CONNECTION finds the oldest connection for one's own id.",
           "CONNECTION-11", _by_id("ids[0] if wanted == own else wanted")),
    mutant("connection-own-id-refused", "CONNECTION does not find the connection that asks.",
           "CONNECTION-11 CONNECTION-4", _by_id("bytes(16) if wanted == own else wanted")),
    mutant("connection-totals-halved", "INSERTs are counted in pairs.", "CONNECTIONS-22 METRICS-13",
           _totals("counts[kind] & (~1 if kind == INSERT else ~0)")),
    mutant("connection-totals-as-in-info", "UPDATE and PURGE stand before GET and SET, as in INFO.", "CONNECTIONS-23",
           _totals("counts[{SET: QUERY, QUERY: UPDATE, GET: PURGE, UPDATE: GET, PURGE: SET}.get(kind, kind)]")),
    mutant("connection-totals-info-before-list", "The totals of LIST and INFO have changed places.", "CONNECTIONS-24",
           _totals("counts[{LIST: INFO, INFO: LIST}.get(kind, kind)]")),
    mutant("connection-totals-publish-last", "The total of PUBLISH stands after those of SUBSCRIBE and UNSUBSCRIBE.",
           "CONNECTIONS-25",
           _totals("counts[{PUBLISH: SUBSCRIBE, SUBSCRIBE: UNSUBSCRIBE, UNSUBSCRIBE: PUBLISH}.get(kind, kind)]")),
    mutant("connection-totals-channel-first", "The totals of CHANNELS and CHANNEL have changed places.",
           "CONNECTIONS-26", _totals("counts[{CHANNELS: CHANNEL, CHANNEL: CHANNELS}.get(kind, kind)]")),
    mutant("whoami-as-text", "WHOAMI answers the id as 32 hexadecimal characters.", "WHOAMI-2",
           handlers=with_reply(Whoami, lambda reply, ask: reply.id.hex().encode())),
    mutant("whoami-as-text-behind-status", "WHOAMI answers the id as 32 hexadecimal characters.", "WHOAMI-3",
           handlers=with_reply(Whoami, lambda reply, ask: ACCEPTED + reply.id.hex().encode())),
    mutant("whoami-new-after-others-went", "WHOAMI answers another id once a connection has gone.",
           "WHOAMI-4 WHOAMI-6 CONNECTIONS-6", first("State.forget", "self.gone = vars(self).get('gone', 0) + 1"),
           _whoami("session.id[:-1] + bytes([(session.id[-1] + vars(self._state).get('gone', 0)) % 256])")),
    mutant("whoami-of-the-oldest", "WHOAMI answers the id of the oldest connection.",
           "WHOAMI-5 CONNECTIONS-6 CONNECTION-11", _whoami("next(iter(self._state.sessions))")),
)  # fmt: skip
