"""Layouts no message of a protocol has yet, read and written by what is generated for them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import pytest

from wireproof.protocols import ErrorCode, LocalProtocolError, Message
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.fields import ABSENT, U8, U16, Blob, Flag, Raw, Repeated, Rows, Signed, UInt, resolve
from wireproof.protocols.frames import FrameContext, compile_decoder, compile_encoder
from wireproof.protocols.messages import declared_layout
from wireproof.protocols.profile import Layout, Profile, Variant
from wireproof.protocols.tables import compile_repeated, compile_rows


class Flags(Message, frozen=True, gc=False):
    NAME: ClassVar[str] = "FLAGS"
    number: Annotated[int, U16]
    first: Annotated[bool, Flag()]
    mark: Annotated[bytes, Raw(3)]
    second: Annotated[bool, Flag()]
    body: Annotated[bytes, Blob(U8)]
    tail: Annotated[bytes, Blob(U8)]


class Lone(Message, frozen=True, gc=False):
    NAME: ClassVar[str] = "LONE"
    only: Annotated[bool, Flag()]


class Below(Message, frozen=True, gc=False):
    NAME: ClassVar[str] = "BELOW"
    number: Annotated[int, Signed(2)]


class Empty(Message, frozen=True, gc=False):
    NAME: ClassVar[str] = "EMPTY"


class Headed(Message, frozen=True, gc=False):
    NAME: ClassVar[str] = "HEADED"
    rows: Annotated[tuple[Flags, ...], Rows(Flags, U16)]


class Mixed(Message, frozen=True, gc=False):
    NAME: ClassVar[str] = "MIXED"
    number: Annotated[int, U8]
    parts: Annotated[tuple[Headed, ...], Repeated(Headed, U8)]


class Unkinded(Message, frozen=True, gc=False):
    field: int


def layout_of(message: type[Message], lead: bytes = b"") -> Layout:
    return Layout(message, lead, tuple(declared_layout(message).items()))


def read(layout: Layout, wire: bytes, order: str = ">") -> Any:
    decode, context = compile_decoder(layout, order), FrameContext(1024)
    for end in range(len(wire)):
        got, need = decode(wire, 0, end, context)
        assert got is None
        assert end < need <= len(wire)
    message, stop = decode(b"\xee" + wire + b"\xee", 1, 1 + len(wire), context)
    assert stop == 1 + len(wire)
    return message


FLAGS = Flags(0x0102, True, b"abc", False, b"xy", b"z")
FLAGS_WIRE = b"\x77\x88\x01\x02\x01abc\x00\x02\x01xyz"


def test_flags_stand_anywhere_among_fixed_parts() -> None:
    layout = layout_of(Flags, b"\x77\x88")

    assert compile_encoder(layout, ">")(FLAGS) == FLAGS_WIRE
    assert read(layout, FLAGS_WIRE) == FLAGS


@pytest.mark.parametrize(("offset", "byte"), [(4, 2), (8, 255)])
def test_a_bad_flag_is_reported_with_its_own_offset(offset: int, byte: int) -> None:
    wire = bytearray(FLAGS_WIRE)
    wire[offset] = byte
    with pytest.raises(MalformedFrameError, match=f"expected 00 or 01, got {byte:02x}") as caught:
        compile_decoder(layout_of(Flags, b"\x77\x88"), ">")(b"\0\0\0" + wire, 3, 3 + len(wire), FrameContext(1024))

    assert caught.value.at == 3 + offset
    assert caught.value.code is ErrorCode.BAD_STATUS


@pytest.mark.parametrize("lead", [b"", b"\x05", b"\x05\x06"])
def test_a_single_byte_is_read_after_any_lead(lead: bytes) -> None:
    layout = layout_of(Lone, lead)

    assert compile_encoder(layout, "<")(Lone(True)) == lead + b"\x01"
    assert read(layout, lead + b"\x01") == Lone(True)


def test_a_message_without_fields_is_its_lead() -> None:
    layout = layout_of(Empty, b"\x05\x06")

    assert compile_encoder(layout, "<")(Empty()) == b"\x05\x06"
    assert read(layout, b"\x05\x06") == Empty()


def test_fields_absent_are_read_as_0_and_not_written() -> None:
    layout = Layout(Lone, b"\x05", (("only", ABSENT),))

    assert compile_encoder(layout, "<")(Lone(True)) == b"\x05"
    assert read(layout, b"\x05") == Lone(0)  # type: ignore[arg-type]
    assert layout.fixed_size == 1


@pytest.mark.parametrize("value", [0, 1, 2, None])
def test_a_flag_is_written_from_a_bool_only(value: object) -> None:
    with pytest.raises(LocalProtocolError, match=r"LONE.only: expected True or False"):
        compile_encoder(layout_of(Lone), "<")(Lone(value))  # type: ignore[arg-type]


@pytest.mark.parametrize(("number", "wire"), [(-32768, b"\x80\0"), (-1, b"\xff\xff"), (32767, b"\x7f\xff")])
def test_a_signed_number_is_read_and_written_in_twos_complement(number: int, wire: bytes) -> None:
    layout = layout_of(Below)

    assert compile_encoder(layout, ">")(Below(number)) == wire
    assert read(layout, wire) == Below(number)


@pytest.mark.parametrize("number", [-32769, 32768])
def test_a_signed_number_that_does_not_fit_is_reported_with_what_does(number: int) -> None:
    expected = f"BELOW.number: expected an integer from -32768 to 32767, got {number}"
    with pytest.raises(LocalProtocolError, match=expected):
        compile_encoder(layout_of(Below), ">")(Below(number))


def test_rows_with_flags_and_two_bodies_follow_their_count() -> None:
    decode, encode, _ = compile_rows(layout_of(Headed, b"\x09"), ">", layout_of)
    message = Headed((FLAGS, Flags(3, False, b"def", True, b"", b"tail")))
    wire = encode(message)
    fixed = b"\x01\x02\x01abc\x00\x02\x01" + b"\x00\x03\x00def\x01\x00\x04"

    assert wire == b"\x09\x00\x02" + fixed + b"xyz" + b"tail"
    assert decode(wire, 0, len(wire), FrameContext(1024)) == (message, len(wire))


@pytest.mark.parametrize(("row", "offset"), [(0, 2), (1, 2), (1, 6)])
def test_a_bad_flag_in_a_row_is_reported_with_its_own_offset(row: int, offset: int) -> None:
    decode, encode, table = compile_rows(layout_of(Headed, b"\x09"), ">", layout_of)
    wire = bytearray(encode(Headed((FLAGS, FLAGS))))
    at = 3 + row * table.row_size + offset
    wire[at] = 7
    with pytest.raises(MalformedFrameError, match="got 07") as caught:
        decode(b"\0" + bytes(wire), 1, 1 + len(wire), FrameContext(1024))

    assert caught.value.at == 1 + at


@pytest.mark.parametrize(("rows", "announced"), [(100, 902), (110, 992), (112, 1010)])
def test_a_table_too_large_by_its_rows_alone_is_reported_without_its_bodies(rows: int, announced: int) -> None:
    decode, _, _ = compile_rows(layout_of(Headed), ">", layout_of)
    wire = rows.to_bytes(2) + (b"\x00\x00\x01abc\x00\xff\x00" * rows) + bytes(255 * rows)
    for end in range(2, len(wire) + 1, 97):
        with pytest.raises(MalformedFrameError, match=rf"expected at most 900 bytes, got {announced} announced"):
            decode(wire, 0, end, FrameContext(900))


def test_a_table_has_to_be_the_last_field() -> None:
    with pytest.raises(TypeError, match=r"Lone: a counted table must be the last field"):
        compile_rows(layout_of(Lone), "<", layout_of)


def test_a_repeated_field_has_to_stand_alone() -> None:
    with pytest.raises(TypeError, match="Mixed: a repeated field stands alone"):
        compile_repeated(layout_of(Mixed), "<", layout_of)


def test_a_field_without_a_kind_is_refused() -> None:
    with pytest.raises(TypeError, match=r"Unkinded.field names no wire kind"):
        declared_layout(Unkinded)


def test_a_symbolic_size_has_to_be_resolved() -> None:
    with pytest.raises(TypeError, match="'value' depends on the variant"):
        _ = UInt("value").width
    assert resolve(Blob(UInt("value")), {"value": 4}) == Blob(UInt(4))
    assert resolve(U8, {}) is U8
    assert resolve(ABSENT, {}) is ABSENT


def test_a_message_without_a_lead_in_its_profile_begins_with_its_fields() -> None:
    profile = Profile("p", ">", {"v": Variant("v", {})}, {}, {})

    assert profile.layout(Flags, profile.variants["v"]) == layout_of(Flags)
    assert profile.layout(Flags, profile.variants["v"]).fixed_size == 9
    assert profile.messages == {}
