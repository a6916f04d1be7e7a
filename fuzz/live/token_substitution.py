"""Placeholders in scripts for tokens: values that a server sends in each play and expects in later requests.

Both may be written in hexadecimal, too. A placeholder stands for the latest token of one connection and has the size of
that token. It is replaced while the script is played; if no token came, it is sent as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from zlib import crc32

from msgspec.structs import replace

from wireproof.conformance.model.actions import Open, Read, Secure, Shut, Write
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.fuzz.script import Script, ScriptStep
from wireproof.protocols import Message, Role
from wireproof.protocols.dissect import Dissection

__all__ = ["SHORTEST", "TokenSubstitution", "has_placeholders", "on_other_connections", "placeholder", "tokens_in"]

PLACEHOLDER = re.compile(rb"=echo:[0-9a-f]{8}=*|3d6563686f3a(?:3\d|6[1-6]){8}(?:3d)*")
ON_A_CONNECTION = Open | Write | Read | Secure | Shut
SHORTEST = 14
"""Smallest size of a token in bytes."""
Fields = frozenset[tuple[str, int]]
"""Name and size of the fields that hold tokens."""


def placeholder(connection: str, size: int) -> bytes:
    """Return the placeholder for a token of `size` bytes that comes on a connection."""
    return (b"=echo:%08x" % crc32(connection.encode())).ljust(size, b"=")


def has_placeholders(script: Script) -> bool:
    """Return whether a script holds placeholders."""
    return any(isinstance(step, Write) and PLACEHOLDER.search(step.data) for step in script)


def on_other_connections(script: Iterable[ScriptStep], name: Callable[[str], str]) -> list[ScriptStep]:
    """Return the steps with connections renamed by `name`, and their placeholders with them."""
    steps = list(script)
    names = {step.connection for step in steps if isinstance(step, ON_A_CONNECTION)}
    heads = {placeholder(one, SHORTEST): placeholder(name(one), SHORTEST) for one in names}
    heads |= {old.hex().encode(): new.hex().encode() for old, new in heads.items()}
    return [_on_other_connection(step, name, heads) for step in steps]


def _on_other_connection(step: ScriptStep, name: Callable[[str], str], heads: dict[bytes, bytes]) -> ScriptStep:
    def other(found: re.Match[bytes]) -> bytes:
        size = SHORTEST if found[0][:1] == b"=" else 2 * SHORTEST
        head, rest = found[0][:size], found[0][size:]
        return heads.get(head, head) + rest

    if isinstance(step, Write) and PLACEHOLDER.search(step.data):
        step = replace(step, data=PLACEHOLDER.sub(other, step.data))
    return replace(step, connection=name(step.connection)) if isinstance(step, ON_A_CONNECTION) else step


def tokens_in(message: Message, fields: Fields) -> list[bytes]:
    """Return the values of the token fields of a message."""
    found = [(name, getattr(message, name)) for name in message.__struct_fields__]
    return [value for name, value in found if isinstance(value, bytes) and (name, len(value)) in fields]


class TokenSubstitution:
    """The tokens of one play; replaces placeholders as the play proceeds."""

    def __init__(self, dissection: Callable[[str], Dissection], fields: Fields) -> None:
        """`dissection` makes what reads a connection of a link."""
        self._dissection = dissection
        self._fields = fields
        self._lines: dict[str, Dissection] = {}
        self._values: dict[bytes, bytes] = {}
        self._taken = 0

    def follow(self, trace: Trace) -> None:
        """Take the events of the play that are new, also of what was read between its steps."""
        for event in trace[self._taken :]:
            self.see(event)
        self._taken = len(trace)

    def see(self, event: TraceEvent) -> None:
        """Take the next event of the play."""
        if event.kind is Kind.OPENED:
            self._lines[event.connection] = self._dissection(event.link)
        elif event.kind is Kind.SECURED and event.connection in self._lines:
            self._lines[event.connection].follow_tls()
        elif event.kind is Kind.SENT and event.connection in self._lines:
            self._lines[event.connection].feed(Role.CLIENT, event.data)
        elif event.kind is Kind.RECEIVED and event.connection in self._lines:
            for frame in self._lines[event.connection].feed(Role.SERVER, event.data):
                for value in tokens_in(frame.message, self._fields) if frame.sender is Role.SERVER else ():
                    self._values[placeholder(event.connection, len(value))] = value

    def is_cut_short(self, connection: str) -> bool:
        """Return whether what came last on a connection is a part of a message, which may hold a token."""
        line = self._lines.get(connection)
        return line is not None and line.of_server.buffered > 0

    def substituted(self, data: bytes) -> bytes:
        """Return `data` with each placeholder replaced by its token."""
        for one, value in self._values.items():
            data = data.replace(one, value).replace(one.hex().encode(), value.hex().encode())
        return data
