"""EVENT in 7.3.2: one whole request inside, nested up to a limit; else 00 (T36)."""

from __future__ import annotations

import pytest

from tests.reference_server.throttr.simulated import Client, Server
from wireproof.protocols.throttr.codec import MAX_NESTING
from wireproof.protocols.throttr.requests import Event, Insert, Query, Whoami

WHOAMI = b"\x18"


@pytest.fixture
def client(released: Server) -> Client:
    return released.client()


def event(client: Client, payload: bytes) -> bytes:
    return client.codec.encode(Event(b"ch", payload))


def nested(client: Client, levels: int) -> bytes:
    frame = WHOAMI
    for _ in range(levels):
        frame = event(client, frame)
    return frame


@pytest.mark.parametrize("payload", [b"", b"\x02", b"\x02\x05k", WHOAMI * 2, b"\xff", b"\x00"])
def test_a_payload_that_is_not_one_whole_request_is_refused(client: Client, payload: bytes) -> None:
    assert client.send(event(client, payload)) == b"\x00"
    assert client.send(WHOAMI) == b"\x01" + client.session.id


def test_the_request_inside_has_its_effect(client: Client) -> None:
    client.send(event(client, client.codec.encode(Insert(7, 4, 60, b"k"))))

    assert client.ask(Query(b"k")).quota == 7


@pytest.mark.parametrize("levels", [1, 2, MAX_NESTING])
def test_each_level_puts_its_status_in_front(client: Client, levels: int) -> None:
    assert client.send(nested(client, levels)) == b"\x01" * (levels + 1) + client.session.id


def test_deeper_than_the_limit_is_refused_at_that_level(client: Client) -> None:
    assert client.send(nested(client, MAX_NESTING + 1)) == b"\x01" * MAX_NESTING + b"\x00"


def test_a_client_can_read_what_is_answered_at_the_limit(client: Client) -> None:
    inner = nested(client, MAX_NESTING)

    replies = client.asks(Event(b"", inner), Whoami())

    assert len(replies) == 2


def test_the_document_has_no_event(document: Server) -> None:
    client = document.client()

    assert client.send(b"\x19\x00\x01\x00\x18") == b""
    assert client.closed
