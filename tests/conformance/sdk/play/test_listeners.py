"""Doors over loopback: streams are told by their first bytes, datagrams come at the same port, TLS comes in between."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import cast

import pytest

from tests.reference_client.peers import in_a_loop
from wireproof.conformance.model.trace import Kind, Trace
from wireproof.conformance.sdk.play.certificate_authority import Authority
from wireproof.conformance.sdk.play.listeners import LOOPBACK, Listener
from wireproof.conformance.sdk.play.sdk_sockets import Sockets
from wireproof.conformance.sdk.play.waits import Waits, Watched
from wireproof.protocols import protocol
from wireproof.reference_server.clock import LoopClock
from wireproof.reference_server.registry import create_service
from wireproof.reference_server.service import Peer, Service, Session, Write

GREETING, LOGIN = b"\xee\xaa\0", b"\1\0\0\0\0"


class ListenerHost:
    """Keeps what a door notes."""

    def __init__(self, name: str = "psrt") -> None:
        self.spoken = protocol(name)
        profile = self.spoken.default_profile
        self.profile, self.variant = profile, self.spoken.default_variant
        self.codec = self.spoken.codec(self.spoken.profiles[profile], self.variant)
        self.noted: list[tuple[str, Kind, bytes]] = []
        self.clients: list[asyncio.StreamWriter] = []

    def note(self, connection: str, kind: Kind, data: bytes = b"") -> None:
        self.noted.append((connection, kind, data))

    def takes(self, data: bytes) -> bool:
        return True

    def greeter(self) -> Service:
        clock = LoopClock(asyncio.get_running_loop())
        return create_service(self.spoken.name, profile=self.profile, variant=self.variant, clock=clock)

    def greet(self, service: Service, write: Write) -> Session:
        return service.connect(Peer(), write, lambda: None)


@asynccontextmanager
async def opened(name: str = "psrt", *, by_hand: bool = True) -> AsyncIterator[Listener]:
    host = ListenerHost(name)
    listener = Listener(host, "a")
    listener.by_hand, listener.greets = by_hand, not by_hand
    await listener.listen()
    try:
        yield listener
    finally:
        listener.close()
        for one in host.clients:
            one.close()
            with suppress(OSError):
                await one.wait_closed()


async def until(true: object) -> None:
    async with asyncio.timeout(2):
        while not true():  # type: ignore[operator]
            await asyncio.sleep(0.001)


async def connected(listener: Listener, data: bytes = b"") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection(LOOPBACK, listener.port)
    writer.write(data)
    assert isinstance(listener.host, ListenerHost)
    listener.host.clients.append(writer)
    return reader, writer


@pytest.mark.parametrize(
    ("first", "rest", "link"), [(b"\xee", b"\xab\0", "data"), (b"\xee", b"\xaa\0", ""), (b"x", b"", "")]
)
@in_a_loop
async def test_a_stream_is_recognised_by_its_first_bytes_in_any_pieces(first: bytes, rest: bytes, link: str) -> None:
    async with opened() as listener:
        _, writer = await connected(listener, first)
        if rest:
            await asyncio.sleep(0.01)
            assert not any(one.endpoints for name, one in listener.lines.items() if name != "datagram")
            writer.write(rest)
        await until(lambda: listener.lines[link].came == first + rest)
        writer.close()
        await until(lambda: listener.lines[link].ended)


@in_a_loop
async def test_a_stream_that_says_nothing_is_of_the_usual_kind() -> None:
    async with opened() as listener:
        _, writer = await connected(listener)
        writer.close()
        await until(lambda: listener.lines[""].ended)


@in_a_loop
async def test_datagrams_come_at_the_port_of_the_streams_and_are_answered_where_they_came_from() -> None:
    async with opened() as listener:
        came = asyncio.get_running_loop().create_future()

        class Sender(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
                came.set_result((data, addr[1]))

        made = await asyncio.get_running_loop().create_datagram_endpoint(Sender, remote_addr=(LOOPBACK, listener.port))
        made[0].sendto(b"one")
        line = listener.lines["datagram"]
        await until(lambda: line.came)
        line.write(b"two")

        assert line.take() == b"one"
        assert await asyncio.wait_for(came, 2) == (b"two", listener.port)
        made[0].close()


@in_a_loop
async def test_before_it_is_connected_an_sdk_is_answered_on_all_of_its_sockets() -> None:
    async with opened(by_hand=False) as listener:
        reader, _ = await connected(listener, GREETING + LOGIN)
        token = (await reader.readexactly(36))[4:]
        listener.greets = False
        data, writer = await connected(listener, b"\xee\xab\0" + token + b"\5")
        assert await data.readexactly(5) == b"\xee\xab\1\0\1"
        writer.write(b"stray")
        await until(lambda: listener.lines["data"].came)

        assert listener.lines[""].came == b""
        assert listener.lines["data"].came == b"stray"


@in_a_loop
async def test_what_an_opening_leaves_unfinished_is_kept() -> None:
    async with opened(by_hand=False) as listener:
        reader, _ = await connected(listener, GREETING + LOGIN + b"\2\1\0")
        await reader.readexactly(36)

        assert listener.lines[""].came == b"\2\1\0"


@in_a_loop
async def test_what_begins_a_connection_once_more_is_the_cases() -> None:
    async with opened("namechan", by_hand=False) as listener:
        reader, writer = await connected(listener, bytes(7) + b"\1(Connect 1 a)\n(Conn")
        await reader.readexactly(8)
        writer.write(b"ect 1 a)\n(Unsubscribe b)\n")
        await until(lambda: listener.lines[""].came.endswith(b"b)\n"))

        assert listener.lines[""].came == b"(Connect 1 a)\n(Unsubscribe b)\n"


@in_a_loop
async def test_a_stream_goes_on_inside_tls_and_is_followed_there() -> None:
    async with opened() as listener:
        reader, writer = await connected(listener, b"\xee\xaa\1")
        await until(lambda: listener.lines[""].came)
        assert listener.lines[""].take(3) == b"\xee\xaa\1"
        endpoint = listener.secure("", Authority.get("ours").context)
        assert endpoint is not None
        await writer.start_tls(ssl.create_default_context(cafile=Authority.get("ours").path), server_hostname=LOOPBACK)
        await until(lambda: endpoint.is_secured)
        listener.lines[""].write(b"\xee\xaa\1\0")
        assert await reader.readexactly(4) == b"\xee\xaa\1\0"
        writer.write(LOGIN)
        await until(lambda: listener.lines[""].came == LOGIN)
        writer.close()
        await until(lambda: listener.lines[""].ended)


@in_a_loop
async def test_a_certificate_of_another_authority_breaks_the_handshake_and_says_why() -> None:
    async with opened() as listener:
        _, writer = await connected(listener, b"\xee\xaa\1")
        await until(lambda: listener.lines[""].came)
        listener.lines[""].take(3)
        endpoint = listener.secure("", Authority.get("ours").context)
        with pytest.raises(ssl.SSLError):
            await writer.start_tls(
                ssl.create_default_context(cafile=Authority.get("another").path), server_hostname=LOOPBACK
            )
        assert endpoint is not None
        await until(lambda: endpoint.ended)
        assert not endpoint.is_secured


@in_a_loop
async def test_a_goodbye_is_answered_and_every_socket_closed() -> None:
    async with opened(by_hand=False) as listener:
        reader, writer = await connected(listener, GREETING + LOGIN)
        token = (await reader.readexactly(36))[4:]
        data, _ = await connected(listener, b"\xee\xab\0" + token + b"\5")
        await data.readexactly(5)
        listener.greets = False
        listener.part()
        writer.write(b"\xff")

        assert await reader.read() == b"\1"
        assert await data.read() == b""
        assert listener.lines[""].came == b""


@in_a_loop
async def test_nobody_listens_for_a_connection_that_was_begun_once_more_when_the_case_is_over() -> None:
    waits = Waits(cast(Watched, None))  # no driver is asked for anything
    where = {"protocol": "namechan", "profile": "1", "variant": "standard"}
    sockets = Sockets(Trace(), **where, timeout=1, is_over=lambda: False, waits=waits)
    ports = [(await sockets.open("a")).port, (await sockets.open("a")).port]

    sockets.close()

    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(LOOPBACK, port)
