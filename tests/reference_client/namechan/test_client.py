"""The namechan SDK against the reference server and against scripts: topics, replay, pings, errors, losses."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.reference_client.namechan.conversations import (
    CONNECT,
    LATEST,
    VERSION,
    Received,
    connected,
    frame,
    message,
    served,
    steps,
    subscribed,
)
from tests.reference_client.peers import LOOPBACK, in_a_loop, one_by_one, saying, scripted
from wireproof.reference_client.namechan import (
    BadReplyError,
    BadRequestError,
    Client,
    ClientError,
    ClosedError,
    DeadlineError,
    Message,
    RefusedError,
    Replay,
    TooWideError,
    UnsupportedError,
)


@in_a_loop
async def test_a_message_is_published_and_handed_on_until_it_is_unsubscribed() -> None:
    async with served() as port, connected(port, client_id=b"me") as (client, received), connected(port) as (other, _):
        topic = await client.subscribe(b"news")
        await other.publish(b"news", b"\0first\xff")
        await received.until(lambda: len(received) == 1)
        gone = await client.unsubscribe(b"news")
        await other.publish(b"news", b"second")
        await other.subscribe(b"news")

    assert (topic.id, topic.topic) == (gone.id, gone.topic)
    assert list(received) == [Message(1, topic.id, b"\0first\xff")]


@in_a_loop
async def test_an_iterator_replays_and_goes_on() -> None:
    async with served() as port, connected(port) as (client, _), connected(port) as (publisher, _):
        for number in range(50):
            await publisher.publish(b"prices", b"%d" % number)
        await publisher.publish(b"prices", b"settled", wait=0.05)
        found = []
        async with client.subscription(b"prices", replay=Replay.FROM_MESSAGE, message=11) as messages:
            await publisher.publish(b"prices", b"live")
            async for one in messages:
                found.append(one)
                if one.body == b"live":
                    break
        with pytest.raises(RefusedError, match="not subscribed"):
            await client.unsubscribe(b"prices")

    assert [one.id for one in found] == list(range(11, 53))
    assert found[0].body == b"10"


@in_a_loop
async def test_iterators_of_one_topic_share_its_subscription() -> None:
    async with (
        served() as port,
        connected(port) as (client, _),
        client.subscription(b"news") as one,
        client.subscription(b"news") as other,
    ):
        late = client.subscription(b"news", replay=Replay.FROM_BEGINNING)
        with pytest.raises(BadRequestError, match="iterated already"):
            await late.begin()
        await client.publish(b"news", b"x")
        both = [await anext(one), await anext(other)]
        await one.close()
        await client.publish(b"news", b"y")
        last = await anext(other)

    assert [each.body for each in both] == [b"x", b"x"]
    assert last.body == b"y"


@in_a_loop
async def test_an_iterator_that_is_not_read_ends_with_an_error_and_skips_nothing() -> None:
    async with (
        served() as port,
        connected(port) as (client, received),
        client.subscription(b"news", limit=2) as messages,
    ):
        for number in range(3):
            await client.publish(b"news", b"%d" % number)
        await received.until(lambda: len(received) == 3)
        found = [await anext(messages), await anext(messages)]
        with pytest.raises(ClientError, match="more than 2 messages of b'news' are unread"):
            await anext(messages)

    assert [one.body for one in found] == [b"0", b"1"]


@in_a_loop
async def test_messages_in_the_segment_of_their_subscribed_reach_the_iterator() -> None:
    asked = b"(Subscribe prices From_current)\n".hex()
    script = steps((VERSION, [VERSION]), (CONNECT + asked, [subscribed(b"prices") + message(7, b"early")]))
    async with scripted(script) as port, connected(port) as (client, _):
        subscription = client.subscription(b"prices")

        assert await anext(subscription) == Message(7, 3, b"early")


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (
            lambda client: client.subscribe(b"absent"),
            "SUBSCRIBE: the server answered: SUBSCRIBE: unknown topic: absent",
        ),
        (lambda client: client.subscribe(b"turns", replay=Replay.FROM_BEGINNING), "only persistent broadcast queues"),
        (lambda client: client.unsubscribe(b"prices"), "UNSUBSCRIBE: not subscribed"),
        (
            lambda client: client.publish(b"absent", b"x", wait=1),
            "PUBLISH: the server answered: PUBLISH: unknown",
        ),
    ],
)
@in_a_loop
async def test_what_a_server_refuses_is_reported_with_its_words(ask: Any, why: str) -> None:
    async with served() as port, connected(port) as (client, _):
        with pytest.raises(RefusedError, match=why) as reported:
            await ask(client)
        await client.subscribe(b"prices")

    assert reported.value.reply is not None


@in_a_loop
async def test_a_publish_that_nobody_waits_for_is_reported_to_on_error() -> None:
    errors = Received()
    async with served() as port, connected(port, on_error=errors) as (client, _):
        await client.publish(b"absent", b"x")
        await errors.until(lambda: len(errors) == 1)

    assert "unknown topic" in errors[0]


@in_a_loop
async def test_a_publish_that_waits_for_an_error_ends_with_the_connection() -> None:
    script = steps((VERSION, [VERSION]), (CONNECT + b"(Publish t x)\n".hex(), []), then="close")
    async with scripted(script) as port, connected(port) as (client, _):
        with pytest.raises(ClosedError, match="the server closed"):
            await client.publish(b"t", b"x", wait=LATEST)


@in_a_loop
async def test_each_ping_is_answered_with_its_time() -> None:
    received = Received()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await saying(VERSION, VERSION, then="go on")(reader, writer)
        await reader.readexactly(len(CONNECT) // 2)
        for time in (0, 1_356_998_400, 0xFFFFFFFF):
            for chunk in one_by_one(frame(1, time.to_bytes(4, "big"))):
                writer.write(bytes.fromhex(chunk))
                await writer.drain()
            received((await reader.readline()).decode())

    async with scripted(script) as port, connected(port):
        await received.until(lambda: len(received) == 3)

    assert list(received) == [
        '(Ack "1970-01-01 00:00:00.000000Z")\n',
        '(Ack "2013-01-01 00:00:00.000000Z")\n',
        '(Ack "2106-02-07 06:28:15.000000Z")\n',
    ]


@pytest.mark.parametrize("at", range(1, 17))
@in_a_loop
async def test_a_ping_after_the_version_is_answered_after_the_connect(at: int) -> None:
    both = bytes.fromhex(VERSION + frame(1, bytes(4)))
    received = Received()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await saying(VERSION, both[:at].hex(), both[at:].hex(), then="go on")(reader, writer)
        received(await reader.readline())
        received(await reader.readline())

    async with scripted(script) as port, connected(port):
        await received.until(lambda: len(received) == 2)

    assert list(received) == [b'(Connect 1 "")\n', b'(Ack "1970-01-01 00:00:00.000000Z")\n']


@pytest.mark.usefixtures("no_waits")
@in_a_loop
async def test_a_client_that_only_listens_stays_connected() -> None:
    async with served(ping_interval=0.05) as port, connected(port) as (client, received):
        await client.subscribe(b"news")
        await asyncio.sleep(0.4)
        await client.publish(b"news", b"still here")
        await received.until(lambda: len(received) == 1)


@in_a_loop
async def test_a_server_that_sends_nothing_counts_as_lost() -> None:
    losses = Received()
    async with served() as port, connected(port, silence=0.1, on_loss=losses):
        await losses.until(lambda: len(losses) == 1)

    ((why, mending),) = losses
    assert isinstance(why, ClosedError)
    assert str(why) == "the server sent nothing for 0.1 s"
    assert not mending


@pytest.mark.parametrize(
    ("answer", "then", "kind", "why"),
    [
        ("ffffffffffffffff", "close", RefusedError, "does not speak version 1"),
        ("0000000000000002", "stay", BadReplyError, "expected version 1 or -1, got 2"),
        ("0100000000000000", "stay", BadReplyError, "got 72057594037927936"),
        ("00000000000000", "close", ClosedError, "the server closed the connection"),
        ("", "close", ClosedError, "the server closed the connection"),
        ("", "stay", DeadlineError, "was not ready in 0.2 s"),
    ],
)
@in_a_loop
async def test_a_server_of_another_version_is_given_up(answer: str, then: str, kind: Any, why: str) -> None:
    async with scripted(saying(VERSION, answer, then=then)) as port:
        with pytest.raises(kind, match=why):
            await Client.connect(LOOPBACK, port, timeout=0.2)


@pytest.mark.parametrize(
    "form", [b"((id 3)(topic a))", b"(Subscribed((id 3)(topic a)))", b' ( (topic "a") (id "3") ) ']
)
@in_a_loop
async def test_both_forms_of_subscribed_are_read_byte_by_byte(form: bytes) -> None:
    asked = b"(Subscribe a From_current)\n".hex()
    script = steps((VERSION, [VERSION]), (CONNECT + asked, list(one_by_one(frame(3, form)))))
    async with scripted(script) as port, connected(port) as (client, _):
        found = await client.subscribe(b"a")

    assert (found.id, found.topic) == (3, b"a")


@pytest.mark.parametrize(
    ("answer", "kind", "why"),
    [
        (frame(9, b"x"), BadReplyError, "expected a type from 0 to 4, got 09"),
        (subscribed(b"other"), BadReplyError, "SUBSCRIBED: expected the topic b'a', got b'other'"),
        (frame(4, b"((id 3)(topic a))"), BadReplyError, "UNSUBSCRIBED where the answer to SUBSCRIBE is due"),
        (frame(3, b"((id 3)(topic"), BadReplyError, "SUBSCRIBE"),
        (frame(0, b"no") + "00", RefusedError, "SUBSCRIBE: the server answered: no"),
        ("00000005", ClosedError, "in the reply to SUBSCRIBE"),
    ],
)
@in_a_loop
async def test_what_is_no_answer_is_reported(answer: str, kind: Any, why: str) -> None:
    asked = b"(Subscribe a From_current)\n".hex()
    script = steps((VERSION, [VERSION]), (CONNECT + asked, [answer]), then="close")
    async with scripted(script) as port, connected(port) as (client, _):
        with pytest.raises(kind, match=why):
            await client.subscribe(b"a")


@in_a_loop
async def test_why_a_server_closes_is_reported_with_the_loss() -> None:
    losses = Received()
    script = steps((VERSION, [VERSION]), (CONNECT, [frame(0, b"too many clients")]), then="close")
    async with scripted(script) as port, connected(port, on_loss=losses) as (client, _):
        await losses.until(lambda: len(losses) == 1)
        with pytest.raises(ClosedError, match="closed the connection: too many clients"):
            await client.subscribe(b"a")


@in_a_loop
async def test_a_late_answer_belongs_to_no_other_request() -> None:
    first, second = (b"(Subscribe %s From_current)\n" % one for one in (b"a", b"b"))
    script = steps(
        (VERSION, [VERSION]), (CONNECT + first.hex(), []), (second.hex(), [subscribed(b"a", 1), subscribed(b"b", 2)])
    )
    async with scripted(script) as port, connected(port, timeout=0.1) as (client, _):
        with pytest.raises(DeadlineError, match=r"no answer to SUBSCRIBE in 0\.1 s"):
            await client.subscribe(b"a")

        assert (await client.subscribe(b"b")).id == 2


@pytest.mark.parametrize(
    ("ask", "kind", "why"),
    [
        (lambda client: client.subscribe("a"), BadRequestError, "SUBSCRIBE.topic: expected bytes"),
        (lambda client: client.subscribe(b"a", replay=3), TooWideError, "SUBSCRIBE.replay: expected at most 2, got 3"),
        (lambda client: client.subscribe(b"a", replay=1, message=1 << 64), TooWideError, "SUBSCRIBE.message"),
        (lambda client: client.subscribe(b"a", message=1), BadRequestError, "with FROM_MESSAGE only"),
        (lambda client: client.publish(b"a", b"b"), UnsupportedError, "profile 1 has no request PUBLISH"),
    ],
)
@in_a_loop
async def test_what_does_not_fit_is_refused_before_it_is_sent(ask: Any, kind: Any, why: str) -> None:
    script = steps((VERSION, [VERSION]), (CONNECT, []))
    async with scripted(script) as port, connected(port, profile="1") as (client, _):
        with pytest.raises(kind, match=why):
            await ask(client)


def test_an_unknown_profile_variant_or_id_is_refused() -> None:
    for given, why in (
        ({"profile": "2"}, "expected 1 or 1"),
        ({"variant": "wide"}, "standard"),
        ({"client_id": "x"}, "bytes"),
    ):
        with pytest.raises(ValueError, match=why):
            Client.connect(LOOPBACK, **given)  # type: ignore[arg-type]
