"""The namechan SDK when connections are lost: it connects again, replays what was missed, ends what cannot go on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.reference_client.namechan.conversations import (
    CONNECT,
    LATEST,
    QUEUES,
    VERSION,
    Received,
    connected,
    frame,
    message,
    served,
    steps,
    subscribed,
)
from tests.reference_client.peers import LOOPBACK, in_a_loop, reference_server, scripted
from wireproof.protocols.namechan.requests import Subscribe
from wireproof.reference_client.namechan import (
    Client,
    ClosedError,
    Reconnect,
    RefusedError,
    Replay,
)


@in_a_loop
async def test_a_lost_connection_is_restored_from_the_first_message_not_seen() -> None:
    asked = [b"(Subscribe a From_beginning)\n", b"(Subscribe b From_current)\n", b"(Subscribe c From_current)\n"]
    again = [b"(Subscribe a(From_message 6))\n", b"(Subscribe b From_current)\n"]
    before = steps(
        (VERSION, [VERSION]),
        (CONNECT + asked[0].hex(), [subscribed(b"a", 1) + message(5, b"5", 1)]),
        (asked[1].hex(), [subscribed(b"b", 2)]),
        (asked[2].hex(), [frame(0, b"no")]),
        then="close",
    )
    after = steps(
        (VERSION, [VERSION]),
        (CONNECT + b"".join(again).hex(), [subscribed(b"a", 8), subscribed(b"b", 9), message(6, b"6", 8)]),
    )
    mended, found = Received(), []
    how = Reconnect(first_delay=0.01)
    async with (
        scripted(before, after) as port,
        connected(port, reconnect=how, on_mended=lambda: mended(1)) as (client, _),
    ):
        messages = client.subscription(b"a", replay=Replay.FROM_BEGINNING)
        found.append(await anext(messages))
        await client.subscribe(b"b")
        with pytest.raises(RefusedError):
            await client.subscribe(b"c")
        await mended.until(lambda: len(mended) == 1)
        found.append(await anext(messages))
        await client.close()
        with pytest.raises(StopAsyncIteration):
            await anext(messages)

    assert [one.body for one in found] == [b"5", b"6"]


@in_a_loop
async def test_an_iteration_ends_with_the_loss() -> None:
    asked = b"(Subscribe a From_current)\n".hex()
    script = steps((VERSION, [VERSION]), (CONNECT + asked, [subscribed(b"a") + message(1, b"x")]), then="close")
    async with scripted(script) as port, connected(port) as (client, _):
        subscription = client.subscription(b"a")
        assert (await anext(subscription)).id == 1
        with pytest.raises(ClosedError, match="the server closed the connection"):
            await anext(subscription)
        with pytest.raises(ClosedError):
            await client.subscription(b"b").begin()


@in_a_loop
async def test_an_iteration_ends_when_its_topic_is_unsubscribed() -> None:
    async with served() as port, connected(port) as (client, received):
        messages = client.subscription(b"news")
        await messages.begin()
        await client.publish(b"news", b"x")
        await received.until(lambda: len(received) == 1)
        await client.unsubscribe(b"news")

        assert [one.body async for one in messages] == [b"x"]


@in_a_loop
async def test_one_request_may_be_asked_several_times_at_once() -> None:
    request = Subscribe(b"news")
    async with served() as port, connected(port) as (client, _):
        answers = await asyncio.gather(*(client.ask(request) for _ in range(3)))

    assert len(set(answers)) == 1


@in_a_loop
async def test_a_replay_goes_on_over_a_restart_without_gap_and_double(tmp_path: Path) -> None:
    kept: dict[str, Any] = {"data": str(tmp_path)}
    how = Reconnect(attempts=50, first_delay=0.01, longest_delay=0.05)
    found: list[int] = []
    async with served(**kept) as port, connected(port) as (publisher, _):
        for number in range(40):
            await publisher.publish(b"prices", b"%d" % number)
        await publisher.publish(b"prices", b"", wait=0.05)
        listening = Client.connect(LOOPBACK, port, reconnect=how, timeout=LATEST)
        client = await listening
        messages = client.subscription(b"prices", replay=Replay.FROM_BEGINNING)
        found += [(await anext(messages)).id for _ in range(17)]
    async with reference_server(
        "1+publish", "standard", protocol="namechan", port=port, options={"queue": QUEUES, **kept}
    ):
        async with connected(port) as (publisher, _):
            for number in range(40):
                await publisher.publish(b"prices", b"%d" % number)
            found += [(await anext(messages)).id for _ in range(64)]
        await client.close()

    assert found == list(range(1, 82))
