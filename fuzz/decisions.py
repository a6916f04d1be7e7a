"""What engines of steps choose from, whatever chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.context import FuzzContext
from wireproof.protocols import Request
from wireproof.protocols.fields import Raw

__all__ = ["CONNECTIONS", "WAITS", "until_due", "with_known_id"]

CONNECTIONS = "abcd"
MS, S = 10**6, 10**9
WAITS = (0, 1, 999, 1000, MS, 10 * MS, 250 * MS, S, 2 * S, 59 * S, 60 * S, 61 * S, 3600 * S)
"""Nanoseconds."""


def until_due(check: StoreCheck, which: int, beside: int) -> int:
    """Return the ns to one of the next instants at which something is due, and `beside`; 0 when nothing is."""
    now = check.transport.now_ns()
    ahead = [one - now + beside for one in check.model.instants() if one - now + beside > 0][:4]
    return ahead[which % len(ahead)] if ahead else 0


def with_known_id(
    request: Request, context: FuzzContext, known_ids: Mapping[int, Sequence[bytes]], which: int
) -> Request:
    """Return a request that names an id which was told: as it is where one belongs, else in hexadecimal as a name."""
    layout = context.symbols.codec.layout(type(request))
    changed: dict[str, Any] = {}
    for name, kind in layout.fields:
        if isinstance(kind, Raw) and known_ids.get(kind.size):
            changed[name] = known_ids[kind.size][which % len(known_ids[kind.size])]
    ids = [one for runs in known_ids.values() for one in runs]
    if not changed and ids and (names := context.blobs(request)):
        changed[names[0]] = ids[which % len(ids)].hex().encode()
    return msgspec.structs.replace(request, **changed)
