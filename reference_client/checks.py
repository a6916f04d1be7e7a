"""Whether the values of a request fit their layout, asked before a byte is sent."""

from __future__ import annotations

from typing import Any

from protocols.fields import Blob, Kind, Raw, UInt
from protocols.messages import Request
from protocols.profile import Layout
from reference_client.errors import BadRequestError, TooLongError, TooWideError

__all__ = ["check"]


def check(request: Request, layout: Layout) -> None:
    """Raise `TooWideError`, `TooLongError` or `BadRequestError` naming the first field that `request` gets wrong."""
    for name, kind in layout.fields:
        _check(f"{request.NAME}.{name}", kind, getattr(request, name))


def _check(where: str, kind: Kind, value: Any) -> None:
    match kind:
        case UInt():
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise BadRequestError(f"{where}: expected an integer from 0 to {kind.maximum}, got {_shown(value)}")
            if value > kind.maximum:
                raise TooWideError(f"{where}: expected at most {kind.maximum}, got {_shown(value)}")
        case Raw(size):
            if type(value) is not bytes or len(value) != size:
                raise BadRequestError(f"{where}: expected {size} bytes, got {_shown(value)}")
        case Blob(size):
            if type(value) is not bytes:
                raise BadRequestError(f"{where}: expected bytes, got {_shown(value)}")
            if len(value) > size.maximum:
                raise TooLongError(f"{where}: expected at most {size.maximum} bytes, got {len(value)}")


def _shown(value: object) -> str:
    match value:
        case bytes():
            return f"{len(value)} bytes"
        case bool() | float() | None:
            return repr(value)
        case int():
            return str(int(value)) if value.bit_length() <= 80 else f"an integer of {value.bit_length()} bits"
    return f"a value of type {type(value).__name__}"
