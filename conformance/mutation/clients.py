"""Every mutant of a reference client against the cases for SDKs: each must be killed, for a clause that it breaks.

An SDK runs in this process behind pipes, as a driver of any language would; those that end their process get one.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, suppress
from dataclasses import dataclass
from io import StringIO
from typing import IO, Any

from wireproof.conformance.model.outcome import Outcome
from wireproof.conformance.model.verdict import GREEN, Verdict
from wireproof.conformance.run.selection import applicable
from wireproof.conformance.sdk.driver_process import DriverProcess
from wireproof.conformance.sdk.play.sdk_run import SdkPlan, play_cases
from wireproof.conformance.sdk.play.sdk_suite import load_sdk_suite
from wireproof.conformance.sdk.transports import DriverTransport, ProcessTransport
from wireproof.conformance.suite.cases import Case, Suite
from wireproof.conformance.suite.sdk_steps import blamed_by
from wireproof.conformance.verdict.records import Record, Run
from wireproof.mutants.mutant import ClientMutant
from wireproof.mutants.registry import client_mutants
from wireproof.reference_client.driver import Driver

__all__ = ["ClientMutantResult", "ClientMutationRun", "InProcessTransport"]

TIMEOUT = 1.0
"""Seconds for an answer of a mutant: one in this process needs a thousandth of it."""
PATIENCE = 10.0
"""Seconds for an answer of what must fail nothing on a loaded machine either: the reference client, its variants."""
LONGEST_LINE = 1 << 28


class InProcessTransport:
    """The driver of a reference client in this process, reached by pipes."""

    settle = 0.0

    def __init__(self, make: Callable[[Callable[[Mapping[str, Any]], object]], Driver]) -> None:
        """`make` is given what takes the driver's lines."""
        self._make = make
        self._driver: Driver | None = None
        self._taking: asyncio.Task[None] | None = None
        self._transports: list[asyncio.BaseTransport] = []

    async def start(self, why: str) -> tuple[IO[bytes], IO[bytes]]:
        """Start it."""
        loop = asyncio.get_running_loop()
        commands, answers_out = os.pipe()
        answers, commands_in = os.pipe()
        lines = asyncio.StreamReader(limit=LONGEST_LINE)
        reading, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(lines), os.fdopen(commands, "rb", buffering=0)
        )
        writing, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(commands_in, "wb", buffering=0))
        self._transports = [reading, writing]
        self._driver = self._make(lambda message: writing.write(json.dumps(message).encode() + b"\n"))
        self._taking = loop.create_task(_take(self._driver, lines))
        return os.fdopen(answers, "rb", buffering=0), os.fdopen(answers_out, "wb", buffering=0)

    def ended(self) -> None:
        """It has no process of its own."""

    def last_words(self, count: int = 20) -> list[str]:
        """Its stderr is ours."""
        return []

    def cpu(self) -> None:
        """It is no process of its own."""

    def rests(self) -> bool:
        """It is no process of its own."""
        return False

    async def end(self) -> None:
        """Leave it; what of it waits for ever is given up."""
        if self._taking is not None:
            self._taking.cancel()
        if self._driver is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._driver.close(), 0.1)
        for one in self._transports:
            one.close()
        self._driver = self._taking = None

    def close(self) -> None:
        """Nothing is left."""


async def _take(driver: Driver, lines: asyncio.StreamReader) -> None:
    while line := await lines.readline():
        driver.take(line)


@dataclass(frozen=True, slots=True)
class ClientMutantResult:
    """The result of one mutant of the client."""

    mutant: ClientMutant
    killer: str = ""
    """The first case that failed it for a clause it breaks."""
    blamed: str = ""
    others: tuple[str, ...] = ()
    """Cases that failed it for another clause, before; for a conforming variant, those that failed it."""
    played: int = 0

    @property
    def is_right(self) -> bool:
        """Whether a mutant was killed, and a conforming variant was not failed."""
        return not self.others if self.mutant.is_legal else bool(self.killer)


@dataclass(frozen=True)
class ClientMutationRun:
    """All mutants of the client of one protocol, under one profile and variant."""

    protocol: str
    profile: str
    variant: str

    @property
    def suite(self) -> Suite:
        """What is played."""
        return load_sdk_suite(self.protocol)

    @property
    def mutants(self) -> list[ClientMutant]:
        """Those that differ here; ValueError when one breaks a clause that there is not."""
        found = []
        for one in client_mutants(self.protocol).values():
            unknown = [clause for clause in one.clauses if clause not in self.suite.clauses]
            if unknown:
                raise ValueError(f"mutant {one.name}: no such clause: {', '.join(unknown)}")
            here = self.profile in (one.profiles or [self.profile]) and self.variant in (one.variants or [self.variant])
            if here:
                found.append(one)
        return found

    def result(self, mutant: ClientMutant) -> ClientMutantResult:
        """Play until a case kills `mutant` for a clause it breaks; the cases of its clauses come first.

        A conforming variant is played until a case fails it.
        """
        cases = [one for one in applicable(self.suite, self.profile, self.variant) if not one.slow]
        cases.sort(key=lambda case: _distance(case, mutant))
        others: list[str] = []
        killed: list[str] = []
        played = 0

        def report(record: Record, outcome: Outcome) -> bool:
            nonlocal played
            played += 1
            if record["verdict"] in GREEN or record["verdict"] in (Verdict.UNTESTABLE, Verdict.HARNESS_ERROR):
                return False
            blamed = record["blamed"] or record["clauses"][0]
            if blamed in mutant.clauses:
                killed.extend((record["case"], blamed))
            else:
                others.append(f"{record['case']} [{blamed}]: expected {record['expected']}, got {record['got']}")
            return bool(killed) or (mutant.is_legal and bool(others))

        with redirect_stderr(StringIO()):
            asyncio.run(self._play(cases, mutant, report))
        name, blamed = killed or ("", "")
        return ClientMutantResult(mutant, name, blamed, tuple(others), played)

    def first_kill(self, mutant: ClientMutant, cases: Sequence[Case]) -> str:
        """Return the id of the first of `cases` that fails a mutant, whatever it blames; "" for none."""
        found: list[str] = []

        def report(record: Record, outcome: Outcome) -> bool:
            if record["verdict"] not in (*GREEN, Verdict.UNTESTABLE, Verdict.HARNESS_ERROR):
                found.append(record["case"])
            return bool(found)

        with redirect_stderr(StringIO()):
            asyncio.run(self._play(cases, mutant, report))
        return found[0] if found else ""

    def false_alarms(self) -> list[str]:
        """Return the cases that the reference client itself does not pass, twice; it must pass all.

        What fails beside the mutants is played again by itself: on busy cores a client may be late.
        """
        found: dict[str, str] = {}

        def report(record: Record, outcome: Outcome) -> None:
            if record["verdict"] != Verdict.PASS:
                what = f"{record['verdict']}: expected {record['expected']}, got {record['got']}"
                found[record["case"]] = f"{record['case']} {what}"

        cases = [one for one in applicable(self.suite, self.profile, self.variant) if not one.slow]
        asyncio.run(self._play(cases, None, report))
        again = [one for one in cases if one.id in found]
        found.clear()
        if again:
            asyncio.run(self._play(again, None, report))
        return list(found.values())

    async def _play(
        self, cases: Sequence[Case], mutant: ClientMutant | None, report: Callable[[Record, Outcome], Any]
    ) -> None:
        name = mutant.name if mutant else None
        run = Run(self.protocol, self.profile, self.variant, name or "reference", name or "reference", role="client")
        timeout = PATIENCE if mutant is None or mutant.is_legal else TIMEOUT
        async with DriverProcess(self._wires(mutant), deadline=timeout) as driver:
            await driver.start()
            await play_cases(SdkPlan(run, self.suite, cases, timeout), driver, report)

    def _wires(self, mutant: ClientMutant | None) -> DriverTransport:
        if mutant is not None and mutant.live:
            module = [sys.executable, "-m", "wireproof.mutants", "client", self.protocol, "--driver"]
            return ProcessTransport(
                [*module, "--profile", self.profile, "--variant", self.variant, "--mutant", mutant.name]
            )
        client = mutant.client if mutant else None
        return InProcessTransport(
            lambda say: Driver(self.protocol, say, profile=self.profile, variant=self.variant, client_class=client)
        )


def _distance(case: Case, mutant: ClientMutant) -> int:
    """Return how far a case is from what `mutant` breaks; those that blame it are nearest."""
    blamed = {case.clauses[0]} | {one for step in case.script for one in blamed_by(step)}
    if blamed & set(mutant.clauses):
        return 0
    return 1 if set(case.clauses) & set(mutant.clauses) else 2
