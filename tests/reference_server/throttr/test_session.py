"""Bytes in and out of one connection: segmentation, ends, errors, backpressure, pushes that wait."""

from __future__ import annotations

import pytest

from tests.reference_server.throttr.simulated import Client, Server
from wireproof.protocols.throttr import TTLType
from wireproof.protocols.throttr.requests import Get, Info, Insert, List, Publish, Query, Set, Subscribe, Whoami

S = TTLType.SECONDS


def stream(server: Server) -> bytes:
    """A bit of everything whose answers depend on order."""
    requests = [Insert(7, S, 60, b"k"), Whoami(), Query(b"k"), Query(b"x"), List(), Publish(b"ch", b"payload")]
    requests += [Set(S, 60, b"b", b"v" * 200), Get(b"b"), Subscribe(b"ch"), Get(b"k"), Whoami(), Query(b"k")]
    return b"".join(server.codec.encode(request) for request in requests)


def test_any_segmentation_gets_the_same_answers(server: Server) -> None:
    data = stream(server)
    whole = Server(server.codec.profile.name, server.codec.variant.name).client().send(data)
    single = Server(server.codec.profile.name, server.codec.variant.name).client()

    assert b"".join(single.send(data[at : at + 1]) for at in range(len(data))) == whole
    for cut in range(1, len(data), 7):
        client = Server(server.codec.profile.name, server.codec.variant.name).client()
        assert client.send(data[:cut]) + client.send(data[cut:]) == whole


def test_what_is_received_at_once_is_answered_with_one_write(server: Server, client: Client) -> None:
    client.session.data_received(stream(server))

    assert len(client.written) == 1


def test_a_half_close_is_answered_first_and_drops_the_beginning_of_a_request(client: Client) -> None:
    client.session.data_received(b"\x02\x01k" * 3 + b"\x02\x05k")
    client.session.eof_received()
    client.session.eof_received()

    assert (client.take(), client.closed) == (b"\0\0\0", True)


@pytest.mark.parametrize(("profile", "closes"), [("7.1.0", True), ("7.3.2", False)])
@pytest.mark.parametrize("unknown", [0x00, 0x0A, 0x1A, 0xFF])
def test_an_unknown_type_ends_the_answers_of_its_connection_only(profile: str, closes: bool, unknown: int) -> None:
    server = Server(profile)
    client, other = server.client(), server.client()
    other.ok(Subscribe(b"ch"))

    assert client.send(b"\x02\x01k" + bytes([unknown]) + b"\x02\x01k") == b"\0"
    assert (client.closed, client.send(b"\x02\x01k")) == (closes, b"")
    assert server.client().ok(Publish(b"ch", b"x"))
    other.read()
    assert other.ask(Info()).connections == 2 + (not closes)


def test_a_deaf_connection_closes_when_its_peer_does(released: Server) -> None:
    client = released.client()
    client.send(b"\xff")
    client.session.eof_received()

    assert client.closed


def test_a_request_beyond_the_frame_limit_closes_after_what_was_asked_before() -> None:
    server = Server("7.3.2", "uint32", max_frame=1024)
    client, other = server.client(), server.client()
    frame = server.codec.encode(Set(S, 60, b"k", b"v" * 1100))

    assert client.send(b"\x02\x01k" + frame[:20]) == b"\0"
    assert client.closed
    assert not other.ok(Query(b"k"))


def test_what_a_size_announces_is_not_held_before_it_comes() -> None:
    client = Server("7.3.2", "uint32").client()
    head = client.codec.encode(Set(S, 60, b"k", b"v" * 100_000))[:50]
    client.send(head)

    assert len(client.session._tail) == 50


def test_the_whole_of_a_long_request_costs_a_few_copies_in_any_pieces() -> None:
    server = Server("7.3.2", "uint32")
    client = server.client()
    frame = server.codec.encode(Set(S, 60, b"k", bytes(1_000_000)))
    answer = b"".join(client.send(frame[at : at + 100]) for at in range(0, len(frame), 100))

    assert answer == b"\x01"
    assert client.session._tail == b""


def filled(server: Server) -> Client:
    client = server.client()
    client.asks(*[Insert(1, S, 60, b"%08d" % n) for n in range(250)])
    return client


def test_nothing_is_answered_while_the_peer_does_not_take_it(server: Server, client: Client) -> None:
    client.session.pause_writing()
    waiting = client.send(b"\x02\x01k") + client.send(b"\x02\x01k")
    client.session.resume_writing()

    assert (waiting, client.take()) == (b"", b"\0\0")


def test_long_answers_are_made_only_as_they_are_taken(document: Server) -> None:
    client = filled(document)
    one = len(client.send(b"\x07"))
    client.session._write = lambda data: (client.written.append(data), client.session.pause_writing())
    client.session.data_received(b"\x07" * 1000)
    at_once = len(client.take())
    rounds = 1
    while client.session._at < len(client.session._data):
        client.session.resume_writing()
        assert len(client.take()) <= at_once
        rounds += 1

    assert at_once < 65536 + one
    assert rounds == 1000 // (at_once // one) + 1


def test_a_half_close_waits_for_the_answers_that_wait(document: Server) -> None:
    client = document.client()
    client.session.pause_writing()
    client.send(b"\x02\x01k")
    client.session.eof_received()
    assert not client.closed

    client.session.resume_writing()
    assert (client.take(), client.closed) == (b"\0", True)


def test_pushes_wait_for_a_peer_that_does_not_read_and_delay_nobody(server: Server, client: Client) -> None:
    slow, quick = server.client(), server.client()
    for one in (slow, quick):
        one.ok(Subscribe(b"ch"))
    slow.session.pause_writing()
    client.asks(*[Publish(b"ch", b"%d" % n) for n in range(5)])
    quick.read()
    assert len(quick.pushes) == 5
    assert slow.take() == b""

    slow.session.resume_writing()
    slow.read()
    assert slow.pushes == quick.pushes


def test_a_subscriber_too_far_behind_is_disconnected_not_skipped() -> None:
    server = Server("7.1.0", push_limit=1000, high_water=100)
    slow, client = server.client(), server.client()
    slow.ok(Subscribe(b"ch"))
    slow.session.pause_writing()
    statuses = [client.ok(Publish(b"ch", b"x" * 97)) for _ in range(11)]

    assert statuses == [True] * 11
    assert slow.closed
    assert not client.ok(Publish(b"ch", b"x"))
    assert client.ask(Info()).connections == 1


def test_a_subscriber_that_reads_may_get_more_than_the_limit_at_once() -> None:
    server = Server("7.1.0", push_limit=1000, high_water=100)
    subscriber, client = server.client(), server.client()
    subscriber.ok(Subscribe(b"ch"))
    client.asks(*[Publish(b"ch", b"x" * 97)] * 100)
    subscriber.read()

    assert (len(subscriber.pushes), subscriber.closed) == (100, False)


def test_a_connection_that_pushes_too_much_to_itself_is_closed() -> None:
    server = Server("7.3.2", push_limit=1000)
    client = server.client()
    client.asks(*[Subscribe(b"ch")] * 20)
    client.send(server.codec.encode(Publish(b"ch", b"x" * 100)))

    assert client.closed
    assert server.client().ask(Info()).connections == 1


def test_pushes_wait_until_a_request_without_status_byte_is_answered(document: Server) -> None:
    subscriber, publisher = document.client(), document.client()
    subscriber.ok(Subscribe(b"ch"))
    subscriber.session.pause_writing()
    subscriber.send(b"\x18")
    publisher.ok(Publish(b"ch", b"x"))
    subscriber.session.resume_writing()

    assert subscriber.take() == subscriber.session.id + b"\x03\x01\x00x"


def test_requests_after_a_close_are_not_answered(client: Client) -> None:
    client.session.connection_lost()

    assert client.send(b"\x02\x01k") == b""
    client.session.resume_writing()
    client.session.eof_received()
    assert not client.closed


def test_ids_differ_and_are_the_same_in_every_run() -> None:
    runs = [[server.client().session.id for _ in range(5)] for server in (Server(), Server())]

    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 5


def test_the_trace_reports_what_was_asked_and_answered() -> None:
    from wireproof.reference_server.clock import VirtualClock
    from wireproof.reference_server.registry import create_service
    from wireproof.reference_server.service import Peer

    lines: list[str] = []
    service = create_service("throttr", profile="7.3.2", variant="uint8", clock=VirtualClock(), trace=lines.append)
    session = service.connect(Peer(), lambda _: None, lambda: None)
    session.data_received(bytes.fromhex("01 07 04 3c 01 6b 02 01 6b 13 01 01 2a 78"))

    assert [line.split(" ", 1)[1] for line in lines] == [
        "> Insert(quota=7, ttl_type=4, ttl=60, key=b'k')",
        "< Status(ok=True)",
        "> Query(key=b'k')",
        "< QueryReply(quota=7, ttl_type=4, ttl=60)",
        "> Publish(channel=b'*', payload=b'x')",
        "< 19 01 01 2a 78 01",
    ]
