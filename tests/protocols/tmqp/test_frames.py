"""Frames at their edges: sizes in every form, header blocks, bits, what is too large and what does not fit."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.protocols.tmqp.talking import CODEC, frame, session
from wireproof.protocols import ErrorCode, LocalProtocolError
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.fields import ABSENT, U16, Blob, Shortest
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.profile import Place
from wireproof.protocols.tmqp import DOC, Codec, Header
from wireproof.protocols.tmqp.replies import OtherFrame, Pong, QueueMessage, Response, ServerPing
from wireproof.protocols.tmqp.requests import AnswerPing, Custom, Operation, Ping, Produce, Terminate

LIMIT = 1 << 20
CONTEXT = FrameContext(LIMIT)


def read(data: bytes) -> tuple[object, int]:
    return CODEC.decode_asked(data, 0, len(data), CONTEXT)


@pytest.mark.parametrize(
    ("size", "head"),
    [(0, "00"), (252, "fc"), (253, "fdfd00"), (255, "fdff00"), (65535, "fdffff"), (65536, "fe00000100")],
)
def test_the_shortest_size_is_written(size: int, head: str) -> None:
    message = Produce(id=b"i", payload=bytes(size))
    data = CODEC.encode(message)

    assert data[7 : 7 + len(head) // 2] == bytes.fromhex(head)
    assert len(data) == 8 + len(head) // 2 + size
    assert read(data) == (message, len(data))


def test_the_largest_form_begins_where_four_bytes_end() -> None:
    assert [Shortest().taken(size) for size in (252, 253, 65535, 65536, (1 << 32) - 1, 1 << 32)] == [1, 3, 3, 5, 5, 9]


@pytest.mark.parametrize("head", ["05", "fd0500", "fe05000000", "ff0500000000000000"])
def test_every_form_of_a_size_is_read(head: str) -> None:
    data = frame(0x11, size=bytes.fromhex(head), payload=b"hello")
    message = Produce(payload=b"hello")

    assert read(data) == (message, len(data))
    for end in range(len(data)):
        found, need = CODEC.decode_asked(data, 0, end, CONTEXT) if end else (None, 1)
        assert found is None
        assert end < need <= len(data)
    assert CODEC.is_other_form(message, data)
    assert not CODEC.is_other_form(message, data[:-1])
    assert not CODEC.is_other_form(replace(message, ttl=1), data)


def test_what_is_too_large_is_refused_on_its_head() -> None:
    data = frame(0x11, size=bytes.fromhex("ffffffffffffffffff"))

    with pytest.raises(MalformedFrameError) as error:
        read(data)

    assert error.value.code is ErrorCode.FRAME_TOO_LARGE
    assert not CODEC.is_other_form(Produce(), data)


@pytest.mark.parametrize(
    ("block", "rows"),
    [
        (None, ()),
        (b"", ()),
        (b"A:b\r\n", (Header(b"A", b"b"),)),
        (b"A: b \r\nA:c\r\n", (Header(b"A", b" b "), Header(b"A", b"c"))),
        (b"A:b:c\r\n\r\nnothing\r\n:none\r\nB:", (Header(b"A", b"b:c"), Header(b"B", b""))),
    ],
)
def test_header_lines(block: bytes | None, rows: tuple[Header, ...]) -> None:
    data = frame(0x11, 0x10 if block is None else 0x30, headers=block, payload=b"x")
    message = Produce(headers=rows, payload=b"x")

    assert read(data) == (message, len(data))
    for end in range(8, len(data)):
        assert CODEC.decode_asked(data, 0, end, CONTEXT)[0] is None
    assert CODEC.decode(Produce, CODEC.encode(message)) == message


def test_the_longest_parts_fit_and_longer_ones_do_not() -> None:
    rows = (Header(b"a", bytes(65535 - 4).replace(b"\0", b"x")),)
    message = Produce(id=b"i" * 255, source=b"s" * 255, target=b"t" * 255, headers=rows)

    assert CODEC.decode(Produce, CODEC.encode(message)) == message
    for wrong in (
        replace(message, id=b"i" * 256),
        replace(message, headers=(*rows, Header(b"a", b""))),
        replace(message, ttl=32),
        replace(message, content_type=1 << 16),
        replace(message, one_delivery=-1),
        replace(message, payload="x"),  # type: ignore[arg-type]
        replace(message, headers=[]),  # type: ignore[arg-type]
        replace(message, headers=(1,)),  # type: ignore[arg-type]
        *(replace(message, headers=(one,)) for one in (Header(b"", b""), Header(b"a:", b""), Header(b"a", b"\r\n"))),
    ):
        with pytest.raises(LocalProtocolError, match="PRODUCE"):
            CODEC.encode(wrong)


def test_ping_and_pong_with_any_flags() -> None:
    for first, second in ((0x89, 0xFF), (0x09, 0x10), (0x09, 0x30), (0x49, 0x00)):
        assert read(frame(first, second)) == (Ping(), 8)
        assert CODEC.decode_sent(frame(first, second), 0, 8, CONTEXT) == (ServerPing(), 8)
        assert read(frame(first + 1, second)) == (AnswerPing(), 8)
        assert CODEC.decode_sent(frame(first + 1, second), 0, 8, CONTEXT) == (Pong(), 8)
    holding = frame(0x09, 0x30, parts=(b"id", b"s", b"t"), payload=b"abc")
    assert read(holding + b"more") == (Ping(), len(holding))
    assert read(holding[:-1]) == (None, len(holding))
    assert read(frame(0x09, 0x30, size=b"\xfd\xd0\x07", payload=bytes(2000)) + b"more") == (Ping(), 2010)
    assert read(bytes([0x89])) == (None, 8)


def test_types_that_nobody_processes() -> None:
    for kind in (0x00, 0x01, 0x18, 0x3F):
        data = frame(kind, payload=b"x")
        assert read(data) == (Custom(type=kind, payload=b"x"), 9)
        assert CODEC.decode_sent(data, 0, 9, CONTEXT) == (OtherFrame(type=kind, payload=b"x"), 9)
        assert CODEC.encode(Custom(type=kind, payload=b"x")) == data
    assert read(bytes.fromhex("0810000000000000")) == (Terminate(), 8)
    assert read(bytes.fromhex("1010000000ffff00")) == (Operation(content_type=0xFFFF), 8)
    assert read(bytes.fromhex("10100000")) == (None, 8)


def test_where_fields_lie() -> None:
    message = QueueMessage(id=b"i", target=b"to", headers=(Header(b"A", b"b"),), payload=bytes(300))
    places = {(one.field, one.body): one for one in CODEC.layout(QueueMessage).places(message)}

    assert places["pending_ack", False] == Place("pending_ack", 1, 2)
    assert places["payload", False] == Place("payload", 7, 10)
    assert places["headers", True] == Place("headers", 13, 20, body=True)
    assert places["payload", True] == Place("payload", 20, 320, body=True)
    assert len(CODEC.encode(message)) == 320
    assert CODEC.layout(QueueMessage).places(QueueMessage())[-1].stop == CODEC.layout(QueueMessage).fixed_size == 8


def test_layouts_that_differ_are_read_and_written() -> None:
    changes = {(Produce, "ttl"): ABSENT, (Produce, "payload"): Blob(U16)}
    codec = Codec(DOC.derive("other", overrides=changes), DOC.variants["standard"])
    message = Produce(ttl=0, id=b"i", target=b"to", headers=(Header(b"a", b"b"),), payload=b"x")
    data = bytes.fromhex("1120 01 00 02 0000 0100 69 746f 0500") + b"a:b\r\nx"

    assert codec.encode(message) == data
    assert codec.decode(Produce, data) == message


def test_what_the_profile_lacks() -> None:
    client, server = session()
    with pytest.raises(LocalProtocolError, match="no message Header"):
        CODEC.encode(Header(b"a", b"b"))
    with pytest.raises(LocalProtocolError, match="no request Response"):
        client.send(Response())
    with pytest.raises(LocalProtocolError, match="no message of a server Produce"):
        server.send(Produce())
    with pytest.raises(MalformedFrameError, match="expected 8 bytes, got 3"):
        CODEC.decode(Produce, b"\x11\x10\0")
    with pytest.raises(MalformedFrameError, match="expected 8 bytes, got 9"):
        CODEC.decode(Produce, frame(0x11) + b"\0")


def test_lines_that_are_no_headers_are_another_form_of_a_request() -> None:
    request = Produce(target=b"c", id=b"i", content_type=1, headers=(Header(b"A", b"1"),), payload=b"p")
    forms = CODEC.other_forms(request)

    assert set(forms) == {"a line without a colon", "a line without a name"}
    assert all(read(data) == (request, len(data)) for data in forms.values())
    assert CODEC.other_forms(Terminate()) == CODEC.other_forms(replace(request, headers=())) == {}
