"""Bytes with some of their bits changed, such as a token that differs from another in one bit."""

from __future__ import annotations

from wireproof.protocols.errors import ErrorCode, LocalProtocolError

__all__ = ["xor"]


def xor(*, of: bytes, by: bytes) -> bytes:
    """Return `of` with the bits changed that are set in `by`; `LocalProtocolError` if their sizes differ."""
    if len(of) != len(by):
        raise LocalProtocolError(ErrorCode.BAD_VALUE, f"xor: expected {len(of)} bytes in `by`, got {len(by)}")
    return bytes(one ^ other for one, other in zip(of, by, strict=True))
