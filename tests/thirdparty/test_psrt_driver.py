"""The driver of the `psrt` client from PyPI, against our server: every line is valid and says what the SDK said."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.places import ROOT
from tests.reference_client.peers import LOOPBACK, in_a_loop
from tests.thirdparty.conftest import Server
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.conformance.sdk.transports import ProcessTransport

pytest.importorskip("psrt")

DRIVER = ROOT / "docs" / "drivers" / "psrt-py" / "driver.py"
LIM = {"login": {"text": "lim"}, "password": {"text": "secret"}}
MESSAGE = {"topic": {"text": "a/x"}, "priority": "127", "message": {"hex": "00ff"}}
KEY = bytes(range(0x40, 0x60))


class Driver:
    """The driver, asked on the connection `a`."""

    def __init__(self, process: DriverProcess, port: int) -> None:
        self.process = process
        self._port = port

    async def ask(self, do: str, **fields: Any) -> Any:
        answer = await self.process.ask(do, connection="a", **fields)
        return answer.result if answer.error is None else str(answer.error.kind)

    async def connect(self, **fields: Any) -> Any:
        return await self.ask("connect", host=LOOPBACK, port=self._port, profile="1", variant="standard", **fields)

    async def event(self) -> str:
        while True:
            for event in self.process.take_events():
                return event.event
            await asyncio.sleep(0.01)


@asynccontextmanager
async def driving(server: Server, **login: Any) -> AsyncIterator[Driver]:
    async with DriverProcess(ProcessTransport([sys.executable, str(DRIVER)])) as process:
        hello = await process.start()
        assert (hello.sdk.version, hello.protocol) == ("0.0.19", "psrt")
        driver = Driver(process, server.port)
        assert await driver.connect(**login) == {}
        yield driver
        assert await process.quit() == "the driver ended with exit code 0"
        assert process.wrong_lines == []


@in_a_loop
async def test_operations_say_what_the_sdk_says(server: Server) -> None:
    async with driving(server, **LIM) as driver:
        assert await driver.ask("subscribe", topics={"hex": "612f7800622f23"}) == {"code": "ok"}
        assert await driver.ask("publish", **MESSAGE) == {"code": "ok"}
        assert await driver.event() == "message"
        assert await driver.ask("publish", **MESSAGE | {"topic": {"text": "c"}}) == {"code": "err_access"}
        assert await driver.ask("publish", **MESSAGE | {"priority": "0"}) == "unsupported"
        assert await driver.ask("publish", **MESSAGE | {"topic": {"hex": "ff"}}) == "refused"
        assert await driver.ask("publish_repl", **MESSAGE, timestamp="1") == "unsupported"
        assert await driver.ask("unsubscribe", topics={"text": "a/x"}) == {"code": "ok"}
        assert await driver.ask("bye") == {"code": "ok"}
        assert await driver.ask("publish", **MESSAGE) == "closed"
        assert await driver.ask("close") == {}
        assert await driver.ask("publish", **MESSAGE) == "closed"


@pytest.mark.parametrize(("topic", "detail"), [("a/b/c/d/e", {"code": "error"}), ("a/#", "closed")])
@in_a_loop
async def test_a_session_that_it_gives_up_is_reported(server: Server, topic: str, detail: Any) -> None:
    async with driving(server) as driver:
        assert await driver.ask("publish", **MESSAGE | {"topic": {"text": topic}}) == detail
        assert await driver.event() == "closed"
        assert await driver.connect() == {}
        assert await driver.ask("publish", **MESSAGE) == {"code": "ok"}


@in_a_loop
async def test_datagrams_are_reported_as_far_as_it_reports(server: Server) -> None:
    plain = MESSAGE | {"login": {"hex": ""}, "password": {"hex": ""}, "encryption": "plain", "op": "publish"}
    sealed = plain | {"login": {"text": "lim"}, "password": {"hex": KEY.hex()}}
    async with driving(server) as driver:
        assert await driver.ask("datagram", **plain) == {"code": "ok"}
        assert await driver.ask("datagram", **plain | {"op": "publish_no_ack"}) == {}
        assert await driver.ask("datagram", **plain | {"password": {"text": "x"}}) == {"code": "err_access"}
        assert await driver.ask("datagram", **plain | {"topic": {"text": "#"}}) == "refused"
        for encryption in ("aes_128_gcm", "aes_256_gcm"):
            assert await driver.ask("datagram", **sealed | {"encryption": encryption}) == {"code": "ok"}


@in_a_loop
async def test_logins_and_tls_are_reported(server: Server) -> None:
    async with driving(server, tls="starttls", ca=server.ca) as driver:
        assert await driver.ask("publish", **MESSAGE) == {"code": "ok"}
        assert await driver.connect(**LIM | {"password": {"text": "wrong"}}) == "refused"
        assert await driver.connect(tls="starttls") == "other"
        assert await driver.connect(timeout="0.5") == {}
