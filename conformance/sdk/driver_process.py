"""A driver that is talked to: one long-lived process, commands that may overlap, a deadline on every wait.

    driver = DriverProcess(ProcessTransport(parse_driver("node driver.js")))
    hello = await driver.start()
    await driver.ask("connect", connection="a", host="127.0.0.1", port=9000)
    call = driver.begin("query", connection="a", key={"hex": "6b"})      # sent; others may follow
    answer = await driver.answer(call)                                  # an Answer, or one of the errors below
    event = await driver.event("a")                                     # the next one of that connection
    await driver.restart("it died")                                     # the same command, from scratch
    await driver.close()

No answer is `NoAnswerError`, a process that ended is `DriverEndedError` with its last words; both are verdicts on the
driver, and `death`, `wrong_lines` and `transcript` hold the evidence.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass

from wireproof.conformance.run.processes.process_tree import POLL
from wireproof.conformance.sdk.driver_protocol import (
    DriverAnswer,
    DriverEvent,
    DriverMessageError,
    Hello,
    command_line,
    hello_of,
    parse_line,
)
from wireproof.conformance.sdk.transports import DriverTransport

__all__ = ["DriverEndedError", "DriverProcess", "NoAnswerError", "PendingCall"]

LONGEST_LINE = 32 * 1024 * 1024
REMEMBERED = 400
"""Lines of the transcript that are kept."""
MOST_UNASKED = 16 * 1024 * 1024
"""Bytes of events, and of lines that are no message, that a driver may write between two commands."""


class NoAnswerError(Exception):
    """Raised when nothing came in time; the driver runs on, and what comes late is put aside."""


class DriverEndedError(Exception):
    """Raised when the process ended while something was awaited, or before it was asked."""

    def __init__(self, detail: str, last_words: list[str]) -> None:
        super().__init__("\n".join([detail, *last_words]))
        self.detail = detail
        """How it ended, as in "the driver died of SIGSEGV"."""
        self.last_words = last_words
        """The last lines of its stderr."""


@dataclass(frozen=True, slots=True, eq=False)
class PendingCall:
    """A command that was sent."""

    id: int
    do: str
    result: asyncio.Future[DriverAnswer]
    """Its answer, `DriverMessageError` or `DriverEndedError`; `DriverProcess.answer` waits for it with a deadline."""


class DriverProcess:
    """One driver, started again as often as it is asked to."""

    def __init__(self, wires: DriverTransport, *, deadline: float = 5.0, start_deadline: float = 20.0) -> None:
        """`deadline`: seconds for an answer or event; `start_deadline`: for the answer to hello. Starts nothing yet."""
        self._wires = wires
        self.deadline = deadline
        self.start_deadline = start_deadline
        self.hello: Hello | None = None
        """What it declared of itself when it was started last."""
        self.death: str | None = None
        """How it ended, as in "the driver died of SIGSEGV"; None while it runs."""
        self.gone = ""
        """Why it is not started again; "" while it is."""
        self.wrong_lines: list[str] = []
        """What it wrote that is no message, or answers nothing, since it was started."""
        self.transcript: deque[str] = deque(maxlen=REMEMBERED)
        """The last lines in both directions, `> ` to the driver and `< ` from it, over all starts."""
        self._calls: dict[int, PendingCall] = {}
        self._next_id = 1
        self._events: deque[DriverEvent] = deque()
        self._unasked = 0
        """Bytes of lines that answer nothing since the last command."""
        self._came = asyncio.Event()
        self._writing: asyncio.WriteTransport | None = None
        self._reading: asyncio.ReadTransport | None = None
        self._reader: asyncio.Task[None] | None = None

    async def start(self, why: str = "") -> Hello:
        """Start it and ask who it is; raises `StartError` and what `ask` raises."""
        await self.launch(why)
        self.hello = hello_of(await self.ask("hello", deadline=self.start_deadline))
        return self.hello

    async def restart(self, why: str) -> Hello:
        """End what runs of it and do as `start`; `why` stands in its log."""
        await self.end()
        return await self.start(why)

    async def launch(self, why: str = "") -> None:
        """Start it and ask nothing; raises `StartError`."""
        loop = asyncio.get_running_loop()
        reading, writing = await self._wires.start(why)
        stream = asyncio.StreamReader(limit=LONGEST_LINE)
        self._reading, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), reading)
        self._writing, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, writing)
        self.death = self.hello = None
        self.wrong_lines = []
        self._events.clear()
        self._reader = loop.create_task(self._read(stream))

    def begin(self, do: str, **fields: object) -> PendingCall:
        """Send a command and return at once; its answer is awaited with `answer`. Raises `DriverEndedError`."""
        if self.death is not None or self._writing is None:
            raise self._ended(f"`{do}` was not sent: ")
        call = PendingCall(self._next_id, do, asyncio.get_running_loop().create_future())
        self._next_id += 1
        self._calls[call.id] = call
        self._unasked = 0
        line = command_line(call.id, do, fields)
        self.transcript.append("> " + line.decode().rstrip())
        self._writing.write(line)
        return call

    async def answer(self, call: PendingCall, *, deadline: float | None = None) -> DriverAnswer:
        """Return the answer to a command; raises `NoAnswerError`, `DriverEndedError`, `DriverMessageError`.

        `DriverMessageError`: it answered with a line that its schema does not allow.
        """
        seconds = self.deadline if deadline is None else deadline
        try:
            return await asyncio.wait_for(asyncio.shield(call.result), seconds)
        except TimeoutError:
            raise NoAnswerError(f"no answer to `{call.do}` in {seconds:g} s") from None

    async def ask(self, do: str, *, deadline: float | None = None, **fields: object) -> DriverAnswer:
        """Send a command and return its answer; raises as `begin` and `answer`."""
        return await self.answer(self.begin(do, **fields), deadline=deadline)

    async def event(
        self, connection: str | None = None, kind: str | None = None, *, deadline: float | None = None
    ) -> DriverEvent:
        """Take the oldest event of a connection (or of any) and of a kind (or of any), waiting for one.

        Raises `NoAnswerError` when none came in time, `DriverEndedError`.
        """
        seconds = self.deadline if deadline is None else deadline
        until = time.monotonic() + seconds
        while True:
            self._came.clear()
            for one in self._events:
                if connection in (None, one.connection) and kind in (None, one.event):
                    self._events.remove(one)
                    return one
            if self.death is not None:
                raise self._ended("")
            try:
                await asyncio.wait_for(self._came.wait(), max(until - time.monotonic(), 0))
            except TimeoutError:
                raise NoAnswerError(f"no {kind or 'event'} in {seconds:g} s") from None

    def take_events(self) -> list[DriverEvent]:
        """Take all events that came and were not taken, oldest first."""
        events = list(self._events)
        self._events.clear()
        return events

    async def quit(self, *, deadline: float | None = None) -> str:
        """Send `quit`, wait until it has answered and ended, and return how, as in "the driver ended with ...".

        Raises `NoAnswerError` when it does not answer or does not end, `DriverMessageError`, `DriverEndedError`.
        """
        await self.ask("quit", deadline=deadline)
        if self._reader is not None:
            seconds = self.deadline if deadline is None else deadline
            try:
                await asyncio.wait_for(asyncio.shield(self._reader), seconds)
            except TimeoutError:
                raise NoAnswerError(f"it answered `quit` and did not end in {seconds:g} s") from None
        return self.death or "the driver ended"

    def last_words(self, count: int = 20) -> list[str]:
        """Return the last lines of its stderr since it was started."""
        return self._wires.last_words(count)

    def cpu(self) -> float | None:
        """Return the seconds of CPU that it used so far; None where that cannot be known."""
        return self._wires.cpu()

    def rests(self) -> bool:
        """Say whether every thread of it waits for something; False where that cannot be known."""
        return self._wires.rests()

    async def end(self) -> None:
        """End it with everything it started; it can be started again."""
        for transport in (self._writing, self._reading):
            if transport is not None:
                transport.close()
        await self._wires.end()
        if self._reader is not None:
            self._reader.cancel()
            with suppress(asyncio.CancelledError):
                await self._reader
            self._dead("the driver was ended")
        self._writing = self._reading = self._reader = None

    async def close(self) -> None:
        """End it for good."""
        try:
            await self.end()
        finally:
            self._wires.close()

    async def __aenter__(self) -> DriverProcess:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _read(self, stream: asyncio.StreamReader) -> None:
        """Take every line until the process has ended."""
        lines = asyncio.ensure_future(self._lines(stream))
        try:
            while not lines.done() and self._wires.ended() is None:
                await asyncio.wait([lines], timeout=5 * POLL)
            await asyncio.wait([lines], timeout=self._wires.settle)
            until = time.monotonic() + self._wires.settle
            while self._wires.ended() is None and lines.done() and time.monotonic() < until:
                await asyncio.sleep(POLL)
        finally:
            lines.cancel()
        without_end = "wrote lines that nobody asked for, without end" if self._unasked > MOST_UNASKED else ""
        self._dead(f"the driver {self._wires.ended() or without_end or 'closed its stdout'}")

    async def _lines(self, stream: asyncio.StreamReader) -> None:
        try:
            while self._unasked <= MOST_UNASKED and (line := await stream.readline()):
                self._take(line)
        except ValueError:
            self.wrong_lines.append(f"a line of more than {LONGEST_LINE} bytes")

    def _asked(self, id: int) -> str | None:
        return self._calls[id].do if id in self._calls else None

    def _take(self, line: bytes) -> None:
        self.transcript.append("< " + line.decode(errors="replace").rstrip())
        try:
            message = parse_line(line, self._asked)
        except DriverMessageError as error:
            call = self._calls.pop(error.id, None) if error.id is not None else None
            if call is None:
                self._unasked += len(line)
                self.wrong_lines.append(str(error))
            elif not call.result.done():
                _fail(call, error)
            return
        if isinstance(message, DriverEvent):
            self._unasked += len(line)
            self._events.append(message)
            self._came.set()
            return
        call = self._calls.pop(message.id, None)
        if call is None:
            self._unasked += len(line)
            self.wrong_lines.append(f"an answer with id {message.id}, which no command that waits has")
        elif not call.result.done():
            call.result.set_result(message)

    def _dead(self, how: str) -> None:
        if self.death is not None:
            return
        self.death = how
        for call in self._calls.values():
            if not call.result.done():
                _fail(call, self._ended(f"no answer to `{call.do}`: "))
        self._calls.clear()
        self._came.set()

    def _ended(self, before: str) -> DriverEndedError:
        return DriverEndedError(f"{before}{self.death or 'the driver was not started'}", self._wires.last_words())


def _fail(call: PendingCall, error: Exception) -> None:
    call.result.set_exception(error)
    call.result.exception()
