"""What is pushed reaches the iterators of its channel, in order, and every iteration has an end."""

from __future__ import annotations

import asyncio

import pytest

from tests.reference_client.peers import LOOPBACK, in_a_loop, reference_server, saying, scripted
from wireproof.reference_client.throttr import Client, ClientError, ClosedError, Message, Reconnect

SUBSCRIBE = "11046e657773"
UNSUBSCRIBE = "12046e657773"
EVENT = "19 04 0100 6e657773"
PROFILES = ["7.1.0", "7.3.2"]


@pytest.mark.parametrize("profile", PROFILES)
@in_a_loop
async def test_what_is_published_is_iterated_over(profile: str) -> None:
    async with (
        reference_server(profile) as port,
        Client.connect(LOOPBACK, port, profile=profile) as listener,
        Client.connect(LOOPBACK, port, profile=profile) as speaker,
    ):
        seen = []
        async with listener.subscription(b"news") as messages:
            for payload in (b"a", b"\0", b""):
                assert await speaker.publish(b"news", payload)
            async for message in messages:
                seen.append(message.payload)
                if len(seen) == 3:
                    break

        assert seen == [b"a", b"\0", b""]
        assert not await speaker.publish(b"news", b"late")


@in_a_loop
async def test_an_iteration_subscribes_when_it_begins() -> None:
    async with (
        scripted(saying(SUBSCRIBE, "01" + EVENT + "61", then="close")) as port,
        Client.connect(LOOPBACK, port, profile="7.3.2") as client,
    ):
        seen: list[Message] = []

        async def listen() -> None:
            async for message in client.subscription(b"news"):
                seen.append(message)

        with pytest.raises(ClosedError, match="the server closed the connection"):
            await listen()

    assert seen == [Message(b"news", b"a")]


@in_a_loop
async def test_closing_the_client_ends_an_iteration_after_what_it_holds() -> None:
    async with scripted(saying(SUBSCRIBE, "01" + EVENT + "61")) as port:
        client = await Client.connect(LOOPBACK, port, profile="7.3.2")
        messages = client.subscription(b"news")
        await messages.begin()
        await client.close()

        assert [one.payload async for one in messages] == [b"a"]
        assert [one async for one in messages] == []


@in_a_loop
async def test_two_iterators_of_a_channel_are_one_subscription_and_both_get_all() -> None:
    events = EVENT + "61" + EVENT + "62"
    async with (
        scripted(saying(SUBSCRIBE, "01", events, then="close")) as port,
        Client.connect(LOOPBACK, port, profile="7.3.2") as client,
    ):
        first, second = client.subscription(b"news"), client.subscription(b"news")
        other = client.subscription(b"olds", subscribe=False)
        await asyncio.gather(first.begin(), second.begin(), other.begin())

        assert [(await anext(first)).payload, (await anext(first)).payload] == [b"a", b"b"]
        assert (await anext(second)).payload == b"a"
        with pytest.raises(ClosedError):
            await anext(other)


@in_a_loop
async def test_the_last_iterator_of_a_channel_unsubscribes() -> None:
    async with reference_server() as port, Client.connect(LOOPBACK, port) as client:
        async with client.subscription(b"news"):
            async with client.subscription(b"news"):
                pass
            assert len(await client.channels()) == 1
        assert await client.channels() == ()


@in_a_loop
async def test_a_push_that_names_no_channel_goes_to_every_iterator() -> None:
    async with (
        scripted(saying(SUBSCRIBE, "01" + "03 0100 61")) as port,
        Client.connect(LOOPBACK, port) as client,
    ):
        first, second = client.subscription(b"news"), client.subscription(b"olds", subscribe=False)
        await second.begin()

        assert await anext(first) == await anext(second) == Message(None, b"a")


@in_a_loop
async def test_a_refused_subscription_is_an_error() -> None:
    async with scripted(saying(SUBSCRIBE, "00")) as port, Client.connect(LOOPBACK, port) as client:
        with pytest.raises(ClientError, match="the server refused SUBSCRIBE to b'news'"):
            await client.subscription(b"news").begin()


@in_a_loop
async def test_an_iterator_that_nobody_reads_ends_with_an_error_and_skips_nothing() -> None:
    async with (
        scripted(saying(SUBSCRIBE, "01" + (EVENT + "61") * 5)) as port,
        Client.connect(LOOPBACK, port, profile="7.3.2") as client,
    ):
        messages = client.subscription(b"news", limit=2)
        await messages.begin()
        await asyncio.sleep(0.01)

        assert [(await anext(messages)).payload for _ in range(2)] == [b"a", b"a"]
        with pytest.raises(ClientError, match="more than 2 messages of b'news' are unread"):
            await anext(messages)


QUICK = Reconnect(attempts=3, first_delay=0.001)


@in_a_loop
async def test_a_lost_connection_is_made_again_and_subscriptions_come_back() -> None:
    lost: list[bool | str] = []
    async with (
        scripted(
            saying(SUBSCRIBE, "01" + EVENT + "61", then="close"),
            saying(SUBSCRIBE, "01" + EVENT + "62"),
        ) as port,
        Client.connect(
            LOOPBACK,
            port,
            profile="7.3.2",
            reconnect=QUICK,
            on_loss=lambda why, mending: lost.append(mending),
            on_mended=lambda: lost.append("mended"),
        ) as client,
    ):
        messages = client.subscription(b"news")

        assert [(await anext(messages)).payload, (await anext(messages)).payload] == [b"a", b"b"]

    assert lost == [True, "mended"]


@in_a_loop
async def test_a_call_waits_for_the_new_connection_and_one_that_was_lost_fails() -> None:
    query = "02016b"
    async with (
        scripted(saying(query, then="close"), saying(query, "00")) as port,
        Client.connect(LOOPBACK, port, reconnect=QUICK) as client,
    ):
        with pytest.raises(ClosedError, match="with 1 request unanswered"):
            await client.query(b"k")

        assert await client.query(b"k") is None


@in_a_loop
async def test_what_was_unsubscribed_stays_so() -> None:
    whoami = "18"
    async with (
        scripted(
            saying(SUBSCRIBE + UNSUBSCRIBE, "0101", then="close"),
            saying(whoami, "ab" * 16),
        ) as port,
        Client.connect(LOOPBACK, port, reconnect=QUICK) as client,
    ):
        async with client.batch() as batch:
            batch.subscribe(b"news")
            batch.unsubscribe(b"news")
        await asyncio.sleep(0.02)

        assert await client.whoami() == b"\xab" * 16


@in_a_loop
async def test_attempts_to_connect_again_have_an_end() -> None:
    lost: list[tuple[str, bool]] = []
    async with scripted(saying("18", then="close")) as port:
        client = await Client.connect(
            LOOPBACK, port, reconnect=QUICK, on_loss=lambda why, mending: lost.append((str(why), mending))
        )
        waiting = asyncio.ensure_future(client.whoami())
        await asyncio.sleep(0)
    with pytest.raises(ClosedError):
        await waiting
    with pytest.raises(ClosedError, match="reconnecting failed after 3 attempts"):
        await client.whoami()
    assert [mending for _, mending in lost] == [True, False]
    await client.close()


@in_a_loop
async def test_closing_ends_the_attempts() -> None:
    async with scripted(saying("18", then="close")) as port:
        client = await Client.connect(LOOPBACK, port, reconnect=Reconnect(attempts=9, first_delay=60))
        with pytest.raises(ClosedError):
            await client.whoami()
        waiting = asyncio.ensure_future(client.whoami())
        await asyncio.sleep(0)
        await client.close()

    with pytest.raises(ClosedError, match="the client was closed"):
        await waiting
