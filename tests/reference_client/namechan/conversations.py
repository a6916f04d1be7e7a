"""What the tests of the namechan SDK are made of: servers of ours, scripts, and what a client has heard."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tests.reference_client.peers import LOOPBACK, Script, reference_server, saying
from wireproof.reference_client.namechan import (
    Client,
)

VERSION = "0000000000000001"
CONNECT = b'(Connect 1 "")\n'.hex()
GREETING = VERSION + CONNECT
QUEUES = ("prices:broadcast:persistent:strong", "turns:round_robin:transient", "news:broadcast:transient")
LATEST = 3.0


def frame(kind: int, payload: bytes) -> str:
    return (len(payload) + 1).to_bytes(4, "big").hex() + bytes([kind]).hex() + payload.hex()


def subscribed(topic: bytes, id: int = 3) -> str:
    return frame(3, b"((id %d)(topic %s))" % (id, topic))


def message(id: int, body: bytes, topic: int = 3) -> str:
    return frame(2, id.to_bytes(8, "big") + topic.to_bytes(4, "big") + body)


class Received(list[Any]):
    """What a client was told, and when enough of it has come."""

    def __call__(self, *reported: Any) -> None:
        self.append(reported[0] if len(reported) == 1 else reported)

    async def until(self, enough: Callable[[], bool]) -> None:
        async with asyncio.timeout(LATEST):
            while not enough():
                await asyncio.sleep(0.002)


def served(port: int = 0, **options: Any) -> Any:
    more = {"queue": QUEUES, **options}
    return reference_server("1+publish", "standard", protocol="namechan", port=port, options=more)


@asynccontextmanager
async def connected(port: int, **more: Any) -> AsyncIterator[tuple[Client, Received]]:
    received = Received()
    given = {"profile": "1+publish", "on_message": received, "timeout": LATEST, **more}
    async with Client.connect(LOOPBACK, port, **given) as client:
        yield client, received


def steps(*parts: tuple[str, list[str]], then: str = "stay") -> Script:
    """Read each hex text, then write its chunks."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for at, (expected, chunks) in enumerate(parts):
            last = at == len(parts) - 1
            await saying(expected, *chunks, then=then if last else "go on")(reader, writer)

    return script
