"""Puts one client and one server through the scenes that a protocol has written for itself.

A step commands the client to ask something, and says what the server must answer; or says what must be pushed to a
client. Judged in the order in which things happen: the request against the command, the bytes of the server by the
monitor and by the step's patterns, the driver's report against those bytes. A client may open several connections, on
several links, and replies may come in any order: each is found by the request that it answers.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import cast

from wireproof.conformance.interop.blamed_clauses import Clauses
from wireproof.conformance.interop.paired_client import PairedClient
from wireproof.conformance.interop.proxy import Proxy
from wireproof.conformance.interop.results import Breach, StepResult
from wireproof.conformance.interop.scenario import ScenarioStep
from wireproof.conformance.interop.scene_play import ScenePlay
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.suite.interop_scenes import WrittenScene
from wireproof.conformance.suite.pattern_types import Pattern
from wireproof.conformance.suite.steps import Expect, ExpectSilence, Send, Step, Wait
from wireproof.conformance.suite.symbols import Symbols
from wireproof.conformance.suite.values import SymbolicMessage
from wireproof.protocols import Request
from wireproof.protocols.plain import Plain

__all__ = ["WrittenPairing"]


@dataclass(frozen=True, slots=True)
class Planned:
    """One step in the terms of a pair."""

    step: Step
    request: SymbolicMessage | None
    expected: tuple[Pattern, ...]

    @classmethod
    def of(cls, step: Step) -> Planned:
        """Return what a step of a case is here."""
        sent = [one for verb in step.verbs if isinstance(verb, Send) for one in verb.send]
        expected = [one for verb in step.verbs if isinstance(verb, Expect) for one in verb.expect]
        request = cast(SymbolicMessage, sent[0]) if sent else None
        return cls(step, request, cast(tuple[Pattern, ...], tuple(expected)))

    @property
    def name(self) -> str:
        """What it is called in results: the request, or what is done without one."""
        if self.request is not None:
            return self.request.name
        return "PUSH" if self.expected else "SILENCE" if self.silent else "WAIT"

    @property
    def silent(self) -> list[str]:
        """The clients that must get nothing."""
        return [verb.silent for verb in self.step.verbs if isinstance(verb, ExpectSilence)]


@dataclass(slots=True)
class WrittenPairing:
    """A client and a server behind the proxy, and what is played."""

    client: PairedClient
    proxy: Proxy
    plain: Plain
    clauses: Clauses
    mark: str
    timeout: float
    scenes: Sequence[WrittenScene]

    async def play(self) -> AsyncIterator[StepResult]:
        """Yield what becomes of every step."""
        for scene in self.scenes:
            if self.plain.profile.name in scene.case.profiles:
                async for one in self._scene(scene):
                    yield one

    async def _scene(self, scene: WrittenScene) -> AsyncIterator[StepResult]:
        self.proxy.start_over()
        self.client.driver.take_events()
        spoken = self.plain.protocol, self.plain.profile.name, self.plain.variant.name
        variables = scene.case.variables
        symbols = Symbols(*spoken, case=scene.case.id, namespace=f"wp{self.mark}", variables=variables)
        play = ScenePlay(self.client, self.proxy, self.plain, self.clauses, self.timeout, scene, symbols)
        broke: Breach | None = await play.connect()
        over = ""
        for number, step in enumerate(symbols.here(scene.case.steps), 1):
            planned = Planned.of(cast(Step, step))
            began, first = time.monotonic(), len(self.proxy.trace)
            unsupported = False
            if not over and broke is None:
                broke, unsupported = await self._step(play, planned)
            trace = Trace(self.proxy.trace[first:] or self.proxy.trace)
            took = int((time.monotonic() - began) * 1e6)
            yield self._result(play, number, planned, trace, took, "" if broke else over, broke, unsupported)
            if broke is not None:
                over = f"the {broke.side} broke the protocol before, at step {number} of {scene.case.id}"
            elif unsupported:
                over = f"the client has no operation {planned.name.lower()}, which this builds upon"
            broke = None
        await self.client.leave(scene.clients)

    def _result(
        self,
        play: ScenePlay,
        number: int,
        planned: Planned,
        trace: Trace,
        took: int,
        untested: str,
        broke: Breach | None,
        unsupported: bool,
    ) -> StepResult:
        shown = ScenarioStep(planned.name.lower(), connection=planned.step.on)
        name = play.scene.case.id.partition("/")[2]
        clause = planned.step.clause or play.scene.case.clauses[0]
        request = planned.name if planned.request is not None else planned.name.lower()
        return StepResult(
            name, number, shown, request, trace, took, broke, unsupported, untested=untested, clause=clause
        )

    async def _step(self, play: ScenePlay, planned: Planned) -> tuple[Breach | None, bool]:
        """Return what was wrong first, and whether the driver says that it has no such operation."""
        step, wrong, unsupported = planned.step, None, False
        for verb in step.verbs:
            if isinstance(verb, Wait):
                await asyncio.sleep(float(play.symbols.number(verb.wait, "wait")))
        if planned.request is not None:
            request = cast(Request, play.symbols.message(planned.request))
            wrong, unsupported = await play.ask(step, request, planned.expected)
        elif planned.expected:
            wrong = await play.answered(step, planned.expected)
        for name in planned.silent:
            wrong = wrong or await play.silent(step, name)
        if wrong is None and not unsupported:
            wrong = play.stream()
        return wrong, unsupported
