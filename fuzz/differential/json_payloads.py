"""Reads a payload as the JSON value of a protocol that it is: the order of members and unknown ones mean nothing."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from wireproof.protocols import Message
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.fields import JsonRows

__all__ = ["body_in"]


def body_in(payload: bytes, codec: Any) -> Message | None:
    """Return the message whose members a JSON text names most of, decoded; None for any other payload."""
    if payload[:1] not in (b"{", b"["):
        return None
    try:
        found = msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    rows = found if isinstance(found, list) else [found]
    if not all(isinstance(one, dict) for one in rows):
        return None
    named = frozenset(name for one in rows for name in one)
    kinds = _bodies(codec, isinstance(found, list))
    kind = max(kinds, key=lambda one: len(named & kinds[one]), default=None)
    if kind is None or (named and not named & kinds[kind]):
        return None
    try:
        body: Message = codec.decode(kind, payload)
    except MalformedFrameError:
        return None
    return body


@cache
def _bodies(codec: Any, is_list: bool) -> dict[type[Message], frozenset[str]]:
    """Return each JSON value that the codec's profile describes, lists or objects, with the names of its members."""
    found = {}
    for one in codec.profile.inner:
        layout = codec.layout(one)
        if layout.is_json:
            rows = next((kind.row for _, kind in layout.fields if isinstance(kind, JsonRows)), None)
            if (rows is not None) == is_list:
                found[one] = frozenset((rows or one).__struct_fields__)
    return found
