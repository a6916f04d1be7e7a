"""Places in a script for what a server tells anew each time and wants to hear again: ids, tokens.

A place stands for what was told last on one connection, and has the size of what it stands for. It is filled when the
script is played; where nothing was told it is sent as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from zlib import crc32

from wireproof.conformance.model.actions import Action, Open, Read, Shut, Write
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.fuzz.connection_reader import Following
from wireproof.fuzz.script import Script
from wireproof.protocols import Message

__all__ = ["SHORTEST", "TokenSubstitution", "has_placeholders", "on_other_connections", "placeholder", "tokens_in"]

PLACEHOLDER = re.compile(rb"=echo:[0-9a-f]{8}=*")
SHORTEST = 14
"""Bytes of what a place can stand for."""
Fields = frozenset[tuple[str, int]]
"""Name and size of what is told and asked for again."""


def placeholder(connection: str, size: int) -> bytes:
    """Return what stands for the bytes that were told on a connection."""
    return (b"=echo:%08x" % crc32(connection.encode())).ljust(size, b"=")


def has_placeholders(script: Script) -> bool:
    """Say whether anything is to be filled."""
    return any(isinstance(step, Write) and PLACEHOLDER.search(step.data) for step in script)


def on_other_connections(script: Iterable[Action], name: Callable[[str], str]) -> list[Action]:
    """Return the steps on connections of other names, what was told on them with them."""
    steps = list(script)
    names = {step.connection for step in steps if isinstance(step, Open | Write | Read | Shut)}
    heads = {placeholder(one, SHORTEST): placeholder(name(one), SHORTEST) for one in names}
    return [_on_other_connection(step, name, heads) for step in steps]


def _on_other_connection(step: Action, name: Callable[[str], str], heads: dict[bytes, bytes]) -> Action:
    def other(found: re.Match[bytes]) -> bytes:
        head, rest = found[0][:SHORTEST], found[0][SHORTEST:]
        return heads.get(head, head) + rest

    if isinstance(step, Write) and PLACEHOLDER.search(step.data):
        step = replace(step, data=PLACEHOLDER.sub(other, step.data))
    return replace(step, connection=name(step.connection)) if isinstance(step, Open | Write | Read | Shut) else step


def tokens_in(message: Message, fields: Fields) -> list[bytes]:
    """Return what a message tells that may be asked for again."""
    found = [(name, getattr(message, name)) for name in message.__struct_fields__]
    return [value for name, value in found if isinstance(value, bytes) and (name, len(value)) in fields]


class TokenSubstitution:
    """What was told in one play; fills places as it goes on."""

    def __init__(self, following: Callable[[str], Following], fields: Fields) -> None:
        """`following` makes what reads a line of a link."""
        self._following = following
        self._fields = fields
        self._lines: dict[str, Following] = {}
        self._values: dict[bytes, bytes] = {}

    def see(self, event: TraceEvent) -> None:
        """Take the next event of the play."""
        if event.kind is Kind.OPENED:
            self._lines[event.connection] = self._following(event.link)
        elif event.kind is Kind.SENT and event.connection in self._lines:
            self._lines[event.connection].sent(event.data)
        elif event.kind is Kind.RECEIVED and event.connection in self._lines:
            for message in self._lines[event.connection].came(event.data):
                for value in tokens_in(message, self._fields):
                    self._values[placeholder(event.connection, len(value))] = value

    def substituted(self, data: bytes) -> bytes:
        """Return what is to be written: each place filled with what was told there."""
        for one, value in self._values.items():
            data = data.replace(one, value)
        return data
