"""Each line of the transcript of a released server (tmqp.md 4): its bytes are read as told, and written back."""

from __future__ import annotations

from typing import Any

import pytest

from tests.protocols.tmqp.talking import CODEC, RELEASED, TmqpServer, read, session
from wireproof.protocols import Message, Role
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.tmqp import Codec, Header
from wireproof.protocols.tmqp.replies import (
    Confirmation,
    Notification,
    Pong,
    QueueMessage,
    Response,
    Welcome,
)
from wireproof.protocols.tmqp.requests import (
    Acknowledge,
    CreateChannel,
    CreateQueue,
    Hello,
    Join,
    Ping,
    Produce,
    Protocol,
    Pull,
)

ID = b"0123456789abcdef0123456789abcdef"
HELLO = b"CONNECT /\r\nClient-Id: prod\r\nClient-Name: producer\r\nClient-Type: p\r\n"
OPTIONS = b'{"Status":1,"RequestAcknowledge":true,"AcknowledgeTimeout":3000}'
EVENT = (
    b'{"Channel":"RC","Queue":11,"Id":"ep","Saved":false,'
    b'"ProducerId":"db","ProducerName":"bob","ProducerType":"worker"}'
)
PULLED = b"Request-Id:p3\r\nCount:1\r\nIndex:1\r\n"
END = b"Request-Id:p3\r\nNo-Content:End\r\n"


def rows(block: bytes) -> tuple[Header, ...]:
    return tuple(Header(*line.split(b":")) for line in block.split(b"\r\n")[:-1])


Line = tuple[Role, str, Message]
LINES: list[Line] = [
    (Role.CLIENT, "1090 020004 5b02 00 6d31 44656d6f", CreateChannel(pending_response=1, id=b"m1", target=b"Demo")),
    (Role.SERVER, "1410 020004 0000 00 6d31 70726f64", Response(id=b"m1", target=b"prod")),
    (
        Role.CLIENT,
        "10b0 020004 6202 40 6d32 44656d6f 0c00 51756575652d49643a310d0a" + OPTIONS.hex(),
        CreateQueue(pending_response=1, id=b"m2", target=b"Demo", headers=rows(b"Queue-Id:1\r\n"), payload=OPTIONS),
    ),
    (Role.CLIENT, "1090 020004 5902 00 6d33 44656d6f", Join(pending_response=1, id=b"m3", target=b"Demo")),
    (
        Role.CLIENT,
        "1150 020004 0100 05 6d34 44656d6f 68656c6c6f",
        Produce(pending_ack=1, id=b"m4", target=b"Demo", content_type=1, payload=b"hello"),
    ),
    (
        Role.SERVER,
        "9310 020004 0100 00 6d34 44656d6f",
        Confirmation(one_delivery=1, id=b"m4", target=b"Demo", content_type=1),
    ),
    (
        Role.SERVER,
        "914f 020404 0100 05 6d34 70726f64 44656d6f 68656c6c6f",
        QueueMessage(
            one_delivery=1,
            pending_ack=1,
            ttl=15,
            id=b"m4",
            source=b"prod",
            target=b"Demo",
            content_type=1,
            payload=b"hello",
        ),
    ),
    (Role.CLIENT, "1310 020004 0100 00 6d34 44656d6f", Acknowledge(id=b"m4", target=b"Demo", content_type=1)),
    (
        Role.CLIENT,
        "1330 020002 0100 00 7832 4141 1400 4e61636b2d526561736f6e3a62726f6b656e0d0a",
        Acknowledge(id=b"x2", target=b"AA", content_type=1, headers=rows(b"Nack-Reason:broken\r\n")),
    ),
    (
        Role.SERVER,
        "132f 020202 0100 00 7832 6362 4141 1400 4e61636b2d526561736f6e3a62726f6b656e0d0a",
        Confirmation(
            ttl=15, id=b"x2", source=b"cb", target=b"AA", content_type=1, headers=rows(b"Nack-Reason:broken\r\n")
        ),
    ),
    (
        Role.CLIENT,
        "15b0 020005 0700 00 7033 41636b4368 1500" + b"Count:1\r\nOrder:LIFO\r\n".hex(),
        Pull(pending_response=1, id=b"p3", target=b"AckCh", content_type=7, headers=rows(b"Count:1\r\nOrder:LIFO\r\n")),
    ),
    (
        Role.SERVER,
        "912f 020205 0700 02 7135 6135 41636b4368 2100" + PULLED.hex() + "6d35",
        QueueMessage(
            one_delivery=1,
            ttl=15,
            id=b"q5",
            source=b"a5",
            target=b"AckCh",
            content_type=7,
            headers=rows(PULLED),
            payload=b"m5",
        ),
    ),
    (
        Role.SERVER,
        "1130 020005 0700 00 7033 41636b4368 1f00" + END.hex(),
        QueueMessage(id=b"p3", target=b"AckCh", content_type=7, headers=rows(END)),
    ),
    (
        Role.SERVER,
        "1610 000f02 0b00 72" + (b"MessageProducedRC" + EVENT).hex(),
        Notification(source=b"MessageProduced", target=b"RC", content_type=11, payload=EVENT),
    ),
    (Role.CLIENT, "89ff000000000000", Ping()),
    (Role.SERVER, "8aff000000000000", Pong()),
]


def decoded(codec: Codec, sender: Role, data: bytes) -> Any:
    decode = codec.decode_asked if sender is Role.CLIENT else codec.decode_sent
    message, stop = decode(data, 0, len(data), FrameContext(1 << 20))
    assert stop == len(data)
    return message


@pytest.mark.parametrize(("sender", "line", "message"), LINES)
def test_the_transcript_is_read_and_written(sender: Role, line: str, message: Message) -> None:
    data = bytes.fromhex(line)

    assert decoded(RELEASED, sender, data) == message
    assert RELEASED.encode(message) == data


def test_the_handshake_of_the_transcript() -> None:
    server = TmqpServer(RELEASED)
    server.receive_data(bytes.fromhex("544d51502f322e30 1090000000650043") + HELLO)

    assert read(server) == [Protocol(), Hello(pending_response=1, payload=HELLO)]
    assert RELEASED.encode(Protocol()) == b"TMQP/2.0"
    accepted = bytes.fromhex("9010 200004 ca00 00") + ID + b"prod"
    assert decoded(RELEASED, Role.SERVER, accepted) == Welcome(one_delivery=1, content_type=202, id=ID, target=b"prod")


def test_the_document_has_its_own_numbers_and_reads_those_of_releases() -> None:
    released, own = bytes.fromhex("1090 000004 5902 00 44656d6f"), bytes.fromhex("1090 000004 6e00 00 44656d6f")
    join = Join(pending_response=1, target=b"Demo")

    assert CODEC.encode(join) == own
    assert decoded(CODEC, Role.CLIENT, own) == join
    assert type(decoded(CODEC, Role.CLIENT, released)) is Join
    assert decoded(RELEASED, Role.CLIENT, own).NAME == "OPERATION"
    assert type(decoded(CODEC, Role.CLIENT, bytes.fromhex("1010 000000 6500 00"))) is CreateChannel


def test_101_is_a_hello_only_as_the_first_frame() -> None:
    client, server = session()
    server.receive_data(client.send(CreateChannel(target=b"c")))

    assert read(server) == [CreateChannel(target=b"c")]
