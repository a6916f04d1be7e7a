"""The states that a connection of a link can reach, and a shortest message path to each of them.

Not built on `protocols/dissect.py`: a path is legal only if both sides may send it, and its users continue with the two
connections, so messages are played here, not read.
"""

# How the paths are found: breadth-first search over message sequences, with the codec and connection classes as the
# only source. No list of states exists anywhere else, so a protocol package that adds a state is covered at once.
#
# 1. `examples` builds a few messages of each class: every member of its enums, all other fields short and plain.
#    Messages that hold tables or other messages are left out.
# 2. The search begins with the empty path. Each round takes a path from the queue and appends every example of every
#    request; requests of the link's handshake come first, because they are known to be valid.
# 3. A path is legal if both sides can play it: `connections_after` encodes each message on one side, decodes it on
#    the other, and compares. A side that raises makes the path illegal, and it is dropped.
# 4. A legal path is tried with each reply that the request may get and then without a reply. Answered paths come
#    first: where both lead to the same state, the connection without pending requests is the better place to start.
# 5. The state is the `state` attribute of the server's connection. A state that is not known yet keeps its path, and
#    the path joins the queue; a known one is dropped, so each state has one path and it is a shortest one.
#
# Paths are tuples of messages, not of connections: each user plays them on connections of its own. A link without
# states has one path, the empty one. The result is cached for each protocol, profile, variant and link.

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cache
from itertools import product

from wireproof.fuzz.codec_interface import CodecInterface
from wireproof.protocols import LocalProtocolError, Message, ProtocolError, Request, protocol
from wireproof.protocols.connection import Client, Connection
from wireproof.protocols.fields import (
    Absent,
    Atom,
    Constant,
    Flag,
    Json,
    JsonRows,
    Kind,
    Lines,
    Nested,
    Raw,
    Repeated,
    Rows,
    UInt,
)
from wireproof.protocols.links import Link

__all__ = ["StatePath", "connections_after", "examples", "state_paths"]

StatePath = tuple[Message, ...]
"""Messages of both sides in the order in which they are sent."""
MOST_EXAMPLES = 32
"""Most examples of one message class; several enums in one message would make more."""


@cache
def examples(name: str, profile: str, variant: str) -> Mapping[type[Message], tuple[Message, ...]]:
    """Return a few examples of each message of a profile: every member of its enums, other fields short.

    Messages that hold tables or other messages are left out.
    """
    spoken = protocol(name)
    codec, found = spoken.codec(spoken.profiles[profile], variant), dict[type[Message], tuple[Message, ...]]()
    for message in spoken.profiles[profile].messages.values():
        fields, tables = codec.layout(message).fields, Rows | Repeated | Nested | Json | JsonRows
        if not any(isinstance(kind, tables) and not isinstance(kind, Lines) for _, kind in fields):
            some = [_values(field, kind, spoken.names) for field, kind in fields]
            made = (message(**dict(zip([field for field, _ in fields], values, strict=True))) for values in _few(some))
            found[message] = tuple(one for one in made if _is_written(codec, one))
    return found


def _few(some: Sequence[Sequence[object]]) -> Iterator[tuple[object, ...]]:
    for number, values in enumerate(product(*some)):
        if number == MOST_EXAMPLES:
            return
        yield values


def _values(field: str, kind: Kind, names: Mapping[str, type[IntEnum]]) -> Sequence[object]:
    if field in names and not isinstance(kind, Constant):
        return [int(one) for one in names[field]]
    match kind:
        case Constant():
            return [0]
        case UInt() | Atom("number" | "time"):
            return [1]
        case Flag():
            return [True, False]
        case Raw(size):
            return [b"\1" * size]
        case Lines():
            return [()]
        case Absent():
            return [0]
    return [b"a"]


def _is_written(codec: CodecInterface, message: Message) -> bool:
    try:
        codec.encode(message)
    except LocalProtocolError:
        return False
    return True


def connections_after(
    link: Link, codec: CodecInterface, path: StatePath, *, max_frame: int = 1 << 20
) -> tuple[Client, Connection]:
    """Return the client and server connection after the messages of `path`.

    Raises `ProtocolError` if a side refuses a message, `LookupError` if the other side reads a request as another one.
    """
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
    """Return a shortest path to each state of a link's server; the first one is empty.

    Paths whose requests are answered are preferred.
    """
    spoken = protocol(name)
    link, codec = spoken.links[link_name], spoken.codec(spoken.profiles[profile], variant)
    known, answers = examples(name, profile, variant), spoken.profiles[profile].replies
    usual = link.handshake()
    asked = {kind: (*(one for one in usual if type(one) is kind), *known.get(kind, ())) for kind in answers}
    found: dict[object, StatePath] = {_state(link, codec, ()): ()}
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
    codec: CodecInterface,
    path: StatePath,
    answers: Sequence[type[Message]],
    known: Mapping[type[Message], Sequence[Message]],
) -> Iterator[StatePath]:
    """Yield `path` with each reply that its last request may get, then without one; nothing if it is illegal."""
    if not _is_legal(link, codec, path):
        return
    for reply in (one for kind in answers for one in known.get(kind, ())):
        if _is_legal(link, codec, (*path, reply)):
            yield (*path, reply)
    yield path


def _is_legal(link: Link, codec: CodecInterface, path: StatePath) -> bool:
    try:
        connections_after(link, codec, path)
    except (ProtocolError, LookupError):
        return False
    return True


def _state(link: Link, codec: CodecInterface, path: StatePath) -> object:
    return getattr(connections_after(link, codec, path)[1], "state", None)
