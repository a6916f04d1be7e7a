"""The driver over real sockets: performs the player's actions on TCP or UNIX streams, every wait bounded.

What came before a connection was reset is kept and read first. Errors that are this machine's own (no descriptor
left, say) leave as `OSError`: they are nobody's verdict.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import msgspec

from conformance.actions import Action, Answer, Measure, Open, Read, Shut, Sleep, Write
from conformance.blame import misdelivered
from conformance.conversation import Asking, Result
from conformance.gate import Gate
from conformance.outcome import Outcome, harness_error
from conformance.player import Player
from conformance.segments import Cuts, evidence, missed
from conformance.tap import Tap, TapError
from conformance.targets import Address
from conformance.trace import Kind
from conformance.verdicts import Verdict

HELD = 16 * 1024 * 1024
"""Bytes kept for a reader; beyond, the target is not read from."""
LINGER_RESET = struct.pack("ii", 1, 0)
OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})
PATIENCE = 8
"""Connects without an answer, one after the other, after which `IMPATIENT` seconds are enough for each."""
IMPATIENT = 0.2


class Wire(asyncio.Protocol):
    """One connection: what came on it, and how it ended."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._chunks: list[bytes] = []
        self._held = 0
        self._writable = True
        self._awake: asyncio.Future[None] | None = None
        self.ended: Kind | None = None
        self.lost = False
        self.why = b""
        self.cuts = Cuts()
        self.tap = Tap()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Let small writes leave at once (no Nagle), so that a delivery's cuts reach the wire."""
        self.transport = cast(asyncio.Transport, transport)
        sock = transport.get_extra_info("socket")
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        """Keep what came."""
        self.tap.came(data)
        self._chunks.append(data)
        self._held += len(data)
        if self._held > HELD:
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        """The target sends no more; our side stays open."""
        self.ended = Kind.ENDED
        self._wake()
        return True

    def connection_lost(self, error: Exception | None) -> None:
        """The connection is gone."""
        self.lost = True
        if self.ended is None:
            self.ended = Kind.RESET if error else Kind.ENDED
            self.why = str(error or "").encode()
        self._wake()

    def pause_writing(self) -> None:
        """The target does not take what it is sent."""
        self._writable = False

    def resume_writing(self) -> None:
        """The target took it."""
        self._writable = True
        self._wake()

    def _wake(self) -> None:
        if self._awake is not None and not self._awake.done():
            self._awake.set_result(None)

    async def _something(self, deadline: float) -> bool:
        """Wait until anything happens; False at the deadline (of the loop's clock)."""
        self._awake = self._loop.create_future()
        alarm = self._loop.call_at(deadline, self._wake)
        try:
            await self._awake
        finally:
            alarm.cancel()
        return self._loop.time() < deadline

    async def read(self, timeout: float) -> tuple[Kind, bytes]:
        """Return RECEIVED and all that came, SILENT when nothing came in time, or how the connection ended."""
        deadline = self._loop.time() + timeout
        while not self._chunks and self.ended is None and await self._something(deadline):
            pass
        if self._chunks:
            data = b"".join(self._chunks)
            self._chunks.clear()
            if self._held > HELD and not self.lost:
                self.transport.resume_reading()
            self._held = 0
            return Kind.RECEIVED, data
        return (self.ended, self.why) if self.ended else (Kind.SILENT, b"")

    async def write(self, data: bytes, timeout: float, apart: float | None = None) -> tuple[Kind, bytes]:
        """Send; SILENT when the target stops reading, RESET when it is gone. `apart`: see `Write`."""
        deadline = self._loop.time() + timeout
        if not self.lost:
            self.tap.left(data)
            self.transport.write(data)
        while not self._writable and not self.lost:
            if not await self._something(deadline) and not self._writable:
                return Kind.SILENT, b"the target stopped reading"
        if apart is not None and not self.lost:
            await self.cuts.leave(self.transport, apart)
        return (Kind.RESET, self.why or b"closed") if self.lost else (Kind.SENT, b"")

    def end_writing(self) -> None:
        """Send no more; the target may still answer."""
        if not self.lost and not self.transport.is_closing():
            try:
                self.transport.write_eof()
            except OSError as error:
                self.why = str(error).encode()

    async def close(self, timeout: float = 1.0, *, reset: bool = False) -> None:
        """Close and wait until it is done; what cannot be sent in `timeout` seconds is dropped."""
        if reset:
            self.cut()
        else:
            self.transport.close()
        deadline = self._loop.time() + timeout
        while not self.lost and await self._something(deadline):
            pass
        if not self.lost:
            self.transport.abort()

    def cut(self) -> None:
        """End with a reset, at once."""
        if self.lost:
            return
        sock = self.transport.get_extra_info("socket")
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_RESET)
        self.transport.abort()


async def connect(address: Address, timeout: float) -> Wire:
    """Connect; raises `OSError`, which `TimeoutError` is one of."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(timeout):
        if address.scheme == "unix":
            return (await loop.create_unix_connection(Wire, address.path))[1]
        return (await loop.create_connection(Wire, address.host, address.port))[1]


class SocketDriver:
    """Plays cases against the target at one address; a case that waits leaves its place at the `gate` meanwhile."""

    def __init__(
        self,
        address: Address,
        *,
        timeout: float = 5.0,
        gate: Gate | None = None,
        usage: Callable[[], Any] | None = None,
    ) -> None:
        """`usage` tells what the target's process takes, as an object of figures, where it is ours."""
        self.address = address
        self.timeout = timeout
        self.gate = gate
        self.usage = usage
        self.unanswered = 0
        """Connects in a row that were neither taken nor refused."""

    async def connect(self) -> Wire:
        """Connect; raises `OSError`. A target that answered no connect for long is not waited for so long any more."""
        timeout = self.timeout if self.unanswered < PATIENCE else min(self.timeout, IMPATIENT)
        try:
            wire = await connect(self.address, timeout)
        except TimeoutError:
            self.unanswered += 1
            raise
        except OSError:
            self.unanswered = 0
            raise
        self.unanswered = 0
        return wire

    def session(self) -> Session:
        """Return the sockets of a play whose actions are performed one by one."""
        return Session(self)

    async def play(self, player: Player) -> Outcome:
        """Run one case to its outcome; no connection outlives it. Raises `OSError` for this machine's own limits."""
        session = Session(self)
        try:
            return session.witnessed(await session.run(player.play()))
        except TapError as error:
            return misdelivered(error, player.talk.trace)
        finally:
            session.close()

    async def perform(self, asking: Asking[Result]) -> Result:
        """Perform what anything else asks and return what it returns; raises `TapError`, else as `play`."""
        session = Session(self)
        try:
            return await session.run(asking)
        finally:
            session.close()


class Session:
    """The sockets of one play; whoever makes one ends it with `close`."""

    def __init__(self, driver: SocketDriver) -> None:
        self._driver = driver
        self._wires: dict[str, Wire] = {}
        self._cuts: list[Cuts] = []
        self._began = time.monotonic()

    def _answer(self, kind: Kind, data: bytes = b"") -> Answer:
        return Answer(kind, time.monotonic() - self._began, data)

    async def run(self, asking: Asking[Result]) -> Result:
        """Perform everything that is asked; return what the asking returns."""
        try:
            action = next(asking)
            while True:
                action = asking.send(await self.perform(action))
        except StopIteration as stop:
            result: Result = stop.value
            return result

    async def perform(self, action: Action) -> Answer:
        """Carry out one action; raises `OSError` for this machine's own limits and `TapError`."""
        match action:
            case Open(name):
                return await self._open(name)
            case Write(name, data, apart):
                wire = self._wires[name]
                return wire.tap.held(action, self._answer(*await wire.write(data, self._driver.timeout, apart)))
            case Read(name, timeout):
                wire = self._wires[name]
                return wire.tap.held(action, self._answer(*await wire.read(timeout)))
            case Shut(name, how):
                return await self._shut(name, how)
            case Sleep(seconds):
                await self._sleep(seconds)
                return self._answer(Kind.WAITED)
            case Measure():
                usage = self._driver.usage
                return self._answer(Kind.MEASURED, msgspec.json.encode(usage()) if usage else b"")

    async def _sleep(self, seconds: float) -> None:
        gate = self._driver.gate
        if not seconds:
            return
        if gate is not None:
            gate.step_out()
        try:
            await asyncio.sleep(seconds)
        finally:
            if gate is not None:
                gate.step_in()

    async def _open(self, name: str) -> Answer:
        try:
            wire = self._wires[name] = await self._driver.connect()
        except OSError as error:
            if error.errno in OURS:
                raise
            return self._answer(Kind.RESET, (str(error) or "no answer to connect").encode())
        self._cuts.append(wire.cuts)
        mine = wire.transport.get_extra_info("sockname") if self._driver.address.scheme == "tcp" else None
        return self._answer(Kind.OPENED, str(mine[1]).encode() if mine else b"")

    async def _shut(self, name: str, how: str) -> Answer:
        if how == "half":
            self._wires[name].end_writing()
            return self._answer(Kind.HALF_CLOSED)
        await self._wires.pop(name).close(reset=how == "reset")
        return self._answer(Kind.CLOSED)

    def witnessed(self, outcome: Outcome) -> Outcome:
        """Return the outcome with what the kernel says of the cuts; a pass that they did not reach is our own fault."""
        told = evidence(self._cuts)
        if told is None:
            return outcome
        why = missed(self._cuts)
        if why is not None and outcome.verdict is Verdict.PASS:
            outcome = harness_error(why, outcome.trace)
        return replace(outcome, extra={**outcome.extra, "wire": told})

    def close(self) -> None:
        """Cut every connection that is left."""
        for wire in self._wires.values():
            wire.cut()
