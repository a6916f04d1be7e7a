"""The driver over real sockets: performs the player's actions on TCP or UNIX streams and UDP, every wait bounded.

What came before a connection was reset is kept and read first. Errors that are this machine's own (no descriptor
left, say) leave as `OSError`: they are nobody's verdict.
"""

# Strategy
#
# The player decides, the driver performs: no verdict is made here, with two exceptions at the end of a play. So every
# action has an answer, whatever happens. A refused or reset connection, silence and an end of the stream are answers
# with a kind (`_answer`), and the case says what they are worth.
#
# Whose fault an error is, is decided by its number. What only this machine can cause (`OURS`: no descriptors, no
# buffers, no local port) must not become a failed case, so it leaves as an exception and the scheduler makes it a
# harness_error. Everything else that `connect` raises is the target's answer.
#
# Every wait is bounded, and bounds do not add up. Reads and writes have a timeout each. A target that takes no connects
# at all would cost each case the whole timeout; after `PATIENCE` such connects in a row `IMPATIENT` is enough, until
# one succeeds or is refused. A case that sleeps leaves its place at the limiter, so that another one is played
# meanwhile.
#
# What was reported is checked twice. The audit of each wire (`io_audit.py`) compares every answer with the bytes that
# passed the transport: a driver that loses or repeats bytes ends the play with `IoAuditError`, which `play` turns into
# an outcome. And a case under another segmentation must have reached the wire in pieces: the kernel's counters are
# evidence in the record, and a pass without the cuts is a harness_error (`witnessed`), because it shows nothing.
#
# No connection outlives its play. `run` may end by an exception or by cancellation; the `finally` of `play` and
# `perform` cuts what is left, hard, because a graceful close would wait for a target that may never answer.

from __future__ import annotations

import asyncio
import errno
import ssl
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

import msgspec

from wireproof.conformance.drivers.datagrams import Datagrams, open_datagrams
from wireproof.conformance.drivers.io_audit import IoAuditError, misdelivered
from wireproof.conformance.drivers.limiter import Limiter
from wireproof.conformance.drivers.streams import HELD, HELD_HEAVY, SocketStream, connect
from wireproof.conformance.drivers.tcp_segments import Cuts, evidence, missed
from wireproof.conformance.drivers.tls import client_context
from wireproof.conformance.model.actions import (
    Action,
    Answer,
    LimitDescriptors,
    Open,
    Read,
    ReadUsage,
    Secure,
    Shut,
    Sleep,
    Write,
)
from wireproof.conformance.model.outcome import Outcome, harness_error
from wireproof.conformance.model.targets import Address, TargetError, parse_address
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.player.connections import ActionGenerator, Result
from wireproof.conformance.player.player import Player

__all__ = ["PlaySockets", "SocketDriver", "SocketStream", "connect"]

OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})
PATIENCE = 8
"""Connects without an answer, one after the other, after which `IMPATIENT` seconds are enough for each."""
IMPATIENT = 0.2
TLS = "tls"
"""The name of the listener where TLS is spoken from the first byte on: connections that begin with TLS go there."""
SHARE = 512 * 1024
"""Bytes that each play may receive; those that receive more do so one after the other, so that memory is bounded."""


class TargetProcess(Protocol):
    """The process of a target, as far as cases measure and limit it."""

    @property
    def listeners(self) -> Mapping[str, str]:
        """Name -> address of the listeners beside the usual one that it printed."""

    def usage(self) -> Any:
        """Return what it takes, as an object of figures."""

    def limit_descriptors(self, spare: int | None) -> None:
        """Let it open `spare` descriptors more than it has now; None: as many as before."""


class SocketDriver:
    """Plays cases against the target at one address; a case that waits leaves its place at the `limiter` meanwhile."""

    def __init__(
        self,
        address: Address,
        *,
        timeout: float = 5.0,
        limiter: Limiter | None = None,
        process: TargetProcess | None = None,
        tls: ssl.SSLContext | None = None,
        listeners: Mapping[str, Address] | None = None,
    ) -> None:
        """`process` is the target's, where wireproof started it.

        `tls` is what is spoken where TLS is begun; without it no certificate is verified. `listeners` has the
        addresses of the target's listeners beside the usual one.
        """
        self.address = address
        self.listeners = listeners or {}
        self.timeout = timeout
        self.limiter = limiter
        self.process = process
        self.unanswered = 0
        """Connects in a row that were neither taken nor refused."""
        self.large = asyncio.Semaphore(1)
        """The place of the one play that may receive more than `SHARE`."""
        self._tls = tls
        self._host = ""
        """Where the last stream was really connected to: names have several addresses."""

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """What is spoken where TLS is begun."""
        return self._tls or client_context()

    async def connect(self, most_held: int = HELD, *, unread: bool = False, listener: str = "") -> SocketStream:
        """Connect; raises `OSError`. A target that answered no connect for long is not waited for so long any more.

        `unread` and `listener`: as in `Open`.
        """
        if listener:
            return await connect(self._listener(listener), self.timeout, most_held, unread=unread)
        timeout = self.timeout if self.unanswered < PATIENCE else min(self.timeout, IMPATIENT)
        try:
            wire = await connect(self.address, timeout, most_held, unread=unread)
        except TimeoutError:
            self.unanswered += 1
            raise
        except OSError:
            self.unanswered = 0
            raise
        self.unanswered = 0
        if self.address.scheme == "tcp":
            peer = wire.transport.get_extra_info("peername")
            if peer:  # None where the target reset the connection as it was made
                self._host = peer[0]
        return wire

    def _listener(self, name: str) -> Address:
        """Return where a listener beside the usual one is: as it was named, or as a started server printed it."""
        if name in self.listeners:
            return self.listeners[name]
        printed = self.process.listeners if self.process is not None else {}
        if name not in printed:
            raise OSError(f"the address of its listener {name!r} is not known: --listener {name}=ADDRESS")
        try:
            return parse_address(printed[name])
        except TargetError as error:
            raise OSError(f"it printed where its listener {name!r} is: {error}") from None

    async def datagrams(self) -> Datagrams:
        """Return a socket for datagrams to the target's own host and port; raises `OSError`."""
        if self.address.scheme != "tcp":
            raise OSError(f"datagrams go to a host and port, the target is at {self.address}")
        return await open_datagrams(self._host or self.address.host, self.address.port, self.timeout)

    def session(self) -> PlaySockets:
        """Return the sockets of a play whose actions are performed one by one."""
        return PlaySockets(self)

    async def play(self, player: Player) -> Outcome:
        """Run one case to its outcome; no connection outlives it. Raises `OSError` for this machine's own limits."""
        sockets = PlaySockets(self, HELD_HEAVY if player.case.heavy else HELD)
        try:
            return sockets.witnessed(await sockets.run(player.play()))
        except IoAuditError as error:
            return misdelivered(error, player.talk.trace)
        finally:
            sockets.close()

    async def perform(self, asking: ActionGenerator[Result]) -> Result:
        """Perform what anything else asks and return what it returns; raises `IoAuditError`, else as `play`."""
        sockets = PlaySockets(self)
        try:
            return await sockets.run(asking)
        finally:
            sockets.close()


class PlaySockets:
    """The sockets of one play; whoever makes one ends it with `close`."""

    def __init__(self, driver: SocketDriver, most_held: int = HELD) -> None:
        self._driver = driver
        self._most_held = most_held
        self._received = 0
        self._is_large = False
        """Whether this is the one play that may receive more than `SHARE`."""
        self._is_limited = False
        """Whether the target may open fewer descriptors than before."""
        self._wires: dict[str, SocketStream | Datagrams] = {}
        self._cuts: list[Cuts] = []
        self._began = time.monotonic()

    def _answer(self, kind: Kind, data: bytes = b"") -> Answer:
        return Answer(kind, time.monotonic() - self._began, data)

    async def run(self, asking: ActionGenerator[Result]) -> Result:
        """Perform everything that is asked; return what the asking returns."""
        try:
            action = next(asking)
            while True:
                action = asking.send(await self.perform(action))
        except StopIteration as stop:
            result: Result = stop.value
            return result

    async def perform(self, action: Action) -> Answer:
        """Carry out one action; raises `OSError` for this machine's own limits and `IoAuditError`."""
        match action:
            case Open():
                return await self._open(action)
            case Write(name, data, apart, ends):
                wire = self._wires[name]
                done = await wire.write(data, self._driver.timeout, apart, ends=ends)
                return wire.audit.checked(action, self._answer(*done))
            case Read(name, timeout):
                wire = self._wires[name]
                await self._share()
                kind, data = await wire.read(timeout)
                self._received += len(data) if kind is Kind.RECEIVED else 0
                return wire.audit.checked(action, self._answer(kind, data))
            case Shut(name, how):
                return await self._shut(name, how)
            case Secure(name, timeout):
                return await self._secure(name, timeout)
            case Sleep(seconds):
                await self._sleep(seconds)
                return self._answer(Kind.WAITED)
            case LimitDescriptors(spare):
                self._is_limited = spare is not None
                if self._driver.process is not None:
                    self._driver.process.limit_descriptors(spare)
                return self._measured()
            case ReadUsage():
                return self._measured()

    def _measured(self) -> Answer:
        process = self._driver.process
        return self._answer(Kind.MEASURED, msgspec.json.encode(process.usage()) if process else b"")

    async def _share(self) -> None:
        """Wait until no other play receives more than `SHARE`, if this one does; the play's clock stands meanwhile."""
        if self._received <= SHARE or self._is_large:
            return
        before = time.monotonic()
        await self._driver.large.acquire()
        self._is_large = True
        self._began += time.monotonic() - before

    async def _sleep(self, seconds: float) -> None:
        limiter = self._driver.limiter
        if not seconds:
            return
        if limiter is not None:
            limiter.step_out()
        try:
            await asyncio.sleep(seconds)
        finally:
            if limiter is not None:
                limiter.step_in()

    async def _open(self, action: Open) -> Answer:
        wire: SocketStream | Datagrams
        driver, is_stream = self._driver, action.transport == "stream"
        try:
            if is_stream:
                wire = await driver.connect(self._most_held, unread=action.unread, listener=action.listener)
            else:
                wire = await driver.datagrams()
        except OSError as error:
            if error.errno in OURS:
                raise
            return self._answer(Kind.RESET, (str(error) or "no answer to connect").encode())
        self._wires[action.connection] = wire
        self._cuts.append(wire.cuts)
        if isinstance(wire, Datagrams):
            return self._answer(Kind.OPENED, str(wire.port).encode())
        mine = wire.transport.get_extra_info("sockname") if driver.address.scheme == "tcp" else None
        return self._answer(Kind.OPENED, str(mine[1]).encode() if mine and isinstance(mine, tuple) else b"")

    async def _secure(self, name: str, timeout: float) -> Answer:
        wire, driver = self._wires[name], self._driver
        assert isinstance(wire, SocketStream)
        if TLS in driver.listeners and wire.audit.is_unused:
            await wire.close(reset=False)
            opened = await self._open(Open(name, listener=TLS))
            if opened.kind is not Kind.OPENED:
                return opened
            wire = self._wires[name]
            assert isinstance(wire, SocketStream)
        return self._answer(*await wire.secure(driver.tls, driver.address.host, timeout))

    async def _shut(self, name: str, how: str) -> Answer:
        wire = self._wires[name]
        if how == "half" and isinstance(wire, SocketStream):
            wire.end_writing()
            return self._answer(Kind.HALF_CLOSED)
        await self._wires.pop(name).close(reset=how == "reset")
        return self._answer(Kind.CLOSED)

    def witnessed(self, outcome: Outcome) -> Outcome:
        """Return the outcome with what the kernel says of the cuts; a pass that they did not reach is our own fault."""
        segments = evidence(self._cuts)
        if segments is None:
            return outcome
        why = missed(self._cuts)
        if why is not None and outcome.verdict is Verdict.PASS:
            outcome = harness_error(why, outcome.trace)
        return replace(outcome, extra={**outcome.extra, "wire": segments})

    def close(self) -> None:
        """Cut every connection that is left."""
        if self._is_large:
            self._is_large = False
            self._driver.large.release()
        for wire in self._wires.values():
            wire.cut()
        if self._is_limited and self._driver.process is not None:
            self._driver.process.limit_descriptors(None)
