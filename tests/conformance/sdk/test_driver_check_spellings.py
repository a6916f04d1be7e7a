"""Drivers of SDKs whose requests have many spellings: any is right, and what is not answered is waited for in vain."""

from __future__ import annotations

import pytest

from tests.reference_client.peers import in_a_loop
from wireproof.conformance.mutation.clients import InProcessTransport
from wireproof.conformance.sdk.check_results import CheckResult
from wireproof.conformance.sdk.driver_check import DriverCheck
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.protocols.messages import Message
from wireproof.protocols.namechan import NamechanClient
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
