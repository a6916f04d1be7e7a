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
from wireproof.fuzz.script import Script
from wireproof.protocols import Message, Role
from wireproof.protocols.dissect import Dissection

__all__ = ["SHORTEST", "Echoes", "has_places", "moved", "place", "told_in"]

PLACE = re.compile(rb"=echo:[0-9a-f]{8}=*")
SHORTEST = 14
"""Bytes of what a place can stand for."""
Fields = frozenset[tuple[str, int]]
"""Name and size of what is told and asked for again."""


def place(connection: str, size: int) -> bytes:
    """Return what stands for the bytes that were told on a connection."""
    return (b"=echo:%08x" % crc32(connection.encode())).ljust(size, b"=")


def has_places(script: Script) -> bool:
    """Say whether anything is to be filled."""
    return any(isinstance(step, Write) and PLACE.search(step.data) for step in script)


def moved(script: Iterable[Action], name: Callable[[str], str]) -> list[Action]:
    """Return the steps on connections of other names, what was told on them with them."""
    steps = list(script)
    names = {step.connection for step in steps if isinstance(step, Open | Write | Read | Shut)}
    heads = {place(one, SHORTEST): place(name(one), SHORTEST) for one in names}
    return [_moved(step, name, heads) for step in steps]


def _moved(step: Action, name: Callable[[str], str], heads: dict[bytes, bytes]) -> Action:
    def other(found: re.Match[bytes]) -> bytes:
        head, rest = found[0][:SHORTEST], found[0][SHORTEST:]
        return heads.get(head, head) + rest

    if isinstance(step, Write) and PLACE.search(step.data):
        step = replace(step, data=PLACE.sub(other, step.data))
    return replace(step, connection=name(step.connection)) if isinstance(step, Open | Write | Read | Shut) else step


def told_in(message: Message, fields: Fields) -> list[bytes]:
    """Return what a message tells that may be asked for again."""
    found = [(name, getattr(message, name)) for name in message.__struct_fields__]
    return [value for name, value in found if isinstance(value, bytes) and (name, len(value)) in fields]


class Echoes:
    """What was told in one play; fills places as it goes on."""

    def __init__(self, dissection: Callable[[str], Dissection], fields: Fields) -> None:
        """`dissection` makes what reads a connection of a link."""
        self._dissection = dissection
        self._fields = fields
        self._lines: dict[str, Dissection] = {}
        self._told: dict[bytes, bytes] = {}

    def see(self, event: TraceEvent) -> None:
        """Take the next event of the play."""
        if event.kind is Kind.OPENED:
            self._lines[event.connection] = self._dissection(event.link)
        elif event.kind is Kind.SENT and event.connection in self._lines:
            self._lines[event.connection].feed(Role.CLIENT, event.data)
        elif event.kind is Kind.RECEIVED and event.connection in self._lines:
            for frame in self._lines[event.connection].feed(Role.SERVER, event.data):
                for value in told_in(frame.message, self._fields) if frame.sender is Role.SERVER else ():
                    self._told[place(event.connection, len(value))] = value

    def filled(self, data: bytes) -> bytes:
        """Return what is to be written: each place filled with what was told there."""
        for one, value in self._told.items():
            data = data.replace(one, value)
        return data
