"""What engines of steps choose from, whatever chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from wireproof.fuzz.invariants.store_invariants import StoreCheck
from wireproof.fuzz.live.context import Ground
from wireproof.protocols import Request
from wireproof.protocols.fields import Raw

__all__ = ["CONNECTIONS", "WAITS", "telling", "until_due"]

CONNECTIONS = "abcd"
MS, S = 10**6, 10**9
WAITS = (0, 1, 999, 1000, MS, 10 * MS, 250 * MS, S, 2 * S, 59 * S, 60 * S, 61 * S, 3600 * S)
"""Nanoseconds."""


def until_due(check: StoreCheck, which: int, beside: int) -> int:
    """Return the ns to one of the next instants at which something is due, and `beside`; 0 when nothing is."""
    now = check.place.now_ns()
    ahead = [one - now + beside for one in check.model.instants() if one - now + beside > 0][:4]
    return ahead[which % len(ahead)] if ahead else 0


def telling(request: Request, ground: Ground, heard: Mapping[int, Sequence[bytes]], which: int) -> Request:
    """Return a request that names an id which was told: as it is where one belongs, else in hexadecimal as a name."""
    layout = ground.symbols.codec.layout(type(request))
    changed: dict[str, Any] = {}
    for name, kind in layout.fields:
        if isinstance(kind, Raw) and heard.get(kind.size):
            changed[name] = heard[kind.size][which % len(heard[kind.size])]
    told = [one for runs in heard.values() for one in runs]
    if not changed and told and (names := ground.blobs(request)):
        changed[names[0]] = told[which % len(told)].hex().encode()
    return msgspec.structs.replace(request, **changed)
