"""Two conversations of the vectors on one server: the second is about the names of the first.

A case shows one thing at a time. What two of them do together, such as a change of a queue that holds what another case
puts there, is drawn so, and no draw of single requests gives it as often.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any

import msgspec

from wireproof.fuzz.store_steps import ConnectStep, DisconnectStep, RequestStep, Step
from wireproof.protocols import Message, Request

__all__ = ["in_turns", "namespace_of", "renamed", "spliced"]

NAMESPACE = re.compile(rb"v-[0-9a-f]{6}")
"""What the names of a case begin with."""
Greeting = Callable[[str], Container[type[Request]]]
"""The name of a link -> the requests that begin a connection there."""


def namespace_of(steps: Sequence[Step]) -> bytes:
    """Return what the names of a conversation begin with; nothing where it has no names."""
    asked = (request for step in steps if isinstance(step, RequestStep) for request in step.requests)
    return next((found[0] for one in asked for text in _texts(one) if (found := NAMESPACE.search(text))), b"")


def renamed(steps: Sequence[Step], old: bytes, new: bytes) -> Iterator[Step]:
    """Yield steps with names that begin with `new` instead of `old`; the same ones where either is empty."""
    for step in steps:
        if isinstance(step, RequestStep) and old and new:
            yield RequestStep(step.connection, tuple(_replaced(one, old, new) for one in step.requests))
        else:
            yield step


def in_turns(first: Sequence[Step], second: Sequence[Step], turns: int) -> Iterator[tuple[bool, Step]]:
    """Yield the steps of both, each with whether it is of the second: where a bit of `turns` is set, in a circle of 8.

    What one has more comes last; 0: the second begins once the first is over.
    """
    waiting = (iter(first), iter(second))
    left = [len(first), len(second)]
    for place in range(sum(left)):
        wanted = turns >> place % 8 & 1
        which = wanted if left[wanted] else 1 - wanted
        left[which] -= 1
        yield bool(which), next(waiting[which])


def spliced(first: Sequence[Step], second: Sequence[Step], turns: int, greets: Greeting) -> Iterator[Step]:
    """Yield both conversations in turns (see `in_turns`); connections of one name and link are one connection.

    Who uses a connection that the other one has opened leaves its greeting out.
    """
    lines: dict[str, tuple[bool, str]] = {}
    mine = tuple(renamed(second, namespace_of(second), namespace_of(first)))
    for is_second, step in in_turns(first, mine, turns):
        name = getattr(step, "connection", "")
        if isinstance(step, ConnectStep):
            if name in lines:
                continue
            lines[name] = is_second, step.link
        elif isinstance(step, DisconnectStep):
            lines.pop(name, None)
        elif isinstance(step, RequestStep) and name in lines and lines[name][0] is not is_second:
            usual = greets(lines[name][1])
            step = RequestStep(name, tuple(one for one in step.requests if type(one) not in usual))
        yield step


def _texts(value: Any) -> Iterator[bytes]:
    """Yield the bytes in a message, in rows, too."""
    if isinstance(value, bytes):
        yield value
    for one in value if isinstance(value, tuple) else _fields(value).values():
        yield from _texts(one)


def _replaced(value: Any, old: bytes, new: bytes) -> Any:
    if isinstance(value, bytes):
        return value.replace(old, new)
    if isinstance(value, tuple):
        return tuple(_replaced(one, old, new) for one in value)
    changed = {name: _replaced(one, old, new) for name, one in _fields(value).items()}
    return msgspec.structs.replace(value, **changed) if changed else value


def _fields(value: object) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__struct_fields__} if isinstance(value, Message) else {}
