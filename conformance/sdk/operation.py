"""One operation of a driver, both sides judged: the bytes it sent, and what it reports of the bytes that came back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from msgspec.structs import replace

from wireproof.conformance.sdk.driver_process import DriverProcess, NoAnswerError
from wireproof.conformance.sdk.driver_protocol import DriverAnswer, DriverMessageError, FailureKind
from wireproof.conformance.sdk.recording_server import Recorded, RecordingServer
from wireproof.conformance.sdk.reported_values import differences
from wireproof.conformance.sdk.samples import Samples
from wireproof.conformance.sdk.shown_bytes import first_difference, shown
from wireproof.protocols import Message, Reply, Request
from wireproof.protocols.codec import Codec
from wireproof.protocols.plain import Plain

__all__ = ["OperationContext"]

LATE, LOOK = 1.0, 0.01
"""Seconds in which bytes may come that nothing answers, and between two looks for them."""


@dataclass(slots=True)
class OperationContext:
    """A driver connected to a stage, under one name."""

    driver: DriverProcess
    stage: RecordingServer
    plain: Plain
    samples: Samples
    name: str
    first: int = 0
    """Number of the first connection that is this connection's; an SDK may open several."""
    restarts: bool = True
    """Whether a driver that answers nothing any more is started again."""
    found: set[str] = field(default_factory=set)
    """Operations whose reply had more than a flag or an empty table."""

    @property
    def codec(self) -> Codec:
        """The codec of what is spoken here."""
        codec: Codec = self.plain.protocol.codec(self.plain.profile, self.plain.variant.name)
        return codec

    def take(self) -> Recorded:
        """Return what came from the SDK and what went to it since the last look."""
        return self.stage.take(self.first)

    def has_more(self, operation: str) -> bool:
        """Say whether the reply to an operation may have more than a flag."""
        replies = self.plain.profile.replies[self.plain.operations[operation]]
        return not all(self.plain.is_flag(one) for one in replies)

    def push(self, data: bytes) -> None:
        """Write to the SDK past the server, on the connection for pushes that it opened last."""
        link = self.plain.protocol.push_link
        mine = [one for one in self.stage.connections[self.first :] if one.link in (link, None)]
        (mine or self.stage.connections)[-1].say(data)

    def fields(self, operation: str) -> tuple[Request, dict[str, object]]:
        """Return the request of an operation, and its fields beside those of what is sent after it."""
        parts = [self.samples.of(one) for one in self.plain.parts(operation)]
        return parts[0], {name: value for one in parts for name, value in self.plain.beside(one).items()}

    def cut(self) -> None:
        """Close from the server's side every connection that the SDK opened."""
        for one in self.stage.connections[self.first :]:
            one.cut()

    async def connect(self, host: str = "127.0.0.1") -> DriverAnswer:
        """Have the driver connect; raises as `DriverProcess.ask`."""
        self.first = len(self.stage.connections)
        answer = await self.driver.ask(
            "connect",
            connection=self.name,
            host=host,
            port=self.stage.port,
            profile=self.plain.profile.name,
            variant=self.plain.variant.name,
        )
        self.take()
        return answer

    async def play(self, operation: str) -> list[str]:
        """Have one operation done and return what is wrong with it."""
        request, fields = self.fields(operation)
        self.take()
        try:
            answer = await self.driver.answer(self.driver.begin(operation, connection=self.name, **fields))
        except (NoAnswerError, DriverMessageError) as error:
            return await self._lost([request], error)
        return await self.judged([request], [answer])

    async def play_at_once(self, operations: Sequence[str]) -> list[str]:
        """Have operations done without waiting in between, and return what is wrong with them."""
        asked = [self.fields(one) for one in operations]
        requests = [one for one, _ in asked]
        self.take()
        calls = [
            self.driver.begin(name, connection=self.name, **fields)
            for name, (_, fields) in zip(operations, asked, strict=True)
        ]
        try:
            answers = [await self.driver.answer(call) for call in calls]
        except (NoAnswerError, DriverMessageError) as error:
            return await self._lost(requests, error)
        return await self.judged(requests, answers)

    async def play_batch(self, operations: Sequence[str]) -> list[str]:
        """Have operations done in one batch, and return what is wrong with it."""
        asked = [self.fields(one) for one in operations]
        requests = [one for one, _ in asked]
        given = [{"do": name, **fields} for name, (_, fields) in zip(operations, asked, strict=True)]
        self.take()
        try:
            answer = await self.driver.ask("batch", connection=self.name, requests=given)
        except (NoAnswerError, DriverMessageError) as error:
            return await self._lost(requests, error)
        if answer.error is not None:
            return await self.judged(requests, [answer] * len(requests))
        results = answer.result.get("results")
        if not isinstance(results, list) or len(results) != len(requests):
            return [f'result: expected {{"results": [...]}} with {len(requests)} results, got {answer.result}']
        return await self.judged(requests, [DriverAnswer(answer.id, one) for one in results])

    async def _lost(self, requests: Sequence[Request], error: Exception) -> list[str]:
        """Return what is wrong where an answer is missing; connect anew, lest what comes late is taken for the next."""
        wrong = [*self.unlike(requests), str(error)]
        if isinstance(error, NoAnswerError):
            await self.connect_anew()
        return wrong

    async def connect_anew(self) -> None:
        """Go on under another name with a connection that holds nothing of what went before, if there can be one."""
        name, _, number = self.name.partition("-")
        self.name = f"{name}-{int(number or 1) + 1}"
        with suppress(NoAnswerError, DriverMessageError):
            await self._connect_somewhere()

    async def _connect_somewhere(self) -> None:
        """Connect, in a new process where this one answers nothing any more: it waits for what is lost."""
        try:
            await self.connect()
        except NoAnswerError:
            if not self.restarts:
                raise
            await self.driver.restart("it answers nothing any more")
            await self.connect()

    async def _taken(self, requests: Sequence[Request], answers: Sequence[DriverAnswer]) -> Recorded:
        """Return what crossed; bytes of a request that is not answered may come after the driver's word."""
        taken, waited = self.take(), 0.0
        late = all(one.error is None for one in answers) and not all(map(self._is_answered, requests))
        while late and len(taken.messages) < len(requests) and waited < LATE:
            await asyncio.sleep(LOOK)
            taken, waited = taken + self.take(), waited + LOOK
        return taken

    async def judged(self, requests: Sequence[Request], answers: Sequence[DriverAnswer]) -> list[str]:
        """Return what is wrong with the bytes of `requests` and with what was reported of their replies."""
        taken = await self._taken(requests, answers)
        wrong = self._unlike(taken, requests)
        if wrong:
            failed = next((one.error for one in answers if one.error), None)
            return [*wrong, *([f"it reports: {failed.kind}: {failed.detail}"] if failed else [])]
        found = [
            f"result: expected {{}} of {one.NAME}, which is not answered, got the error {answer.error.kind}"
            for one, answer in zip(requests, answers, strict=True)
            if answer.error is not None and not self._is_answered(one)
        ]
        answers = [answer for one, answer in zip(requests, answers, strict=True) if self._is_answered(one)]
        requests = [one for one in requests if self._is_answered(one)]
        for number, (reply, answer) in enumerate(zip(self._last_replies(taken, requests), answers, strict=False)):
            where = "result" if len(requests) == 1 else f"result {number + 1}"
            if reply is None:
                if answer.error is None or answer.error.kind != FailureKind.TIMEOUT:
                    found.append(f"{where}: expected the error timeout: the server did not answer this request")
                continue
            self.samples.learn(reply)
            if not self.plain.is_flag(type(reply)) and [] not in self.plain.result(reply).values():
                self.found.add(requests[number].NAME.lower())
            if answer.error is None and not answer.result and self.plain.is_flag(type(reply)):
                continue
            if answer.error is not None:
                detail = f"{answer.error.kind}: {answer.error.detail}"
                found.append(f"{where}: expected {self.plain.result(reply)}, got the error {detail}")
            else:
                found += differences(self.plain.result(reply), answer.result, where)
        return found + ([f"the server answered {shown(taken.went)}"] if found else [])

    def _is_answered(self, request: Request) -> bool:
        return self.plain.profile.replies[type(request)] != ()

    def unlike(self, requests: Sequence[Request]) -> list[str]:
        """Return how what the SDK sent differs from the bytes of `requests`."""
        return self._unlike(self.take(), requests)

    def _unlike(self, taken: Recorded, requests: Sequence[Request]) -> list[str]:
        expected = b"".join(self.codec.encode(one) for one in requests)
        if taken.came == expected or self._means(taken, requests):
            return []
        at = first_difference(expected, taken.came)
        return [f"it sent {shown(taken.came, at)}, expected {shown(expected, at)}: they differ at byte {at}"]

    def _means(self, taken: Recorded, requests: Sequence[Request]) -> bool:
        """Say whether what came says the same, written otherwise or with what is sent after one request."""
        spoken = self.plain.protocol
        behind = [self.samples.of(rest) for one in requests if (rest := spoken.sdk.continued.get(type(one)))]
        for expected in ([*requests], [*requests, *behind]):
            if len(taken.messages) == len(expected) and taken.is_whole:
                pairs = zip(taken.messages, expected, strict=True)
                if all(self._same(one, other) for one, other in pairs):
                    return True
        return False

    def _same(self, came: Message, asked: Message) -> bool:
        sdk = self.plain.protocol.sdk
        opened = sdk.unsealed(came, asked)
        if type(opened) is type(asked):
            chosen = sdk.chosen_fields.get(type(asked), ())
            asked = replace(asked, **{name: getattr(opened, name) for name in chosen})
        return sdk.canonical(opened) == sdk.canonical(asked)

    def _last_replies(self, taken: Recorded, requests: Sequence[Request]) -> Sequence[Reply | None]:
        """Return the reply to each request, None for no reply; the last one where several answer one operation."""
        matches = self.plain.protocol.sdk.matches
        if len(requests) == 1:
            return taken.replies[-1:]
        if matches is None or len(taken.messages) != len(requests):
            return taken.replies
        asked = [one for one in taken.messages if isinstance(one, Request)]
        return [next((reply for reply in taken.replies if matches(one, reply)), None) for one in asked]
