"""The conversations of the vectors as steps: what their clients did, on all connections, and when."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import chain

import msgspec

from wireproof.fuzz.codec_interface import CodecInterface
from wireproof.fuzz.played_cases import played_cases
from wireproof.fuzz.seeds import conversations
from wireproof.fuzz.store_steps import AdvanceStep, ConnectStep, DisconnectStep, RequestStep, Step
from wireproof.protocols import Message, Request, Role, protocol
from wireproof.protocols.dissect import Dissection
from wireproof.protocols.fields import Raw

__all__ = ["conversation_steps", "with_ids"]

HOW = {"close": "close", "half_close": "half", "reset": "reset"}
MOST_BYTES = 8192
"""Bytes that the clients of a conversation may send: long ones take too long."""
LONGEST_WAIT_S = 120.0
MARK = b"=id=id"
"""Begins what stands for an id."""
SHORTEST_ID = 16
"""Bytes of the shortest field that can be an id which the server has made."""


@cache
def conversation_steps(name: str, profile: str, variant: str) -> tuple[tuple[Step, ...], ...]:
    """Return the steps of each conversation that is not too long, the distinct ones, also of cases that no file holds.

    An id that the server had made is replaced by its number: see `with_ids`.
    """
    found: dict[tuple[Step, ...], None] = {}
    held = (one["steps"] for one in conversations(name, profile, variant))
    for one in chain(held, played_cases(name, profile, variant, MOST_BYTES)):
        sent = sum(len(step.get("hex", "")) // 2 for step in one if step["do"] == "send")
        waits = sum(step.get("seconds", 0.0) for step in one if step["do"] == "wait")
        if sent <= MOST_BYTES and waits <= LONGEST_WAIT_S and all(step["do"] != "secure" for step in one):
            steps = tuple(_steps(name, profile, variant, one))
            if any(isinstance(step, RequestStep) for step in steps):
                found[steps] = None
    return tuple(found)


def _steps(name: str, profile: str, variant: str, steps: list[dict[str, object]]) -> Iterator[Step]:
    spoken = protocol(name)
    codec = spoken.codec(spoken.profiles[profile], variant)
    lines: dict[str, Dissection] = {}
    ids: list[bytes] = []
    for step in steps:
        line, do = str(step["connection"]), step["do"]
        data = bytes.fromhex(str(step.get("hex", "")))
        if do == "connect":
            link = str(step.get("link", ""))
            lines[line] = Dissection(spoken.link_of(link), codec)
            yield ConnectStep(line, link)
        elif do == "wait":
            yield AdvanceStep(round(float(str(step["seconds"])) * 1e9))
        elif do in HOW and line in lines:
            yield DisconnectStep(line, HOW[str(do)])
        elif do == "send" and line in lines:
            asked = [frame.message for frame in lines[line].feed(Role.CLIENT, data)]
            requests = tuple(_numbered(one, ids, codec) for one in asked if isinstance(one, Request))
            if requests:
                yield RequestStep(line, requests)
        elif do == "receive" and line in lines:
            for frame in lines[line].feed(Role.SERVER, data):
                ids += [one for one in _ids(frame.message, codec) if one not in ids]


def _ids(message: Message, codec: CodecInterface) -> Iterator[bytes]:
    """Yield the values of the fields of a message that can be ids."""
    for field, kind in codec.layout(type(message)).fields:
        if isinstance(kind, Raw) and kind.size >= SHORTEST_ID:
            yield getattr(message, field)


def _numbered(request: Request, ids: list[bytes], codec: CodecInterface) -> Request:
    """Return the request with the number of an id in place of each id that was received before."""
    changed = {}
    for field, kind in codec.layout(type(request)).fields:
        if isinstance(kind, Raw) and kind.size >= SHORTEST_ID and getattr(request, field) in ids:
            changed[field] = MARK + ids.index(getattr(request, field)).to_bytes(2, "big") + bytes(kind.size - 8)
    made: Request = msgspec.structs.replace(request, **changed)
    return made


def with_ids(step: RequestStep, known: dict[int, list[bytes]], codec: CodecInterface) -> RequestStep:
    """Return the step with the ids that the server has made now: `known` maps sizes to ids in their order."""
    return RequestStep(step.connection, tuple(_with_ids(one, known, codec) for one in step.requests))


def _with_ids(request: Request, known: dict[int, list[bytes]], codec: CodecInterface) -> Request:
    changed = {}
    for field, kind in codec.layout(type(request)).fields:
        value = getattr(request, field)
        if isinstance(kind, Raw) and value.startswith(MARK):
            number, ids = int.from_bytes(value[6:8], "big"), known.get(kind.size, [])
            changed[field] = ids[number] if number < len(ids) else bytes(kind.size)
    made: Request = msgspec.structs.replace(request, **changed)
    return made
