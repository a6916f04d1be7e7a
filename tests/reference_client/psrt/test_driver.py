"""The driver of the PSRT SDK: logins, answers by their codes, pushes, datagrams, and what becomes of a session."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.reference_client.harness import Harness
from tests.reference_client.peers import in_a_loop
from tests.reference_client.psrt.peers import pair, served, stay
from wireproof.protocols.plain import Plain
from wireproof.protocols.registry import protocol
from wireproof.reference_client.psrt import Client
from wireproof.reference_server.certificates import self_signed

A = {"connection": "a"}
LIM = {"login": {"text": "lim"}, "password": {"text": "secret"}}
MESSAGE = {"topic": {"text": "a/x"}, "priority": "127", "message": {"hex": "00ff"}}


@asynccontextmanager
async def connected(more: Any = None, **options: Any) -> AsyncIterator[Harness]:
    harness = Harness("psrt")
    async with served(**options) as port:
        assert await harness.connect(port, **(more or {})) == {}
        yield harness
        await harness.driver.close()


@in_a_loop
async def test_hello_says_what_the_sdk_has() -> None:
    hello = await Harness("psrt").ask("hello")

    assert hello["operations"] == list(Plain(protocol("psrt"), "1", "standard").operations)
    assert [one for one in hello["operations"] if not hasattr(Client, one)] == []
    assert (hello["profiles"], hello["variants"]) == (["1", "psrtd-0.3"], ["standard"])
    assert hello["features"] == ["tls", "udp", "encryption", "replication", "accounts"]


@in_a_loop
async def test_operations_are_answered_with_their_codes() -> None:
    async with connected(LIM, max_topic_depth=3) as driver:
        assert await driver.ask("subscribe", **A, topics={"hex": "612f7800622f23"}) == {"code": "ok"}
        assert await driver.ask("subscribe", **A, topics={"text": "#"}) == {"code": "err_access"}
        assert await driver.ask("publish", **A, **MESSAGE) == {"code": "ok"}
        assert await driver.ask("publish", **A, **MESSAGE | {"topic": {"text": "a/b/c/d/e"}}) == {"code": "error"}
        assert await driver.ask("publish", **A, **MESSAGE | {"topic": {"hex": "00"}}) == "refused"
        assert await driver.ask("publish", **A, **MESSAGE | {"priority": "256"}) == "too_wide"
        assert await driver.ask("publish_repl", **A, **MESSAGE, timestamp="1") == {"code": "err_access"}
        assert await driver.ask("unsubscribe", **A, topics={"text": "a/x"}) == {"code": "ok"}
        assert await driver.ask("nop", **A) == "unsupported"
        assert await driver.ask("batch", **A, requests=[]) == "unsupported"
        assert driver.events == [{"event": "message", **A, **MESSAGE, "topic": {"hex": "612f78"}}]
        assert await driver.ask("bye", **A) == {"code": "ok"}
        assert await driver.ask("publish", **A, **MESSAGE) == "closed"
        assert await driver.ask("close", **A) == {}
        assert len(driver.events) == 1


@in_a_loop
async def test_datagrams_are_answered_or_not() -> None:
    async with connected({"timeout": "4.5"}) as driver:
        plain = {"login": {"hex": ""}, "password": {"hex": ""}, "encryption": "plain", "op": "publish", **A, **MESSAGE}
        sealed = plain | {"login": {"text": "lim"}, "password": {"hex": bytes(range(64, 96)).hex()}}
        assert await driver.ask("datagram", **plain) == {"code": "ok"}
        assert await driver.ask("datagram", **plain | {"op": "publish_no_ack"}) == {}
        assert await driver.ask("datagram", **plain | {"password": {"hex": "61"}}) == {"code": "err_access"}
        assert await driver.ask("datagram", **sealed | {"encryption": "aes_128_gcm"}) == {"code": "ok"}
        assert await driver.ask("datagram", **sealed | {"encryption": "aes_256_gcm"}) == {"code": "ok"}
        assert await driver.ask("datagram", **plain | {"encryption": "aes_256_gcm"}) == "refused"
        assert await driver.ask("datagram", **plain | {"encryption": "1"}) == "refused"


@in_a_loop
async def test_both_sockets_go_on_inside_tls_where_connect_says_so(tmp_path: Path) -> None:
    certificate, key = self_signed(tmp_path)
    async with connected({"tls": "starttls", "ca": str(certificate)}, tls=(certificate, key)) as driver:
        assert await driver.ask("publish", **A, **MESSAGE) == {"code": "ok"}


@pytest.mark.parametrize(
    ("more", "kind"),
    [
        (LIM | {"password": {"text": "wrong"}}, "refused"),
        ({"login": "lim"}, "refused"),
        ({"user": "lim"}, "refused"),
        ({"tls": "starttls", "ca": "/no/such.pem"}, "refused"),
        ({"tls": "starttls"}, "closed"),
    ],
)
@in_a_loop
async def test_what_connecting_fails_with_is_reported_by_its_kind(more: dict[str, Any], kind: str) -> None:
    harness = Harness("psrt")
    async with served() as port:
        assert await harness.connect(port, **more) == kind


@in_a_loop
async def test_a_lost_session_is_reported_once() -> None:
    async def closing(reader: Any, writer: Any) -> None:
        await reader.readexactly(1)

    harness = Harness("psrt")
    async with pair(closing, stay) as port:
        assert await harness.connect(port) == {}
        assert await harness.ask("publish", **A, **MESSAGE) == "closed"
        await harness.driver.close()

    assert [one["event"] for one in harness.events] == ["closed"]
