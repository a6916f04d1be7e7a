"""A stream is read twice: by the codec, and by a reader that was written from the facts without it."""

from __future__ import annotations

from typing import Any

from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.protocols import NEED_DATA, Connection, Message, RemoteProtocolError
from wireproof.protocols.errors import ErrorCode
from wireproof.reference_server.model import Reader, Reading

__all__ = ["check_second_reader"]

UNKNOWN_TO_READERS = frozenset({ErrorCode.UNEXPECTED_MESSAGE, ErrorCode.FRAME_TOO_LARGE})
"""Errors that depend on the state of a connection and on its limit."""


def check_second_reader(connection: Connection, data: bytes, reader: Reader, profile: str) -> None:
    """Read a stream by a connection and by a reader; both must find the same messages and end alike.

    Messages without fields say nothing and do not count. Raises `InvariantError`.
    """
    read = _read(connection, data)
    expected = reader(data, profile)
    if read is None or read == expected:
        return
    first = next((at for at, pair in enumerate(zip(read[0], expected[0], strict=False)) if pair[0] != pair[1]), None)
    if first is not None:
        detail, shape = f"read {read[0][first]}, expected {expected[0][first]}", expected[0][first][0]
    else:
        detail = f"read {len(read[0])} and then {read[1]}, expected {len(expected[0])} and then {expected[1]}"
        shape = f"{read[1]} for {expected[1]}"
    raise InvariantError("a second reader reads the same", detail, shape)


def _read(connection: Connection, data: bytes) -> Reading | None:
    """Return what a connection reads; None where it refuses what the reader knows nothing of."""
    found: list[tuple[str, dict[str, Any]]] = []
    connection.receive_data(data)
    try:
        while (event := connection.next_event()) is not NEED_DATA:
            if isinstance(event, Message) and event.__struct_fields__:
                found.append((event.NAME, {name: getattr(event, name) for name in event.__struct_fields__}))
    except RemoteProtocolError as error:
        return None if error.code in UNKNOWN_TO_READERS else (found, "refused")
    return found, "partial" if connection.buffered else "whole"
