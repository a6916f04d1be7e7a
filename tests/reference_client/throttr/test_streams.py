"""The SDK against bytes as networks deliver them: split, joined, late, missing, too many, and connections that end."""

from __future__ import annotations

import asyncio

import pytest

from tests.reference_client.peers import LOOPBACK, in_a_loop, one_by_one, saying, scripted
from wireproof.reference_client.throttr import (
    BadReplyError,
    Client,
    ClosedError,
    DeadlineError,
    Message,
    RefusedError,
    TTLType,
)

QUERY = "02016b"
FOUND = "01 0700 04 3c00"
PUSH_710 = "03 0200 6869"
PUSH_732 = "19 04 0200 6e657773 6869"
LISTED = " ".join(
    (
        "0200000000000000",
        "0100000000000000 0100000000000000",
        "01 00 04 0500000000000000 0200 61",
        "0200000000000000 0200000000000000",
        "00 00 04 0500000000000000 0200",
        "01 01 04 0500000000000000 0300 62",
    )
)


@in_a_loop
async def test_a_reply_that_comes_byte_by_byte_is_read() -> None:
    async with scripted(saying(QUERY, *one_by_one(FOUND))) as port, Client.connect(LOOPBACK, port) as client:
        found = await client.query(b"k")

    assert found is not None
    assert (found.quota, found.ttl_type, found.ttl) == (7, TTLType.SECONDS, 60)


@in_a_loop
async def test_fragments_cut_anywhere_are_one_list() -> None:
    async with scripted(saying("07", *one_by_one(LISTED))) as port, Client.connect(LOOPBACK, port) as client:
        rows = await client.list()

    assert [(row.key, row.bytes_used) for row in rows] == [(b"a", 2), (b"", 2), (b"b", 3)]


@in_a_loop
async def test_replies_in_one_segment_go_to_their_calls() -> None:
    async with scripted(saying(QUERY * 3, FOUND + "00" + FOUND)) as port, Client.connect(LOOPBACK, port) as client:
        first, second, third = await asyncio.gather(*[client.query(b"k") for _ in range(3)])

    assert first is not None
    assert second is None
    assert third == first


@pytest.mark.parametrize(
    ("profile", "push", "channel"), [("7.1.0", PUSH_710, None), ("7.3.2", PUSH_732, b"news")], ids=["7.1.0", "7.3.2"]
)
@pytest.mark.parametrize("split", [False, True], ids=["joined", "split"])
@in_a_loop
async def test_pushes_between_replies_are_no_replies(profile: str, push: str, channel: bytes, split: bool) -> None:
    stream = push + FOUND + push + push + "00"
    chunks = one_by_one(stream) if split else [stream]
    seen: list[Message] = []

    async with (
        scripted(saying(QUERY * 2, *chunks)) as port,
        Client.connect(LOOPBACK, port, profile=profile, on_message=seen.append) as client,
    ):
        first, second = await asyncio.gather(client.query(b"k"), client.query(b"k"))

    assert first is not None
    assert second is None
    assert seen == [Message(channel, b"hi")] * 3


@in_a_loop
async def test_a_late_reply_is_dropped_and_the_next_call_gets_its_own() -> None:
    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(6)
        writer.write(bytes.fromhex(FOUND + "00"))
        await reader.read()

    async with scripted(late) as port, Client.connect(LOOPBACK, port) as client:
        client.timeout = 0.02
        with pytest.raises(DeadlineError, match=r"no reply to QUERY in 0\.02 s"):
            await client.query(b"k")
        client.timeout = 5.0

        assert await client.query(b"k") is None


@in_a_loop
async def test_a_call_that_was_cancelled_keeps_its_place() -> None:
    async def both(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(6)
        writer.write(bytes.fromhex(FOUND + "00"))
        await reader.read()

    async with scripted(both) as port, Client.connect(LOOPBACK, port) as client:
        given_up = asyncio.create_task(client.ask_all([]))
        await given_up
        waiting = asyncio.ensure_future(client.query(b"k"))
        await asyncio.sleep(0)
        waiting.cancel()

        assert await client.query(b"k") is None


@pytest.mark.parametrize(
    ("chunks", "detail"),
    [
        ([], "the server closed the connection with 2 requests unanswered"),
        ([FOUND], "the server closed the connection with 1 request unanswered"),
        ([FOUND, "01 07"], "the server closed the connection in the reply to QUERY: the stream ended 2 bytes into"),
    ],
    ids=["nothing", "one", "half"],
)
@in_a_loop
async def test_a_close_fails_every_call_that_waits(chunks: list[str], detail: str) -> None:
    async with (
        scripted(saying(QUERY * 2, *chunks, then="close")) as port,
        Client.connect(LOOPBACK, port) as client,
    ):
        replies = await asyncio.gather(client.query(b"k"), client.query(b"k"), return_exceptions=True)

        assert isinstance(replies[1], ClosedError)
        assert detail in str(replies[1])
        assert isinstance(replies[0], ClosedError) is not bool(chunks)
        with pytest.raises(ClosedError, match="the server closed the connection"):
            await client.query(b"k")


@in_a_loop
async def test_closing_fails_every_call_that_waits_at_once() -> None:
    async with scripted(saying(QUERY * 2)) as port, Client.connect(LOOPBACK, port) as client:
        waiting = [asyncio.ensure_future(client.query(b"k")) for _ in range(2)]
        await asyncio.sleep(0.01)
        await client.close()

        for one in waiting:
            with pytest.raises(ClosedError, match="the client was closed"):
                await one


@in_a_loop
async def test_a_reset_is_a_loss() -> None:
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(3)
        writer.transport.abort()

    async with scripted(reset) as port, Client.connect(LOOPBACK, port) as client:
        with pytest.raises(ClosedError):
            await client.query(b"k")


@pytest.mark.parametrize("status", ["02", "ff"])
@in_a_loop
async def test_an_unknown_status_is_reported_and_ends_the_connection(status: str) -> None:
    async with scripted(saying(QUERY * 2, status)) as port, Client.connect(LOOPBACK, port) as client:
        replies = await asyncio.gather(client.query(b"k"), client.query(b"k"), return_exceptions=True)

        for reply in replies:
            assert isinstance(reply, BadReplyError)
            assert f"in the reply to QUERY: bad_status at byte 0: expected 00 or 01, got {status}" in str(reply)
        with pytest.raises(ClosedError, match="the server broke the protocol"):
            await client.query(b"k")


@in_a_loop
async def test_bytes_that_answer_nothing_end_the_connection() -> None:
    lost: list[str] = []
    async with (
        scripted(saying(QUERY, FOUND + "01")) as port,
        Client.connect(LOOPBACK, port, on_loss=lambda why, mending: lost.append(str(why))) as client,
    ):
        assert await client.query(b"k") is not None
        with pytest.raises(ClosedError, match="no request is waiting"):
            await client.query(b"k")

    assert lost == [lost[0]]


@in_a_loop
async def test_a_ttl_type_outside_the_table_is_reported_as_it_came() -> None:
    async with scripted(saying(QUERY, "01 0700 63 3c00")) as port, Client.connect(LOOPBACK, port) as client:
        found = await client.query(b"k")

    assert found is not None
    assert found.ttl_type == 0x63


@in_a_loop
async def test_a_server_that_takes_nothing_ends_a_call_by_its_deadline() -> None:
    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(3)

    async with scripted(deaf) as port:
        client = await Client.connect(LOOPBACK, port, variant="uint64", timeout=0.3, profile="7.3.2")
        client.timeout = 0.02
        with pytest.raises(DeadlineError):
            await client.set(b"k", bytes(20_000_000), ttl=1)
        with pytest.raises(DeadlineError):
            await client.query(b"k")
        await client.close()


REFUSABLE = {"08": "info", "07": "list", "18": "whoami"}


@pytest.mark.parametrize(("sent", "name"), REFUSABLE.items(), ids=REFUSABLE.values())
@in_a_loop
async def test_a_00_where_there_is_always_something_is_an_error(sent: str, name: str) -> None:
    async with (
        scripted(saying(sent * 2, "00" * 2)) as port,
        Client.connect(LOOPBACK, port, profile="7.3.2") as client,
    ):
        async with client.batch() as batch:
            gathered = getattr(batch, name)()
            also = getattr(batch, name)()
            also.cancel()

        with pytest.raises(RefusedError, match="the server answered 00"):
            await gathered


@in_a_loop
async def test_a_batch_that_is_cut_off_fails_as_a_whole() -> None:
    async with scripted(saying(QUERY * 2, FOUND, then="close")) as port, Client.connect(LOOPBACK, port) as client:
        batch = client.batch()
        first, second = batch.query(b"k"), batch.query(b"k")
        with pytest.raises(ClosedError, match="with 1 request unanswered"):
            await batch.send()

        assert isinstance(first, asyncio.Future)
        assert isinstance(second, asyncio.Future)
        assert [first.cancelled(), second.cancelled()] == [True, True]


@in_a_loop
async def test_a_connection_that_is_closed_as_soon_as_it_is_made_is_reported() -> None:
    async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        return

    async with scripted(nothing) as port, Client.connect(LOOPBACK, port) as client:
        with pytest.raises(ClosedError, match=r"the server closed the connection|the connection was lost"):
            await client.query(b"k")
