"""Decoder and encoder of messages that are the text of a JSON value: an object with known members, or an array of them.

A message names its members as its fields (`Json`). What is read may have them in any order and beside others; a member
that is null or missing is None. What is written has them in the order of the layout, without white space.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wireproof.protocols.errors import ErrorCode, MalformedFrameError
from wireproof.protocols.fields import Json, JsonRows
from wireproof.protocols.frames import Decoder, Encoder, FrameContext, bad_value
from wireproof.protocols.json_values import JsonDict
from wireproof.protocols.messages import Message, declared_layout
from wireproof.protocols.profile import Layout

__all__ = ["compile_json", "is_of_form"]

TYPES: dict[str, tuple[type[Any], str]] = {
    "text": (str, "a text"),
    "number": (int, "a whole number"),
    "flag": (bool, "true or false"),
    "numbers": (list, "an array of whole numbers"),
}


def compile_json(layout: Layout) -> tuple[Decoder, Encoder]:
    """Return decoder and encoder of a layout made of `Json`, or of one `JsonRows`; the text is all that is given."""
    message, fields = layout.message, layout.fields
    table = next(((name, kind) for name, kind in fields if isinstance(kind, JsonRows)), None)

    def decode(buf: bytes, at: int, end: int, context: FrameContext) -> tuple[Message, int]:
        try:
            found = msgspec.json.decode(buf[at:end])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise _wrong(message, f"expected JSON: {error}", at) from None
        if table is None:
            return _read(message, found, at), end
        if not isinstance(found, list):
            raise _wrong(message, f"expected an array, got {_shown(found)}", at)
        return message(tuple(_read(table[1].row, one, at) for one in found)), end

    def encode(value: Any) -> bytes:
        try:
            written = _written(value) if table is None else [_written(one) for one in getattr(value, table[0])]
        except (TypeError, AttributeError, UnicodeDecodeError):
            raise bad_value(value, layout) from None
        return msgspec.json.encode(written)

    return decode, encode


def is_of_form(kind: Json, value: object) -> bool:
    """Say whether a field of a message may hold `value`."""
    if value is None:
        return True
    match kind.form:
        case "text":
            return type(value) is bytes
        case "number":
            return isinstance(value, int) and type(value) is not bool
        case "numbers":
            return type(value) is tuple and all(type(one) is int for one in value)
    return type(value) is TYPES[kind.form][0]


def _members(message: type[Message]) -> list[tuple[str, Json]]:
    return [(name, kind) for name, kind in declared_layout(message).items() if isinstance(kind, Json)]


def _read(message: type[Message], found: object, at: int) -> Message:
    if not isinstance(found, dict):
        raise _wrong(message, f"expected an object, got {_shown(found)}", at)
    return message(**{name: _member(message, name, kind, found.get(name), at) for name, kind in _members(message)})


def _member(message: type[Message], name: str, kind: Json, found: Any, at: int) -> Any:
    if found is None:
        return None
    wanted, words = TYPES[kind.form]
    if type(found) is not wanted or (kind.form == "numbers" and not all(type(one) is int for one in found)):
        raise _wrong(message, f"{name}: expected {words}, got {_shown(found)}", at)
    match kind.form:
        case "text":
            return found.encode()
        case "numbers":
            return tuple(found)
    return found


def _written(value: Any) -> JsonDict:
    written: JsonDict = {}
    for name, kind in _members(type(value)):
        one = getattr(value, name)
        if not is_of_form(kind, one):
            raise TypeError
        if one is not None or not kind.is_left_out:
            written[name] = one.decode() if isinstance(one, bytes) else one
    return written


def _wrong(message: type[Message], detail: str, at: int) -> MalformedFrameError:
    return MalformedFrameError(ErrorCode.BAD_VALUE, f"{message.NAME}: {detail}", at)


def _shown(found: object) -> str:
    return str(found)[:40]
