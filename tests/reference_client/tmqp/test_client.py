"""The TMQP SDK against the reference server: queues, pulls, direct messages, events, losses, TLS."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.reference_client.peers import LOOPBACK, in_a_loop, reference_server, saying, scripted
from wireproof.protocols.tmqp.bodies import ChannelInformation
from wireproof.reference_client.tmqp import (
    AccessError,
    BadReplyError,
    BadRequestError,
    Client,
    ClosedError,
    Confirmation,
    DeadlineError,
    DirectMessage,
    Notification,
    QueueMessage,
    QueueOptions,
    QueueStatus,
    Reconnect,
    RefusedError,
    Response,
    TooLongError,
    UnsupportedError,
    UntrustedError,
)
from wireproof.reference_server.certificates import self_signed

GREETING = "544d51502f322e30"
HELLO = "10100000006500" + "0b" + b"CONNECT /\r\n".hex()
WELCOME = "1010000004ca0000" + b"made".hex()
QUEUE = ((b"Queue-Id", b"7"),)


class Received(list[Any]):
    """What a client was told, and when enough of it has come."""

    def __call__(self, message: Any) -> None:
        self.append(message)

    async def until(self, enough: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not enough():
                await asyncio.sleep(0.002)


@asynccontextmanager
async def connected(port: int, **more: Any) -> AsyncIterator[tuple[Client, Received]]:
    received = Received()
    async with Client.connect(LOOPBACK, port, **{"on_message": received, "timeout": 3.0, **more}) as client:
        yield client, received


def served(profile: str = "doc", **more: Any) -> Any:
    return reference_server(profile, "standard", protocol="tmqp", **more)


@pytest.mark.parametrize("profile", ["doc", "twino-3.0.0"])
@in_a_loop
async def test_a_message_goes_through_a_queue_and_is_acknowledged(profile: str) -> None:
    async with (
        served(profile) as port,
        connected(port, profile=profile, client_id=b"producer") as (producer, _),
        connected(port, profile=profile, client_id=b"consumer") as (consumer, received),
    ):
        options = QueueOptions(Status=QueueStatus.PUSH, RequestAcknowledge=True)
        await producer.create_queue(b"room", headers=QUEUE, payload=options)
        await consumer.join(b"room")
        confirmed = await producer.produce(
            b"room", content_type=7, payload=b"x" * 70_000, headers=((b"Key", b"v"),), pending_ack=1
        )
        await received.until(lambda: len(received) == 1)
        await consumer.confirm(received[0])
        await consumer.leave(b"room")

    (message,) = received
    assert isinstance(message, QueueMessage)
    assert (message.source, message.target, message.content_type) == (b"producer", b"room", 7)
    assert message.payload == b"x" * 70_000
    assert [(one.name, one.value) for one in message.headers] == [(b"Key", b"v")]
    assert isinstance(confirmed, Confirmation)


@in_a_loop
async def test_messages_are_pulled_and_the_end_is_returned() -> None:
    async with served() as port, connected(port) as (client, received):
        await client.create_queue(b"room", headers=QUEUE, payload=QueueOptions(Status=QueueStatus.PULL))
        await client.join(b"room")
        for number in range(3):
            await client.produce(b"room", content_type=7, payload=b"%d" % number)
        end = await client.pull(b"room", content_type=7, headers=((b"Count", b"2"),))
        await received.until(lambda: len(received) == 2)
        with pytest.raises(RefusedError, match="Unacceptable"):
            await client.pull(b"room", content_type=7)

    assert [one.payload for one in received] == [b"0", b"1"]
    assert isinstance(end, QueueMessage)
    assert {one.value for each in received for one in each.headers if one.name == b"Request-Id"} == {end.id}


@in_a_loop
async def test_direct_messages_are_answered_and_acknowledged() -> None:
    async with (
        served() as port,
        connected(port, client_id=b"asks") as (asks, _),
        connected(port, client_name=b"worker") as (answers, received),
    ):
        asked = asyncio.create_task(asks.send_direct(b"@name:worker", content_type=9, payload=b"?", pending_response=1))
        await received.until(lambda: len(received) == 1)
        await answers.respond(received[0].id, received[0].source, content_type=500, payload=b"!")
        response = await asked
        confirmed = asyncio.create_task(asks.send_direct(b"@name:worker", payload=b"?", pending_ack=1))
        await received.until(lambda: len(received) == 2)
        await answers.confirm(received[1], b"busy")
        with pytest.raises(RefusedError, match="negative acknowledgement: busy"):
            await confirmed
        with pytest.raises(RefusedError, match="404 NOT_FOUND"):
            await asks.send_direct(b"nobody", pending_response=1)

    assert isinstance(received[0], DirectMessage)
    assert isinstance(response, Response)
    assert (response.content_type, response.payload) == (500, b"!")
    assert response.source == answers.id != b""


@in_a_loop
async def test_events_are_handed_on_until_they_are_taken_back() -> None:
    async with served() as port, connected(port) as (client, received):
        await client.event(b"ChannelCreated")
        await client.create_channel(b"one")
        await received.until(lambda: len(received) == 1)
        await client.unsubscribe(b"ChannelCreated")
        await client.create_channel(b"two")
        found = await client.channel_info(b"two")
        assert isinstance(found, Response)
        information = client.decoded(ChannelInformation, found.payload)

    (event,) = received
    assert isinstance(event, Notification)
    assert (event.source, event.target) == (b"ChannelCreated", b"one")
    assert isinstance(information, ChannelInformation)
    assert information.Name == b"two"


@in_a_loop
async def test_every_call_gets_the_answer_with_its_id() -> None:
    async with served() as port, connected(port) as (client, _):
        await client.create_channel(b"there")
        names = [b"there" if number % 3 else b"absent" for number in range(60)]
        answers = await asyncio.gather(*(client.join(name) for name in names), return_exceptions=True)

    assert [isinstance(one, Response) for one in answers] == [name == b"there" for name in names]


@in_a_loop
async def test_what_does_not_fit_is_refused_before_it_is_sent() -> None:
    async with served() as port, connected(port) as (client, _):
        with pytest.raises(TooLongError, match=r"JOIN.target: expected at most 255 bytes, got 256"):
            await client.join(b"x" * 256)
        with pytest.raises(TooLongError, match=r"PRODUCE.headers: expected at most 65535 bytes"):
            await client.produce(b"room", headers=((b"Key", b"v" * 65_530),))
        with pytest.raises(BadRequestError, match="expected a name without colon"):
            await client.produce(b"room", headers=((b"K:ey", b"v"),))
        with pytest.raises(BadRequestError, match="expected bytes without CR and LF"):
            await client.produce(b"room", headers=((b"Key", b"v\r\nX:y"),))
        with pytest.raises(BadRequestError, match="expected bytes, got a value of type str"):
            await client.join("room")  # type: ignore[arg-type]
        with pytest.raises(BadRequestError, match="QUEUE_OPTIONS"):
            await client.create_queue(b"room", headers=QUEUE, payload=QueueOptions(Status="push"))  # type: ignore[arg-type]
        with pytest.raises(UnsupportedError, match="profile doc has no request CLEAR_QUEUE"):
            await client.clear_queue(b"room")
        assert await client.list_clients() is not None
    with pytest.raises(BadRequestError, match="client_name: expected bytes without CR and LF"):
        Client.connect(LOOPBACK, port, client_name=b"a\r\nb")
    for wrong in ({"profile": "9"}, {"variant": "wide"}, {"tls": "maybe"}, {"tls": "tls", "ca": "/nowhere"}):
        with pytest.raises(ValueError, match=next(iter(reversed(wrong)))):
            Client.connect(LOOPBACK, port, **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ([GREETING, "1010000000f70100"], AccessError),
        (["544d512f312e3031"], BadReplyError),
        (["485454502f312e31"], BadReplyError),
    ],
)
@in_a_loop
async def test_a_greeting_that_fails_is_an_error(answer: list[str], error: type[Exception]) -> None:
    async with scripted(saying(GREETING + HELLO, *answer)) as port:
        with pytest.raises(error):
            await Client.connect(LOOPBACK, port)


@in_a_loop
async def test_a_late_answer_is_dropped_and_a_silent_server_is_noticed() -> None:
    losses: list[str] = []
    async with (
        scripted(saying(GREETING + HELLO, GREETING, WELCOME)) as port,
        connected(port, timeout=0.2, on_loss=lambda why, again: losses.append(str(why))) as (client, _),
    ):
        assert client.id == b"made"
        with pytest.raises(DeadlineError, match=r"no answer to JOIN in 0.2 s"):
            await client.join(b"room")
        async with asyncio.timeout(5):
            while not losses:
                await asyncio.sleep(0.01)
        with pytest.raises(ClosedError):
            await client.join(b"room")

    assert losses == ["the server did not answer a ping in 0.2 s"]


@in_a_loop
async def test_a_lost_connection_is_joined_again() -> None:
    mended = asyncio.Event()
    async with served() as port:
        again = Reconnect(attempts=10, first_delay=0.02)
        client = await Client.connect(LOOPBACK, port, reconnect=again, on_mended=mended.set, timeout=3)
        await client.create_queue(b"room", headers=QUEUE)
        await client.join(b"room")
        await client.event(b"ClientConnected")
    async with served(port=port), connected(port) as (other, _):
        await other.create_queue(b"room", headers=QUEUE)
        async with asyncio.timeout(5):
            await mended.wait()
        found = await other.channel_info(b"room")
        assert isinstance(found, Response)
        assert b'"ActiveClients":1' in found.payload
        await client.close()


@in_a_loop
async def test_tls_begins_with_the_first_byte(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path / "mine")
    other, _ = self_signed(tmp_path / "other")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    async with served(tls=context) as port:
        async with connected(port, tls="tls", ca=str(certificate)) as (client, _):
            assert await client.create_channel(b"room") is not None
        with pytest.raises(UntrustedError):
            await Client.connect(LOOPBACK, port, tls="tls", ca=str(other))
