"""Hypothesis strategies derived from layouts: every message that a codec can write, and nothing else.

The only source is `codec.layout(message)`; no strategy names a field, a message or a protocol. Numbers are often
boundary values; values of enums are mostly named ones. Needs the extra `wireproof[fuzz]`.
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
    raise ImportError("Hypothesis is not installed: python -m pip install 'wireproof[fuzz]'") from error

from wireproof.fuzz.codec_interface import CodecInterface
from wireproof.protocols import Message, Reply, Request
from wireproof.protocols.fields import (
    Absent,
    Atom,
    Blob,
    Constant,
    Flag,
    Json,
    JsonRows,
    Kind,
    Lines,
    Nested,
    Raw,
    Repeated,
    Rest,
    Rows,
    Split,
    Terminated,
    UInt,
    Word,
)
from wireproof.protocols.sexp_messages import settled

__all__ = ["chunked", "dialogues", "exchanges", "holding", "messages", "replies", "requests", "room"]

LONGEST = 300
"""Longest body drawn: more than the maximum of a one-byte size."""
LINE_NAMES = st.binary(min_size=1, max_size=20).map(lambda drawn: drawn.replace(b"\r", b"/").replace(b":", b"/"))
LINE_VALUES = st.binary(max_size=60).map(lambda drawn: drawn.replace(b"\r", b"/"))
MEMBERS: Mapping[str, st.SearchStrategy[Any]] = {
    "text": st.text(max_size=40).map(str.encode),
    "number": st.integers(0, 1 << 62),
    "flag": st.booleans(),
    "numbers": st.lists(st.integers(0, 1 << 16), max_size=4).map(tuple),
}
"""Form of a member of a JSON object -> its values beside None."""
Names = Mapping[str, type[IntEnum]]


def numbers(kind: UInt | Atom | Word) -> st.SearchStrategy[int]:
    """Return integers that fit `kind`: boundary values and any others."""
    low, high = kind.minimum, kind.maximum
    edges = {low, 0, 1, 2, 7, 60, high - 1, high, (high >> 1) + 1, high >> 1}
    return st.sampled_from(sorted(one for one in edges if low <= one <= high)) | st.integers(low, high)


def values(kind: Kind, codec: CodecInterface) -> st.SearchStrategy[object]:
    """Return the values that a field of `kind` may hold. Raises `TypeError` for kinds that depend on the request."""
    match kind:
        case Constant() | Lines() | Json() | JsonRows() | Atom("text"):
            return _special(kind, codec)
        case UInt() | Word() | Atom():
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
    raise TypeError(f"{kind!r} is drawn together with its request, by exchanges()")


def _special(kind: Constant | Lines | Json | JsonRows | Atom, codec: CodecInterface) -> st.SearchStrategy[object]:
    match kind:
        case Atom():
            return st.binary(max_size=LONGEST)
        case Constant():
            return st.just(0)
        case Lines(row):
            return st.lists(st.builds(row, LINE_NAMES, LINE_VALUES), max_size=3).map(tuple)
        case Json(form):
            return st.none() | MEMBERS[form]
        case JsonRows(part):
            return st.lists(messages(codec, part), max_size=3).map(tuple)


@cache
def messages(codec: CodecInterface, message: type[Message]) -> st.SearchStrategy[Any]:
    """Return every `message` that the codec can write, except replies that hold another reply (see `exchanges`)."""
    layout = codec.layout(message)
    made = st.builds(message, **{name: values(kind, codec) for name, kind in layout.fields})
    return made.map(lambda drawn: settled(layout, drawn)) if layout.is_sexp else made


@st.composite
def exchanges(
    draw: st.DrawFn, codec: CodecInterface, request: type[Request], depth: int = 3
) -> tuple[Request, Reply | None]:
    """Draw a `request` and a reply to it; None if it has no reply. `depth` limits nested requests."""
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


def holding(codec: CodecInterface, request: type[Request]) -> type[Reply] | None:
    """Return the class of the reply to `request` that holds the reply to another request; None if there is none."""
    for answer in codec.profile.replies[request]:
        if any(isinstance(kind, Nested) for _, kind in codec.layout(answer).fields):
            found: type[Reply] = answer
            return found
    return None


def room(codec: CodecInterface, request: type[Request]) -> tuple[str, int]:
    """Return the name and the largest size in bytes of the field of `request` that carries another request."""
    name, kind = [(name, kind) for name, kind in codec.layout(request).fields if isinstance(kind, Blob)][-1]
    return name, kind.size.maximum


@cache
def replies(codec: CodecInterface, request: type[Request]) -> st.SearchStrategy[Any]:
    """Return the replies that a `request` may get, except those that hold another reply."""
    answers = codec.profile.replies[request]
    if not answers:
        return st.none()
    kept = [answer for answer in answers if answer is not holding(codec, request)]
    return st.one_of([_reply(codec, answer, alone=len(answers) == 1) for answer in kept])


def _reply(codec: CodecInterface, answer: type[Reply], *, alone: bool) -> st.SearchStrategy[Any]:
    """Return one kind of reply; a reply of one flag is false where other replies mean success."""
    fields = codec.layout(answer).fields
    if not alone and [type(kind) for _, kind in fields] == [Flag]:
        return st.just(answer(**{fields[0][0]: False}))
    return messages(codec, answer)


def chunked(stream: bytes) -> st.SearchStrategy[list[bytes]]:
    """Return lists of segments that join to `stream`."""
    cuts = st.lists(st.integers(0, len(stream)), max_size=6).map(sorted)
    return cuts.map(lambda at: [stream[start:stop] for start, stop in pairwise([0, *at, len(stream)]) if start < stop])


def requests(
    codec: CodecInterface, names: Names, pool: Sequence[bytes], *, depth: int = 1
) -> st.SearchStrategy[Request]:
    """Return requests that concern the same few names: their bytes come mostly from `pool`.

    `names` maps fields to enums. Requests that carry a request do so up to `depth` levels.
    """
    kinds = list(codec.profile.replies)
    return st.one_of([_related(codec, kind, names, tuple(pool), depth) for kind in kinds])


def dialogues(codec: CodecInterface, names: Names, pool: Sequence[bytes]) -> st.SearchStrategy[list[Request]]:
    """Return lists of requests about one name: requests that share a name field, and some without any."""
    groups: dict[str, list[type[Request]]] = {}
    for kind in codec.profile.replies:
        groups.setdefault(_first_name(codec, kind), []).append(kind)
    nameless = groups.pop("", [])
    found = []
    for group in groups.values():
        for one in pool:
            candidates = [_related(codec, kind, names, (one,), 0) for kind in group]
            related = st.one_of(candidates)
            others = [_related(codec, kind, names, (one,), 0) for kind in nameless]
            mixed = _mostly(related, st.one_of(others)) if others else related
            found.append(st.lists(mixed, min_size=4, max_size=16))
    return st.one_of(found)


def _mostly(usual: st.SearchStrategy[Any], rare: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return one of two strategies, the first three times as often; `one_of` would count a repeated one once."""
    return st.integers(0, 3).flatmap(lambda drawn: rare if drawn == 3 else usual)


def _first_name(codec: CodecInterface, kind: type[Request]) -> str:
    """Return the name of the first field of any bytes, "" if there is none."""
    return next((name for name, field in codec.layout(kind).fields if isinstance(field, Blob) or _is_text(field)), "")


def _is_text(kind: Kind) -> bool:
    return isinstance(kind, Atom) and kind.form == "text"


def _related(
    codec: CodecInterface, request: type[Request], names: Names, pool: Sequence[bytes], depth: int
) -> st.SearchStrategy[Request]:
    layout = codec.layout(request)
    fields = {name: _field_values(name, kind, codec, names, pool) for name, kind in layout.fields}
    plain = st.builds(request, **fields)
    plain = plain.map(lambda drawn: settled(layout, drawn)) if layout.is_sexp else plain
    if holding(codec, request) is None or depth <= 0:
        return plain
    name, longest = room(codec, request)
    inner = requests(codec, names, pool, depth=depth - 1).map(codec.encode).filter(lambda data: len(data) <= longest)
    return plain | st.builds(request, **{**fields, name: inner})


def _field_values(
    name: str, kind: Kind, codec: CodecInterface, names: Names, pool: Sequence[bytes]
) -> st.SearchStrategy[object]:
    if isinstance(kind, UInt | Word) and name in names:
        usual = st.sampled_from(list(map(int, names[name])))
        return _mostly(usual, numbers(kind))
    if isinstance(kind, Blob):
        fitting = [one for one in pool if len(one) <= kind.size.maximum]
        rare = st.sampled_from(fitting) | st.binary(max_size=min(8, kind.size.maximum))
        return _mostly(st.sampled_from(fitting[:2]), rare)
    if _is_text(kind):
        return _mostly(st.sampled_from(pool[:2]), st.sampled_from(pool) | st.binary(max_size=8))
    return numbers(kind) if isinstance(kind, UInt) else values(kind, codec)
