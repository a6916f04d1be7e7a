"""The driver of the reference client: every line it says is valid, and says what the SDK did."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.reference_client.harness import Harness
from tests.reference_client.peers import LOOPBACK, in_a_loop, one_by_one, reference_server, saying, scripted
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.conformance.sdk.driver_protocol import NONSENSE
from wireproof.conformance.sdk.transports import ProcessTransport
from wireproof.protocols import protocol
from wireproof.protocols.plain import Plain
from wireproof.reference_client.driver import Driver
from wireproof.reference_client.registry import client_class, driven_protocols

KEY = {"hex": "00ff0a"}
NUMBERS = {"uint8": "255", "uint16": "65535", "uint32": "4294967295", "uint64": "18446744073709551615"}


@asynccontextmanager
async def connected(profile: str = "7.1.0", variant: str = "uint16") -> AsyncIterator[Harness]:
    harness = Harness()
    async with reference_server(profile, variant) as port:
        assert await harness.connect(port, profile=profile, variant=variant) == {}
        yield harness
        await harness.driver.close()


def test_an_unknown_protocol_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"unknown protocol 'nope': expected .*throttr"):
        client_class("nope")


def test_the_sdk_has_a_method_for_every_operation() -> None:
    for name in driven_protocols():
        for profile in protocol(name).profiles:
            operations = Plain(protocol(name), profile, protocol(name).default_variant).operations
            assert [one for one in operations if not hasattr(client_class(name), one)] == []


@in_a_loop
async def test_hello_says_what_the_registry_says() -> None:
    hello = await Harness().ask("hello")
    only = await Harness(profile="7.1.0", variant="uint64").ask("hello")

    assert hello["profiles"] == ["7.1.0", "7.3.2"]
    assert set(hello["operations"]) - set(only["operations"]) == {"event"}
    assert only["variants"] == ["uint64"]


@pytest.mark.parametrize("profile", ["7.1.0", "7.3.2"])
@pytest.mark.parametrize("variant", NUMBERS)
@in_a_loop
async def test_every_operation_is_answered_in_normalised_names(profile: str, variant: str) -> None:
    most = NUMBERS[variant]
    async with connected(profile, variant) as driver:
        fields = {"connection": "a", "key": KEY}
        assert await driver.ask("insert", **fields, quota=most, ttl_type="hours", ttl="200") == {"status": True}
        found = await driver.ask("query", **fields)
        assert (found["quota"], found["ttl_type"]) == (most, "hours")
        assert await driver.ask("query", connection="a", key={"text": "nobody"}) == {"status": False}
        changed = await driver.ask("update", **fields, attribute="quota", change="decrease", value=most)
        assert changed == {"status": True}
        stored = {"connection": "a", "key": {"hex": ""}}
        assert await driver.ask("set", **stored, value={"hex": "00ff"}, ttl_type="4", ttl="60") == {"status": True}
        assert (await driver.ask("get", **stored))["value"] == {"hex": "00ff"}
        rows = {row["key"]["hex"]: row["key_type"] for row in (await driver.ask("list", connection="a"))["rows"]}
        assert rows == {"00ff0a": "counter", "": "buffer"}
        assert len((await driver.ask("stats", connection="a"))["rows"]) == 2
        assert "total_reads" in await driver.ask("stat", **fields)
        assert (await driver.ask("info", connection="a"))["total_insert"] == "1"
        me = (await driver.ask("whoami", connection="a"))["id"]
        asked = {"index": "0"} if profile == "7.1.0" else {"id_": me}
        assert (await driver.ask("connection", connection="a", **asked))["id"] == me
        assert [row["id"] for row in (await driver.ask("connections", connection="a"))["rows"]] == [me]
        assert await driver.ask("purge", **fields) == {"status": True}


@in_a_loop
async def test_channels_and_pushes_are_reported() -> None:
    async with connected("7.3.2") as driver:
        news = {"connection": "a", "channel": {"text": "news"}}
        assert await driver.ask("subscribe", **news) == {"status": True}
        assert await driver.ask("publish", **news, payload={"hex": "00"}) == {"status": True}
        assert driver.events == [
            {"event": "message", "connection": "a", "channel": {"hex": "6e657773"}, "payload": {"hex": "00"}}
        ]
        assert len((await driver.ask("channel", **news))["subscribers"]) == 1
        assert {"hex": "6e657773"} in [row["channel"] for row in (await driver.ask("channels", connection="a"))["rows"]]
        assert await driver.ask("unsubscribe", **news) == {"status": True}
        assert (await driver.ask("event", **news, payload={"hex": "18"}))["reply"].keys() == {"id"}
        assert await driver.ask("event", **news, payload={"hex": ""}) == {"status": False}


@in_a_loop
async def test_a_batch_is_answered_in_order() -> None:
    async with connected() as driver:
        insert = {"do": "insert", "key": KEY, "quota": "7", "ttl_type": "seconds", "ttl": "60"}
        requests = [insert, {"do": "list"}, {"do": "query", "key": KEY}, insert, {"do": "whoami"}]

        results = (await driver.ask("batch", connection="a", requests=requests))["results"]

        assert results[0] == {"status": True}
        assert [row["key"] for row in results[1]["rows"]] == [KEY]
        assert results[2]["quota"] == "7"
        assert results[3] == {"status": False}
        assert list(results[4]) == ["id"]
        assert await driver.ask("batch", connection="a", requests=[insert, {"do": "nope"}]) == "unsupported"
        assert await driver.ask("batch", connection="a", requests=[insert | {"quota": "65536"}]) == "too_wide"
        assert await driver.ask("batch", connection="a", requests=[]) == {"results": []}


@in_a_loop
async def test_a_channel_that_a_profile_does_not_send_is_null() -> None:
    harness = Harness()
    async with scripted(saying("02016b", "03 0100 61", "00")) as port:
        await harness.connect(port)
        assert await harness.ask("query", connection="a", key={"text": "k"}) == {"status": False}
        await harness.driver.close()

    assert harness.events == [{"event": "message", "connection": "a", "channel": None, "payload": {"hex": "61"}}]


@pytest.mark.parametrize(
    ("do", "fields", "kind"),
    [
        (NONSENSE, {"connection": "a"}, "unsupported"),
        ("event", {"connection": "a", "channel": KEY, "payload": KEY}, "unsupported"),
        ("query", {"connection": "b", "key": KEY}, "closed"),
        ("close", {"connection": "b"}, "closed"),
        ("query", {"connection": "a", "key": {"hex": "00" * 256}}, "too_long"),
        ("update", {"connection": "a", "attribute": "0", "change": "0", "value": "65536", "key": KEY}, "too_wide"),
        ("update", {"connection": "a", "attribute": "0", "change": "0", "value": "-1", "key": KEY}, "refused"),
        ("query", {"connection": "a"}, "refused"),
        ("connect", {"connection": "b", "host": LOOPBACK, "port": 1}, "closed"),
        ("connect", {"connection": "b", "host": LOOPBACK, "port": 1, "profile": "9"}, "unsupported"),
    ],
)
@in_a_loop
async def test_what_cannot_be_done_is_reported_by_its_kind(do: str, fields: dict[str, Any], kind: str) -> None:
    async with connected() as driver:
        assert await driver.ask(do, **fields) == kind
        assert (await driver.ask("info", connection="a"))["total_requests"] == "1"


@in_a_loop
async def test_commands_overlap_and_a_close_answers_those_that_wait() -> None:
    harness = Harness()
    async with scripted(saying("18" * 3, "ab" * 16)) as port:
        await harness.connect(port)
        first, *others = [harness.begin("whoami", connection="a") for _ in range(3)]
        assert (await first)["result"] == {"id": {"hex": "ab" * 16}}
        assert await harness.ask("close", connection="a") == {}

    assert [(await one)["error"]["kind"] for one in others] == ["closed", "closed"]
    assert harness.events == []


@pytest.mark.parametrize(
    ("chunks", "then", "kind"),
    [([], "close", "closed"), (["01 07"], "close", "closed"), (["07"], "stay", "protocol"), ([], "stay", "timeout")],
)
@in_a_loop
async def test_what_becomes_of_a_command_is_reported(chunks: list[str], then: str, kind: str) -> None:
    harness = Harness(deadline=0.3 if kind == "timeout" else 5.0)
    async with scripted(saying("02016b", *chunks, then=then)) as port:
        await harness.connect(port)
        assert await harness.ask("query", connection="a", key={"text": "k"}) == kind
        await harness.driver.close()

    assert [one["event"] for one in harness.events] == ([] if kind == "timeout" else ["closed"])


@in_a_loop
async def test_a_connection_that_is_made_again_is_reported() -> None:
    harness = Harness()
    async with scripted(saying("02016b", then="close"), saying("02016b", *one_by_one("01 0700 04 3c00"))) as port:
        await harness.connect(port, reconnect=True)
        assert await harness.ask("query", connection="a", key={"text": "k"}) == "closed"
        assert (await harness.ask("query", connection="a", key={"text": "k"}))["quota"] == "7"
        await harness.driver.close()

    assert [one["event"] for one in harness.events] == ["closed", "reconnected"]


@in_a_loop
async def test_a_name_can_be_connected_again() -> None:
    async with connected() as driver, reference_server() as port:
        assert await driver.connect(port) == {}
        assert (await driver.ask("info", connection="a"))["total_requests"] == "1"


@pytest.mark.parametrize("line", [b"", b"x", b"[]", b"{}", b'{"id": null, "do": "hello"}', b"\xff"])
def test_what_is_no_command_is_not_answered(line: bytes) -> None:
    assert not Harness().driver.take(line)


@pytest.mark.parametrize(
    ("options", "detail"), [({"profile": "9"}, "unknown profile '9'"), ({"variant": "int"}, "unknown variant 'int'")]
)
def test_an_unknown_profile_or_variant_is_refused(options: dict[str, str], detail: str) -> None:
    with pytest.raises(ValueError, match=detail):
        Driver("throttr", print, **options)


@in_a_loop
async def test_the_program_speaks_until_it_is_asked_to_quit() -> None:
    words = [sys.executable, "-m", "reference_client", "throttr", "--driver", "--profile", "7.3.2"]
    async with DriverProcess(ProcessTransport(words)) as driver, reference_server("7.3.2") as port:
        hello = await driver.start()
        await driver.ask("connect", connection="a", host=LOOPBACK, port=port)
        waiting = [driver.begin("whoami", connection="a") for _ in range(50)]

        assert hello.profiles == ("7.3.2",)
        assert len({json.dumps((await driver.answer(one)).result) for one in waiting}) == 1
        assert await driver.quit() == "the driver ended with exit code 0"
        assert driver.last_words() == []
        assert driver.wrong_lines == []


@pytest.mark.parametrize(
    ("words", "detail"),
    [(["throttr"], "Missing option '--driver'"), (["throttr", "--driver", "--profile", "9"], "unknown profile '9'")],
)
@in_a_loop
async def test_the_program_says_what_it_wants(words: list[str], detail: str) -> None:
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "reference_client", *words, stderr=asyncio.subprocess.PIPE
    )
    _, errors = await program.communicate()

    assert program.returncode == 2
    assert detail in errors.decode()
