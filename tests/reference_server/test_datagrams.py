"""Datagrams over real loopback sockets, on both loops, beside TCP on the same port."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest

from tests.reference_server.parrot import Parrots
from tests.reference_server.serving import LOOPS, PATIENCE, Play, served
from wireproof.reference_server.server import BindError, Endpoints, serve
from wireproof.reference_server.service import Limits

Serve = Callable[[Parrots, Endpoints, Play], list[str]]


@pytest.fixture(params=LOOPS, name="serving")
def _serving(request: pytest.FixtureRequest) -> Serve:
    return lambda service, endpoints, play: served(request.param, lambda clock: service, endpoints, play)


def socket_to(address: str) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(PATIENCE)
    host, port = address.removeprefix("udp://").rsplit(":", 1)
    sock.connect((host, int(port)))
    return sock


def test_datagrams_are_answered_one_by_one_on_the_port_of_tcp(serving: Serve) -> None:
    service = Parrots()

    def play(addresses: list[str]) -> None:
        with socket_to(addresses[1]) as sock:
            for sent in (b"one", b"quiet", b"two"):
                sock.send(sent)
            assert [sock.recv(100), sock.recv(100)] == [b"one", b"two"]

    tcp, udp = serving(service, Endpoints(udp=True), play)

    assert udp.removeprefix("udp") == tcp.removeprefix("tcp")
    assert {peer.family for peer, _ in service.datagrams} == {"udp"}


def test_the_longest_datagram_is_seen_whole(serving: Serve) -> None:
    service = Parrots()

    def play(addresses: list[str]) -> None:
        with socket_to(addresses[1]) as sock:
            sock.send(bytes(65_507))
            assert sock.recv(2000) == bytes(1000)

    serving(service, Endpoints(udp=True), play)

    assert [size for _, size in service.datagrams] == [65_507]


def test_an_answer_nobody_waits_for_harms_nobody(serving: Serve) -> None:
    def play(addresses: list[str]) -> None:
        for _ in range(20):
            with socket_to(addresses[1]) as gone:
                gone.send(b"x")
        with socket_to(addresses[1]) as sock:
            sock.send(b"there?")
            assert sock.recv(100) == b"there?"

    serving(Parrots(), Endpoints(udp=True), play)


def test_without_udp_there_is_one_address(serving: Serve) -> None:
    assert len(serving(Parrots(), Endpoints(), lambda addresses: None)) == 1


def test_a_udp_port_in_use_is_named() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
            taken.bind(("127.0.0.1", port))

        async def go() -> None:
            await serve(lambda clock: Parrots(), Endpoints(port=port, udp=True), Limits(), lambda address: None)

        with pytest.raises(BindError, match=f"cannot listen on udp://127.0.0.1:{port}: Address already in use"):
            asyncio.run(go())
