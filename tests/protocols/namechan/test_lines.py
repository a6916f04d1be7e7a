"""Lines of a client: the compact form, every other spelling, what is refused, and with which line and column."""

from __future__ import annotations

import pytest

from wireproof.protocols import NEED_DATA, LocalProtocolError, Message, RemoteProtocolError
from wireproof.protocols.namechan import V1, V1_PUBLISH, Codec, HookServer, NamechanServer
from wireproof.protocols.namechan.requests import (
    Ack,
    Blank,
    Connect,
    HookCreate,
    HookPublish,
    Publish,
    Subscribe,
    Unsubscribe,
    Version,
)
from wireproof.protocols.sexp_messages import settled, tokens_of

CODEC = Codec.of(V1_PUBLISH, "standard")
WRITTEN: list[tuple[Message, bytes]] = [
    (Version(), b"\0\0\0\0\0\0\0\1"),
    (Version(-1), b"\xff" * 8),
    (Connect(id=b"client-7"), b"(Connect 1 client-7)\n"),
    (Connect(-5, b"a b"), b'(Connect -5 "a b")\n'),
    (Subscribe(b"prices"), b"(Subscribe prices From_current)\n"),
    (Subscribe(b"prices", 0), b"(Subscribe prices From_beginning)\n"),
    (Subscribe(b"prices", 1, 42), b"(Subscribe prices(From_message 42))\n"),
    (Unsubscribe(b""), b'(Unsubscribe "")\n'),
    (Ack(0), b'(Ack "1970-01-01 00:00:00.000000Z")\n'),
    (Ack(1356998400123456), b'(Ack "2013-01-01 00:00:00.123456Z")\n'),
    (Publish(b"t", b'\0\n"\\\xff'), b'(Publish t "\\000\\n\\"\\\\\\255")\n'),
    (Blank(), b"\n"),
    (HookCreate(b"t"), b"(Create t Broadcast Transient)\n"),
    (HookCreate(b"t", 1, 1, 2), b"(Create t Round_robin(Persistent Async))\n"),
    (HookPublish(b"t", b"x"), b"(Publish t x)\n"),
]


def read(data: bytes, codec: Codec = CODEC, *, size: int = 1 << 20, max_frame: int = 65536) -> list[Message]:
    """Return what a server reads after the version, in pieces of `size` bytes."""
    server = NamechanServer(codec, max_frame=max_frame)
    server.receive_data(bytes(7) + b"\1")
    assert server.next_event() == Version()
    found: list[Message] = []
    for at in range(0, len(data), size):
        server.receive_data(data[at : at + size])
        while (event := server.next_event()) is not NEED_DATA:
            assert isinstance(event, Message)
            found.append(event)
    return found


@pytest.mark.parametrize(("message", "data"), WRITTEN, ids=lambda one: getattr(one, "NAME", ""))
def test_it_is_written_as_converters_write_it(message: Message, data: bytes) -> None:
    assert CODEC.encode(message) == data
    assert CODEC.is_other_form(message, data)


@pytest.mark.parametrize("message", [one for one, _ in WRITTEN if CODEC.spellings(one)], ids=lambda one: one.NAME)
@pytest.mark.parametrize("size", [1, 5, 1 << 20])
def test_every_spelling_is_read_as_the_same(message: Message, size: int) -> None:
    at_hook = isinstance(message, HookCreate | HookPublish)
    for name, data in CODEC.spellings(message).items():
        assert CODEC.is_other_form(message, data), name
        assert not CODEC.is_other_form(message, data + b"x"), name
        if not at_hook:
            assert read(data, size=size) == [message], name


def test_what_has_one_form_has_no_spellings() -> None:
    assert CODEC.spellings(Version()) == CODEC.spellings(Blank()) == {}
    assert not CODEC.is_other_form(Version(), b"\n")
    assert not CODEC.is_other_form(Unsubscribe(b"t"), b"(Unsubscribe t")


@pytest.mark.parametrize(
    ("text", "line", "column", "why"),
    [
        (b"\n (Unsubscribe a b)\n", 2, 17, "expected \\), got b"),
        (b"(Unsubscribe\n)\n", 1, 1, "topic is missing"),
        (b'(Unsubscribe\n "a\n\\q")\n', 3, 1, "an escape"),
        (b"(Ack 1)\n(Nonsense)\n", 2, 2, "unknown constructor Nonsense"),
        (b"Ack\n", 1, 1, "a list"),
        (b"()\n", 1, 1, "a list"),
        (b"((Ack 1))\n", 1, 2, "unknown constructor a list"),
        (b"(Subscribe t From_now)\n", 1, 14, "got From_now"),
        (b"(Subscribe t (From_message))\n", 1, 14, "got a list"),
        (b"(Subscribe t ((a) b))\n", 1, 14, "got a list"),
        (b"(Subscribe t (From_message (1)))\n", 1, 28, "expected an atom"),
        (b"(Subscribe t (From_message -1))\n", 1, 28, "from 0 to 18446744073709551615"),
        (b"(Subscribe t (From_message 99999999999999999999999999999999))\n", 1, 28, "expected a whole number"),
        (b"(Connect x y)\n", 1, 10, "got x"),
        (b'(Connect "" y)\n', 1, 10, 'got ""'),
        (b"(Ack 253402300800)\n", 1, 6, "a time"),
        (b"(Ack " + b"9" * 40 + b")\n", 1, 6, "a time"),
        (b"(Ack (1))\n", 1, 6, "a time"),
        (b"(Ack (2013-01-01 (12:00:00Z)))\n", 1, 6, "a time"),
        (b'(Ack "2013-01-01 12:00:00+25:00")\n', 1, 6, "a time"),
        (b'(Ack "2013-01-01 12:00:00+01:60")\n', 1, 6, "a time"),
        (b'(Ack "0001-01-01 00:00:00+01:00")\n', 1, 6, "a time"),
        (b'(Ack "2013-13-01 12:00:00Z")\n', 1, 6, "a time"),
    ],
)
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_what_is_malformed_is_reported_with_its_place(text: bytes, line: int, column: int, why: str, size: int) -> None:
    with pytest.raises(RemoteProtocolError, match=f"line {line}, column {column}: .*{why}") as error:
        read(text, size=size)

    assert error.value.code == "bad_value"


@pytest.mark.parametrize(
    ("text", "time"),
    [
        (b"5", 5_000_000),
        (b'"1970-01-01 00:00:01Z"', 1_000_000),
        (b'"1970-01-01 00:00:01.5"', 1_500_000),
        (b"(1970-01-01 01:00:01.25+01:00)", 1_250_000),
        (b"(1969-12-31 22:30:00-01:30)", 0),
        (b'"1969-12-31 23:59:59.999999Z"', -1),
    ],
)
def test_times_have_several_forms(text: bytes, time: int) -> None:
    assert read(b"(Ack " + text + b")\n") == [Ack(time)]


def test_a_number_may_begin_with_any_number_of_zeros() -> None:
    zeros = b"0" * 5000

    assert read(b"(Connect -" + zeros + b"1 x)\n(Ack " + zeros + b"5)\n") == [Connect(-1, b"x"), Ack(5_000_000)]


@pytest.mark.parametrize("size", [1, 100, 1 << 20])
def test_a_line_may_be_as_long_as_the_limit(size: int) -> None:
    longest = b"(Unsubscribe " + b"t" * (1024 - 15) + b")\n"
    assert len(longest) == 1024
    assert len(read(longest * 2, size=size, max_frame=1024)) == 2
    for data in (longest[:20] + b"t" + longest[20:], b" " * 1100, b"(" + b";" * 1100, b'("' + b"\n" * 1100):
        with pytest.raises(RemoteProtocolError, match="at most 1024 bytes") as error:
            read(data, size=size, max_frame=1024)
        assert error.value.code == "frame_too_large"


@pytest.mark.parametrize(
    "message",
    [
        Subscribe(b"t", 2, 5), Subscribe(b"t", 3), Subscribe(b"t", 1, -1), Subscribe(b"t", 1, 1 << 64),
        Subscribe("t"), Subscribe(b"t", True), Ack(1 << 62), Ack("now"), Connect(1 << 63, b""),
        HookCreate(b"t", 0, 0, 1),
    ],
)  # fmt: skip
def test_what_no_text_can_say_is_refused(message: Message) -> None:
    with pytest.raises(LocalProtocolError):
        CODEC.encode(message)
    assert CODEC.layout(type(message)).places(message) == []


def test_what_is_not_said_is_left_out() -> None:
    layout = CODEC.layout(Subscribe)
    assert settled(layout, Subscribe(b"t", 2, 5)) == Subscribe(b"t")
    assert settled(layout, Subscribe(b"t", 1, 5)) == Subscribe(b"t", 1, 5)
    with pytest.raises(LocalProtocolError):
        tokens_of(layout, Unsubscribe(b"t"))


def test_the_extension_is_one_of_its_profile() -> None:
    codec = Codec.of(V1, "standard")
    with pytest.raises(LocalProtocolError, match="profile 1 has no message Publish"):
        codec.encode(Publish(b"t", b"x"))
    with pytest.raises(RemoteProtocolError, match="unknown constructor Publish"):
        read(b"(Publish t x)\n", codec)


def test_the_hook_has_lines_of_its_own() -> None:
    server = HookServer(CODEC)
    server.receive_data(b"(Create t Broadcast Transient)\n(publish t x)\n(Ack 1)\n")

    assert server.next_event() == HookCreate(b"t")
    assert server.next_event() == HookPublish(b"t", b"x")
    with pytest.raises(RemoteProtocolError, match="unknown constructor Ack"):
        server.next_event()
