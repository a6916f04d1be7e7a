"""Values that every engine of steps draws from: connections, waits, known ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.context import FuzzContext
from wireproof.protocols import Request
from wireproof.protocols.fields import Raw

__all__ = ["BRIEF_WAITS", "CONNECTIONS", "WAITS", "until_due", "with_known_id"]

CONNECTIONS = "abcd"
NEXT = 8
"""Instants ahead that are waited for."""
MS, S = 10**6, 10**9
WAITS = (0, 1, 999, 1000, MS, 10 * MS, 250 * MS, S, 2 * S, 59 * S, 60 * S, 61 * S, 3600 * S)
"""Nanoseconds."""
BRIEF_WAITS = (*(0, 1, 999, MS, 10 * MS, 250 * MS, 500 * MS, S, S + 1, 2 * S) * 3, 4 * S, 61 * S)
"""Nanoseconds; long ones are rare, because they end what must be kept alive."""


def until_due(check: StoreCheck, which: int, beside: int) -> int:
    """Return the ns until one of the next instants at which something changes, plus `beside`; 0 if nothing does."""
    now = check.transport.now_ns()
    ahead = [one - now + beside for one in check.model.instants() if one - now + beside > 0][:NEXT]
    return ahead[which % len(ahead)] if ahead else 0


def with_known_id(
    request: Request, context: FuzzContext, known_ids: Mapping[int, Sequence[bytes]], which: int
) -> Request:
    """Return `request` with an id that the server has sent before.

    `known_ids` maps a size in bytes to the ids of that size. An id replaces a field of its size; without such a field
    it is written in hexadecimal into the first field of any bytes.
    """
    layout = context.symbols.codec.layout(type(request))
    changed: dict[str, object] = {}
    for name, kind in layout.fields:
        if isinstance(kind, Raw) and known_ids.get(kind.size):
            changed[name] = known_ids[kind.size][which % len(known_ids[kind.size])]
    ids = [one for runs in known_ids.values() for one in runs]
    if not changed and ids and (names := context.blobs(request)):
        changed[names[0]] = ids[which % len(ids)].hex().encode()
    return msgspec.structs.replace(request, **changed)
