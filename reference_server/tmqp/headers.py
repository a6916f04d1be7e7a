"""Headers of messages: names without regard to case, the first of a name counts; and names of channels and filters."""

from __future__ import annotations

from wireproof.protocols.tmqp import Header

__all__ = ["ANY", "Headers", "filtered", "header", "is_channel_name", "text", "whole"]

Headers = tuple[Header, ...]
FORBIDDEN = b" ;@*"
"""What no channel name holds (E27)."""
ANY = b"*"


def header(headers: Headers, name: bytes) -> bytes | None:
    """Return the value of the first header of that name (in lower case), as it was sent; None without one."""
    return next((one.value for one in headers if one.name.lower() == name), None) if headers else None


def whole(data: bytes | None, most: int = 0xFFFF) -> int | None:
    """Return the decimal number from 0 to `most` that bytes are, spaces around it or not; None for anything else."""
    found = (data or b"").strip()
    if not found.isdigit() or len(found) > 9 or int(found) > most:
        return None
    return int(found)


def text(data: bytes) -> bytes:
    """Return bytes as UTF-8, what is none of it replaced: what a JSON text can hold."""
    return data.decode("utf-8", "replace").encode()


def is_channel_name(name: bytes) -> bool:
    """Say whether a channel may be called so (E27)."""
    return bool(name) and not any(byte in FORBIDDEN for byte in name)


def filtered(wanted: bytes, name: bytes) -> bool:
    """Say whether a name passes a filter: `*x*` holds x, `*x` ends so, `x*` begins so, else they are equal."""
    if not wanted or wanted == ANY:
        return True
    inner = wanted.strip(ANY)
    if wanted.startswith(ANY) and wanted.endswith(ANY):
        return inner.lower() in name.lower()
    if wanted.startswith(ANY):
        return name.endswith(inner)
    if wanted.endswith(ANY):
        return name.startswith(inner)
    return wanted.lower() == name.lower()
