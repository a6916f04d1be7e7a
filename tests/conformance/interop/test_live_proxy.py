"""`wireproof proxy`: forwards without a change, and tells of the first side that breaks the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.conformance import servers
from wireproof.cli import command
from wireproof.conformance.interop import live_proxy
from wireproof.conformance.interop.live_proxy import LiveProxy, SeenTraffic, listening
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.violation import Violation
from wireproof.conformance.monitor.monitor import Monitor
from wireproof.conformance.run.processes import module_command, running_server
from wireproof.protocols import protocol

PATIENCE = 10.0
HERE = Address("tcp", "127.0.0.1", 0)
QUERY = bytes.fromhex("02016b")


def talked(say: Callable[[int], Awaitable[bytes]]) -> tuple[bytes, SeenTraffic, list[Violation]]:
    """Let a client say something through a proxy to the reference server; return what came and what was seen."""
    reported = list[Violation]()

    async def main() -> tuple[bytes, SeenTraffic]:
        async with servers.reference("7.1.0", "uint16") as address, asyncio.timeout(PATIENCE):
            known = protocol("throttr")
            proxy = LiveProxy(address, lambda: Monitor(known, "7.1.0", "uint16"), lambda _, one: reported.append(one))
            async with listening(proxy, HERE) as port:
                return await say(port), proxy.tally

    came, tally = asyncio.run(main())
    return came, tally, reported


async def asked(port: int, data: bytes, size: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(data)
    came = await reader.readexactly(size)
    writer.close()
    return came


def test_a_right_conversation_is_forwarded_and_nobody_blamed() -> None:
    came, tally, reported = talked(lambda port: asked(port, QUERY * 3, 3))

    assert came == b"\0\0\0"
    assert (tally.connections, tally.client, tally.server, reported) == (1, 0, 0, [])


def test_a_client_that_breaks_the_protocol_is_reported_at_once() -> None:
    _, tally, (first,) = talked(lambda port: asked(port, QUERY + b"\xff", 1))

    assert (tally.client, tally.server) == (1, 0)
    assert first.offset == len(QUERY)
    assert first.clause is not None


def test_a_large_connection_is_forwarded_and_judged_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_proxy, "MOST", 10)
    came, tally, reported = talked(lambda port: asked(port, QUERY * 10, 10))

    assert came == bytes(10)
    assert (tally.unread, reported) == (1, [])


def test_nobody_to_forward_to_is_reported() -> None:
    done = CliRunner().invoke(command, ["proxy", "throttr", "tcp://127.0.0.1:1", "tcp://127.0.0.1:1"])

    assert done.exit_code == 2
    assert "nothing to forward to" in done.output


def test_the_protocol_may_be_left_out_where_the_server_says_what_it_speaks(tmp_path: Path) -> None:
    with running_server(module_command("wireproof.reference_server", "namechan")) as address:
        done = CliRunner().invoke(command, ["proxy", f"unix://{tmp_path / 's'}", str(address), "--time", "0.2"])

    assert done.exit_code == 0, done.output
    assert f", forwarding to {address} as namechan 1 standard\n" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "expected [PROTOCOL] LISTEN SERVER, got 0 arguments"),
        (("tcp://127.0.0.1:1",), "got 1 argument"),
        (("throttr", "psrt", "tcp://127.0.0.1:1", "tcp://127.0.0.1:1"), "got 4 arguments"),
        (("amqp", "tcp://127.0.0.1:1", "tcp://127.0.0.1:1"), "'amqp' is not one of"),
        (("tcp://127.0.0.1:1", "tcp://127.0.0.1:1"), "nothing to forward to"),
    ],
)
def test_what_is_no_protocol_and_two_places_is_reported(words: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(command, ["proxy", *words])

    assert done.exit_code == 2
    assert said in done.output


def test_any_free_port_is_taken_and_named() -> None:
    with running_server(module_command("wireproof.reference_server", "throttr", "--profile", "7.1.0")) as address:
        done = CliRunner().invoke(command, ["proxy", "throttr", "tcp://127.0.0.1:0", str(address), "--time", "0.2"])

    assert done.exit_code == 0
    first = done.stdout.splitlines()[0]
    assert first.startswith("listening tcp://127.0.0.1:")
    assert not first.startswith("listening tcp://127.0.0.1:0")
