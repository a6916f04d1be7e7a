"""Invariants of the ways in which a codec is used beside reading one event after the other."""

from __future__ import annotations

from typing import Any

from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.protocols import NEED_DATA, Connection, Message, RemoteProtocolError, Request
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.frames import Decoder, FrameContext

__all__ = ["check_prefixes", "check_runs_of_requests"]

LATE = 3
"""Of so many pieces one is not read before the next one."""
LONGEST_PREFIX = 64
"""Bytes of the longest beginning of a frame that is decoded by itself."""


def check_prefixes(decode: Decoder, data: bytes, limit: int, request: Request | None) -> None:
    """Decode every beginning of the first frame: each wants more, and no more than the frame has.

    Raises `InvariantError`.
    """

    def under(size: int) -> tuple[Message | None, int] | None:
        context = FrameContext(limit)
        context.request = request
        try:
            return decode(data[:size], 0, size, context)
        except MalformedFrameError:
            return None

    whole = under(len(data)) if data else None
    if whole is None or whole[0] is None:
        return
    message, size = whole
    assert message is not None
    for there in range(1, min(size, LONGEST_PREFIX)):
        found = under(there)
        if found is None or found[0] is not None or not there < found[1] <= size:
            detail = f"{there} of {size} bytes of {message.NAME}: {found}"
            raise InvariantError("a beginning wants what is missing", detail[:400], message.NAME)


def check_runs_of_requests(make: Any, pieces: list[bytes]) -> None:
    """Read requests by runs and one by one, from the same pieces.

    Raises `InvariantError` if they differ, or a run leaves a whole request to be read by itself.
    """
    by_runs, one_by_one = make(), make()
    if not hasattr(by_runs, "next_requests"):
        return
    for number, piece in enumerate(pieces, 1):
        by_runs.receive_data(piece)
        one_by_one.receive_data(piece)
        if number % LATE == 0 and number < len(pieces):
            continue
        run = by_runs.next_requests()
        singles, error = _events(one_by_one)
        rest, same = _events(by_runs)
        if (run + rest, same) != (singles, error):
            detail = f"{len(run)} requests and then {rest or same} instead of {len(singles)} and {error}"
            raise InvariantError("runs of requests are read as single ones", detail[:400], "run")
        if left := [one for one in rest if isinstance(one, Request)]:
            detail = f"{len(run)} requests, and then one by one {len(left)} more, of which the first is {left[0].NAME}"
            raise InvariantError("a run has every whole request", detail, "run")
        if (by_runs.received, by_runs.buffered) != (one_by_one.received, one_by_one.buffered):
            detail = f"{by_runs.received} bytes read and {by_runs.buffered} kept"
            raise InvariantError("runs of requests are read as single ones", detail, "bytes")
        if error is not None:
            return


def _events(connection: Connection) -> tuple[list[object], str | None]:
    """Return the events that are there, and the text of the error after them."""
    found: list[object] = []
    try:
        while (event := connection.next_event()) is not NEED_DATA:
            found.append(event)
    except RemoteProtocolError as error:
        return found, f"{error.code} {error.message} at {error.offset}"
    return found, None
