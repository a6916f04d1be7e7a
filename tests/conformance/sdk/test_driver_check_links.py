"""Drivers of SDKs with several sockets are checked on all of them; what such an SDK does by itself is no fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.reference_client.peers import in_a_loop
from wireproof.conformance.mutation.clients import InProcessTransport
from wireproof.conformance.sdk.check_results import CheckResult
from wireproof.conformance.sdk.driver_check import DriverCheck
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.conformance.sdk.recording_server import RecordedConnection, RecordedDatagrams
from wireproof.mutants.registry import mutant_client
from wireproof.protocols.psrt import PROTOCOL, V1, Codec, ResponseCode
from wireproof.protocols.psrt.replies import DatagramReply, Response
from wireproof.protocols.psrt.requests import Publish
from wireproof.reference_client.driver import Driver

CODEC = Codec.of(V1, "standard")


async def checked(mutant: str | None = None, **hello: Any) -> list[CheckResult]:
    def making(say: Callable[[Mapping[str, Any]], object]) -> Driver:
        def reported(line: Mapping[str, Any]) -> None:
            result = line.get("result", {})
            say({**line, "result": {**result, **hello}} if "sdk" in result else line)

        return Driver("psrt", reported, client_class=mutant_client("psrt", mutant))

    wires = InProcessTransport(making)
    async with DriverProcess(wires, deadline=1.0) as driver:
        return [one async for one in DriverCheck(driver, "psrt").run() if one.name != "quit"]


@in_a_loop
async def test_the_reference_driver_is_right_in_every_line() -> None:
    findings = await checked()
    names = [one.name for one in findings]

    assert [(one.name, one.wrong) for one in findings if one.wrong] == []
    assert {"publish", "subscribe", "unsubscribe", "publish_repl", "datagram", "bye", "close"} <= set(names)
    assert any(name.startswith("a message is pushed: 01") for name in names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("mutant", "name", "detail"),
    [
        ("priority-zero", "publish", "they differ at byte 1"),
        ("bye-is-not-said", "bye", "it sent nothing, expected ff"),
    ],
)
@in_a_loop
async def test_what_is_wrong_is_reported(mutant: str, name: str, detail: str) -> None:
    wrong = {one.name: "\n".join(one.wrong) for one in await checked(mutant) if one.wrong}

    assert detail in wrong[name]


@pytest.mark.parametrize(
    ("hello", "detail"),
    [
        ({"features": ["tls", "wings"]}, "features: expected some of tls, udp"),
        ({"operations": ["publish", "nop"]}, "operations: expected some of publish"),
    ],
)
@in_a_loop
async def test_what_nobody_can_have_is_reported(hello: dict[str, Any], detail: str) -> None:
    (finding,) = await checked(**hello)

    assert detail in finding.wrong[0]


def test_pings_and_their_answers_are_left_out_of_what_crossed() -> None:
    connection = RecordedConnection(PROTOCOL, CODEC, lambda data: None, lambda: None)
    connection.came(b"\xee")
    assert connection.link is None
    connection.came(b"\xaa\0" + b"\1\0\0\0\0")
    connection.went(b"\xee\xaa\1\0" + bytes(32))
    connection.take()
    publish = CODEC.encode(Publish(1, b"t", b""))

    connection.came(b"\0" + publish[:4])
    connection.came(publish[4:] + b"\0")
    connection.went(b"\1\xfe\1")
    taken = connection.take()

    assert (taken.came, taken.messages, taken.went) == (publish, (Publish(1, b"t", b""),), b"\1\xfe\1")
    assert taken.replies == (Response(ResponseCode.ERR_ACCESS),)


def test_datagrams_are_taken_with_their_answers_whether_or_not_they_can_be_read() -> None:
    datagrams = RecordedDatagrams(PROTOCOL.links["datagram"], CODEC)
    datagram = bytes.fromhex("eeaa01000000000121740061")

    datagrams.crossed(b"junk", None)
    datagrams.crossed(datagram, bytes.fromhex("eeaa010001"))
    taken = datagrams.take()

    assert taken.came == b"junk" + datagram
    assert len(taken.messages) == 1
    assert taken.replies == (DatagramReply(1, ResponseCode.OK),)
    assert datagrams.take().came == b""
