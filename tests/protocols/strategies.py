"""Hypothesis strategies derived from layouts: whatever a codec can write, and nothing it cannot.

The one source is `codec.layout(message)`; no strategy names a field.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from protocols import Message, Reply, Request
from protocols.fields import Absent, Blob, Flag, Kind, Raw, Repeated, Rows, UInt
from protocols.throttr.codec import Codec
from protocols.throttr.replies import EventReply, Status
from protocols.throttr.requests import Event

LONGEST = 300
"""Longest body drawn: enough to pass the maximum of a size in one byte."""


def values(kind: Kind, codec: Codec) -> st.SearchStrategy[Any]:
    """Return what a field of that kind may hold."""
    match kind:
        case UInt():
            return st.sampled_from([0, 1, kind.maximum]) | st.integers(0, kind.maximum)
        case Flag():
            return st.booleans()
        case Raw(size):
            return st.binary(min_size=size, max_size=size)
        case Blob(size):
            return st.binary(max_size=min(LONGEST, size.maximum))
        case Rows(part, _) | Repeated(part, _):
            return st.lists(messages(codec, part), max_size=3).map(tuple)
        case Absent():
            return st.just(0)
    raise TypeError(f"{kind!r} is drawn with its request: see exchanges")


@cache
def messages(codec: Codec, message: type[Message]) -> st.SearchStrategy[Any]:
    """Return every `message` that the codec can write."""
    return st.builds(message, **{name: values(kind, codec) for name, kind in codec.layout(message).fields})


@st.composite
def exchanges(draw: st.DrawFn, codec: Codec, request: type[Request], depth: int = 3) -> tuple[Request, Reply | None]:
    """Draw a `request` and a reply it may get; None when it is never answered."""
    if request is Event:
        return draw(events(codec, depth))
    return draw(messages(codec, request)), draw(replies(codec, request))


@cache
def replies(codec: Codec, request: type[Request]) -> st.SearchStrategy[Any]:
    """Return the replies that a `request` other than EVENT may get."""
    answers = codec.profile.replies[request]
    if not answers:
        return st.none()
    return st.one_of([_reply(codec, answer, alone=len(answers) == 1) for answer in answers])


def _reply(codec: Codec, answer: type[Reply], *, alone: bool) -> st.SearchStrategy[Any]:
    return st.just(Status(False)) if answer is Status and not alone else messages(codec, answer)


@st.composite
def events(draw: st.DrawFn, codec: Codec, depth: int) -> tuple[Request, Reply]:
    """Draw an EVENT that carries a request, another EVENT perhaps, and its reply."""
    carried = [request for request in codec.profile.replies if depth > 0 or request is not Event]
    inner, reply = draw(exchanges(codec, draw(st.sampled_from(carried)), depth - 1))
    payload = codec.encode(inner)
    longest = dict(codec.layout(Event).fields)["payload"].size.maximum
    refused = len(payload) > longest or draw(st.booleans())
    event = draw(messages(codec, Event))
    channel, carried_bytes = event.channel, payload[:longest]
    return Event(channel, carried_bytes), Status(False) if refused else EventReply(reply)


def chunked(stream: bytes) -> st.SearchStrategy[list[bytes]]:
    """Return ways to cut `stream` into segments."""
    cuts = st.lists(st.integers(0, len(stream)), max_size=6).map(sorted)
    return cuts.map(lambda at: [stream[a:b] for a, b in zip([0, *at], [*at, len(stream)], strict=True) if a < b])
