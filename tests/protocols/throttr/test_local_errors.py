"""What a layout cannot carry is refused when it is written, and the field is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.protocols.throttr.combos import CODECS
from wireproof.protocols import ErrorCode, LocalProtocolError, Message
from wireproof.protocols.fields import Blob, Flag, Kind, Raw, Repeated, Rows, UInt
from wireproof.protocols.throttr import V732, Codec, TTLType
from wireproof.protocols.throttr.replies import EventReply, ListFragment, ListReply, ListRow, StatsFragment, Status
from wireproof.protocols.throttr.requests import Insert

GREAT = 10**5000
"""More digits than Python turns into text."""


def plain(kind: Kind) -> Any:
    """Return a value that a field of that kind carries."""
    match kind:
        case UInt():
            return 0
        case Flag():
            return False
        case Raw(size):
            return bytes(size)
        case Blob():
            return b""
    return ()


def wrong(kind: Kind, codec: Codec) -> list[object]:
    """Return values that a field of that kind cannot carry."""
    match kind:
        case UInt():
            return [1.0, "1", None, -1, kind.maximum + 1, GREAT, -GREAT, b"\x01", (), float("nan")]
        case Flag():
            return [0, 1, 2, None, "", b"\x01"]
        case Raw(size):
            return [b"", bytes(size - 1), bytes(size + 1), bytearray(size), "x" * size, None, size, True]
        case Blob(size):
            too_long = [bytes(size.maximum + 1)] if size.width <= 2 else []
            return ["text", "", None, 3, True, 1.5, bytearray(b"k"), memoryview(b"k"), [1], (), *too_long]
        case Rows(part, _) | Repeated(part, _):
            good = sample(codec, part)
            return [None, 3, b"", "", [good], {good}, (None,), (3,), (good, b""), (Status(True),), iter([good])]
    return []


def sample(codec: Codec, message: type[Message]) -> Message:
    return message(**{name: plain(kind) for name, kind in codec.layout(message).fields})


def parts_of(kind: Kind) -> type[Message] | None:
    return kind.row if isinstance(kind, Rows) else kind.part if isinstance(kind, Repeated) else None


def damaged(codec: Codec, message: type[Message]) -> Iterator[tuple[str, Message]]:
    """Give (how the error has to begin, a message with one field wrong), in its rows and parts too."""
    good = sample(codec, message)
    values = {name: getattr(good, name) for name in message.__struct_fields__}
    for name, kind in codec.layout(message).fields:
        part = parts_of(kind)
        for value in wrong(kind, codec):
            inside = part is not None and type(value) is tuple
            detail = f"expected {part.NAME}, got" if inside and part else f"{message.NAME}.{name}: expected"
            yield detail, message(**{**values, name: value})
        if part is not None:
            fine = sample(codec, part)
            yield from ((detail, message(**{**values, name: (fine, one)})) for detail, one in damaged(codec, part))


WHOLE = [
    pytest.param(codec, message, id=f"{name}-{message.NAME}")
    for name, codec in CODECS.items()
    for message in codec.profile.messages.values()
    if message is not EventReply and codec.layout(message).fields
]


@pytest.mark.parametrize(("codec", "message"), WHOLE)
def test_a_field_out_of_range_is_refused_and_named(codec: Codec, message: type[Message]) -> None:
    cases = list(damaged(codec, message))
    for detail, bad in cases:
        with pytest.raises(LocalProtocolError) as caught:
            codec.encode(bad)

        assert caught.value.code is ErrorCode.BAD_VALUE
        assert caught.value.message.startswith(detail)
    assert cases


def test_a_field_of_a_row_inside_a_part_is_named() -> None:
    codec = Codec.of(V732, "uint16")
    reply = ListReply((ListFragment(1, (ListRow(b"k", 0, 4, 1, 70_000),)),))

    detail = r"^bad_value: LIST_ROW.bytes_used: expected an integer from 0 to 65535, got 70000$"

    with pytest.raises(LocalProtocolError, match=detail):
        codec.encode(reply)


def test_a_part_of_another_table_is_refused() -> None:
    codec = Codec.of(V732, "uint16")

    with pytest.raises(LocalProtocolError, match="expected LIST_FRAGMENT, got a value of type StatsFragment"):
        codec.encode(ListReply((StatsFragment(1, ()),)))  # type: ignore[arg-type]


def test_enum_members_are_integers() -> None:
    codec = Codec.of(V732, "uint16")

    assert codec.encode(Insert(1, TTLType.SECONDS, 2, b"")) == b"\x01\x01\x00\x04\x02\x00\x00"
