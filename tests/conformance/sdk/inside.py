"""The reference client's driver inside this process, behind pipes, and wrong in ways that a test names."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any

from wireproof.reference_client.driver import Driver

Command = dict[str, Any]
Line = dict[str, Any]
Incoming = Callable[[Command], Command | None]
Outgoing = Callable[[Line, Command], Line | bytes | None]


class DiedError(Exception):
    """Raised by `incoming` to let the process be gone."""


class InsideWires:
    """Wires to a driver that sees each command as `incoming` leaves it, and whose lines `outgoing` changes."""

    settle = 0.05

    def __init__(
        self,
        incoming: Incoming = lambda command: command,
        outgoing: Outgoing = lambda line, command: line,
        **options: Any,
    ) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._options = options
        self._commands: dict[int, Command] = {}
        self._task: asyncio.Task[None] | None = None
        self._how: str | None = None

    async def start(self, why: str) -> tuple[IO[bytes], IO[bytes]]:
        answers, self._out = os.pipe()
        self._in, commands = os.pipe()
        self._how = None
        self._driver = Driver("throttr", self._say, **self._options)
        self._task = asyncio.create_task(self._serve())
        return os.fdopen(answers, "rb", 0), os.fdopen(commands, "wb", 0)

    async def _serve(self) -> None:
        stream = asyncio.StreamReader(limit=1 << 24)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(stream), os.fdopen(self._in, "rb", 0)
        )
        try:
            while not self._driver.quitting and (line := await stream.readline()):
                command = json.loads(line)
                self._commands[command["id"]] = command
                changed = self._incoming(dict(command))
                if changed is not None:
                    self._driver.take(json.dumps(changed).encode())
            await self._driver.close()
            self._how = "ended with exit code 0"
        except DiedError as error:
            self._how = str(error)
            await self._driver.close()
        finally:
            transport.close()
            os.close(self._out)

    def _say(self, line: Any) -> None:
        command = self._commands.get(line.get("id", -1), {})
        changed = self._outgoing(dict(line), command)
        if changed is not None:
            data = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
            with suppress(OSError):
                os.write(self._out, data + b"\n")

    def ended(self) -> str | None:
        return self._how

    def last_words(self, count: int = 20) -> list[str]:
        return ["last words"] if self._how else []

    def cpu(self) -> None:
        """It is no process of its own."""

    def rests(self) -> bool:
        return False

    async def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            await self._driver.close()
            self._task = None

    def close(self) -> None:
        pass
