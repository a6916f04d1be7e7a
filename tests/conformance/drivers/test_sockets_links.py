"""Several links over real sockets, on both loops: TLS on a stream that began in clear, datagrams at the same port."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop

from tests.conformance.several_links import (
    ACKNOWLEDGED,
    DATA,
    PUBLISH,
    PUSHED,
    SECURED,
    SESSION,
    UDP,
    SmallService,
    datagram,
    player,
)
from wireproof.conformance.drivers.sockets import PlaySockets, SocketDriver
from wireproof.conformance.drivers.tls import ClientTls, TlsError, client_context
from wireproof.conformance.model.actions import Open, Read, Secure, Write
from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Verdict
from wireproof.protocols import registry
from wireproof.reference_server.certificates import self_signed
from wireproof.reference_server.datagrams import DatagramProtocol
from wireproof.reference_server.service import Limits
from wireproof.reference_server.streams import StreamConnections
from wireproof.reference_server.tls import ServerTls, server_context

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
Step = Mapping[str, Any]
Play = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "PACKAGES", {**registry.PACKAGES, "psrt": "wireproof.protocols.psrt"})


@pytest.fixture(scope="module", name="files")
def _files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return self_signed(tmp_path_factory.mktemp("tls"))


@asynccontextmanager
async def serving(service: SmallService, context: ssl.SSLContext | None, *, udp: bool) -> AsyncIterator[Address]:
    loop = asyncio.get_running_loop()
    connections = StreamConnections(service, Limits(), 100, context)
    server = await loop.create_server(connections.protocol, "127.0.0.1", 0)
    name = server.sockets[0].getsockname()
    transport = None
    if udp:
        transport, _ = await loop.create_datagram_endpoint(lambda: DatagramProtocol(service), local_addr=name)
    try:
        yield Address("tcp", *name)
    finally:
        if transport is not None:
            transport.close()
        server.close()
        connections.cut()
        await asyncio.sleep(0)


@pytest.fixture(params=LOOPS, name="play")
def _play(request: pytest.FixtureRequest, files: tuple[Path, Path]) -> Play:
    def play(
        *steps: Step,
        segmentation: str = "whole",
        trust: ssl.SSLContext | None = None,
        udp: bool = True,
        timeout: float = 2.0,
        **changes: Any,
    ) -> Outcome:
        async def main() -> Outcome:
            async with serving(SmallService(**changes), server_context(*files), udp=udp) as address:
                driver = SocketDriver(address, timeout=timeout, tls=trust)
                return await driver.play(player(steps, segmentation, timeout=timeout))

        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            return runner.run(asyncio.wait_for(main(), 10))

    return play


@pytest.mark.parametrize("segmentation", ["whole", "fields", "joined", "half-closed"])
def test_what_is_inside_tls_is_played_and_taped_in_clear(play: Play, segmentation: str) -> None:
    outcome = play(*SECURED, PUBLISH, {"silent": "a"}, segmentation=segmentation)

    assert (outcome.verdict, outcome.got) == (Verdict.PASS, None)
    kinds = [one.kind for one in outcome.trace]
    assert Kind.SECURED in kinds
    assert outcome.trace.received("a").startswith(b"\xee\xaa\x01\x00")


def test_the_end_inside_tls_is_reported_and_received(play: Play) -> None:
    bye = {"send": "BYE", "expect": {"RESPONSE": {"code": "OK"}}}
    ended = play(*SECURED, bye, {"closed": "a"})
    half = play(*SECURED, {"half_close": "a"}, {"closed": "a"})

    assert (ended.verdict, half.verdict) == (Verdict.PASS, Verdict.PASS)
    assert Kind.ENDED in {one.kind for one in ended.trace} & {one.kind for one in half.trace}


def test_a_large_message_crosses_tls_whole(play: Play) -> None:
    large = {"PUBLISH": {"priority": 1, "topic": "t", "message": {"fill": 0x61, "size": 300_000}}}
    outcome = play(
        *SECURED, *DATA, {"send": large, "expect": "RESPONSE"}, {"push": {"message": {"size": 300_000}}, "on": "d"}
    )

    assert (outcome.verdict, outcome.got) == (Verdict.PASS, None)


def test_a_certificate_is_verified_where_an_authority_is_named(
    play: Play, files: tuple[Path, Path], tmp_path: Path
) -> None:
    other, _ = self_signed(tmp_path)
    trusted, not_trusted = (play(*SECURED, trust=client_context(one)) for one in (files[0], other))

    assert trusted.verdict is Verdict.PASS
    assert (not_trusted.verdict, not_trusted.expected) == (Verdict.FAIL, "a TLS handshake")
    assert "CERTIFICATE_VERIFY_FAILED" in str(not_trusted.got)


def test_a_handshake_that_does_not_come_is_waited_for_no_longer_than_said(play: Play) -> None:
    outcome = play(*SECURED, ignores_tls=True, timeout=0.2)

    assert (outcome.verdict, outcome.got) == (Verdict.HANG, "no end of the handshake (silent)")


def test_a_server_that_closes_in_the_handshake_fails() -> None:
    async def leaves(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        await reader.read(100)
        writer.close()

    async def main() -> Outcome:
        server = await asyncio.start_server(leaves, "127.0.0.1", 0)
        async with server:
            address = Address("tcp", *server.sockets[0].getsockname())
            return await SocketDriver(address, timeout=2.0).play(player(SECURED))

    outcome = asyncio.run(main())

    assert (outcome.verdict, outcome.expected) == (Verdict.FAIL, "a TLS handshake")


def test_datagrams_go_to_the_port_of_the_target(play: Play) -> None:
    asked = {"send": [datagram(), datagram("PUBLISH_NO_ACK"), datagram()], "on": "u", "expect": [ACKNOWLEDGED] * 2}
    outcome = play(UDP, asked, {"silent": "u"}, *SESSION, *DATA, PUBLISH, PUSHED)

    assert (outcome.verdict, outcome.got) == (Verdict.PASS, None)
    assert [len(one.data) for one in outcome.trace if one.connection == "u" and one.kind is Kind.RECEIVED] == [5, 5]


def test_a_datagram_that_came_all_the_same_is_no_silence(play: Play) -> None:
    outcome = play(UDP, {"send": datagram("PUBLISH_NO_ACK"), "on": "u"}, {"silent": "u"}, twice=True)

    assert (outcome.verdict, outcome.expected) == (Verdict.FAIL, "no datagram")


def test_nobody_at_the_port_is_reported_and_not_waited_for(play: Play) -> None:
    outcome = play(UDP, {"send": datagram(), "on": "u", "expect": ACKNOWLEDGED}, udp=False)

    assert outcome.verdict in (Verdict.FAIL, Verdict.CRASH)
    assert "reset" in str(outcome.got)


def test_a_unix_socket_has_no_datagrams(tmp_path: Path) -> None:
    async def main() -> Outcome:
        async def closes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        async with await asyncio.start_unix_server(closes, tmp_path / "s"):
            return await SocketDriver(Address("unix", path=str(tmp_path / "s"))).play(player([UDP]))

    outcome = asyncio.run(main())

    assert outcome.verdict is Verdict.UNTESTABLE
    assert "datagrams go to a host and port" in str(outcome.got)


@pytest.mark.parametrize("speaks_first", [False, True])
def test_a_connection_that_begins_with_tls_goes_to_the_listener_of_that_name(
    files: tuple[Path, Path], *, speaks_first: bool
) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read(100))
        writer.close()

    async def main() -> tuple[Kind, bytes]:
        async with (
            await asyncio.start_server(echo, "127.0.0.1", 0) as clear,
            await asyncio.start_server(echo, "127.0.0.1", 0, ssl=server_context(*files)) as secured,
        ):
            usual, tls = (Address("tcp", *one.sockets[0].getsockname()) for one in (clear, secured))
            sockets = PlaySockets(SocketDriver(usual, timeout=2, listeners={"tls": tls}))
            try:
                await sockets.perform(Open("a"))
                if speaks_first:
                    await sockets.perform(Write("a", b"clear"))
                shaken = await sockets.perform(Secure("a", 2))
                if shaken.kind is not Kind.SECURED:
                    return shaken.kind, b""
                await sockets.perform(Write("a", b"inside"))
                answer = await sockets.perform(Read("a", 2))
                return answer.kind, answer.data
            finally:
                sockets.close()

    with asyncio.Runner() as runner:
        kind, data = runner.run(asyncio.wait_for(main(), 10))
    assert (kind, data) == ((Kind.RESET, b"") if speaks_first else (Kind.RECEIVED, b"inside"))


def test_what_is_no_tls_is_an_error_with_its_reason(files: tuple[Path, Path]) -> None:
    client = ClientTls(client_context(), "localhost")
    assert client.outgoing()[:1] == b"\x16"
    with pytest.raises(TlsError, match="WRONG_VERSION_NUMBER"):
        client.receive(b"\xee\xaa\x01\x00" * 4)


def test_an_end_inside_tls_leaves_the_other_side_open(files: tuple[Path, Path]) -> None:
    client, sent = ClientTls(client_context(), ""), bytearray()
    server = ServerTls(server_context(*files), sent.extend)

    def taken() -> bytes:
        data = bytes(sent)
        sent.clear()
        return client.receive(data)

    for _ in range(3):
        server.receive(client.outgoing())
        taken()
    assert client.is_established
    client.end()
    server.receive(client.outgoing())
    assert server.has_ended

    server.send(b"still")
    server.close()
    assert taken() == b"still"
    assert client.has_ended
