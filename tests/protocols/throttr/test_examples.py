"""Byte-exact examples: 7.1.0 computed by hand from the document's tables, 7.3.2 as seen on the wire of a release."""

from __future__ import annotations

import pytest

from tests.protocols.segmentations import client_waiting, every_delivery, server
from wireproof.protocols import Message, Reply, Request
from wireproof.protocols.throttr import OK, REFUSED, V710, V732, Codec, ServerConnection
from wireproof.protocols.throttr.replies import (
    ChannelReply,
    ChannelsFragment,
    ChannelsReply,
    ChannelsRow,
    ConnectionRow,
    ConnectionsFragment,
    ConnectionsReply,
    EventReply,
    GetReply,
    InfoReply,
    ListFragment,
    ListReply,
    ListRow,
    PushedEvent,
    PushedMessage,
    QueryReply,
    StatReply,
    StatsFragment,
    StatsReply,
    StatsRow,
    Subscriber,
    WhoamiReply,
)
from wireproof.protocols.throttr.requests import (
    Channel,
    Channels,
    ConnectionById,
    ConnectionByIndex,
    Connections,
    Event,
    Get,
    Info,
    Insert,
    List,
    Publish,
    Purge,
    Query,
    Set,
    Stat,
    Stats,
    Subscribe,
    Unsubscribe,
    Update,
    Whoami,
)

ID = bytes(range(16))


def u64(*numbers: int) -> str:
    return "".join(number.to_bytes(8, "little").hex() for number in numbers)


def row(*, typed: bool) -> ConnectionRow:
    """A connection whose counters are 3, 4, 5 ... in wire order."""
    return ConnectionRow(ID, int(typed), int(typed), 4, b"127.0.0.1".ljust(16, b"\0"), 9000, *range(3, 28))


ROW_TAIL = "04" + b"127.0.0.1".hex().ljust(32, "0") + "2823" + u64(*range(3, 28))
INFO = InfoReply(*range(52), b"7.1.0".ljust(16, b"\0"))
INFO_HEX = u64(*range(52)) + b"7.1.0".hex().ljust(32, "0")
A_DAY = 0x18E9FAE84ABC5F4F

REQUESTS_710 = [
    ("uint8", Insert(7, 4, 60, b"k1"), "01 07 04 3c 02 6b31"),
    ("uint16", Insert(7, 4, 60, b"k1"), "01 0700 04 3c00 02 6b31"),
    ("uint32", Insert(7, 4, 60, b"k1"), "01 07000000 04 3c000000 02 6b31"),
    ("uint64", Insert(7, 4, 60, b"k1"), "01 0700000000000000 04 3c00000000000000 02 6b31"),
    ("uint16", Insert(65535, 255, 65535, b""), "01 ffff ff ffff 00"),
    ("uint16", Query(b"\x00\xff"), "02 02 00ff"),
    ("uint16", Update(1, 2, 0x0102, b"u"), "03 01 02 0201 01 75"),
    ("uint64", Update(0, 1, 1, b"u"), "03 00 01 0100000000000000 01 75"),
    ("uint16", Purge(b"u"), "04 01 75"),
    ("uint8", Set(4, 60, b"b1", b"hello"), "05 04 3c 02 05 6231 68656c6c6f"),
    ("uint64", Set(4, 60, b"b1", b"hello"), "05 04 3c00000000000000 02 05 6231 68656c6c6f"),
    ("uint16", Get(b"b1"), "06 02 6231"),
    ("uint16", List(), "07"),
    ("uint16", Info(), "08"),
    ("uint16", Stat(b"e0"), "09 02 6530"),
    ("uint16", Stats(), "10"),
    ("uint16", Subscribe(b"ch"), "11 02 6368"),
    ("uint16", Unsubscribe(b"ch"), "12 02 6368"),
    ("uint8", Publish(b"ch", b"hi"), "13 02 02 6368 6869"),
    ("uint32", Publish(b"ch", b"hi"), "13 02 02000000 6368 6869"),
    ("uint16", Connections(), "14"),
    ("uint16", ConnectionByIndex(0x01020304), "15 04030201"),
    ("uint16", Channels(), "16"),
    ("uint16", Channel(b"ch"), "17 02 6368"),
    ("uint16", Whoami(), "18"),
]

REPLIES_710: list[tuple[str, Request, Reply, str]] = [
    ("uint16", Insert(1, 4, 1, b"k"), OK, "01"),
    ("uint16", Insert(1, 4, 1, b"k"), REFUSED, "00"),
    ("uint16", Query(b"k"), REFUSED, "00"),
    ("uint8", Query(b"k"), QueryReply(7, 4, 60), "01 07 04 3c"),
    ("uint64", Query(b"k"), QueryReply(7, 4, 60), "01 0700000000000000 04 3c00000000000000"),
    ("uint16", Get(b"k"), GetReply(4, 60, b"hello"), "01 04 3c00 0500 68656c6c6f"),
    ("uint16", List(), ListReply(()), u64(0)),
    (
        "uint16",
        List(),
        ListReply((ListFragment(1, (ListRow(b"e0", 1, 4, A_DAY, 2), ListRow(b"k", 0, 1, 1, 2))),)),
        f"{u64(1)} {u64(1, 2)} 02 01 04 4f5fbc4ae8fae918 0200 01 00 01 {u64(1)} 0200 6530 6b",
    ),
    ("uint16", Info(), INFO, INFO_HEX),
    ("uint16", Stat(b"k"), StatReply(1, 2, 3, 4), f"01 {u64(1, 2, 3, 4)}"),
    (
        "uint16",
        Stats(),
        StatsReply((StatsFragment(1, (StatsRow(b"a", 1, 2, 3, 4),)), StatsFragment(2, (StatsRow(b"b", 5, 6, 7, 8),)))),
        f"{u64(2)} {u64(1, 1)} 01 {u64(1, 2, 3, 4)} 61 {u64(2, 1)} 01 {u64(5, 6, 7, 8)} 62",
    ),
    ("uint16", Subscribe(b"c"), OK, "01"),
    ("uint16", Publish(b"c", b""), REFUSED, "00"),
    (
        "uint16",
        Connections(),
        ConnectionsReply((ConnectionsFragment(1, (row(typed=False),)),)),
        f"{u64(1)} {u64(1, 1)} {ID.hex()} {ROW_TAIL}",
    ),
    ("uint16", ConnectionByIndex(0), row(typed=False), f"01 {ID.hex()} {ROW_TAIL}"),
    ("uint16", ConnectionByIndex(9), REFUSED, "00"),
    (
        "uint16",
        Channels(),
        ChannelsReply((ChannelsFragment(1, (ChannelsRow(b"ch", 1, 2, 3), ChannelsRow(b"", 4, 5, 6))),)),
        f"{u64(1)} {u64(1, 2)} 02 {u64(1, 2)} 03000000 00 {u64(4, 5)} 06000000 6368",
    ),
    (
        "uint16",
        Channel(b"c"),
        ChannelReply((Subscriber(ID, 1, 2, 3), Subscriber(ID, 4, 5, 6))),
        f"01 {u64(2)} {ID.hex()} {u64(1, 2, 3)} {ID.hex()} {u64(4, 5, 6)}",
    ),
    ("uint16", Whoami(), WhoamiReply(ID), ID.hex()),
]

REQUESTS_732 = [
    ("uint16", Insert(7, 4, 60, b"k1"), "01 0700 04 3c00 02 6b31"),
    ("uint16", Query(b"k1"), "02 02 6b31"),
    ("uint16", Get(b"k1"), "06 02 6b31"),
    ("uint16", Set(4, 60, b"b1", b"hello"), "05 04 3c00 02 0500 6231 68656c6c6f"),
    ("uint8", Set(4, 60, b"b1", b"hello"), "05 04 3c 02 05 6231 68656c6c6f"),
    ("uint16", Update(0, 0, 50, b"u"), "03 00 00 3200 01 75"),
    ("uint16", List(), "07"),
    ("uint16", Stat(b"e0"), "09 02 6530"),
    ("uint16", Publish(b"ch", b"hi"), "13 02 0200 6368 6869"),
    ("uint16", Publish(b"ch", b"payload"), "13 02 0700 6368 7061796c6f6164"),
    ("uint16", Publish(b"ch", b"me"), "13 02 0200 6368 6d65"),
    ("uint16", ConnectionById(bytes(16)), "15" + 32 * "0"),
    ("uint16", Event(b"ch", bytes.fromhex("0107 0004 3c00 0265 76")), "19 02 0900 6368 01 0700 04 3c00 02 6576"),
    ("uint16", Event(b"ch", bytes.fromhex("0202 6576")), "19 02 0400 6368 02 02 6576"),
    ("uint16", Event(b"", bytes.fromhex("1900 0500 1900 0100 18")), "19 00 0900 19 00 0500 19 00 0100 18"),
]

DEEP = Event(b"", bytes.fromhex("1900 0500 1900 0100 18"))
REPLIES_732: list[tuple[str, Request, Reply, str]] = [
    ("uint16", Insert(7, 4, 60, b"k1"), OK, "01"),
    ("uint16", Query(b"k1"), QueryReply(7, 4, 59), "01 0700 04 3b00"),
    ("uint8", Query(b"k1"), QueryReply(1, 4, 93), "01 01 04 5d"),
    ("uint32", Query(b"k1"), QueryReply(7, 4, 59), "01 07000000 04 3b000000"),
    ("uint64", Query(b"k1"), QueryReply(7, 4, 59), "01 0700000000000000 04 3b00000000000000"),
    ("uint16", Query(b"zz"), REFUSED, "00"),
    ("uint16", Get(b"k1"), GetReply(4, 58, b""), "01 04 3a00 0000"),
    ("uint16", Get(b"b1"), GetReply(4, 59, b"hello"), "01 04 3b00 0500 68656c6c6f"),
    ("uint16", List(), ListReply(()), "01 0000000000000000"),
    (
        "uint16",
        List(),
        ListReply((ListFragment(1, (ListRow(b"e0", 1, 4, A_DAY, 0),)),)),
        "01 0100000000000000 0100000000000000 0100000000000000 02 01 04 4f5fbc4ae8fae918 0000 6530",
    ),
    ("uint16", Stat(b"e0"), StatReply(0, 0, 0, 0), "01" + 64 * "0"),
    ("uint16", Info(), INFO, "01" + INFO_HEX),
    ("uint16", ConnectionById(bytes(16)), REFUSED, "00"),
    ("uint16", ConnectionById(ID), row(typed=True), f"01 {ID.hex()} 01 01 {ROW_TAIL}"),
    (
        "uint16",
        Channels(),
        ChannelsReply((ChannelsFragment(1, (ChannelsRow(b"*", 1, 2, 3),)),)),
        f"01 {u64(1)} {u64(1, 1)} 01 {u64(1, 2, 3)} 2a",
    ),
    ("uint16", Whoami(), WhoamiReply(ID), "01" + ID.hex()),
    ("uint16", Event(b"ch", bytes.fromhex("0107 0004 3c00 0265 76")), EventReply(OK), "01 01"),
    ("uint16", Event(b"ch", bytes.fromhex("0202 6576")), EventReply(QueryReply(7, 4, 59)), "01 01 0700 04 3b00"),
    ("uint16", Event(b"ch", b""), REFUSED, "00"),
    ("uint16", DEEP, EventReply(EventReply(EventReply(WhoamiReply(ID)))), "01 01 01 01" + ID.hex()),
]

PUSHES = [
    (V710, "uint8", PushedMessage(b"hi"), "03 02 6869"),
    (V710, "uint16", PushedMessage(b"hi"), "03 0200 6869"),
    (V710, "uint64", PushedMessage(b""), "03 0000000000000000"),
    (V732, "uint16", PushedEvent(b"ch", b"payload"), "19 02 0700 6368 7061796c6f6164"),
    (V732, "uint16", PushedEvent(b"ch", b"me"), "19 02 0200 6368 6d65"),
]


def named(value: object) -> str | None:
    return value.NAME if isinstance(value, Message) else None


@pytest.mark.parametrize(
    ("profile", "variant", "request_", "wire"),
    [(V710, *example) for example in REQUESTS_710] + [(V732, *example) for example in REQUESTS_732],
    ids=named,
)
def test_a_request_is_these_bytes(profile: object, variant: str, request_: Request, wire: str) -> None:
    codec = Codec.of(profile, variant)
    stream = bytes.fromhex(wire)

    assert codec.encode(request_) == stream
    assert every_delivery(server(codec), stream).messages == [request_]


@pytest.mark.parametrize(
    ("profile", "variant", "request_", "reply", "wire"),
    [(V710, *example) for example in REPLIES_710] + [(V732, *example) for example in REPLIES_732],
    ids=named,
)
def test_a_reply_is_these_bytes(profile: object, variant: str, request_: Request, reply: Reply, wire: str) -> None:
    codec = Codec.of(profile, variant)
    stream = bytes.fromhex(wire)
    answering = ServerConnection(codec)
    answering.receive_data(codec.encode(request_))
    answering.next_requests()

    assert answering.send(reply) == stream
    assert every_delivery(client_waiting(codec, request_), stream).messages == [reply]


@pytest.mark.parametrize(("profile", "variant", "push", "wire"), PUSHES, ids=named)
def test_a_push_is_these_bytes(profile: object, variant: str, push: Message, wire: str) -> None:
    codec = Codec.of(profile, variant)
    stream = bytes.fromhex(wire)

    assert ServerConnection(codec).send(push) == stream
    assert every_delivery(client_waiting(codec), stream).messages == [push]


def test_the_examples_name_every_request_and_reply_of_the_document() -> None:
    requests = {type(request) for _, request, _ in REQUESTS_710}
    replies = {type(reply) for _, _, reply, _ in REPLIES_710}

    assert requests == set(V710.replies)
    assert replies == {answer for answers in V710.replies.values() for answer in answers}


def test_a_push_to_oneself_comes_before_the_status() -> None:
    codec = Codec.of(V732, "uint16")
    stream = bytes.fromhex("19 02 0200 6368 6d65 01")
    outcome = every_delivery(client_waiting(codec, Publish(b"ch", b"me")), stream)

    assert outcome.messages == [PushedEvent(b"ch", b"me"), OK]
