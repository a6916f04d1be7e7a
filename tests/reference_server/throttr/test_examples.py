"""The exchanges of docs/errata.md's released server, byte for byte, and what the widths make of them."""

from __future__ import annotations

import pytest

from tests.reference_server.throttr.simulated import Server

STEPS = {
    "INSERT": ("01 0700 04 3c00 02 6b31", "01"),
    "INSERT again": ("01 0700 04 3c00 02 6b31", "00"),
    "QUERY": ("02 02 6b31", "01 0700 04 3b00"),
    "QUERY missing": ("02 02 7a7a", "00"),
    "GET of a counter": ("06 02 6b31", "01 04 3b00 0000"),
    "SET": ("05 04 3c00 02 0500 6231 68656c6c6f", "01"),
    "GET": ("06 02 6231", "01 04 3b00 0500 68656c6c6f"),
    "QUERY of a buffer": ("02 02 6231", "01 0000 04 3b00"),
    "UPDATE quota": ("03 00 00 3200 02 6b31", "01"),
    "STAT before the first minute": ("09 02 6b31", "01" + "00" * 32),
    "PUBLISH without subscriber": ("13 02 0200 6368 6869", "00"),
    "SUBSCRIBE": ("11 02 6368", "01"),
    "PUBLISH to itself": ("13 02 0200 6368 6d65", "19 02 0200 6368 6d65 01"),
    "CONNECTION unknown": ("15" + "00" * 16, "00"),
    "EVENT of INSERT": ("19 02 0900 6368 01 0700 04 3c00 02 6576", "01 01"),
    "EVENT of QUERY": ("19 02 0400 6368 02 02 6576", "01 01 0700 04 3b00"),
}


def test_the_exchanges_of_the_released_server() -> None:
    server = Server("7.3.2")
    client = server.client()
    answers = {}
    for name, (asked, _) in STEPS.items():
        answers[name] = client.send(bytes.fromhex(asked)).hex()
        if name in ("INSERT again", "SET", "EVENT of INSERT"):
            server.clock.advance(1)

    assert answers == {name: bytes.fromhex(answer).hex() for name, (_, answer) in STEPS.items()}


def test_an_empty_list_is_a_count_of_no_fragments() -> None:
    assert Server("7.3.2").client().send(b"\x07") == b"\x01" + bytes(8)
    assert Server("7.1.0").client().send(b"\x07") == bytes(8)


def test_events_in_events_put_their_status_in_front() -> None:
    client = Server("7.3.2").client()

    answer = client.send(bytes.fromhex("19 00 0900 19 00 0500 19 00 0100 18"))

    assert answer == b"\x01\x01\x01\x01" + client.session.id


@pytest.mark.parametrize(
    ("width", "insert", "answer"),
    [
        ("uint8", "01 07 04 3c 01 6b", "01 07 04 3c"),
        ("uint16", "01 0700 04 3c00 01 6b", "01 0700 04 3c00"),
        ("uint32", "01 07000000 04 3c000000 01 6b", "01 07000000 04 3c000000"),
        ("uint64", "01 0700000000000000 04 3c00000000000000 01 6b", "01 0700000000000000 04 3c00000000000000"),
    ],
)
@pytest.mark.parametrize("profile", ["7.1.0", "7.3.2"])
def test_the_width_sizes_quota_and_ttl(profile: str, width: str, insert: str, answer: str) -> None:
    client = Server(profile, width).client()
    client.send(bytes.fromhex(insert))

    assert client.send(bytes.fromhex("02 01 6b")) == bytes.fromhex(answer)
