"""Transports to a server driven step by step: in this process on a virtual clock, or over sockets in real time."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, Protocol

from wireproof.conformance.drivers.simulation import Simulation, Then
from wireproof.conformance.drivers.sockets import SocketDriver
from wireproof.conformance.model.actions import Action, Answer, Open, Shut, Sleep, Write
from wireproof.conformance.model.targets import Address
from wireproof.conformance.model.trace import Kind
from wireproof.conformance.run import reference_target
from wireproof.conformance.run.durability.life_folders import LifeFolders
from wireproof.fuzz.invariants.invariant_error import InvariantError, server_ended
from wireproof.fuzz.small_bounds import small_portions
from wireproof.mutants.registry import server_patch
from wireproof.reference_server.clock import VirtualClock
from wireproof.reference_server.registry import create_service, small_options_of
from wireproof.reference_server.service import Limits, Service, seeded_ids

__all__ = ["InProcess", "OverSockets", "Then", "Transport"]


class Transport(Protocol):
    """A connection to one server; no action waits longer than `patience` seconds."""

    patience: float
    options: Mapping[str, Any]
    """The options that the server was given, as far as they are known."""
    most_subscriptions: int | None
    """Those that one connection may have, where they are few."""

    def now_ns(self) -> int:
        """Return the time in ns of a monotonic clock."""

    def perform(self, action: Action, *, then: Then = "") -> Answer:
        """Perform one action as a driver does.

        `then`: what follows a write before the server has another turn of its loop, `more` on another connection or the
        `end` of our side.
        """

    def advance(self, ns: int) -> None:
        """Let `ns` nanoseconds pass."""

    def hold(self, connection: str, *, is_held: bool) -> bool:
        """Let the client of a connection take nothing, or take again what waits; False where that is not possible."""

    def restart(self, *, is_killed: bool) -> bool:
        """End the server, and start it again on what it kept; False where that is not possible."""

    def miscounted(self) -> str:
        """Return which number that the server keeps beside what it counts is wrong, "" where none is known to be."""

    def close(self) -> None:
        """Close every connection."""


SMALL_LIMITS = Limits(high_water=64, push_limit=2048, max_subscriptions=4)


class _Swallowed(logging.Handler):
    """Keeps the first exception that a server caught and logged: it serves on, and something was not done."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.first: BaseException | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the exception of a record."""
        if self.first is None and record.exc_info:
            self.first = record.exc_info[1]

    def take(self) -> BaseException | None:
        """Return what was kept, and keep nothing more of it."""
        found, self.first = self.first, None
        return found


SWALLOWED = _Swallowed()
logging.getLogger("wireproof.reference_server").addHandler(SWALLOWED)


class InProcess:
    """A reference server of its own, set up as for the cases; the same steps give the same answers.

    `perform` and `advance` raise `InvariantError` when the server raises.
    """

    patience = 1.0

    def __init__(
        self,
        protocol: str,
        profile: str,
        variant: str,
        *,
        mutant: str | None = None,
        seed: int = 1,
        is_lasting: bool = False,
        is_small: bool = False,
    ) -> None:
        """`is_lasting`: what the server keeps is in a folder, in memory where the system has such, for `restart`.

        `is_small`: its limits are low, and it does little at a time (`small_bounds.py`).
        """
        self._made = protocol, profile, variant, mutant, seed
        self.options: Mapping[str, Any] = reference_target.options(protocol)
        self._limits = Limits()
        self.most_subscriptions: int | None = None
        self._portions: Callable[[], AbstractContextManager[None]] = nullcontext
        if is_small:
            self.options = {**self.options, **small_options_of(protocol)}
            self._portions = partial(small_portions, protocol)
            self._limits = SMALL_LIMITS
            self.most_subscriptions = SMALL_LIMITS.max_subscriptions
        self._folders = LifeFolders() if is_lasting else None
        self._past_ns = 0
        self._clock = VirtualClock()
        SWALLOWED.take()
        self._begin()

    def _begin(self) -> None:
        try:
            with self._portions():
                self._simulation = Simulation(self._create)
        except ValueError as error:
            raise server_ended(error) from error

    def _create(self, clock: VirtualClock) -> Service:
        self._clock = clock
        protocol, profile, variant, mutant, seed = self._made
        self._service = create_service(
            protocol,
            profile=profile,
            variant=variant,
            clock=clock,
            ids=seeded_ids(seed),
            limits=self._limits,
            patch=server_patch(protocol, mutant),
            options={
                **self.options,
                **reference_target.kept_in(protocol, self._folders.now if self._folders else None),
            },
        )
        return self._service

    def now_ns(self) -> int:
        """Return the time of the virtual clocks in ns: that of each life after that of the one before."""
        return self._past_ns + self._clock.monotonic_ns()

    def perform(self, action: Action, *, then: Then = "") -> Answer:
        """Perform one action in simulation; see `Transport`. Raises `InvariantError` when the server raises."""
        try:
            with self._portions():
                answer = self._simulation.perform(action, then=then)
        except Exception as error:
            raise server_ended(error) from error
        _raise_swallowed()
        return answer

    def advance(self, ns: int) -> None:
        """Move the virtual clock by exactly `ns`. Raises `InvariantError` when the server raises."""
        try:
            with self._portions():
                self._clock.advance(ns)
        except Exception as error:
            raise server_ended(error) from error
        _raise_swallowed()

    def hold(self, connection: str, *, is_held: bool) -> bool:
        """Tell the session of a connection that its write buffer is full, or has room. Raises `InvariantError`."""
        try:
            with self._portions():
                left = self._simulation.hold(connection, is_held=is_held)
        except Exception as error:
            raise server_ended(error) from error
        if left:
            detail = f"{connection}: {left} bytes still wait once its client takes what comes"
            raise InvariantError("what waits for a client is written", detail, "waits")
        return True

    def restart(self, *, is_killed: bool) -> bool:
        """Start anew on a copy of the folder as it is now, or, in good order, as the end leaves it.

        Raises `InvariantError` when the server raises, or does not start.
        """
        if self._folders is None:
            return False
        try:
            if not is_killed:
                self._service.close()
            before = self._folders.copied()
            if is_killed:
                self._service.close()
        except Exception as error:
            raise server_ended(error) from error
        shutil.rmtree(before)
        self._past_ns += self._clock.monotonic_ns()
        self._begin()
        return True

    def miscounted(self) -> str:
        """Return which number of the server is wrong."""
        return self._service.miscounted()

    def close(self) -> None:
        """Remove what a lasting server kept; another one ends with this object."""
        if self._folders is not None:
            self._service.close()
            self._folders.close()


def _raise_swallowed() -> None:
    if SWALLOWED.first is not None and (error := SWALLOWED.take()) is not None:
        raise server_ended(error) from error


class OverSockets:
    """The server at an address. Raises `OSError` for limits of this machine."""

    def __init__(self, address: Address, patience: float) -> None:
        self.patience = patience
        self.options: Mapping[str, Any] = {}
        self.most_subscriptions: int | None = None
        self._runner = asyncio.Runner()
        self._session = SocketDriver(address, timeout=patience).session()
        self._open: set[str] = set()

    now_ns = staticmethod(time.monotonic_ns)

    def perform(self, action: Action, *, then: Then = "") -> Answer:
        """Perform one action on a socket; see `Transport`."""
        answer = self._runner.run(self._session.perform(action))
        if isinstance(action, Write) and then == "end" and answer.kind is Kind.SENT:
            self._runner.run(self._session.perform(Shut(action.connection, "half")))
        if isinstance(action, Open) and answer.kind is Kind.OPENED:
            self._open.add(action.connection)
        elif isinstance(action, Shut) and action.how != "half":
            self._open.discard(action.connection)
        return answer

    def advance(self, ns: int) -> None:
        """Sleep for `ns` nanoseconds."""
        self.perform(Sleep(ns / 1e9))

    def hold(self, connection: str, *, is_held: bool) -> bool:
        """Return False: how much waits in the buffers of sockets is not ours to say."""
        return False

    def restart(self, *, is_killed: bool) -> bool:
        """Return False: the server is not ours to start."""
        return False

    def miscounted(self) -> str:
        """Return "": what a server counts is shown by its answers only."""
        return ""

    def close(self) -> None:
        """Close every connection and the event loop."""
        for name in sorted(self._open):
            self.perform(Shut(name, "close"))
        self._runner.close()
