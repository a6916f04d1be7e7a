"""The PSRT SDK against servers that follow a script: pings, beacons, losses, cut pushes and broken answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.reference_client.peers import LOOPBACK, in_a_loop, scripted
from tests.reference_client.psrt.peers import (
    DATA_GREETED,
    FE,
    FF,
    GREETED,
    OK,
    TOKEN,
    attached,
    connected,
    logged_in,
    pair,
    saying,
    stay,
)
from wireproof.reference_client.psrt import (
    AccessError,
    BadReplyError,
    Client,
    ClosedError,
    DeadlineError,
    Message,
    Reconnect,
    RefusedError,
    ResponseCode,
)

PUSH = bytes.fromhex("017f04000000 74 00 006d")
HELLO, ANONYMOUS = bytes.fromhex("eeaa00"), bytes.fromhex("01000000 00")
SUBSCRIBE = bytes.fromhex("0201000000 74")
PUBLISH = bytes.fromhex("017f03000000 74 00 6d")


def writing(*pieces: bytes, then: Any = stay) -> Any:
    """Write each in a segment of its own."""

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001)
        await then(reader, writer)

    return play


async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """End at once."""


@pytest.mark.parametrize(
    "pieces",
    [[b"\0" + PUSH + PUSH + b"\0"], [bytes([one]) for one in PUSH + b"\0" + PUSH], [PUSH + PUSH[:8], PUSH[8:]]],
)
@in_a_loop
async def test_pushes_are_read_however_they_are_cut_and_beacons_are_not_handed_on(pieces: list[bytes]) -> None:
    async with pair(data=writing(*pieces)) as port, connected(port) as (_, received):
        await received.until(lambda: len(received.messages) == 2)

    assert received.messages == [Message(0x7F, b"t", b"\0m")] * 2
    assert received.losses == []


async def pinged(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer pings, and nothing else."""
    while await reader.readexactly(1) == b"\0":
        writer.write(OK)


@in_a_loop
async def test_a_silent_client_pings_and_takes_the_answers_itself() -> None:
    twice = asyncio.Event()

    async def count(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            assert await reader.readexactly(1) == b"\0"
            writer.write(OK)
        twice.set()
        await pinged(reader, writer)

    async with pair(count) as port, connected(port, timeout=0.6) as (_, received):
        await twice.wait()

    assert received.losses == []


@in_a_loop
async def test_the_answer_to_a_ping_goes_to_nobody_else() -> None:
    waiting = asyncio.Event()

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(1) == b"\0"
        waiting.set()
        assert await reader.readexactly(len(PUBLISH)) == PUBLISH
        writer.write(OK + FE)
        await pinged(reader, writer)

    async with pair(late) as port, connected(port, timeout=0.9) as (client, received):
        await waiting.wait()
        with pytest.raises(AccessError):
            await client.publish(b"t", b"m")

    assert received.losses == []


@pytest.mark.parametrize(("answer", "detail"), [(b"", "no answer to NOP"), (FF, "NOP: the server answered ERROR")])
@in_a_loop
async def test_a_ping_without_its_answer_is_a_loss(answer: bytes, detail: str) -> None:
    async with pair(saying(b"\0", answer)) as port, connected(port, timeout=0.05) as (client, received):
        await received.until(lambda: bool(received.losses))
        with pytest.raises(ClosedError):
            await client.publish(b"t", b"m")

    assert len(received.losses) == 1
    assert detail in received.losses[0][0]


@in_a_loop
async def test_a_data_socket_that_says_nothing_for_too_long_is_a_loss() -> None:
    async with pair(pinged) as port, connected(port, timeout=0.5) as (_, received):
        await received.until(lambda: bool(received.losses))

    assert received.losses == [("the data socket: the server sent nothing for 1.1 s", False)]


@pytest.mark.parametrize("data", [closing, writing(b"\x05"), writing(PUSH[:9], then=closing)])
@in_a_loop
async def test_the_loss_of_the_data_socket_is_that_of_the_session(data: Any) -> None:
    begun = asyncio.Event()

    async def then(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await begun.wait()
        await data(reader, writer)

    async with pair(data=then) as port, connected(port) as (client, received):
        asks = [asyncio.ensure_future(client.publish(b"t", b"m")) for _ in range(3)]
        await asyncio.sleep(0)
        begun.set()
        ended = await asyncio.gather(*asks, return_exceptions=True)

    assert {type(one) for one in ended} <= {ClosedError, BadReplyError}
    assert len(received.losses) == 1
    assert received.losses[0][0].startswith("the data socket: the server")


@in_a_loop
async def test_the_loss_of_the_control_socket_ends_all_that_waits() -> None:
    async def twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(2 * len(PUBLISH))

    async with pair(twice) as port, connected(port) as (client, received):
        ended = await asyncio.gather(*[client.publish(b"t", b"m") for _ in range(2)], return_exceptions=True)

    assert [type(one) for one in ended] == [ClosedError] * 2
    assert len(received.losses) == 1


@pytest.mark.parametrize(
    ("control", "error", "detail"),
    [
        (saying(HELLO, bytes.fromhex("eeaa0200")), BadReplyError, "expected version 1, got 2"),
        (saying(HELLO, DATA_GREETED), BadReplyError, "expected ee aa, got ee ab"),
        (saying(HELLO, b"", then=closing), ClosedError, "closed the connection"),
        (saying(HELLO, GREETED, ANONYMOUS, b"", then=closing), AccessError, "was refused"),
        (saying(HELLO, GREETED, ANONYMOUS, TOKEN[:31], then=closing), AccessError, "was refused"),
        (saying(HELLO, GREETED[:3]), DeadlineError, r"not ready in 0\.1 s"),
    ],
)
@in_a_loop
async def test_a_control_socket_that_begins_badly_is_reported(
    control: Any, error: type[Exception], detail: str
) -> None:
    async with scripted(control) as port:
        with pytest.raises(error, match=detail):
            await Client.connect(LOOPBACK, port, timeout=0.1 if error is DeadlineError else 5.0)


@pytest.mark.parametrize(
    ("data", "error", "detail"),
    [
        (DATA_GREETED + FF, RefusedError, "token of the data socket: the server answered ERROR"),
        (DATA_GREETED, ClosedError, "closed the connection"),
        (GREETED, BadReplyError, "expected ee ab"),
        (bytes.fromhex("eeab0300"), BadReplyError, "expected version 1, got 3"),
    ],
)
@in_a_loop
async def test_a_data_socket_that_begins_badly_is_reported(data: bytes, error: type[Exception], detail: str) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(3) == bytes.fromhex("eeab00")
        writer.write(data[:4])
        assert (await reader.readexactly(33))[:32] == TOKEN
        writer.write(data[4:])

    async with scripted(logged_in(stay), script) as port:
        with pytest.raises(error, match=detail):
            await Client.connect(LOOPBACK, port)


@pytest.mark.parametrize("sent", [OK, b""])
@in_a_loop
async def test_bye_is_answered_or_not_and_closes(sent: bytes) -> None:
    async def bye(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readexactly(1) == b"\xff"
        writer.write(sent)

    async with pair(bye) as port, connected(port) as (client, received):
        assert await client.bye() is ResponseCode.OK

    assert received.losses == []


@in_a_loop
async def test_nothing_comes_between_the_halves_of_a_replication() -> None:
    first, second = bytes.fromhex("1101000000 74"), bytes.fromhex("7f 0100000000000000 01000000 6d")
    async with (
        pair(saying(first, b"\x02", second + PUBLISH, OK + FE, first, b"\xe0", first, FE)) as port,
        connected(port) as (client, _),
    ):
        both = [client.publish_repl(b"t", b"m", timestamp=1), client.publish(b"t", b"m")]
        done, denied = await asyncio.gather(*both, return_exceptions=True)
        assert (done, type(denied)) == (ResponseCode.OK, AccessError)
        assert await client.publish_repl(b"t", b"m", timestamp=1) is ResponseCode.NOT_REQUIRED
        with pytest.raises(AccessError):
            await client.publish_repl(b"t", b"m", timestamp=1)


@in_a_loop
async def test_a_replication_without_an_answer_ends_the_session() -> None:
    async with pair() as port, connected(port, timeout=0.1) as (client, received):
        with pytest.raises((DeadlineError, ClosedError)):
            await client.publish_repl(b"t", b"m")
        assert len(received.losses) == 1


@in_a_loop
async def test_answers_other_than_ok_are_errors() -> None:
    async with (
        pair(saying(PUBLISH, b"\x02", PUBLISH, b"\xe0", PUBLISH, b"\x07")) as port,
        connected(port) as (client, received),
    ):
        for name in ("OK_WAITING", "NOT_REQUIRED"):
            with pytest.raises(RefusedError, match=f"the server answered {name}"):
                await client.publish(b"t", b"m")
        with pytest.raises(BadReplyError, match="07"):
            await client.publish(b"t", b"m")

    assert len(received.losses) == 1


@in_a_loop
async def test_a_lost_session_is_made_again_with_its_subscriptions() -> None:
    subscribed = asyncio.Event()

    async def until_subscribed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await subscribed.wait()

    scripts = [
        logged_in(saying(SUBSCRIBE, OK)),
        attached(until_subscribed),
        logged_in(saying(SUBSCRIBE, OK, PUBLISH, OK)),
        attached(writing(PUSH)),
    ]
    async with (
        scripted(*scripts) as port,
        connected(port, reconnect=Reconnect(first_delay=0.001)) as (client, received),
    ):
        await client.subscribe(b"t")
        subscribed.set()
        await received.until(lambda: received.mended == 1 and len(received.messages) == 1)
        assert await client.publish(b"t", b"m") is ResponseCode.OK

    assert [mending for _, mending in received.losses] == [True]
