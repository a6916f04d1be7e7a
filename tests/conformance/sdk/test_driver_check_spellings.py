"""Drivers of SDKs whose requests have many spellings: any is right, and what is not answered is waited for in vain."""

from __future__ import annotations

import asyncio

import pytest

from tests.reference_client.peers import in_a_loop
from wireproof.conformance.mutation.clients import InProcessTransport
from wireproof.conformance.sdk.check_results import CheckResult
from wireproof.conformance.sdk.driver_check import DriverCheck
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.protocols import Reply, Request
from wireproof.protocols.messages import Message
from wireproof.protocols.namechan import NamechanClient
from wireproof.reference_client import throttr
from wireproof.reference_client.driver import Driver
from wireproof.reference_client.namechan import Client, RefusedError


class Spelling(NamechanClient):
    """Writes with comments, in more lines."""

    def send(self, message: Message) -> bytes:
        return self.codec.spellings(message).get("lines", super().send(message))


class Verbose(Client):
    connection_class = Spelling


class Hasty(Client):
    """Takes what is not answered for refused."""

    async def publish(self, topic: bytes, body: bytes, *, wait: float = 0.0) -> None:
        await super().publish(topic, body)
        raise RefusedError("nobody said that it was done")


class Later(Client):
    """Reports what is not answered as done before its bytes leave, as an SDK with a thread that writes does."""

    async def publish(self, topic: bytes, body: bytes, *, wait: float = 0.0) -> None:
        sending = super().publish(topic, body)
        self.sending = asyncio.get_running_loop().call_later(0.05, lambda: asyncio.ensure_future(sending))


async def checked(client: type[Client], profile: str = "1+publish") -> list[CheckResult]:
    wires = InProcessTransport(lambda say: Driver("namechan", say, client_class=client))
    async with DriverProcess(wires, deadline=1.0) as driver:
        return [one async for one in DriverCheck(driver, "namechan", profile).run() if one.name != "quit"]


@pytest.mark.parametrize("profile", ["1", "1+publish"])
@pytest.mark.parametrize("client", [Client, Verbose])
@in_a_loop
async def test_every_spelling_is_right(client: type[Client], profile: str) -> None:
    findings = await checked(client, profile)

    assert [(one.name, one.wrong) for one in findings if one.wrong] == []
    assert ("publish" in [one.name for one in findings]) is (profile == "1+publish")
    assert {"subscribe", "unsubscribe", "close"} <= {one.name for one in findings}


@in_a_loop
async def test_a_request_without_an_answer_is_done_once_it_is_sent() -> None:
    wrong = {one.name: one.wrong for one in await checked(Hasty) if one.wrong}

    detail = "result: expected {} of PUBLISH, which is not answered, got the error refused"
    assert wrong["publish"] == (detail, "the server answered nothing")
    assert detail in wrong["in flight at once: unsubscribe, publish"]


@in_a_loop
async def test_bytes_of_a_request_without_an_answer_are_waited_for() -> None:
    assert [(one.name, one.wrong) for one in await checked(Later) if one.wrong and "at once" not in one.name] == []


class Unchecked(throttr.Client):
    """Sends a key that is too long with the size that its byte holds, so that the rest of it is read as requests."""

    async def ask(self, request: Request) -> Reply:
        if len(getattr(request, "key", b"")) <= LARGEST_KEY:
            return await super().ask(request)
        link = await self._connection.link()
        link._transport.write(b"\x04\x01k\x01")  # half an INSERT stays, and takes what is sent next
        raise throttr.DeadlineError("no answer")


LARGEST_KEY = 255


@in_a_loop
async def test_what_was_sent_and_did_not_fit_spoils_nothing_that_is_tried_after_it() -> None:
    wires = InProcessTransport(lambda say: Driver("throttr", say, client_class=Unchecked))
    async with DriverProcess(wires, deadline=1.0) as driver:
        found = [one async for one in DriverCheck(driver, "throttr", "7.1.0").run() if one.wrong]

    names = [one.name for one in found if one.name != "quit"]
    assert names == ["insert with key of 256 bytes, which does not fit"]
