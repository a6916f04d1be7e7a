"""Where a kind of line can stand, and the shortest way there: found by letting both sides say all they may say."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cache
from itertools import product
from typing import Any

from wireproof.protocols import LocalProtocolError, Message, ProtocolError, Request, protocol
from wireproof.protocols.connection import Client, Connection
from wireproof.protocols.fields import Absent, Flag, Kind, Nested, Raw, Repeated, Rows, UInt
from wireproof.protocols.links import Link

__all__ = ["StatePath", "connections_after", "examples", "state_paths"]

StatePath = tuple[Message, ...]
"""What both sides say, in the order in which it is said."""
MOST_EXAMPLES = 32
"""Messages of one class: enums with many names in one message make more."""


@cache
def examples(name: str, profile: str, variant: str) -> Mapping[type[Message], tuple[Message, ...]]:
    """Return a few of each message of a profile: every name of its enums, all else short and plain.

    Messages that hold tables or other messages are left out.
    """
    spoken = protocol(name)
    codec, found = spoken.codec(spoken.profiles[profile], variant), dict[type[Message], tuple[Message, ...]]()
    for message in spoken.profiles[profile].messages.values():
        fields = codec.layout(message).fields
        if not any(isinstance(kind, Rows | Repeated | Nested) for _, kind in fields):
            some = [_values(field, kind, spoken.names) for field, kind in fields]
            made = (message(**dict(zip([field for field, _ in fields], values, strict=True))) for values in _few(some))
            found[message] = tuple(one for one in made if _is_written(codec, one))
    return found


def _few(some: Sequence[Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    for number, values in enumerate(product(*some)):
        if number == MOST_EXAMPLES:
            return
        yield values


def _values(field: str, kind: Kind, names: Mapping[str, type[IntEnum]]) -> Sequence[Any]:
    if field in names:
        return [int(one) for one in names[field]]
    match kind:
        case UInt():
            return [1]
        case Flag():
            return [True, False]
        case Raw(size):
            return [b"\1" * size]
        case Absent():
            return [0]
    return [b"a"]


def _is_written(codec: Any, message: Message) -> bool:
    try:
        codec.encode(message)
    except LocalProtocolError:
        return False
    return True


def connections_after(
    link: Link, codec: Any, path: StatePath, *, max_frame: int = 1 << 20
) -> tuple[Client, Connection]:
    """Return both sides of a line after what is said in `way`; `ProtocolError` when it cannot be said."""
    client, server = link.client(codec, max_frame=max_frame), link.server(codec, max_frame=max_frame)
    for message in path:
        if isinstance(message, Request):
            server.receive_data(client.send(message))
            if server.next_event() != message:
                raise LookupError(f"{message.NAME} is read as something else")
        else:
            client.receive_data(server.send(message))
            client.next_event()
    return client, server


@cache
def state_paths(name: str, profile: str, variant: str, link_name: str) -> tuple[StatePath, ...]:
    """Return the shortest way to each state that a line's server may come into, the first of no words.

    Answered ways are preferred; a line without states has one.
    """
    spoken = protocol(name)
    link, codec = spoken.links[link_name], spoken.codec(spoken.profiles[profile], variant)
    known, answers = examples(name, profile, variant), spoken.profiles[profile].replies
    usual = link.opening()
    asked = {kind: (*(one for one in usual if type(one) is kind), *known.get(kind, ())) for kind in answers}
    found: dict[Any, StatePath] = {_state(link, codec, ()): ()}
    ahead: deque[StatePath] = deque([()])
    while ahead:
        path = ahead.popleft()
        steps = ((request, replies) for kind, replies in answers.items() for request in asked[kind])
        for request, replies in steps:
            for longer in _answered(link, codec, (*path, request), replies, known):
                state = _state(link, codec, longer)
                if state not in found:
                    found[state] = longer
                    ahead.append(longer)
    return tuple(found.values())


def _answered(
    link: Link,
    codec: Any,
    path: StatePath,
    answers: Sequence[type[Message]],
    known: Mapping[type[Message], Sequence[Message]],
) -> Iterator[StatePath]:
    """Yield a way with each answer that the last request may get, then without one; nothing if it cannot be said."""
    if not _is_legal(link, codec, path):
        return
    for reply in (one for kind in answers for one in known.get(kind, ())):
        if _is_legal(link, codec, (*path, reply)):
            yield (*path, reply)
    yield path


def _is_legal(link: Link, codec: Any, path: StatePath) -> bool:
    try:
        connections_after(link, codec, path)
    except (ProtocolError, LookupError):
        return False
    return True


def _state(link: Link, codec: Any, path: StatePath) -> Any:
    return getattr(connections_after(link, codec, path)[1], "state", None)
