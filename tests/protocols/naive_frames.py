"""A second, naive decoder of TMQP's frames, written from the facts about the bytes, without a line of the codec."""

from __future__ import annotations

from typing import Any

from tests.protocols.naive_decoders import Cursor, Decoded

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
"""Operation -> its content type in the document, and in the release; 0: there is none."""


def tmqp(data: bytes, *, by_client: bool, is_release: bool, is_first: bool = False) -> Decoded:
    """Decode a frame of a client or a server; `is_first`: the first one of a client, which may be a HELLO."""
    take = Cursor(data)
    first, second, sizes = take.number(1), take.number(1), [take.number(1) for _ in range(3)]
    content_type, short = take.number(2), take.number(1)
    kind = first & 0x3F
    size = take.number({253: 2, 254: 4, 255: 8}[short]) if short > 252 else short
    name = TYPES.get(kind, ("CUSTOM", "OTHER"))[0 if by_client else 1] or ("OTHER" if not by_client else "")
    if kind in (0x09, 0x0A):
        assert (first, second, *sizes, size) == (0x80 | kind, 0xFF, 0, 0, 0, 0), data.hex()
        return name, {}, take.at
    fields: dict[str, Any] = {
        "one_delivery": int(first >= 0x80),
        "high_priority": first >> 6 & 1,
        "pending_response": int(second >= 0x80),
        "pending_ack": second >> 6 & 1,
        "ttl": second & 31,
        **{field: take.raw(number) for field, number in zip(("id", "source", "target"), sizes, strict=True)},
        "content_type": content_type,
        "headers": _headers(take.raw(take.number(2))) if second & 0x20 else [],
        "payload": take.raw(size),
    }
    if kind not in TYPES:
        fields["type"] = kind
    if kind == 0x10 and by_client:
        numbers = {"HELLO": (101, 101)} if is_first else OPERATIONS
        name = next((one for one, known in numbers.items() if known[is_release] == content_type), "OPERATION")
    return name, fields, take.at


def _headers(block: bytes) -> list[dict[str, bytes]]:
    lines = block.split(b"\r\n")
    assert lines.pop() == b"", "the last line is ended, too"
    return [dict(zip(("name", "value"), line.split(b":", 1), strict=True)) for line in lines]
