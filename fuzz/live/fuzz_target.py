"""The server that is fuzzed: plays scripts on it, measures its process if we started it, and restarts it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType

from wireproof.conformance.drivers.simulation import carried_out
from wireproof.conformance.drivers.sockets import SocketDriver
from wireproof.conformance.model.actions import Open, Read, Shut, Write
from wireproof.conformance.model.targets import Address, parse_address
from wireproof.conformance.model.trace import Kind, Trace
from wireproof.conformance.player.connections import ActionGenerator, Result
from wireproof.conformance.run.processes import ServerProcess, Usage
from wireproof.fuzz.edges.counters import Counters
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.direct_sockets import DirectSockets
from wireproof.fuzz.live.exchanges import BY_TARGET
from wireproof.fuzz.live.execution import PROBE, playing
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.live.weight import HEAVY, HEAVY_SHARE, Allowance, weight
from wireproof.fuzz.script import Script, size

__all__ = ["LiveTarget"]

WORDS = 200
LARGE = 1 << 16
"""Bytes of a script from which on new children of the process are looked for in its play, as in that of a heavy script.

The memory of the known ones is measured in every play."""
MEASURED_S = 0.5
"""Seconds between two such searches beside that."""
MEASURING = 0.02
"""Share of the time that these take: looking through all processes takes milliseconds."""
PATIENCE = 5.0
EMPTY_S = 0.5
"""Seconds for which the rate of an empty client is measured."""
SPELL, LONGER_SPELL = 0.1, 0.5
"""Seconds during which an idle server is measured, and seconds of the second measurement if it was busy."""
LINGERS = 0.1
"""Seconds in which a process may end of what it does when its connections close."""
SLOWEST_DEATH = 1.0
"""Seconds that a process may take to exit after it left a connection (it may write a core file first)."""


class LiveTarget:
    """One server; use it as a context manager."""

    heavy_share = HEAVY_SHARE
    """Most of the time that heavy scripts take; see `weight.py`."""

    def __init__(
        self,
        context: FuzzContext,
        address: Address | None,
        server: ServerProcess | None = None,
        counters: Counters | None = None,
        listeners: Mapping[str, Address] | None = None,
    ) -> None:
        """`address` may be None if `server` is given; `counters` are those of an instrumented target.

        `listeners`: name -> address of those beside the usual one; a server that is started may print its own.
        """
        self._listeners = listeners or {}
        self.counters = counters
        self.context = context
        self.server = server
        self._address = address
        self._loop = asyncio.Runner()
        self._before: Usage | None = None
        self._fed = 0
        self._held: int | None = None
        self._measured = 0.0
        self._measuring = Allowance(MEASURING)
        self._looks_for_all = False
        self._sockets: DirectSockets | None = None
        self.restarts = 0
        self._spent = self._spent_before = 0.0

    def __enter__(self) -> LiveTarget:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.close()

    @property
    def address(self) -> Address:
        """The current address."""
        found = self.server.address if self.server else self._address
        assert found is not None
        return found

    @property
    def listeners(self) -> dict[str, Address]:
        """Name -> address of the listeners beside the usual one. Raises `TargetError` for what is no address."""
        printed = self.server.listeners if self.server else {}
        return {**{name: parse_address(text) for name, text in printed.items()}, **self._listeners}

    def unknown_listeners(self, script: Script) -> list[str]:
        """Return the names of the listeners to which a script connects and whose address is not known."""
        return sorted({one.listener for one in script if isinstance(one, Open)} - {""} - self.listeners.keys())

    def restart(self, why: str) -> bool:
        """Restart the server if we started it; return whether it was restarted. Raises `StartError`."""
        if self.server is None:
            return False
        self._spent = self.processor_time
        self.server.start(why)
        self._sockets = None
        self.restarts += 1
        self.begin()
        return True

    def begin(self) -> None:
        """Begin a window: memory growth is measured from here."""
        self._before, self._fed = (self.server.usage() if self.server else None), 0
        self._held = self._before.memory if self._before else None
        self._spent_before = self._before.cpu if self._before else 0.0

    @property
    def processor_time(self) -> float:
        """Seconds of processor time that plays took in the target, where wireproof started it; what died is not asked.

        The starts of its processes do not count.
        """
        now = self.server.usage().cpu if self.server else 0.0
        return self._spent + max(0.0, now - self._spent_before)

    def play(self, script: Script, *, patience: float, sample: bool = False) -> Play:
        """Play a script unchanged. `sample` also measures the idle process, which takes 0.1 s or more.

        Raises `OSError` for limits of this machine.
        """
        sample = sample and self.server is not None
        self._looks_for_all = sample or size(script) > LARGE or self._is_due(script)
        self._measured = time.monotonic() if self._looks_for_all else self._measured
        sockets = self._connected(patience)
        if self.counters is not None:
            self.counters.clear()
        try:
            asking = playing(script, self.context, patience=patience, measure=self.server is not None)
            trace = carried_out(asking, sockets.perform)
        finally:
            sockets.close()
        edges = self.counters.classes() if self.counters is not None else None
        self._fed += size(script)
        idle = self._busy_when_idle() if sample else None
        death = self._death(trace)
        words = self.server.last_words(WORDS) if self.server else ()
        before, fed, held = self._before, self._fed, self._held
        found = Play(script, trace, self.context, patience, death, words, before, fed, held, idle, edges)
        self._held = found.memory or held
        return found

    def ended_late(self, play: Play) -> Play:
        """Return the play with the death of its process, if that ends within `LINGERS` of it: as connections close."""
        deadline = time.monotonic() + LINGERS
        while self.server is not None and time.monotonic() < deadline:
            if (death := self.server.death()) is not None:
                return replace(play, death=death, words=self.server.last_words(WORDS))
            time.sleep(0.005)
        return play

    def empty_client_rate(self, seconds: float = EMPTY_S) -> float:
        """Return how many connections a second are served that send the probe, read its replies and close.

        Nothing is drawn, decoded and judged there. 0 if the server does not serve.
        """
        probe = self.play((), patience=PATIENCE).probe
        if probe is None or not probe.received:
            return 0.0
        data, expected = bytes(probe.sent), len(probe.received)
        sockets, began, number = self._connected(PATIENCE), time.monotonic(), 0
        try:
            while (spent := time.monotonic() - began) < seconds and _asked_once(sockets, data, expected):
                number += 1
        finally:
            sockets.close()
        return number / spent

    def perform(self, asking: ActionGenerator[Result]) -> Result:
        """Perform on sockets what a player asks for; return its result."""
        return self._perform(asking, PATIENCE)

    def _is_due(self, script: Script) -> bool:
        """Return whether new children of the process are looked for in this play."""
        is_time = time.monotonic() - self._measured >= MEASURED_S
        return weight(script) >= HEAVY or (is_time and self._measuring.permits)

    def _usage(self) -> Usage:
        """Return what the process takes; mostly its memory alone, and that of the children that are known."""
        assert self.server is not None
        if not self._looks_for_all:
            return Usage(self.server.memory(), 0, 0.0)
        with self._measuring.spending():
            return self.server.usage()

    def _connected(self, patience: float) -> DirectSockets:
        """Return the sockets of the next play, to where the server listens now."""
        if self._sockets is None or self._sockets.address != self.address:
            usage = self._usage if self.server else None
            self._sockets = DirectSockets(self.address, usage=usage, listeners=self.listeners)
        self._sockets.begin(patience)
        return self._sockets

    def _perform(self, asking: ActionGenerator[Result], patience: float) -> Result:
        driver = SocketDriver(self.address, timeout=patience, process=self.server, listeners=self.listeners)
        return self._loop.run(driver.perform(asking))

    def _busy_when_idle(self) -> float:
        """Return the CPU seconds a second of the idle process; remaining work gets time to finish."""
        first = self._idle_cpu(SPELL)
        return min(first, self._idle_cpu(LONGER_SPELL)) if first > 0 else first

    def _idle_cpu(self, seconds: float) -> float:
        assert self.server is not None
        began, first = time.monotonic(), self.server.usage().cpu
        time.sleep(seconds)
        return (self.server.usage().cpu - first) / (time.monotonic() - began)

    def _death(self, trace: Trace) -> str | None:
        """Return how the process ended, None if it runs; one that just closed its connections gets a moment."""
        if self.server is None:
            return None
        left = any(event.connection == PROBE and event.kind in BY_TARGET for event in trace)
        deadline = time.monotonic() + (SLOWEST_DEATH if left else 0)
        while (death := self.server.death()) is None and time.monotonic() < deadline:
            time.sleep(0.01)
        return death


def _asked_once(sockets: DirectSockets, data: bytes, expected: int) -> bool:
    """Connect, send `data`, read `expected` bytes and close; return whether they came."""
    if sockets.perform(Open(PROBE)).kind is not Kind.OPENED:
        return False
    sockets.perform(Write(PROBE, data))
    received = 0
    while received < expected:
        answer = sockets.perform(Read(PROBE, PATIENCE))
        if answer.kind is not Kind.RECEIVED:
            break
        received += len(answer.data)
    sockets.perform(Shut(PROBE, "close"))
    return received >= expected
