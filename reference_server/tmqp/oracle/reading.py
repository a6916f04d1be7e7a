"""What requests say, in the model: headers, numbers, names of channels, filters."""

from __future__ import annotations

from wireproof.protocols.tmqp.frames import RequestFrame

__all__ = ["first_header", "first_tells", "is_name", "number_in", "passes"]


def first_header(request: RequestFrame, name: bytes) -> bytes | None:
    """Return the value of the first header of a name; None without one."""
    return next((one.value for one in request.headers if one.name.lower() == name), None)


def first_tells(data: bytes) -> tuple[int, bytes]:
    """Return what tells whether the first frame of a client is a hello: its type and its content type (E2)."""
    return data[0] & 0x3F, data[5:7]


def number_in(data: bytes | None, most: int = 0xFFFF) -> int | None:
    """Return the decimal number that bytes are; None for what is none, or is more than `most`."""
    digits = (data or b"").strip()
    return int(digits) if digits.isdigit() and len(digits) < 10 and int(digits) <= most else None


def is_name(name: bytes) -> bool:
    """Say whether a channel may be called so (E27)."""
    return bool(name) and not set(name) & set(b" ;@*")


def passes(wanted: bytes, name: bytes) -> bool:
    """Say whether a name passes a filter."""
    inner = wanted.strip(b"*")
    begins, ends = wanted[:1] == b"*", wanted[-1:] == b"*"
    if not inner:
        return not wanted or wanted == b"*" or begins
    if begins and ends:
        return inner.lower() in name.lower()
    return name.endswith(inner) if begins else name.startswith(inner) if ends else inner.lower() == name.lower()
