"""Puts one client and one server through the script and says, operation by operation, who broke the protocol first.

An operation goes client, server, client: the request is held against what was asked for, the reply against what the
reference answers to that very request, what the driver reports against the bytes of the reply. A reply that the driver
reports as the monitor reads it is no push, whatever its first byte: later bytes can then be read in one way only.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from wireproof.conformance.interop.blamed_clauses import Clauses
from wireproof.conformance.interop.differences import ChosenIds
from wireproof.conformance.interop.harness import Harness, HarnessError
from wireproof.conformance.interop.judge import Judge, stream_fault
from wireproof.conformance.interop.paired_client import GRACE, PairedClient
from wireproof.conformance.interop.proxied_connection import ProxiedConnection
from wireproof.conformance.interop.proxy import Proxy
from wireproof.conformance.interop.receivers import Receivers
from wireproof.conformance.interop.reference_oracle import ReferenceOracle
from wireproof.conformance.interop.results import Breach, Side, StepResult
from wireproof.conformance.interop.scenario import ScenarioStep, Scene, asked_class, marked, request_of, scenes
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.sdk.driver_process import DriverEndedError, NoAnswerError
from wireproof.conformance.sdk.driver_protocol import DriverAnswer, FailureKind
from wireproof.conformance.sdk.samples import Samples
from wireproof.protocols import Push, Reply, Request
from wireproof.protocols.plain import Plain

__all__ = ["Pairing"]


@dataclass(slots=True)
class Pairing:
    """A started driver and a server behind the proxy."""

    client: PairedClient
    proxy: Proxy
    harness: Harness
    plain: Plain
    clauses: Clauses
    mark: str
    timeout: float
    _name: bytes = b""
    """What all is called by in the scene that is played."""
    _connections: dict[str, ProxiedConnection] = field(default_factory=dict)
    _ids: ChosenIds = field(init=False)
    _receivers: Receivers = field(init=False)

    def __post_init__(self) -> None:
        self._ids, self._receivers = ChosenIds(self.plain), Receivers(self.plain)

    async def play(self) -> AsyncIterator[StepResult]:
        """Yield what becomes of every operation."""
        hello = self.client.driver.hello
        assert hello is not None
        width = max(self.plain.variant.sizes.values(), default=1)
        most = min((1 << (8 * width)) - 2, hello.smallest)
        for scene in scenes(self.plain, self.mark, most):
            lacking = next((why for link in scene.links if (why := self.harness.lacks(link))), "")
            async for one in self._left_out(scene, lacking) if lacking else self._scene(scene):
                yield one

    async def _left_out(self, scene: Scene, lacking: str) -> AsyncIterator[StepResult]:
        """Yield what becomes of a scene in which the harness cannot do its part."""
        for number, step in enumerate(scene.steps, 1):
            name = asked_class(self.plain, step.operation).NAME
            yield StepResult(scene.name, number, step, name, Trace(), 0, untested=f"nobody declared {lacking}")

    async def _scene(self, scene: Scene) -> AsyncIterator[StepResult]:
        self.proxy.start_over()
        self._connections.clear()
        self._name = marked(self.mark, scene.name)
        self._ids, self._receivers = ChosenIds(self.plain), Receivers(self.plain)
        oracle, samples = ReferenceOracle(self.plain), Samples(self.plain)
        over: str | None = None
        guilty: Side | None = None
        for link in scene.links:
            oracle.open(link, link)
        broke = await self._connect(scene, oracle)
        for number, step in enumerate(scene.steps, 1):
            name = asked_class(self.plain, step.operation).NAME
            if over is not None:
                yield StepResult(scene.name, number, step, name, Trace(), 0, untested=over)
                continue
            await asyncio.sleep(step.wait)
            began, first = time.monotonic(), len(self.proxy.trace)
            unsupported = False
            if broke is None:
                broke, unsupported = await self._step(step, oracle, samples)
            took = int((time.monotonic() - began) * 1e6)
            trace = Trace(self.proxy.trace[first:] or self.proxy.trace)
            if broke is not None and broke.ends:
                over = f"the {guilty or broke.side} broke the protocol before, at {step.operation} or earlier"
            if broke is not None and guilty not in (None, broke.side):
                detail = f"the {guilty} broke the protocol before; then: expected {broke.expected}, got {broke.got}"
                yield StepResult(scene.name, number, step, name, trace, took, untested=detail)
            else:
                yield StepResult(scene.name, number, step, name, trace, took, broke, unsupported)
                guilty = guilty or (broke.side if broke is not None and broke.side is not Side.NOBODY else None)
            broke = None
        oracle.close()
        await self.client.leave(scene.connections)

    async def _connect(self, scene: Scene, oracle: ReferenceOracle) -> Breach | None:
        """Have the client connect; what is wrong with that ends the scene."""
        self.client.driver.take_events()
        for name in scene.connections:
            oracle.open(name)
            detail = await self.client.connect(name, self.proxy, self.plain)
            connection = self.proxy.of(name)
            if isinstance(detail, Breach):
                return detail
            if detail.error is not None or connection is None:
                got = f"{detail.error.kind}: {detail.error.detail}" if detail.error else "no connection was made"
                return Breach(Side.CLIENT, None, None, "a connection", got, ends=True)
            self._connections[name] = connection
            if (broke := await self._greeted(name, oracle)) is not None:
                return broke
        return None

    async def _greeted(self, name: str, oracle: ReferenceOracle) -> Breach | None:
        """Let the reference answer what a client asks by itself when it connects; return what broke the stream."""
        connection = self._connections[name]
        asked, connection.requests = connection.requests, []
        mine = [await oracle.answer(name, one) for one in asked]
        answered = [one for one in mine if one is not None]
        await self._settled(connection, len(answered))
        for own, (reply, _) in zip(answered, connection.replies, strict=False):
            oracle.learn(own, reply)
        connection.replies.clear()
        first = self.proxy.monitor.report().first
        return stream_fault(first) if first is not None else None

    async def _step(self, step: ScenarioStep, oracle: ReferenceOracle, samples: Samples) -> tuple[Breach | None, bool]:
        """Return what was wrong first, and whether the driver says that it has no such operation."""
        hello = self.client.driver.hello
        assert hello is not None
        connection = next(iter(self._connections.values())) if step.link else self._connections[step.connection]
        judge = Judge(self.plain, self.clauses, self.proxy, connection, self._name, self._ids, hello.largest)
        request = request_of(samples, self.plain, step)
        if step.link:
            return await self._by_harness(step, request, judge, oracle), False
        self._receivers.asked(step)
        if connection.replies:
            return judge.unasked(connection.replies[0]), False
        sent = len(connection.sent)
        detail = await self.client.ask(step.operation, step.connection, self.plain.beside(request))
        if isinstance(detail, DriverAnswer) and detail.error is None:
            await self._written(connection, request)
        came = bytes(connection.sent[sent:])
        if isinstance(detail, DriverAnswer) and detail.kind is FailureKind.UNSUPPORTED and not came:
            return None, True
        asked, connection.requests = connection.requests, []
        wrong = judge.request(request, came, [one for one in asked if not self._is_own(one)], detail)
        if asked:
            wrong = await self._answered(asked, connection, judge, oracle, samples, detail, wrong)
        elif wrong is None:
            wrong = judge.stream() or (detail if isinstance(detail, Breach) else None)
        return wrong or await self._pushed(oracle, judge), False

    async def _by_harness(
        self, step: ScenarioStep, request: Request, judge: Judge, oracle: ReferenceOracle
    ) -> Breach | None:
        """Ask by ourselves, and judge what is pushed then."""
        mine = await oracle.answer(step.link, request)
        theirs: Reply | str
        try:
            theirs = await self.harness.ask(step.link, request)
        except HarnessError as error:
            theirs = str(error)
        return judge.by_harness(request, mine, theirs) or await self._pushed(oracle, judge)

    def _is_own(self, request: Request) -> bool:
        """Say whether clients ask that by themselves."""
        return type(request) in self.plain.protocol.sdk.own

    async def _written(self, connection: ProxiedConnection, request: Request) -> None:
        """Wait for a request that is not answered, so that its client may say that it is done before it crossed."""
        until = time.monotonic() + GRACE
        while not (
            self.plain.profile.replies[type(request)] or any(type(one) is type(request) for one in connection.requests)
        ):
            left = until - time.monotonic()
            if left <= 0 or connection.over is not None or not await self.proxy.moves(left):
                break

    async def _answered(
        self,
        asked: list[Request],
        connection: ProxiedConnection,
        judge: Judge,
        oracle: ReferenceOracle,
        samples: Samples,
        detail: DriverAnswer | Breach,
        wrong: Breach | None,
    ) -> Breach | None:
        """Hold the replies to what was asked against the reference, and the report against them."""
        mine = [(one, await oracle.answer(connection.name.partition("#")[0], one)) for one in asked]
        due = [(one, own) for one, own in mine if own is not None or self.plain.profile.replies[type(one)]]
        await self._settled(connection, len(due))
        theirs, connection.replies = connection.replies, []
        if wrong is not None:
            return wrong
        for (one, own), reply in zip(due, theirs, strict=False):
            samples.learn(reply[0])
            if own is not None:
                oracle.learn(own, reply[0])
                wrong = wrong or judge.reply(one, own, reply)
        answered = self._reported_answer(due, theirs)
        reported = judge.report(*answered, detail) if answered is not None else None
        if answered is not None and reported is None:
            self.proxy.monitor.agreed(connection.name, theirs[0][1])
        wrong = wrong or judge.stream()
        if wrong is None and len(theirs) != len(due):
            is_silent = len(theirs) < len(due)
            wrong = judge.silent(due[len(theirs)][0], detail) if is_silent else judge.unasked(theirs[len(due)])
        elif wrong is None and answered is None and isinstance(detail, Breach):
            wrong = detail
        return wrong or reported

    def _reported_answer(
        self, due: list[tuple[Request, Reply | None]], theirs: list[tuple[Reply, int]]
    ) -> tuple[Request, Reply] | None:
        """Return what a client's report is about: the first answer to what it was commanded to ask."""
        pairs = ((one, reply) for (one, _), (reply, _) in zip(due, theirs, strict=False))
        replies = self.plain.profile.replies
        return next((each for each in pairs if replies[type(each[0])] and not self._is_own(each[0])), None)

    async def _settled(self, connection: ProxiedConnection, replies: int) -> None:
        """Wait for replies that a client did not wait for."""
        until = time.monotonic() + GRACE
        while len(connection.replies) < replies and not connection.broken and connection.over is None:
            left = until - time.monotonic()
            if left <= 0 or not await self.proxy.moves(left):
                break

    async def _pushed(self, oracle: ReferenceOracle, judge: Judge) -> Breach | None:
        """Compare what was pushed with what the reference pushes, then with what the driver reports."""
        expected = await oracle.pushed()
        for mine, push in expected:
            name, found = await self._found(judge, mine, is_alone=[one for _, one in expected].count(push) == 1)
            if not found:
                return judge.not_pushed(push)
            wrong = judge.push(push, found)
            if wrong is not None:
                return wrong
            try:
                event = await self.client.driver.event(name, "message", deadline=self.timeout)
            except (NoAnswerError, DriverEndedError) as error:
                return judge.not_reported(found[0], str(error))
            if (wrong := judge.event(found[0], event)) is not None:
                return wrong
        surplus = [found for connection in self._connections.values() if (found := judge.reported(connection))]
        return judge.too_many(surplus[0]) if surplus else None

    async def _found(self, judge: Judge, mine: str, *, is_alone: bool) -> tuple[str, tuple[Push, int] | None]:
        """Return what was pushed where the reference pushed to `mine`, and on which connection.

        `is_alone`: the reference pushed it to nobody else. Then it may come to any subscriber, each in its turn.
        """
        until = time.monotonic() + self.timeout
        while True:
            for name in self._receivers.candidates(mine, is_alone=is_alone):
                if found := judge.reported(self._connections[name]):
                    self._receivers.learn(mine, name)
                    return name, found
            left = until - time.monotonic()
            if self._connections[mine].broken or left <= 0:
                return mine, None
            await self.proxy.moves(left)
