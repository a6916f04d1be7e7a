"""One play of one written scene: what its clients are commanded, and what crosses, step by step."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from wireproof.conformance.interop.blamed_clauses import PUSH, Clauses
from wireproof.conformance.interop.differences import ChosenIds
from wireproof.conformance.interop.judge import Judge
from wireproof.conformance.interop.paired_client import GRACE, PairedClient
from wireproof.conformance.interop.proxied_connection import ProxiedConnection
from wireproof.conformance.interop.proxy import Proxy
from wireproof.conformance.interop.results import Breach, Side
from wireproof.conformance.model.verdict import Level, Verdict
from wireproof.conformance.model.wording import describe, first_byte
from wireproof.conformance.sdk.driver_process import DriverEndedError, NoAnswerError
from wireproof.conformance.sdk.driver_protocol import DriverAnswer, FailureKind
from wireproof.conformance.sdk.play.operation_check import error_text
from wireproof.conformance.sdk.play.request_equivalence import RequestEquivalence
from wireproof.conformance.suite.interop_scenes import WrittenScene
from wireproof.conformance.suite.pattern_types import MessagePattern, Pattern
from wireproof.conformance.suite.patterns import match
from wireproof.conformance.suite.steps import Step
from wireproof.conformance.suite.symbols import Symbols
from wireproof.conformance.suite.written import as_written
from wireproof.protocols import Message, Push, Reply, Request
from wireproof.protocols.dissect import Frame
from wireproof.protocols.json_values import JsonDict
from wireproof.protocols.plain import Plain

__all__ = ["ScenePlay"]

POLL = 0.01
"""Seconds between two looks at what a driver says, while nothing crosses."""


Detail = DriverAnswer | Breach
"""What a driver says of a command, or that it says nothing."""
NOTHING = Breach(Side.CLIENT, None, None, "an answer", "none", Verdict.HANG)


@dataclass(frozen=True, slots=True)
class OpenRequest:
    """A request that crossed, as it had to be."""

    step: Step
    request: Request
    connection: ProxiedConnection
    frame: Frame
    told: asyncio.Future[Detail]
    """What the driver says of it."""


@dataclass(slots=True)
class ScenePlay:
    """The state of one play."""

    client: PairedClient
    proxy: Proxy
    plain: Plain
    clauses: Clauses
    timeout: float
    scene: WrittenScene
    symbols: Symbols
    _open: dict[str, list[OpenRequest]] = field(default_factory=dict)
    """Client -> what it has asked that is not answered, where other steps come before its answer."""
    _read: dict[str, int] = field(default_factory=dict)
    """Connection -> how many of its frames were looked at for pushes."""

    async def connect(self) -> Breach | None:
        """Have every client of the scene connect; return what is wrong with that."""
        for name, fields in self.scene.clients.items():
            detail = await self.client.connect(name, self.proxy, self.plain, self._own(fields))
            if self.proxy.refused is None and (wrong := self.stream()) is not None:
                return wrong
            if isinstance(detail, Breach):
                return detail
            if detail.error is not None:
                side, why = (Side.SERVER, "it closed; ") if self.proxy.is_closed_by_server(name) else (Side.CLIENT, "")
                return Breach(side, None, None, "a connection", f"{why}{error_text(detail)}", ends=True)
        return None

    async def ask(self, step: Step, request: Request, expected: Sequence[Pattern]) -> tuple[Breach | None, bool]:
        """Have a client ask, and judge what crosses and what is reported.

        Also returns whether its driver says that it has no such operation. The last pattern is that of the answer,
        where the request is answered; the others are pushed before it.
        """
        link = self.plain.protocol.link_for(type(request))
        self.proxy.name = step.on
        before = {one.name: len(one.frames) for one in self._on(step.on, link)}
        told = asyncio.ensure_future(self.client.ask(request.NAME.lower(), step.on, self.plain.beside(request)))
        came = await self._crossed(step.on, link, before, told)
        detail = await told if not came or expected or not self._is_due(*came[0]) else None
        if isinstance(detail, DriverAnswer) and detail.kind is FailureKind.UNSUPPORTED and not came:
            return None, True
        if (wrong := self._request(step, request, came, detail)) is not None:
            return wrong, False
        asked = OpenRequest(step, request, *came[0], told)
        if detail is None:
            self._open.setdefault(step.on, []).append(asked)
            return None, False
        return await self._settled(asked, expected, detail), False

    async def answered(self, step: Step, expected: Sequence[Pattern]) -> Breach | None:
        """Expect the answer to what a client has asked in an earlier step, or else what is pushed to it."""
        waiting = self._open.get(step.on)
        if waiting and not self._is_push(expected[0]):
            return await self._settled(replace(waiting.pop(0), step=step), expected, None)
        wrong = None
        for pattern in expected:
            wrong = wrong or await self.pushed(step, pattern)
        return wrong

    def _is_push(self, pattern: Pattern) -> bool:
        name = pattern.name if isinstance(pattern, MessagePattern) else ""
        return name == PUSH or any(name == one.NAME for one in self.plain.profile.pushes)

    def _is_due(self, connection: ProxiedConnection, asked: Frame) -> bool:
        """Say whether a request is still to be answered."""
        return any(one is asked.message for one in connection.dissection.pending)

    async def _settled(self, asked: OpenRequest, expected: Sequence[Pattern], detail: Detail | None) -> Breach | None:
        """Judge what becomes of a request that was asked as it had to be."""
        step, connection = asked.step, asked.connection
        answer = await self._answer(connection, asked.frame, self.timeout if detail is None else GRACE)
        is_due = self._is_due(connection, asked.frame)
        for pattern in expected[:-1] if answer is not None or is_due else expected:
            if (wrong := await self.pushed(step, pattern)) is not None:
                return wrong
        if answer is None and is_due and detail is None:
            asked.told.cancel()
        reported = detail or (await asked.told if answer is not None or not is_due else NOTHING)
        judge = self._judge(connection)
        if answer is not None:
            wrong = self._unlike(step, expected[-1], answer) if expected else None
            return wrong or self.stream() or judge.report(asked.request, cast(Reply, answer.message), reported)
        if is_due:
            return self.stream() or self._by_clause(step, judge.silent(asked.request, reported))
        if isinstance(reported, Breach):
            return reported
        if reported.error is not None:
            clause = self.clauses.of_report(asked.request.NAME)
            return Breach(Side.CLIENT, clause, None, "a result", error_text(reported))
        return None

    async def pushed(self, step: Step, pattern: Pattern) -> Breach | None:
        """Expect a push to a client, and its event."""
        found = await self._next_push(step.on, self.timeout)
        if found is None:
            expected = f"the push {as_written(pattern)}"
            late = Breach(Side.SERVER, None, None, expected, "nothing was pushed", Verdict.HANG)
            return self.stream() or self._by_clause(step, late)
        connection, frame = found
        if (wrong := self._unlike(step, pattern, frame)) is not None:
            return wrong
        judge, push = self._judge(connection), cast(Push, frame.message)
        try:
            event = await self.client.driver.event(step.on, "message", deadline=self.timeout)
        except (NoAnswerError, DriverEndedError) as error:
            return judge.not_reported(push, str(error))
        return judge.event(push, event)

    async def silent(self, step: Step, name: str) -> Breach | None:
        """Expect that nothing is pushed to a client for as long as is waited for what is late."""
        found = await self._next_push(name, GRACE)
        if found is None:
            return None
        got = f"the push {describe(found[1].message)}"
        return self._by_clause(step, Breach(Side.SERVER, None, found[1].span[0], "no push", got))

    def stream(self) -> Breach | None:
        """Return what the monitor says of the connections of the scene."""
        return self._judge(None).stream()

    def _own(self, fields: Mapping[str, str]) -> JsonDict:
        """Return the fields of `connect` that the scene asks for."""
        known = self.plain.protocol.sdk.connect_fields
        own: JsonDict = {}
        for name, text in fields.items():
            data = self.symbols.data(text)
            own[name] = {"hex": data.hex()} if known[name] == "bytes" else data.decode()
        return own

    def _on(self, client: str, link: str) -> list[ProxiedConnection]:
        return [*self.proxy.all_of(client, link)]

    def _judge(self, connection: ProxiedConnection | None) -> Judge:
        hello = self.client.driver.hello
        assert hello is not None
        held = connection or (self.proxy.connections[0] if self.proxy.connections else None)
        largest = hello.largest
        return Judge(
            self.plain, self.clauses, self.proxy, cast(ProxiedConnection, held), b"", ChosenIds(self.plain), largest
        )

    async def _crossed(
        self, client: str, link: str, before: Mapping[str, int], told: asyncio.Future[Detail]
    ) -> list[tuple[ProxiedConnection, Frame]]:
        """Return what a client asked meanwhile, once something came or its driver is done; not what it asks unasked."""
        until: float | None = None
        own = self.plain.protocol.own_messages
        while True:
            came = [
                (connection, frame)
                for connection in self._on(client, link)
                for frame in connection.frames[before.get(connection.name, 0) :]
                if isinstance(frame.message, Request) and type(frame.message) not in own
            ]
            if told.done() and until is None:
                until = time.monotonic() + (GRACE if not isinstance(told.result(), Breach) else 0)
            if came or (until is not None and until <= time.monotonic()):
                return came
            await self.proxy.moves(POLL)

    def _request(
        self,
        step: Step,
        request: Request,
        came: Sequence[tuple[ProxiedConnection, Frame]],
        detail: Detail | None,
    ) -> Breach | None:
        """Return how what a client asked differs from what it had to ask."""
        messages = [frame.message for _, frame in came]
        codec = self.symbols.codec
        alike = RequestEquivalence(self.plain.protocol, codec).alike([request], ())
        if messages == [request] or (alike is not None and alike(messages) is True):
            return None
        if (wrong := self.stream()) is not None:
            return wrong
        if not came and self.proxy.is_closed_by_server(step.on):
            closed = Breach(Side.SERVER, None, None, "a connection kept open", "it was closed", ends=True)
            return self._by_clause(step, closed)
        if not came and isinstance(detail, Breach):
            return detail
        got = "; ".join(map(describe, messages)) or "nothing was sent"
        if isinstance(detail, DriverAnswer) and detail.error is not None:
            got = f"{got}; it reports {error_text(detail)}"
        clause = self.clauses.of_request(request.NAME, self._field(request, messages))
        return Breach(Side.CLIENT, clause, None, describe(request), got)

    def _field(self, request: Request, came: Sequence[Message]) -> str:
        """Return the first field that was not asked as it had to be."""
        mine = next((one for one in came if type(one) is type(request)), None)
        free = self.plain.protocol.sdk.chosen_fields.get(type(request), frozenset())
        names = [one for one in request.__struct_fields__ if one not in free] if mine is not None else []
        return next((one for one in names if getattr(mine, one) != getattr(request, one)), "type")

    async def _answer(self, connection: ProxiedConnection, asked: Frame, seconds: float) -> Frame | None:
        """Return what answers a request, once it came; None where nothing does, or not in time."""
        until = time.monotonic() + seconds
        while True:
            found = next((one for one in connection.frames if one.request is asked), None)
            left = until - time.monotonic()
            if (
                found
                or not self._is_due(connection, asked)
                or left <= 0
                or connection.broken
                or not await self.proxy.moves(left)
            ):
                return found

    def _unlike(self, step: Step, pattern: Pattern, frame: Frame) -> Breach | None:
        """Return how a message of the server differs from a pattern."""
        found = match(pattern, frame.message, self.symbols)
        if found is None:
            return None
        layout = self.symbols.codec.layout(type(frame.message))
        byte = first_byte(layout, frame.message, found.field) if found.field else 0
        clause = step.blame.get(found.field)
        return self._by_clause(step, Breach(Side.SERVER, clause, byte, found.expected, found.got))

    def _by_clause(self, step: Step, broke: Breach) -> Breach:
        """Return a breach of the server with the clause of the step; nobody broke one that does not bind."""
        if broke.side is not Side.SERVER:
            return broke
        clause = broke.clause if broke.clause in step.blame.values() else None
        clause = clause or step.clause or self.scene.case.clauses[0]
        level = self.clauses.suite.clauses[clause].levels.get(self.plain.profile.name)
        if level in (Level.MUST, Level.SHOULD):
            return replace(broke, clause=clause)
        return replace(broke, side=Side.NOBODY, clause=None, verdict=Verdict.UNTESTABLE)

    async def _next_push(self, client: str, seconds: float) -> tuple[ProxiedConnection, Frame] | None:
        """Take the next push to a client; None when none comes in time."""
        until = time.monotonic() + seconds
        while True:
            for connection in self._on(client, self.plain.protocol.push_link):
                for frame in self._unread(connection):
                    return connection, frame
            left = until - time.monotonic()
            if left <= 0 or any(one.broken for one in self._on(client, self.plain.protocol.push_link)):
                return None
            await self.proxy.moves(left)

    def _unread(self, connection: ProxiedConnection) -> Iterator[Frame]:
        """Yield pushes that were not looked at, not those that SDKs keep to themselves, nor answers."""
        own = self.plain.protocol.own_messages
        while (at := self._read.get(connection.name, 0)) < len(connection.frames):
            self._read[connection.name] = at + 1
            frame = connection.frames[at]
            if isinstance(frame.message, Push) and type(frame.message) not in own and frame.request is None:
                yield frame
