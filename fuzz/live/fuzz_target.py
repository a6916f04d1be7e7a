"""The server that is fuzzed: plays scripts on it, measures its process if we started it, and restarts it."""

from __future__ import annotations

import asyncio
import time
from types import TracebackType

from wireproof.conformance.drivers.sockets import SocketDriver
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.player.connections import ActionGenerator, Result
from wireproof.conformance.run.processes import ServerProcess, Usage
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.exchanges import BY_TARGET
from wireproof.fuzz.live.execution import PROBE, playing
from wireproof.fuzz.live.observation import Play
from wireproof.fuzz.script import Script, size

__all__ = ["LiveTarget"]

WORDS = 200
MEASURED, LARGE = 8, 1 << 16
"""The memory of the process is measured in one of so many plays, because looking through all processes takes 10 ms, and
in each play of a script of more bytes."""
PATIENCE = 5.0
SPELL, LONGER_SPELL = 0.1, 0.5
"""Seconds during which an idle server is measured, and seconds of the second measurement if it was busy."""
SLOWEST_DEATH = 1.0
"""Seconds that a process may take to exit after it left a connection (it may write a core file first)."""


class LiveTarget:
    """One server; use it as a context manager."""

    def __init__(self, context: FuzzContext, address: Address | None, server: ServerProcess | None = None) -> None:
        """`address` may be None if `server` is given."""
        self.context = context
        self.server = server
        self._address = address
        self._loop = asyncio.Runner()
        self._before: Usage | None = None
        self._fed = self._unmeasured = 0
        self.restarts = 0

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

    def restart(self, why: str) -> bool:
        """Restart the server if we started it; return whether it was restarted. Raises `StartError`."""
        if self.server is None:
            return False
        self.server.start(why)
        self.restarts += 1
        self.begin()
        return True

    def begin(self) -> None:
        """Begin a window: memory growth is measured from here."""
        self._before, self._fed = (self.server.usage() if self.server else None), 0

    def play(self, script: Script, *, patience: float, sample: bool = False) -> Play:
        """Play a script unchanged. `sample` also measures the idle process, which takes 0.1 s or more.

        Raises `OSError` for limits of this machine.
        """
        sample = sample and self.server is not None
        self._unmeasured += 1
        measure = self.server is not None and (sample or self._unmeasured >= MEASURED or size(script) > LARGE)
        self._unmeasured = 0 if measure else self._unmeasured
        trace = self._perform(playing(script, self.context, patience=patience, measure=measure), patience)
        self._fed += size(script)
        idle = self._busy_when_idle() if sample else None
        words = self.server.last_words(WORDS) if self.server else ()
        death = self._death(trace)
        return Play(script, trace, self.context, patience, death, words, self._before, self._fed, idle)

    def perform(self, asking: ActionGenerator[Result]) -> Result:
        """Perform on sockets what a player asks for; return its result."""
        return self._perform(asking, PATIENCE)

    def _perform(self, asking: ActionGenerator[Result], patience: float) -> Result:
        driver = SocketDriver(self.address, timeout=patience, usage=self.server.usage if self.server else None)
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
