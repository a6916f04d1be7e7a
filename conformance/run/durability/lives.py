"""One server over all its lives: a process that wireproof starts, or a service in simulation on a virtual clock.

In simulation a death is a copy. What a process that is killed leaves behind is what its files hold at that instant:
they are copied, the old service is dropped with its folder, and the next life begins on the copy.
"""

from __future__ import annotations

import resource
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from wireproof.conformance.drivers.simulation import Simulation
from wireproof.conformance.model.actions import Open, Read, Shut, Sleep, Write
from wireproof.conformance.model.targets import Address, parse_address
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.run.durability.conversation import Conversation
from wireproof.conformance.run.durability.harness_connection import ByteStream, GoneError, SocketByteStream
from wireproof.conformance.run.durability.life_folders import LifeFolders
from wireproof.conformance.run.processes import ServerProcess, StartError
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.service import Service

__all__ = ["LastingFactory", "Lives", "ProcessLives", "SimulatedLives"]

HOOK_OPENS = 5.0
"""Seconds in which the hook of a server that has started is open."""
LastingFactory = Callable[[VirtualClock, Path], Service]
"""(clock, folder of what it keeps) -> a server; raises ValueError where it cannot start there."""


class Lives(Protocol):
    """One server that is started, killed and started again on the same data."""

    @property
    def data(self) -> Path:
        """What the server keeps."""

    def start(self, why: str) -> None:
        """Start it. Raises `StartError`."""

    def kill(self) -> None:
        """End it without a word."""

    def end(self) -> None:
        """End it in good order."""

    def death(self) -> str | None:
        """Return how it ended by itself; None where it did not."""

    def limit_files(self, size: int | None) -> None:
        """Let no file of it grow beyond `size` bytes; None: as far as it likes."""

    def connect(self, link: str, patience: float = HOOK_OPENS) -> ByteStream:
        """Return a connection; a listener may be opened `patience` seconds late. Raises `OSError`."""

    def rest(self, seconds: float) -> None:
        """Let time pass."""


class ProcessLives:
    """A process."""

    def __init__(self, server: ServerProcess, hook: str) -> None:
        """`hook`: where its harness connects; `{data}` in it stands for the folder of the server."""
        self._server, self._hook = server, hook
        self.start, self.kill, self.end = server.start, server.kill, server.end
        self.death, self.limit_files, self.rest = server.death, server.limit_files, time.sleep

    @property
    def data(self) -> Path:
        """What the server keeps."""
        assert self._server.data is not None
        return self._server.data

    def connect(self, link: str, patience: float = HOOK_OPENS) -> ByteStream:
        """Return a connection; see `Lives`. Raises `OSError`."""
        if not link:
            return SocketByteStream(self._server.address)
        deadline = time.monotonic() + patience
        while True:
            try:
                return SocketByteStream(self._hook_address())
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def _hook_address(self) -> Address:
        return parse_address(self._server.filled(self._hook))


class SimulatedLives:
    """Services in this process, one after the other, on copies of what they kept."""

    def __init__(self, talk: Conversation, factory: LastingFactory) -> None:
        """Nothing is started yet."""
        self._talk, self._factory = talk, factory
        self._folders = LifeFolders()
        self._service: Service | None = None
        self._life: Simulation | None = None
        self._opened = 0

    @property
    def data(self) -> Path:
        """What the server keeps, in this life."""
        return self._folders.now

    def start(self, why: str) -> None:
        """Start it. Raises `StartError`."""

        def made(clock: VirtualClock) -> Service:
            self._service = self._factory(clock, self.data)
            return self._service

        try:
            self._life = Simulation(made)
        except ValueError as error:
            raise StartError(str(error)) from None

    def kill(self) -> None:
        """End it: the next life gets what the files hold now."""
        before = self._folders.copied()
        with suppress(Exception):
            self.end()
        shutil.rmtree(before, ignore_errors=True)

    def end(self) -> None:
        """End it in good order."""
        self.limit_files(None)
        service, self._service, self._life = self._service, None, None
        if service is not None:
            service.close()

    def death(self) -> str | None:
        """Return that it did not end by itself: what it raises is raised here."""
        return None

    def limit_files(self, size: int | None) -> None:
        """Let no file of this process grow beyond `size` bytes; None: as far as it may."""
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard if size is None else size, hard))

    def connect(self, link: str, patience: float = 0.0) -> ByteStream:
        """Return a connection. Raises `GoneError` where it does not run."""
        if self._life is None:
            raise GoneError("it does not run")
        self._opened += 1
        return _SimulatedWire(self._life, f"{link}{self._opened}", link, self._talk.spoken.link_of(link).listener)

    def rest(self, seconds: float) -> None:
        """Let time pass."""
        if self._life is not None:
            self._life.perform(Sleep(seconds))

    def close(self) -> None:
        """End it, and remove all that it kept."""
        with suppress(Exception):
            self.end()
        self._folders.close()


class _SimulatedWire:
    """The bytes of a connection in simulation; it can be read to its end after a death, while no time passes."""

    def __init__(self, life: Simulation, name: str, link: str, listener: str) -> None:
        self._life, self._name = life, name
        life.perform(Open(name, link, listener=listener))

    def now(self) -> float:
        """Return seconds since the start of this life."""
        return self._life.perform(Sleep(0.0)).now

    def write(self, data: bytes) -> None:
        """Send bytes; raises `GoneError`."""
        if self._life.perform(Write(self._name, data)).kind is Kind.RESET:
            raise GoneError("the server closed the connection")

    def read(self, timeout: float) -> bytes | None:
        """Return what comes within `timeout` seconds; see `ByteStream`."""
        answer = self._life.perform(Read(self._name, timeout))
        return b"" if answer.kind is Kind.ENDED else answer.data or None

    def close(self) -> None:
        """Close the connection."""
        self._life.perform(Shut(self._name, "close"))
