"""Other bytes that every server reads as the same request, where a protocol has them."""

from __future__ import annotations

from typing import Any
from zlib import crc32

from wireproof.protocols import Request
from wireproof.protocols.links import Link

__all__ = ["spelled"]

SPELLED = 4
"""One request of so many is written in another spelling, where there are any."""


def spelled(codec: Any, link: Link, request: Request, data: bytes, number: int) -> bytes:
    """Return the bytes of a request, now and then in another spelling, the same for the same `number`."""
    chosen = crc32(data, number)
    if chosen % SPELLED:
        return data
    known = list((codec.spellings if link.has_spellings else codec.other_forms)(request).values())
    return known[chosen // SPELLED % len(known)] if known else data
