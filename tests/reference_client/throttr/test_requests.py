"""Every request of the SDK against the reference server, under both profiles and every width."""

from __future__ import annotations

import asyncio

import pytest

from tests.reference_client.peers import LOOPBACK, in_a_loop, reference_server
from wireproof.protocols.throttr.replies import QueryReply, Status
from wireproof.protocols.throttr.requests import Insert, Query
from wireproof.reference_client.throttr import (
    Attribute,
    BadRequestError,
    Change,
    Client,
    ClosedError,
    KeyType,
    TooLongError,
    TooWideError,
    TTLType,
    UnsupportedError,
)

PROFILES = ["7.1.0", "7.3.2"]
WIDTHS = {"uint8": 2**8 - 1, "uint16": 2**16 - 1, "uint32": 2**32 - 1, "uint64": 2**64 - 1}
KEY = bytes([0, 255, 10, 13, 0])


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("variant", "maximum"), WIDTHS.items())
@in_a_loop
async def test_every_request_of_records_is_answered(profile: str, variant: str, maximum: int) -> None:
    async with (
        reference_server(profile, variant) as port,
        Client.connect(LOOPBACK, port, profile=profile, variant=variant) as client,
    ):
        assert await client.insert(KEY, quota=maximum, ttl=200, ttl_type=TTLType.HOURS)
        assert not await client.insert(KEY, quota=1, ttl=1)
        assert (found := await client.query(KEY)) is not None
        assert (found.quota, found.ttl_type) == (maximum, TTLType.HOURS)
        assert await client.decrease(KEY, maximum)
        assert not await client.decrease(KEY, 1)
        assert await client.increase(KEY, 5)
        assert await client.update(KEY, attribute=Attribute.TTL, change=Change.PATCH, value=100)
        assert await client.query(b"nobody") is None
        assert await client.set(b"", b"\0value\xff", ttl=60)
        assert (buffer := await client.get(b"")) is not None
        assert buffer.value == b"\0value\xff"
        rows = {row.key: row for row in await client.list()}
        assert {key: KeyType(row.key_type) for key, row in rows.items()} == {
            KEY: KeyType.COUNTER,
            b"": KeyType.BUFFER,
        }
        assert {row.key for row in await client.stats()} == {KEY, b""}
        assert await client.stat(KEY) is not None
        assert await client.stat(b"nobody") is None
        assert await client.purge(KEY)
        assert not await client.purge(KEY)
        assert (await client.info()).total_insert == 2


@pytest.mark.parametrize("profile", PROFILES)
@in_a_loop
async def test_every_request_about_connections_and_channels_is_answered(profile: str) -> None:
    async with reference_server(profile) as port, Client.connect(LOOPBACK, port, profile=profile) as client:
        me = await client.whoami()
        assert [row.id for row in await client.connections()] == [me]
        found = await (client.connection(index=0) if profile == "7.1.0" else client.connection(id=me))
        assert found is not None
        assert found.id == me
        assert await client.subscribe(b"news")
        assert b"news" in {row.channel for row in await client.channels()}
        subscribers = await client.channel(b"news")
        assert subscribers is not None
        assert [one.connection_id for one in subscribers] == [me]
        assert await client.channel(b"nobody") is None
        assert await client.unsubscribe(b"news")
        assert not await client.publish(b"news", b"lost")


@in_a_loop
async def test_a_request_may_travel_in_an_event() -> None:
    async with reference_server("7.3.2") as port, Client.connect(LOOPBACK, port, profile="7.3.2") as client:
        assert await client.event(b"", bytes.fromhex("18")) is not None
        assert await client.event(b"", b"") is None


@in_a_loop
async def test_a_batch_is_one_write_and_each_call_gets_its_own_reply() -> None:
    async with reference_server() as port, Client.connect(LOOPBACK, port) as client:
        async with client.batch() as batch:
            inserted = batch.insert(b"k", quota=7, ttl=60)
            listed = batch.list()
            missing = batch.query(b"nobody")
            found = batch.query(b"k")
            purged = batch.purge(b"k")
        assert await inserted
        assert [row.key for row in await listed] == [b"k"]
        assert await missing is None
        assert isinstance(await found, QueryReply)
        assert await purged
        async with client.batch():
            pass


@in_a_loop
async def test_a_batch_that_is_left_by_an_error_sends_nothing() -> None:
    async with reference_server() as port, Client.connect(LOOPBACK, port) as client:

        async def wrong() -> None:
            async with client.batch() as batch:
                batch.insert(b"k", quota=7, ttl=60)
                batch.insert(b"l", quota=65536, ttl=60)

        with pytest.raises(TooWideError):
            await wrong()

        assert await client.list() == ()


@in_a_loop
async def test_calls_in_flight_keep_their_order() -> None:
    async with reference_server() as port, Client.connect(LOOPBACK, port) as client:
        await client.ask_all([Insert(number, TTLType.HOURS, 9, b"%d" % number) for number in range(100)])

        found = await asyncio.gather(*[client.query(b"%d" % number) for number in range(100)])

        assert [one.quota for one in found if one] == list(range(100))


@in_a_loop
async def test_requests_can_be_asked_as_messages() -> None:
    async with reference_server() as port, Client.connect(LOOPBACK, port) as client:
        assert await client.ask(Query(b"nobody")) == Status(False)


@pytest.mark.parametrize("variant", WIDTHS)
@pytest.mark.parametrize(
    ("call", "error", "detail"),
    [
        (lambda client, over: client.insert(b"k", quota=over, ttl=1), TooWideError, "INSERT.quota: expected at most"),
        (lambda client, over: client.insert(b"k", quota=1, ttl=over), TooWideError, "INSERT.ttl: expected at most"),
        (lambda client, over: client.insert(b"k", quota=1, ttl=1, ttl_type=256), TooWideError, "at most 255, got 256"),
        (lambda client, over: client.insert(b"k", quota=-1, ttl=1), BadRequestError, "from 0 to .*, got -1"),
        (lambda client, over: client.insert(b"k", quota=True, ttl=1), BadRequestError, "got True"),
        (lambda client, over: client.insert(b"k", quota=1.0, ttl=1), BadRequestError, "got 1.0"),
        (lambda client, over: client.query(b"k" * 256), TooLongError, "QUERY.key: expected at most 255 bytes, got 256"),
        (lambda client, over: client.query("k"), BadRequestError, "QUERY.key: expected bytes, got a value of type str"),
        (lambda client, over: client.set(b"k", b"v" * 256, ttl=1), TooLongError, "SET.value: expected at most 255"),
        (lambda client, over: client.connection(index=2**32), TooWideError, "got 4294967296"),
        (lambda client, over: client.connection(index=2**99), TooWideError, "an integer of 100 bits"),
        (lambda client, over: client.connection(id=bytes(16)), UnsupportedError, "7.1.0 has no request ConnectionById"),
        (lambda client, over: client.event(b"", b""), UnsupportedError, "profile 7.1.0 has no request Event"),
    ],
)
@in_a_loop
async def test_what_does_not_fit_is_refused_before_a_byte_is_sent(variant, call, error, detail) -> None:
    async with reference_server(variant=variant) as port, Client.connect(LOOPBACK, port, variant=variant) as client:
        before = (await client.info()).total_requests

        with pytest.raises(error, match=detail):
            await call(client, WIDTHS[variant] + 1)

        assert (await client.info()).total_requests == before + 1


def test_a_connection_is_asked_for_by_one_of_two() -> None:
    client = Client.connect(LOOPBACK, 1)

    with pytest.raises(BadRequestError, match="either index or id"):
        client.connection()


@in_a_loop
async def test_an_id_has_its_size() -> None:
    async with reference_server("7.3.2") as port, Client.connect(LOOPBACK, port, profile="7.3.2") as client:
        with pytest.raises(BadRequestError, match=r"CONNECTION\.id: expected 16 bytes, got 2 bytes"):
            await client.connection(id=b"me")


@pytest.mark.parametrize(
    ("options", "detail"),
    [({"profile": "9"}, "unknown profile '9': expected 7.1.0 or 7.3.2"), ({"variant": "int"}, "unknown variant 'int'")],
)
def test_an_unknown_profile_or_variant_is_refused(options: dict[str, str], detail: str) -> None:
    with pytest.raises(ValueError, match=detail):
        Client.connect(LOOPBACK, 1, **options)


@in_a_loop
async def test_a_client_may_be_awaited_and_closed_and_says_so_when_it_is_used_afterwards() -> None:
    async with reference_server() as port:
        client = await Client.connect(LOOPBACK, port)
        assert len(await client.whoami()) == 16
        await client.close()
        await client.close()

        with pytest.raises(ClosedError, match="the client was closed"):
            await client.whoami()
        with pytest.raises(ClosedError, match="the client was closed"):
            await anext(client.subscription(b"*", subscribe=False))
        with pytest.raises(ClosedError, match="make another one"):
            await client


@in_a_loop
async def test_nobody_listening_is_reported() -> None:
    async with reference_server() as port:
        pass

    with pytest.raises(ClosedError, match=f"cannot connect to {LOOPBACK} port {port}"):
        await Client.connect(LOOPBACK, port)
