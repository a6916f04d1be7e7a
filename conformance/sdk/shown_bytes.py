"""Bytes in messages for people: as hex, long ones cut to what is around the byte that differs."""

from __future__ import annotations

__all__ = ["first_difference", "shown"]

LONGEST = 160
"""Bytes beyond which a run of bytes is cut."""
BEFORE = 32
"""Bytes that are shown before the one that differs."""


def first_difference(expected: bytes, got: bytes) -> int:
    """Return the offset of the first byte that is another one, or missing."""
    pairs = enumerate(zip(expected, got, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(expected), len(got)))


def shown(data: bytes, at: int = 0) -> str:
    """Return bytes as hex; of long ones only their beginning, and what is around offset `at`."""
    if not data:
        return "nothing"
    if len(data) <= LONGEST:
        return data.hex()
    size = f"({len(data)} bytes)"
    if at < LONGEST - BEFORE:
        return f"{data[:LONGEST].hex()}… {size}"
    begin = at - BEFORE
    part = data[begin : begin + 2 * BEFORE]
    rest = "" if begin + len(part) >= len(data) else "…"
    return f"{data[:BEFORE].hex()}… from byte {begin} {part.hex()}{rest} {size}"
