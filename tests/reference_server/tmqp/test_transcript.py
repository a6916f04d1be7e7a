"""What a released server was seen to answer (tmqp.md 4), byte for byte, from ours under its profile."""

from __future__ import annotations

import re

import pytest

from tests.reference_server.tmqp.simulated import Line, Server
from wireproof.protocols.tmqp.requests import Protocol

PROTOCOL = "544d51502f322e30"
OPTIONS = b'{"Status":1,"RequestAcknowledge":true,"AcknowledgeTimeout":3000}'
NACK = b"Nack-Reason:broken\r\n"
PULL = b"Count:1\r\nOrder:LIFO\r\n"
PULLED = b"Request-Id:p3\r\nCount:1\r\nIndex:1\r\n"
END = b"Request-Id:p3\r\nNo-Content:End\r\n"
EVENT = (
    b'{"Channel":"RC","Queue":11,"Id":"ep","Saved":false,'
    b'"ProducerId":"db","ProducerName":"bob","ProducerType":"worker"}'
)


class Raw:
    """A client that speaks in bytes."""

    def __init__(self, server: Server, text: bytes) -> None:
        self.line = Line(server, server.line().session.peer)
        self.line.codec.await_reply(Protocol())
        hello = bytes.fromhex("10900000006500") + bytes([len(text)]) + text
        answer = self.says(PROTOCOL, hello.hex())
        assert re.fullmatch(rb"TMQP/2\.0\x90\x10\x20\0.\xca\0\0[0-9a-f]{32}.*", answer, re.DOTALL)

    def says(self, *data: str) -> bytes:
        """Send hexadecimal digits; what came since the last look."""
        self.line.write(bytes.fromhex("".join(data)))
        return self.hears()

    def hears(self) -> bytes:
        data = bytes(self.line.raw)
        self.line.raw.clear()
        return data


def client(server: Server, name: str, more: str = "") -> Raw:
    return Raw(server, f"CONNECT /\r\nClient-Id: {name}\r\n{more}".encode())


def test_channel_queue_push_and_acknowledgement(released: Server) -> None:
    prod, cons = client(released, "prod", "Client-Name: producer\r\nClient-Type: p\r\n"), client(released, "cons")

    created = prod.says("1090 020004 5b02 00 6d31 44656d6f")
    queued = prod.says("10b0 020004 6202 40 6d32 44656d6f 0c00 51756575652d49643a310d0a", OPTIONS.hex())
    joined = cons.says("1090 020004 5902 00 6d33 44656d6f")
    pushed = prod.says("1150 020004 0100 05 6d34 44656d6f 68656c6c6f")

    assert created.hex() == "14100200040000006d3170726f64"
    assert queued.hex() == "14100200040000006d3270726f64"
    assert joined.hex() == "14100200040000006d33636f6e73"
    assert pushed.hex() == "93100200040100006d3444656d6f"
    assert cons.hears().hex() == "914f0204040100056d3470726f6444656d6f68656c6c6f"
    assert cons.says("1310 020004 0100 00 6d34 44656d6f") == b""


def test_a_negative_acknowledgement_travels(released: Server) -> None:
    pb, cb = client(released, "pb"), client(released, "cb")
    options = b'{"Status":1,"RequestAcknowledge":true,"MessageDeliveryHandler":"after-acknowledged"}'
    pb.says("10b0 020002 6202", f"{len(options):02x}", "6d32 4141 0c00 51756575652d49643a310d0a", options.hex())
    cb.says("1090 020002 5902 00 6d33 4141")
    pb.says("1150 020002 0100 01 7832 4141 78")
    cb.hears()

    assert cb.says("1330 020002 0100 00 7832 4141 1400", NACK.hex()) == b""
    assert pb.hears() == bytes.fromhex("132f 020202 0100 00 7832 6362 4141 1400") + NACK


def test_a_pull(released: Server) -> None:
    a5 = client(released, "a5")
    a5.says("10b0 020005 6202 0c 6d32 41636b4368 0c00 51756575652d49643a370d0a", b'{"Status":3}'.hex())
    a5.says("1090 020005 5902 00 6d33 41636b4368")
    a5.says("1110 020005 0700 02 7135 41636b4368 6d35")
    found = a5.says("15b0 020005 0700 00 7033 41636b4368 1500", PULL.hex())

    pulled = bytes.fromhex("910f 020205 0700 02 7135 6135 41636b4368 2100") + PULLED + b"m5"
    pulled = pulled[:1] + b"\x2f" + pulled[2:]
    assert found == pulled + bytes.fromhex("1130 020005 0700 00 7033 41636b4368 1f00") + END


def test_an_event(released: Server) -> None:
    watcher, db = client(released, "w"), client(released, "db", "Client-Name: bob\r\nClient-Type: worker\r\n")
    options = b'{"Status":3,"MessageDeliveryHandler":"just-allow"}'
    headers = b"Queue-Id:11\r\n"
    db.says("10b0 020002 6202", f"{len(options):02x}", "6d32 5243 0d00", headers.hex(), options.hex())
    both = b"Channel-Name:RC\r\nQueue-Id:11\r\n"
    watcher.says("16b0 02000f 0100 00 6531", b"MessageProduced".hex(), f"{len(both):02x}00", both.hex())
    db.says("1110 020002 0b00 01 6570 5243 78")

    assert watcher.hears() == bytes.fromhex("1610 000f02 0b00 72") + b"MessageProducedRC" + EVENT


@pytest.mark.parametrize("server", ["doc", "twino-3.0.0"])
def test_a_ping(server: str) -> None:
    assert client(Server(server), "me").says("89ff000000000000").hex() == "8aff000000000000"
