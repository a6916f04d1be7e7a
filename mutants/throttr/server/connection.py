"""Faults in CONNECTION: how it is asked and answered, and whom it finds."""

from __future__ import annotations

from collections.abc import Callable

from wireproof.mutants.throttr.server.mutant import HandlerPatch, ServerMutant, mutant
from wireproof.mutants.throttr.server.patches import (
    Ask,
    changed,
    lead,
    with_answer,
    with_found,
    with_request,
)
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr.requests import ConnectionById, ConnectionByIndex
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED

__all__ = ["MUTANTS"]

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
)  # fmt: skip
# fmt: on
# fmt: off
_ANSWER = (
    mutant("connection-always-refused", "CONNECTION answers 00 whoever is there.", "CONNECTION-4", "CONNECTION-5", "CONNECTION-6", "CONNECTION-9",
           "CONNECTION-10", "CONNECTION-11", handlers=with_answer(ONE, lambda answer, ask: DENIED)),
)  # fmt: skip
# fmt: on
# fmt: off
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
)  # fmt: skip
# fmt: on
MUTANTS = _REQUEST + _ANSWER + _rows_of_one("", "CONNECTION-5") + _rows_of_one("-by-id", "CONNECTION-6") + _FOUND
