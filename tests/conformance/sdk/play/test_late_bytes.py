"""An SDK may say that all went well before its bytes leave: the bytes are waited for, and judged."""

from __future__ import annotations

import asyncio

import pytest

from wireproof.conformance.mutation.clients import InProcessTransport
from wireproof.conformance.run.selection import select
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.conformance.sdk.play.sdk_run import SdkPlan, play_cases
from wireproof.conformance.sdk.play.sdk_suite import load_sdk_suite
from wireproof.conformance.verdict.records import Record, Run
from wireproof.reference_client.driver import Driver
from wireproof.reference_client.namechan import Client

SUITE = load_sdk_suite("namechan")


class Later(Client):
    """Writes a message 50 ms after it says that it is sent, as an SDK with a thread that writes does."""

    async def publish(self, topic: bytes, body: bytes, *, wait: float = 0.0) -> None:
        await self._connection.link()
        sending = super().publish(topic, body)
        asyncio.get_running_loop().call_later(0.05, lambda: asyncio.ensure_future(sending))


class Never(Client):
    """Says that a message is sent, and sends nothing."""

    async def publish(self, topic: bytes, body: bytes, *, wait: float = 0.0) -> None:
        await self._connection.link()


async def played(client: type[Client]) -> list[Record]:
    found: list[Record] = []
    cases = select(SUITE, "1+publish", "standard", expression="sdk-publish/body.61", slow=False)
    run = Run("namechan", "1+publish", "standard", "made up", "made up", role="client")
    endpoints = InProcessTransport(lambda say: Driver("namechan", say, client_class=client))
    async with DriverProcess(endpoints, deadline=5.0) as driver:
        await driver.start()
        await play_cases(SdkPlan(run, SUITE, cases, 5.0), driver, lambda record, outcome: found.append(record))
    return found


@pytest.mark.parametrize(("client", "verdicts"), [(Client, {"pass"}), (Later, {"pass"}), (Never, {"fail"})])
def test_bytes_that_come_after_the_word_of_the_driver_are_judged(client: type[Client], verdicts: set[str]) -> None:
    assert {one["verdict"] for one in asyncio.run(played(client))} == verdicts
