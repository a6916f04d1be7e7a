"""The seeds of the store's fuzz target: conversations and exchanges of the vectors, and random bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

from msgspec.structs import replace

from wireproof.conformance.run.reference_target import keeps_anything
from wireproof.fuzz.conversation_steps import conversation_steps
from wireproof.fuzz.decisions import BRIEF_WAITS, WAITS
from wireproof.fuzz.drawn_requests import rows_of
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.replayed_conversations import (
    CHANGED,
    ENDS,
    ENDS_HELD,
    KILLED_FIRST,
    LACKING,
    MANY,
    OTHER_CASE,
    TOGETHER,
    WITH_NEXT,
)
from wireproof.fuzz.seeds import exchanges
from wireproof.fuzz.store_input import (
    KINDS,
    LINKED_SERVERS,
    RECORDED,
    SMALL,
    SPLICED,
    UNTIL_DUE,
    WAIT,
    WAITS_HELD,
    contexts,
)
from wireproof.fuzz.store_steps import RequestStep, Step
from wireproof.protocols import Request
from wireproof.reference_server.registry import linked_servers_of

__all__ = ["BEFORE_EXPIRY", "CHANGED_SINCE", "EXPIRED", "LARGE", "LONG_AFTER", "seeds"]

SEED_SIZE, DRAWN_SEEDS = 400, 300
LINKED_SIZE, LINKED_SEEDS = 48, 12
LAST = 3
"""Steps at the end of a conversation of which one is done many times."""
CHANGED_PLACES = frozenset({1, 2, 4, 7, 11, 16, 22, 29, 37, 46, 56, 67})
"""The occurrences of a request, over all conversations, in which each of its fields is changed."""
EXPIRED, CHANGED_SINCE = bytes([UNTIL_DUE | 1 << 3, 1]), bytes([UNTIL_DUE, 2])
"""Waits for the second of the instants ahead, which is the first expiry, and for a nanosecond after the first one."""
BEFORE_EXPIRY, NEXT_INSTANT = bytes([UNTIL_DUE | 1 << 3, 0]), bytes([UNTIL_DUE, 1])
"""Waits until a nanosecond before the first expiry, and for the first instant ahead."""
LARGE, LARGE_TIMES = 200, 16
"""Bytes of a long value, which fit into any width, and how often it is sent."""
TURNS = (0, 0, 0, 0b10101010, 0b11001100)
"""When steps are of the other conversation: after all of the first one, or in turns."""
WAYS = (b"", b"", bytes([WITH_NEXT]) * 40, bytes([TOGETHER]) * 40)
WAIT_KIND = KINDS.index(WAIT)
LONG_AFTER = bytes([WAIT, WAITS.index(61_000_000_000)]) * 2
"""Waits for more than two minutes."""
SOON = WAITS.index(250_000_000)


def seeds(name: str) -> Iterator[bytes]:
    """Yield every exchange of the vectors as an input, sent on two connections in turn.

    Where bytes draw requests: inputs of random bytes, the same ones each time.
    """
    for number, context in enumerate(contexts(name)):
        changed = Counter[object]()
        for at, steps in enumerate(conversation_steps(context.name, context.profile, context.variant)):
            head = bytes([RECORDED | number | _small(at + number)]) + at.to_bytes(2, "little")
            yield head
            if any(rows_of(one) for step in steps[1:] if isinstance(step, RequestStep) for one in step.requests):
                yield head + bytes([0, *[OTHER_CASE] * (len(steps) - 1)])
            yield from _ended_otherwise(context, head, len(steps), at)
            yield from _begun_otherwise(context, head, steps, at)
            yield from _many_times(context, head, steps, at)
            yield from _ended_with_a_request(head, steps, at)
            yield from _at_once(head, steps, at)
            if (at + number) % max(1, len(contexts(name)) // 2) == 0:
                yield _spliced(context, head)
            if (at + number) % len(contexts(name)) == 0:
                yield from _changed(context, head, steps, changed)
        if context.by_state:
            source = Random(f"store {name} {number}")
            drawn = (bytes([number | _small(at)]) + source.randbytes(SEED_SIZE) for at in range(DRAWN_SEEDS))
            yield from drawn
            yield from _of_linked_servers(name, number)
            continue
        for at, one in enumerate(exchanges(name, context.profile, context.variant)):
            written = [bytes([(turn & 1) << 3]) + context.encode(request) for turn, request in enumerate(one.asked)]
            asked = b"".join(written)
            yield bytes([number | _small(at + number)]) + asked
            if written:
                yield bytes([number]) + asked + _again(at, written)
            if written and at % 8 == 1:  # more than a server with low limits lets wait, though nothing waits
                yield bytes([number | SMALL]) + asked + (written[-1][:1] + _large(context, one.asked[-1])) * LARGE_TIMES


def _of_linked_servers(name: str, number: int) -> Iterator[bytes]:
    """Yield inputs for servers that are linked, where a protocol has such: each kind of turn, then drawn ones."""
    if linked_servers_of(name) is not None:
        source = Random(f"linked {name} {number}")
        yield bytes([number | LINKED_SERVERS, *(one for kind in range(8) for one in (kind, 0, kind, 9))])
        yield from (bytes([number | LINKED_SERVERS]) + source.randbytes(LINKED_SIZE) for _ in range(LINKED_SEEDS))


def _ended_otherwise(context: FuzzContext, head: bytes, steps: int, at: int) -> Iterator[bytes]:
    """Yield a conversation in which the server is started again, or a client takes nothing while time passes."""
    if keeps_anything(context.name):  # before the last step, and with room for more after it
        yield head + bytes(steps - 1) + bytes([KILLED_FIRST - at % 2])
    if context.by_state and at % 2 == 0:
        which = WAITS_HELD + at // 2 % (16 - WAITS_HELD)
        yield head + bytes(steps) + bytes([WAIT_KIND | which << 4, at % len(BRIEF_WAITS)])


def _begun_otherwise(context: FuzzContext, head: bytes, steps: Sequence[Step], at: int) -> Iterator[bytes]:
    """Yield a conversation whose first requests lack one, such as the second half of a greeting."""
    first = next((place for place, step in enumerate(steps) if isinstance(step, RequestStep)), None)
    if context.by_state and at % 4 == 0 and first is not None:
        yield head + bytes(first) + bytes([LACKING, 1])


def _many_times(context: FuzzContext, head: bytes, steps: Sequence[Step], at: int) -> Iterator[bytes]:
    """Yield a conversation in which one of the last requests is sent many times."""
    places = [place for place, step in enumerate(steps) if isinstance(step, RequestStep)][-LAST:]
    if context.by_state and at % 16 == 5:
        yield head + bytes(places[at // 16 % len(places)]) + bytes([MANY])


def _ended_with_a_request(head: bytes, steps: Sequence[Step], at: int) -> Iterator[bytes]:
    """Yield a conversation in which a client ends its side with one of its last requests, held or not."""
    if at % 4 == 1:
        places = [place for place, step in enumerate(steps) if isinstance(step, RequestStep)][-LAST:]
        for number, place in enumerate(places, at // 8):
            lead = bytes([head[0] & ~SMALL | SMALL * (number % 3 == 0)])
            yield lead + head[1:] + bytes(place) + bytes([ENDS_HELD if number % 4 == 3 else ENDS])


def _at_once(head: bytes, steps: Sequence[Step], at: int) -> Iterator[bytes]:
    """Yield a conversation whose requests come with the next ones of a connection, or in one turn with others."""
    if at % 4 < 2 and len(steps) > 2:
        yield head + bytes([WITH_NEXT if at % 4 else TOGETHER] * len(steps))


def _spliced(context: FuzzContext, head: bytes) -> bytes:
    """Return a conversation that another one goes on with, or takes turns with, some of it at once."""
    source = Random(f"spliced {head.hex()}")
    others = len(conversation_steps(context.name, context.profile, context.variant))
    chosen = source.randrange(others).to_bytes(2, "little") + bytes([source.choice(TURNS)])
    return bytes([head[0] | SPLICED]) + head[1:] + chosen + source.choice(WAYS)


def _again(number: int, written: Sequence[bytes]) -> bytes:
    """Return when an exchange, or its last request, is sent again, and when once more."""
    asked, last = b"".join(written), written[-1]
    ways = (
        b"".join(one * 2 for one in written) + LONG_AFTER + asked,  # each request twice, and all after minutes
        EXPIRED + asked + bytes([WAIT, SOON]) + asked,  # at the expiry, which has not been noticed yet, and soon after
        BEFORE_EXPIRY + last + NEXT_INSTANT + last,  # a nanosecond before the expiry, and at it
        asked + CHANGED_SINCE + asked + CHANGED_SINCE + asked,  # before what is shown changes, and right after it
    )
    return LONG_AFTER + last if number % 2 else ways[number // 2 % len(ways)]  # after minutes without a request


def _large(context: FuzzContext, request: Request) -> bytes:
    """Return a request whose last field of any bytes is long, if it has one."""
    names = context.blobs(request)
    return context.encode(replace(request, **{names[-1]: b"l" * LARGE}) if names else request)


def _small(number: int) -> int:
    """Return the bit of a server with low limits for every other seed."""
    return SMALL * (number & 1)


def _changed(context: FuzzContext, head: bytes, steps: Sequence[Step], known: Counter[object]) -> Iterator[bytes]:
    """Yield a conversation with one field of one request changed, for requests and fields of which few are `known`."""
    source = Random(f"changed {head.hex()}")
    for at, step in enumerate(steps):
        for which, request in enumerate(step.requests if isinstance(step, RequestStep) else ()):
            for field in range(len(context.symbols.codec.layout(type(request)).fields)):
                known[type(request), field] += 1
                if known[type(request), field] in CHANGED_PLACES and which < 256:
                    yield head + bytes(at) + bytes([CHANGED, which, field]) + source.randbytes(2)
