"""Says commands to a driver in this process, and holds every line to its schema."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.reference_client.peers import LOOPBACK
from wireproof.conformance.sdk.driver_protocol import command_faults, command_line, message_faults
from wireproof.reference_client.driver import Driver


class Harness:
    """One driver, and what it said unasked."""

    def __init__(self, protocol: str = "throttr", **options: Any) -> None:
        self.driver = Driver(protocol, self.take, **options)
        self.events: list[dict[str, Any]] = []
        self._waiting: dict[int, tuple[str, asyncio.Future[dict[str, Any]]]] = {}
        self._next_id = 0

    def take(self, message: Any) -> None:
        if "event" in message:
            assert message_faults(message) == []
            self.events.append(message)
            return
        do, future = self._waiting.pop(message["id"])
        assert message_faults(message, do) == []
        future.set_result(message)

    def begin(self, do: str, **fields: Any) -> asyncio.Future[dict[str, Any]]:
        self._next_id += 1
        assert command_faults({"id": self._next_id, "do": do, **fields}) == []
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[self._next_id] = do, future
        assert self.driver.take(command_line(self._next_id, do, fields))
        return future

    async def ask(self, do: str, **fields: Any) -> Any:
        answer = await self.begin(do, **fields)
        return answer["result"] if answer["ok"] else answer["error"]["kind"]

    async def connect(self, port: int, **more: Any) -> Any:
        return await self.ask("connect", connection="a", host=LOOPBACK, port=port, **more)
