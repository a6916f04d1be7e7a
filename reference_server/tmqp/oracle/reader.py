"""A second, naive reader of TMQP: what a client sends and single frames, without a line of the codec.

Written from the facts about the bytes: it takes one field after the other and keeps nothing. It judges the codec only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wireproof.protocols.tmqp import Header
from wireproof.reference_server.model import Reader, Reading

__all__ = ["READERS", "TEXTS", "Decoded", "PartialError", "frame"]

Decoded = tuple[str, dict[str, Any], int]
"""Name, fields, and where the frame ends."""
VERSIONS = (b"TMQP/2.0", b"TMQ/1.01")
TYPES = {
    0x08: ("TERMINATE", "CLOSING"),
    0x09: ("PING", "SERVER_PING"),
    0x0A: ("ANSWER_PING", "PONG"),
    0x10: ("", "OPERATION"),
    0x11: ("PRODUCE", "MESSAGE"),
    0x12: ("SEND_DIRECT", "DIRECT"),
    0x13: ("ACKNOWLEDGE", "CONFIRMATION"),
    0x14: ("RESPOND", "RESPONSE"),
    0x15: ("PULL", ""),
    0x16: ("EVENT", "NOTIFICATION"),
    0x17: ("ROUTE", ""),
}
"""Type of frame -> its name from a client, and from a server."""
OPERATIONS = {
    "CREATE_CHANNEL": (101, 603),
    "DELETE_CHANNEL": (103, 604),
    "LIST_CHANNELS": (104, 606),
    "CHANNEL_INFO": (105, 605),
    "LIST_CONSUMERS": (0, 607),
    "JOIN": (110, 601),
    "LEAVE": (111, 602),
    "CREATE_QUEUE": (201, 610),
    "UPDATE_QUEUE": (202, 612),
    "DELETE_QUEUE": (203, 611),
    "CLEAR_QUEUE": (0, 613),
    "LIST_QUEUES": (204, 616),
    "QUEUE_INFO": (205, 615),
    "LIST_NODES": (301, 621),
    "LIST_CLIENTS": (302, 631),
}
"""Operation -> its content type in the document, and in the release; 0: the document does not have it.

A server of the document reads both numbers of what the document has.
"""


class PartialError(Exception):
    """Bytes are missing."""


class _Cursor:
    """Takes little-endian numbers and bytes from the left."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def raw(self, size: int) -> bytes:
        """Return the next bytes. Raises PartialError where fewer are left."""
        found = self.data[self.at : self.at + size]
        if len(found) < size:
            raise PartialError
        self.at += size
        return found

    def number(self, size: int) -> int:
        """Return the next number. Raises PartialError as `raw`."""
        return sum(byte << 8 * at for at, byte in enumerate(self.raw(size)))


def frame(data: bytes, at: int, *, by_client: bool, is_release: bool, is_first: bool = False) -> Decoded:
    """Decode a frame of a client or a server; `is_first`: the first one of a client, which may be a HELLO.

    Raises PartialError.
    """
    take = _Cursor(data, at)
    first, second, sizes = take.number(1), take.number(1), [take.number(1) for _ in range(3)]
    content_type, short = take.number(2), take.number(1)
    kind = first & 0x3F
    size = take.number({253: 2, 254: 4, 255: 8}[short]) if short > 252 else short
    name = TYPES.get(kind, ("CUSTOM", "OTHER"))[0 if by_client else 1] or ("OTHER" if not by_client else "")
    has_headers = second & 0x20 and kind not in (0x09, 0x0A)
    fields: dict[str, Any] = {
        "one_delivery": int(first >= 0x80),
        "high_priority": first >> 6 & 1,
        "pending_response": int(second >= 0x80),
        "pending_ack": second >> 6 & 1,
        "ttl": second & 31,
        **{field: take.raw(number) for field, number in zip(("id", "source", "target"), sizes, strict=True)},
        "content_type": content_type,
        "headers": _headers(take.raw(take.number(2))) if has_headers else (),
        "payload": take.raw(size),
    }
    if kind not in TYPES:
        fields["type"] = kind
    if kind == 0x10 and by_client:
        name = _operation(content_type, is_release=is_release, is_first=is_first)
    return name, {} if kind in (0x09, 0x0A) else fields, take.at


def _operation(number: int, *, is_release: bool, is_first: bool) -> str:
    if is_first and number == 101:
        return "HELLO"
    for name, (documented, released) in OPERATIONS.items():
        if number == released if is_release else documented and number in (documented, released):
            return name
    return "OPERATION"


def _headers(block: bytes) -> tuple[Header, ...]:
    """Return the lines that have a name and a colon; others are none."""
    found = []
    for line in block.split(b"\r\n"):
        colon = line.find(b":")
        if colon > 0:
            found.append(Header(line[:colon], line[colon + 1 :]))
    return tuple(found)


def _read_client(data: bytes, profile: str) -> Reading:
    """Return what a new client says: its version, a first frame, and others."""
    found = list[tuple[str, dict[str, Any]]]()
    given = data[:8]
    if not any(one.startswith(given) for one in VERSIONS):
        return found, "refused"
    if len(given) < 8:
        return found, "partial" if given else "whole"
    found.append(("PROTOCOL", {"version": given}))
    at, is_release, is_first = 8, profile != "doc", True
    while at < len(data):
        try:
            name, fields, at = frame(data, at, by_client=True, is_release=is_release, is_first=is_first)
        except PartialError:
            return found, "partial"
        if fields:
            is_named = name == "HELLO" or name in OPERATIONS
            found.append((name, {**fields, "content_type": 0} if is_named else fields))
        is_first = False
    return found, "whole"


READERS: Mapping[tuple[str, str, bool], Reader] = {("messages", "server", True): _read_client}
"""Link, side and whether the connection is new -> reader of what it gets then."""

_HELLO = bytes.fromhex("9010000000650000")
_BLOCKS = (
    b"a:b\r\n", b"a\r\n", b"a\r\nb:c\r\n", b":b\r\nc:d\r\n", b"\r\na:b\r\n\r\n", b"a:b", b"a: b \r\n", b"a:b:c\r\n",
    b"a:\r\n", b"a:b\nc:d\r\n", b"a:b\rc:d\r\n", b"\r\n", b" : \r\n", b"a:b\r\nA:c\r\na:d\r\n", b"",
)  # fmt: skip


def _with_block(block: bytes) -> bytes:
    """Return a message to a queue with these lines."""
    return bytes.fromhex("9130010001000001") + b"ic" + len(block).to_bytes(2, "little") + block + b"p"


_FRAMES = (
    *map(_with_block, _BLOCKS),
    bytes.fromhex("9110010001000001") + b"icp",
    *(
        bytes.fromhex("91100100010000") + size + b"icp"
        for size in (b"\xfd\1\0", b"\xfe\1\0\0\0", b"\xff" + b"\1" + bytes(7))
    ),
    *(bytes([0xC0 | kind, 0xD0 | kind & 15, 1, 1, 1, kind, 2, 1]) + b"istp" for kind in range(0x40)),
    *(
        bytes([0x10, 0x90, 1, 0, 1]) + number.to_bytes(2, "little") + b"\0it"
        for one in OPERATIONS.values()
        for number in one
    ),
)
TEXTS: Mapping[str, tuple[bytes, ...]] = {
    "messages": (
        *(VERSIONS[0] + _HELLO + one for one in _FRAMES),
        *(VERSIONS[0] + one for one in _FRAMES),
        *(one + _HELLO for one in (*VERSIONS, b"TMQP/3.0", b"TMQ/2.00")),
    )
}
"""Texts of a new client that spell what the document allows in ways that no codec writes."""
