"""Hypothesis strategies derived from layouts: whatever a codec can write, and nothing it cannot.

The one source is `codec.layout(message)`; no strategy names a field, a message or a protocol. Numbers are often at
their boundaries; what a protocol's enums name is mostly one of theirs. Needs the extra `wireproof[fuzz]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache
from itertools import pairwise
from typing import Any

try:
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError("Hypothesis is not installed here: add the extra, wireproof[fuzz]") from error

from wireproof.protocols import Message, Reply, Request
from wireproof.protocols.fields import (
    Absent,
    Blob,
    Flag,
    Kind,
    Nested,
    Raw,
    Repeated,
    Rest,
    Rows,
    Split,
    Terminated,
    UInt,
)

__all__ = ["chunked", "dialogues", "exchanges", "holding", "messages", "replies", "requests", "room"]

LONGEST = 300
"""Longest body drawn: enough to pass the maximum of a size in one byte."""
Names = Mapping[str, type[IntEnum]]


def numbers(kind: UInt) -> st.SearchStrategy[int]:
    """Return numbers of a kind: small ones, those at powers of two, the largest, and any."""
    edges = {0, 1, 2, 7, 60, kind.maximum - 1, kind.maximum, (kind.maximum >> 1) + 1, kind.maximum >> 1}
    return st.sampled_from(sorted(edges)) | st.integers(0, kind.maximum)


def values(kind: Kind, codec: Any) -> st.SearchStrategy[Any]:
    """Return what a field of that kind may hold."""
    match kind:
        case UInt():
            return numbers(kind)
        case Flag():
            return st.booleans()
        case Raw(size):
            return st.binary(min_size=size, max_size=size)
        case Blob(size):
            return st.binary(max_size=min(LONGEST, size.maximum))
        case Rest():
            return st.binary(max_size=LONGEST)
        case Split() | Terminated():
            return st.binary(max_size=LONGEST).map(lambda drawn: drawn.replace(b"\0", b"/"))
        case Rows(part, _) | Repeated(part, _):
            return st.lists(messages(codec, part), max_size=3).map(tuple)
        case Absent():
            return st.just(0)
    raise TypeError(f"{kind!r} is drawn with its request: see exchanges")


@cache
def messages(codec: Any, message: type[Message]) -> st.SearchStrategy[Any]:
    """Return every `message` that the codec can write, other than replies that hold one (see `exchanges`)."""
    return st.builds(message, **{name: values(kind, codec) for name, kind in codec.layout(message).fields})


@st.composite
def exchanges(draw: st.DrawFn, codec: Any, request: type[Request], depth: int = 3) -> tuple[Request, Reply | None]:
    """Draw a `request` and a reply it may get; None when it is never answered."""
    answer = holding(codec, request)
    if answer is None:
        return draw(messages(codec, request)), draw(replies(codec, request))
    carried = [one for one in codec.profile.replies if depth > 0 or holding(codec, one) is None]
    inner, reply = draw(exchanges(codec, draw(st.sampled_from(carried)), depth - 1))
    name, longest = room(codec, request)
    data = codec.encode(inner)
    outer = draw(messages(codec, request))
    fields = {one: getattr(outer, one) for one in outer.__struct_fields__} | {name: data[:longest]}
    if len(data) > longest or draw(st.booleans()):
        return request(**fields), draw(replies(codec, request))
    return request(**fields), answer(reply)


def holding(codec: Any, request: type[Request]) -> type[Reply] | None:
    """Return the reply to `request` that holds the reply to another one; None where there is none."""
    for answer in codec.profile.replies[request]:
        if any(isinstance(kind, Nested) for _, kind in codec.layout(answer).fields):
            found: type[Reply] = answer
            return found
    return None


def room(codec: Any, request: type[Request]) -> tuple[str, int]:
    """Return the field of `request` that carries another one, and how long that may be."""
    name, kind = [(name, kind) for name, kind in codec.layout(request).fields if isinstance(kind, Blob)][-1]
    return name, kind.size.maximum


@cache
def replies(codec: Any, request: type[Request]) -> st.SearchStrategy[Any]:
    """Return the replies that a `request` may get, those left out that hold another one."""
    answers = codec.profile.replies[request]
    if not answers:
        return st.none()
    kept = [answer for answer in answers if answer is not holding(codec, request)]
    return st.one_of([_reply(codec, answer, alone=len(answers) == 1) for answer in kept])


def _reply(codec: Any, answer: type[Reply], *, alone: bool) -> st.SearchStrategy[Any]:
    """A reply that is one flag says no where others say yes by being there."""
    fields = codec.layout(answer).fields
    if not alone and [type(kind) for _, kind in fields] == [Flag]:
        return st.just(answer(**{fields[0][0]: False}))
    return messages(codec, answer)


def chunked(stream: bytes) -> st.SearchStrategy[list[bytes]]:
    """Return ways to cut `stream` into segments."""
    cuts = st.lists(st.integers(0, len(stream)), max_size=6).map(sorted)
    return cuts.map(lambda at: [stream[start:stop] for start, stop in pairwise([0, *at, len(stream)]) if start < stop])


def requests(codec: Any, names: Names, pool: Sequence[bytes], *, depth: int = 1) -> st.SearchStrategy[Request]:
    """Return requests that meet: their bytes come from a small pool mostly, and their enums hold what is in them.

    `names` are the protocol's enums by field; those that carry a request do, up to `depth` levels.
    """
    kinds = list(codec.profile.replies)
    return st.one_of([_meeting(codec, kind, names, tuple(pool), depth) for kind in kinds])


def dialogues(codec: Any, names: Names, pool: Sequence[bytes]) -> st.SearchStrategy[list[Request]]:
    """Return some requests that are about one name: those that call it the same, and some that name nothing."""
    groups: dict[str, list[type[Request]]] = {}
    for kind in codec.profile.replies:
        groups.setdefault(_first_name(codec, kind), []).append(kind)
    nameless = groups.pop("", [])
    found = []
    for group in groups.values():
        for one in pool:
            kin = [_meeting(codec, kind, names, (one,), 0) for kind in group]
            any_of_them = st.one_of(kin)
            others = [_meeting(codec, kind, names, (one,), 0) for kind in nameless]
            mixed = _mostly(any_of_them, st.one_of(others)) if others else any_of_them
            found.append(st.lists(mixed, min_size=4, max_size=16))
    return st.one_of(found)


def _mostly(usual: st.SearchStrategy[Any], rare: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return one of two, the first three times as often; repeated in `one_of`, a strategy would count once."""
    return st.integers(0, 3).flatmap(lambda drawn: rare if drawn == 3 else usual)


def _first_name(codec: Any, kind: type[Request]) -> str:
    """Return the name of the first field of any bytes."""
    return next((name for name, field in codec.layout(kind).fields if isinstance(field, Blob)), "")


def _meeting(
    codec: Any, request: type[Request], names: Names, pool: Sequence[bytes], depth: int
) -> st.SearchStrategy[Request]:
    fields = {name: _met(name, kind, names, pool) for name, kind in codec.layout(request).fields}
    plain = st.builds(request, **fields)
    if holding(codec, request) is None or depth <= 0:
        return plain
    name, longest = room(codec, request)
    inner = requests(codec, names, pool, depth=depth - 1).map(codec.encode).filter(lambda data: len(data) <= longest)
    return plain | st.builds(request, **{**fields, name: inner})


def _met(name: str, kind: Kind, names: Names, pool: Sequence[bytes]) -> st.SearchStrategy[Any]:
    if isinstance(kind, UInt) and name in names:
        usual = st.sampled_from(list(map(int, names[name])))
        return _mostly(usual, numbers(kind))
    if isinstance(kind, Blob):
        fitting = [one for one in pool if len(one) <= kind.size.maximum]
        rare = st.sampled_from(fitting) | st.binary(max_size=min(8, kind.size.maximum))
        return _mostly(st.sampled_from(fitting[:2]), rare)
    return numbers(kind) if isinstance(kind, UInt) else values(kind, None)
