"""Checks that the values of a request fit its layout, before anything is sent."""

from __future__ import annotations

from wireproof.protocols.fields import (
    Atom,
    Blob,
    Kind,
    Lines,
    Raw,
    Rest,
    Split,
    Terminated,
    UInt,
    Word,
    is_bytes,
    is_number,
)
from wireproof.protocols.messages import Message
from wireproof.protocols.profile import Layout, lines_size
from wireproof.reference_client.errors import BadRequestError, TooLongError, TooWideError

__all__ = ["check"]


def check(request: Message, layout: Layout) -> None:
    """Check every field of `request` against `layout`.

    Raises TooWideError for a number that does not fit, TooLongError for bytes that do not, and BadRequestError for a
    value of another type; the message names the first such field.
    """
    for name, kind in layout.fields:
        _check(f"{request.NAME}.{name}", kind, getattr(request, name))
    sizes = [kind.size for _, kind in layout.fields if isinstance(kind, Split)]
    for size in sizes:
        shared = [name for name, kind in layout.fields if isinstance(kind, Split | Rest)]
        _fits(f"{request.NAME}.{' and '.join(shared)}", sum(len(getattr(request, one)) for one in shared) + 1, size)


def _check(where: str, kind: Kind, value: object) -> None:
    if is_number(kind):
        _check_number(where, kind, value)
    elif isinstance(kind, Raw):
        if type(value) is not bytes or len(value) != kind.size:
            raise BadRequestError(f"{where}: expected {kind.size} bytes, got {_shown(value)}")
    elif is_bytes(kind):
        _check_bytes(where, kind, value)
    elif isinstance(kind, Lines):
        _check_lines(where, kind, value)


def _check_number(where: str, kind: UInt | Atom | Word, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < kind.minimum:
        detail = f"{where}: expected an integer from {kind.minimum} to {kind.maximum}, got {_shown(value)}"
        raise BadRequestError(detail)
    if value > kind.maximum:
        raise TooWideError(f"{where}: expected at most {kind.maximum}, got {_shown(value)}")


def _check_bytes(where: str, kind: Kind, value: object) -> None:
    if type(value) is not bytes:
        raise BadRequestError(f"{where}: expected bytes, got {_shown(value)}")
    if isinstance(kind, Blob):
        _fits(where, len(value), kind.size)
    if isinstance(kind, Split | Terminated) and b"\0" in value:
        raise BadRequestError(f"{where}: expected bytes without 00, got one at {value.index(0)}")


def _check_lines(where: str, kind: Lines, value: object) -> None:
    if not isinstance(value, tuple) or not all(isinstance(one, kind.row) for one in value):
        raise BadRequestError(f"{where}: expected lines, got {_shown(value)}")
    for line in value:
        name, text = (getattr(line, one) for one in line.__struct_fields__)
        for what, one in (("name", name), ("value", text)):
            _check_bytes(f"{where}.{what}", kind, one)
            if b"\r" in one or b"\n" in one:
                raise BadRequestError(f"{where}.{what}: expected bytes without CR and LF")
        if not name or b":" in name:
            raise BadRequestError(f"{where}.name: expected a name without colon, got {_shown(name)}")
    _fits(where, max(0, lines_size(kind, value) - kind.count.width), kind.count)


def _fits(where: str, size: int, field: UInt) -> None:
    if size > field.maximum:
        raise TooLongError(f"{where}: expected at most {field.maximum} bytes, got {size}")


def _shown(value: object) -> str:
    match value:
        case bytes():
            return f"{len(value)} bytes"
        case bool() | float() | None:
            return repr(value)
        case int():
            return str(int(value)) if value.bit_length() <= 80 else f"an integer of {value.bit_length()} bits"
    return f"a value of type {type(value).__name__}"
