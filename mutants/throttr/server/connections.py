"""Faults in CONNECTIONS, and in the rows that it shares with CONNECTION; their totals are in `connection_totals`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    both,
    changed,
    field_kind,
    with_answer,
    with_found,
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
)
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import State

__all__ = ["MUTANTS", "shown"]

FIELDS = ConnectionRow.__struct_fields__
TOTALS = FIELDS[-18:]
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
        """See `State`."""
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
)  # fmt: skip
# fmt: on
# fmt: off
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
)  # fmt: skip
# fmt: on
# fmt: off
_LISTED = (
    mutant("connections-without-the-asking", "CONNECTIONS leaves out the connection that asks.", "CONNECTIONS-27", "WHOAMI-6", "FRAGMENT-8",
           handlers=_rows(lambda rows, ask: [row for row in rows if row.id != ask.session.id])),
    mutant("connections-without-the-silent", "CONNECTIONS leaves out who never asked anything.", "CONNECTIONS-27",
           handlers=_rows(lambda rows, ask: [row for row in rows if not _silent(row)])),
    mutant("connections-at-most-16", "CONNECTIONS has at most 16 rows.", "CONNECTIONS-27", "FRAGMENT-8", handlers=_rows(lambda rows, ask: rows[-16:])),
    mutant("connections-with-the-last-gone", "Whoever went last keeps a row in CONNECTIONS.", "CONNECTIONS-28", "CONNECTIONS-27", "CONNECTION-7",
           "CONNECTION-8", "CONNECTION-10", "CONNECTION-12", "INFO-31", "ROBUSTNESS-21", state=_KeepsOne),
)  # fmt: skip
# fmt: on
MUTANTS = _LAYOUT + _FIELDS + _LISTED
