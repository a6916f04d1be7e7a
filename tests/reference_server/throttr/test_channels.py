"""SUBSCRIBE, UNSUBSCRIBE, PUBLISH, the pushes, CHANNELS and CHANNEL."""

from __future__ import annotations

import pytest

from tests.reference_server.throttr.simulated import Client, Server
from wireproof.protocols.throttr import REFUSED
from wireproof.protocols.throttr.replies import ChannelsRow, PushedEvent, PushedMessage, Subscriber
from wireproof.protocols.throttr.requests import Channel, Channels, Info, Publish, Subscribe, Unsubscribe, Whoami


def payloads(client: Client) -> list[bytes]:
    """What was pushed to a client since the last look."""
    client.read()
    pushed = [push.payload for push in client.pushes]  # type: ignore[attr-defined]
    client.pushes.clear()
    return pushed


def test_a_message_reaches_every_other_subscriber_once(server: Server, client: Client) -> None:
    subscribers = [server.client() for _ in range(3)]
    for one in subscribers:
        one.ok(Subscribe(b"ch"))

    assert client.ok(Publish(b"ch", b"hello"))
    assert [payloads(one) for one in subscribers] == [[b"hello"]] * 3
    assert payloads(client) == []


def test_messages_are_pushed_in_the_order_they_were_published(server: Server, client: Client) -> None:
    subscriber = server.client()
    subscriber.ok(Subscribe(b"ch"))
    client.asks(*[Publish(b"ch", b"%d" % n) for n in range(9)])

    assert payloads(subscriber) == [b"%d" % n for n in range(9)]


def test_a_push_has_the_form_of_the_profile(document: Server, released: Server) -> None:
    for server, push in [(document, PushedMessage(b"hi")), (released, PushedEvent(b"ch", b"hi"))]:
        subscriber, publisher = server.client(), server.client()
        subscriber.ok(Subscribe(b"ch"))
        publisher.ok(Publish(b"ch", b"hi"))
        subscriber.read()

        assert subscriber.pushes == [push]


def test_nobody_subscribed_is_a_failure(client: Client) -> None:
    assert not client.ok(Publish(b"ch", b"hello"))


def test_the_document_does_not_push_to_the_publisher(document: Server) -> None:
    client = document.client()
    client.ok(Subscribe(b"ch"))

    assert not client.ok(Publish(b"ch", b"me"))
    assert payloads(client) == []


def test_the_released_server_pushes_to_the_publisher_before_its_status(released: Server) -> None:
    client = released.client()
    client.ok(Subscribe(b"ch"))

    assert client.send(bytes.fromhex("13 02 0200 6368 6d65")) == bytes.fromhex("19 02 0200 6368 6d65 01")


def test_a_push_to_oneself_stands_before_the_answer_of_an_event(released: Server) -> None:
    client = released.client()
    client.ok(Subscribe(b"ch"))

    answer = client.send(bytes.fromhex("19 00 0800 13 02 0200 6368 6d65"))

    assert answer == bytes.fromhex("19 02 0200 6368 6d65 01 01")


@pytest.mark.parametrize(("profile", "copies"), [("7.1.0", 1), ("7.3.2", 2)])
def test_subscribing_twice_is_one_copy_or_two_and_ends_at_once(profile: str, copies: int) -> None:
    server = Server(profile)
    subscriber, publisher = server.client(), server.client()
    assert [subscriber.ok(Subscribe(b"ch")) for _ in range(2)] == [True, True]
    publisher.ok(Publish(b"ch", b"x"))
    assert payloads(subscriber) == [b"x"] * copies

    assert [subscriber.ok(Unsubscribe(b"ch")) for _ in range(2)] == [True, False]
    assert not publisher.ok(Publish(b"ch", b"x"))


def test_a_connection_that_is_gone_takes_its_subscriptions_along(server: Server, client: Client) -> None:
    subscriber = server.client()
    subscriber.ok(Subscribe(b"ch"))
    subscriber.session.connection_lost()
    subscriber.session.connection_lost()

    assert not client.ok(Publish(b"ch", b"x"))
    assert client.ask(Channel(b"ch")) == REFUSED


def test_the_document_subscribes_nobody_by_itself(document: Server) -> None:
    client = document.client()

    assert client.ask(Channels()).fragments == ()
    assert client.ask(Info()).subscriptions == 0


def test_the_released_server_subscribes_to_star_and_to_the_own_id(released: Server) -> None:
    one, other = released.client(), released.client()
    own = one.ask(Whoami()).id.hex().encode()

    assert other.asks(Publish(own, b"for one"), Publish(b"*", b"for all"))
    assert payloads(one) == [b"for one", b"for all"]
    assert payloads(other) == [b"for all"]
    assert (one.ask(Info()).subscriptions, one.ask(Info()).channels) == (4, 3)
    assert one.ok(Unsubscribe(own))
    assert not other.ok(Publish(own, b"x"))


def test_channels_lists_names_in_ascending_order(document: Server) -> None:
    client = document.client()
    for name in (b"b", b"", b"a\xff", b"a"):
        client.ok(Subscribe(name))

    (fragment,) = client.ask(Channels()).fragments

    assert [row.channel for row in fragment.rows] == [b"", b"a", b"a\xff", b"b"]


def test_the_document_counts_bytes_delivered_and_published_by_subscribers(document: Server) -> None:
    one, other = document.client(), document.client()
    one.ok(Subscribe(b"ch"))
    document.wait(1)
    other.ok(Subscribe(b"ch"))
    one.ok(Publish(b"ch", b"12345"))

    rows = one.ask(Channel(b"ch")).subscribers

    start = document.clock.wall_ns()
    first, second = one.session.id, other.session.id
    assert rows == (Subscriber(first, start - 10**9, 0, 5), Subscriber(second, start, 5, 0))
    assert one.ask(Channels()).fragments[0].rows == (ChannelsRow(b"ch", 5, 5, 2),)


def test_the_released_server_counts_what_was_published_to_each_subscription(released: Server) -> None:
    one = released.client()
    one.asks(Subscribe(b"ch"), Subscribe(b"ch"), Publish(b"ch", b"12345"))

    rows = one.ask(Channel(b"ch")).subscribers

    assert [(row.read_bytes, row.write_bytes) for row in rows] == [(5, 0), (5, 0)]


def test_subscriptions_beyond_the_limit_are_refused() -> None:
    client = Server("7.1.0", max_subscriptions=2).client()

    assert [client.ok(Subscribe(b"%d" % n)) for n in range(3)] == [True, True, False]
    assert client.ok(Unsubscribe(b"0"))
    assert client.ok(Subscribe(b"2"))
