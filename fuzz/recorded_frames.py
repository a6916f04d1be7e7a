"""The frames of the vectors, whose bytes and fields were written down before: they show what is wrong both ways.

Both directions of a round trip follow one layout, so an error in it is not seen by encoding what was decoded. The
vectors hold bytes and fields side by side.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from wireproof.conformance.report.vector_store import vectors_of
from wireproof.conformance.suite.frame_decoding import named, readings
from wireproof.fuzz.codec_interface import CodecInterface
from wireproof.fuzz.invariants.ending import ending
from wireproof.fuzz.invariants.invariant_error import InvariantError, unexpected_as_findings
from wireproof.protocols import Message, Request, protocol
from wireproof.protocols.fields import Absent, Constant, Flag, is_bytes, is_number
from wireproof.protocols.json_values import JsonObject
from wireproof.protocols.plain import Plain, PlainError

__all__ = ["check_recorded_frames"]

INVARIANT = "recorded frames are read as recorded"
PLAIN = "plain values are read as written"
WRONG_VALUES: tuple[object, ...] = (None, 7, "", "no value", "1e400", [], [7], {}, {"hex": "0"}, {"hex": 7})
"""What a driver may be given where a field has another value."""
INNER = "inner"


def check_recorded_frames(name: str) -> None:
    """Read every frame of the vectors of a protocol, under every profile and variant. Raises `InvariantError`."""
    spoken = protocol(name)
    for profile in spoken.profiles.values():
        for variant in profile.variants:
            for document in vectors_of(name, profile.name, variant):
                for frame in document["frames"]:
                    doing = f"while frame {frame['id']} of {profile.name} {variant} was read"
                    with unexpected_as_findings(doing), ending():
                        _check(name, profile.name, variant, frame)


def _check(name: str, profile: str, variant: str, frame: JsonObject) -> None:
    spoken = protocol(name)
    codec: Any = spoken.codec(spoken.profiles[profile], variant)
    data, wanted = bytes.fromhex(frame["hex"]), frame.get("error") or frame["message"]
    if frame["direction"] == INNER:
        inner = codec.decode(spoken.profiles[profile].messages[wanted["name"]], data)
        read: list[object] = [named(inner)]
    else:
        request = _message(codec, frame["reply_to"]["message"]) if "reply_to" in frame else None
        before = [_message(codec, one["message"]) for one in frame.get("after", ())]
        known = [one for one in before if one is not None]
        after = known if "after" in frame and len(known) == len(before) else None
        link = frame.get("link") or None
        found = readings(spoken, codec, frame["direction"], data, request, link=link, after=after)
        read = [got for _, got in found]
    where = f"{frame['id']} of {profile} {variant}"
    if wanted not in read:
        detail = f"{where}: {data.hex()} is {wanted}, read as {read}"
        raise InvariantError(INVARIANT, detail[:400], str(frame["id"]), frame["clauses"][0])
    message: Message | None = None
    if "error" not in frame:
        message = inner if frame["direction"] == INNER else _message(codec, wanted)
    if message is not None and (written := codec.encode(message)) != data:
        detail = f"{where}: {wanted} is {data.hex()}, written {written.hex()}"
        raise InvariantError(INVARIANT, detail[:400], str(frame["id"]), frame["clauses"][0])
    if isinstance(message, Request):
        _check_plain(Plain(spoken, profile, variant), message, where)


def _check_plain(plain: Plain, request: Request, where: str) -> None:
    """Write a request as drivers of SDKs get it, and read it again, also with wrong values, which are refused by name.

    Raises `InvariantError`.
    """
    operation = next((name for name, one in plain.operations.items() if one is type(request)), None)
    if operation is None or len(plain.parts(operation)) > 1:
        return
    written = plain.beside(request)
    wanted = {name: getattr(request, name) for name, _ in plain.reported_fields(type(request))}
    try:
        read: object = plain.values(operation, written)
    except PlainError as error:
        read = error
    if read != wanted:
        raise InvariantError(PLAIN, f"{where}: {written}, read as {read}"[:400], request.NAME)
    for wrong in WRONG_VALUES:
        for name in written:
            with suppress(PlainError):
                plain.values(operation, {**written, name: wrong})
        for name in plain.protocol.sdk.connect_fields:
            with suppress(PlainError):
                plain.connect_values({name: wrong})


def _message(codec: CodecInterface, recorded: JsonObject) -> Message | None:
    """Return a message from its name and its fields as JSON; None for one with other fields than bytes and numbers."""
    kind = codec.profile.messages[recorded["name"]]
    fields: dict[str, Any] = {}
    for name, form in codec.layout(kind).fields:
        value = recorded["fields"].get(name)
        if isinstance(form, Flag):
            fields[name] = value
        elif is_bytes(form):
            fields[name] = bytes.fromhex(value)
        elif is_number(form) and not isinstance(form, Constant):
            fields[name] = int(value)
        elif not isinstance(form, Absent | Constant):
            return None
    needed = {one.encode_name for one in msgspec.structs.fields(kind) if one.required}
    return kind(**fields) if needed <= fields.keys() else None
