"""Scripts about names that every connection is subscribed to from its beginning: one for all, and its own id."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import msgspec

from wireproof.conformance.model.actions import Open, Read, Write
from wireproof.fuzz.live.token_substitution import placeholder
from wireproof.fuzz.script import Script, ScriptStep
from wireproof.protocols import LocalProtocolError, Request
from wireproof.protocols.fields import Raw

if TYPE_CHECKING:
    from wireproof.fuzz.live.context import FuzzContext

__all__ = ["asks_for_id", "has_own_names", "use_own_names"]

PAUSE = 0.02
"""Seconds that a script waits for an id."""
DEEPEST = 4
"""How many requests may carry one another."""


def asks_for_id(context: FuzzContext) -> tuple[Request, int] | None:
    """Return the request without fields that is answered with an id, and the size of that in bytes; None without."""
    codec = context.symbols.codec
    for kind, answers in codec.profile.replies.items():
        if codec.layout(kind).fields:
            continue
        for name, field in (one for answer in answers for one in codec.layout(answer).fields):
            if isinstance(field, Raw) and (name, field.size) in context.token_fields:
                return kind(), field.size
    return None


def has_own_names(context: FuzzContext) -> bool:
    """Return whether connections are subscribed to anything from their beginning, and pushes say to what."""
    spoken = context.symbols.protocol
    return bool(spoken.own_names(context.profile, b"") and _fields(context)) and asks_for_id(context) is not None


def _fields(context: FuzzContext) -> frozenset[str]:
    """Return the fields of pushes that name what they were published to."""
    pushes = context.symbols.codec.profile.pushes
    return frozenset(name for one in pushes for name in one.__struct_fields__) & context.symbols.protocol.named_by


def use_own_names(random: Random, script: Script, context: FuzzContext) -> Script:
    """Write a name that connections have from their beginning instead of another one, in the whole script.

    Connections ask for their ids first, which makes sure that the server knows them.
    """
    asking = asks_for_id(context)
    lines = sorted({one.connection for one in script if isinstance(one, Open) and one.transport == "stream"})
    found = sorted(_named(script, context))
    if asking is None or not lines or not found or not has_own_names(context):
        return script
    request, size = asking
    names = context.symbols.protocol.own_names(context.profile, placeholder(random.choice(lines), size))
    old, new = random.choice(found), random.choice(names)
    steps: list[ScriptStep] = []
    for step in script:
        if isinstance(step, Write):
            step = msgspec.structs.replace(step, data=_renamed(step.data, old, new, context))
        steps.append(step)
        if isinstance(step, Open) and step.transport == "stream":
            steps += [Write(step.connection, context.encode(request)), Read(step.connection, PAUSE)]
    return tuple(steps)


def _named(script: Script, context: FuzzContext) -> set[bytes]:
    """Return what the requests of a script name, in the fields that pushes have, too."""
    writes = (step.data for step in script if isinstance(step, Write))
    asked = [one for data in writes for one in _whole(data, context)]
    return {getattr(one, name) for one in asked for name in _fields(context) & set(one.__struct_fields__)}


def _whole(data: bytes, context: FuzzContext) -> list[Request]:
    """Return the requests of a write; none where it holds anything else."""
    found, is_whole = context.requests(data)
    return found if is_whole else []


def _renamed(data: bytes, old: bytes, new: bytes, context: FuzzContext, depth: int = 0) -> bytes:
    """Return a write with another name in its requests, and in those that they carry."""
    asked, carriers = _whole(data, context), {type(one): field for one, field in context.carriers}
    for number, one in enumerate(asked):
        changed = {name: new for name in _fields(context) if getattr(one, name, None) == old}
        if (field := carriers.get(type(one))) is not None and depth < DEEPEST:
            changed = {field: _renamed(getattr(one, field), old, new, context, depth + 1)}
        asked[number] = msgspec.structs.replace(one, **changed)
    try:
        return b"".join(map(context.encode, asked)) or data
    except LocalProtocolError:
        return data
