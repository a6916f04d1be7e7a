"""One operation of a driver, both sides judged: the bytes it sent, and what it reports of the bytes that came back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.sdk.comparing import differences
from conformance.sdk.driver_process import DriverProcess, NoAnswerError
from conformance.sdk.driver_protocol import Answer, DriverMessageError
from conformance.sdk.samples import Samples
from conformance.sdk.stage import Stage
from protocols import NEED_DATA, ProtocolError, Reply, Request
from protocols.plain import Plain

__all__ = ["Ground", "first_difference", "hexed"]

LONGEST = 96
"""Bytes of hex shown."""


@dataclass(slots=True)
class Ground:
    """A driver connected to a stage, under one name."""

    driver: DriverProcess
    stage: Stage
    plain: Plain
    samples: Samples
    name: str
    first: int = 0
    """Number of the first crossing that is this connection's; an SDK may open several."""
    found: set[str] = field(default_factory=set)
    """Operations whose reply had more than a flag or an empty table."""

    @property
    def codec(self) -> Any:
        """The codec of what is spoken here."""
        return self.plain.protocol.codec(self.plain.profile, self.plain.variant.name)

    def take(self) -> tuple[bytes, bytes]:
        """Return what came from the SDK and what went to it since the last look."""
        taken = [one.take() for one in self.stage.crossings[self.first :]]
        return b"".join(came for came, _ in taken), b"".join(went for _, went in taken)

    def has_more(self, operation: str) -> bool:
        """Say whether the reply to an operation may have more than a flag."""
        replies = self.plain.profile.replies[self.plain.operations[operation]]
        return not all(self.plain.is_flag(one) for one in replies)

    def say(self, data: bytes) -> None:
        """Write to the SDK past the server, on the connection it opened last."""
        self.stage.crossings[-1].say(data)

    def cut(self) -> None:
        """Close from the server's side every connection that the SDK opened."""
        for one in self.stage.crossings[self.first :]:
            one.cut()

    async def connect(self, host: str = "127.0.0.1") -> Answer:
        """Have the driver connect; raises as `DriverProcess.ask`."""
        self.first = len(self.stage.crossings)
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
        request = self.samples.of(self.plain.operations[operation])
        self.take()
        try:
            answer = await self.driver.ask(operation, connection=self.name, **self.plain.beside(request))
        except (NoAnswerError, DriverMessageError) as error:
            return [*self.unlike([request]), str(error)]
        return self.judged([request], [answer])

    async def play_at_once(self, operations: Sequence[str]) -> list[str]:
        """Have operations done without waiting in between, and return what is wrong with them."""
        requests = [self.samples.of(self.plain.operations[one]) for one in operations]
        self.take()
        calls = [
            self.driver.begin(name, connection=self.name, **self.plain.beside(one))
            for name, one in zip(operations, requests, strict=True)
        ]
        try:
            answers = [await self.driver.answer(call) for call in calls]
        except (NoAnswerError, DriverMessageError) as error:
            return [*self.unlike(requests), str(error)]
        return self.judged(requests, answers)

    async def play_batch(self, operations: Sequence[str]) -> list[str]:
        """Have operations done in one batch, and return what is wrong with it."""
        requests = [self.samples.of(self.plain.operations[one]) for one in operations]
        given = [{"do": name, **self.plain.beside(one)} for name, one in zip(operations, requests, strict=True)]
        self.take()
        try:
            answer = await self.driver.ask("batch", connection=self.name, requests=given)
        except (NoAnswerError, DriverMessageError) as error:
            return [*self.unlike(requests), str(error)]
        if answer.error is not None:
            return self.judged(requests, [answer] * len(requests))
        results = answer.result.get("results")
        if not isinstance(results, list) or len(results) != len(requests):
            return [f'result: expected {{"results": [...]}} with {len(requests)} results, got {answer.result}']
        return self.judged(requests, [Answer(answer.id, one) for one in results])

    def judged(self, requests: Sequence[Request], answers: Sequence[Answer]) -> list[str]:
        """Return what is wrong with the bytes of `requests` and with what was reported of their replies."""
        came, went = self.take()
        wrong = self._unlike(came, requests)
        if wrong:
            failed = next((one.error for one in answers if one.error), None)
            return [*wrong, *([f"it reports: {failed.kind}: {failed.told}"] if failed else [])]
        found = []
        for number, (reply, answer) in enumerate(zip(self._replies(requests, went), answers, strict=False)):
            where = "result" if len(requests) == 1 else f"result {number + 1}"
            self.samples.learn(reply)
            if not self.plain.is_flag(type(reply)) and [] not in self.plain.result(reply).values():
                self.found.add(requests[number].NAME.lower())
            if answer.error is not None:
                told = f"{answer.error.kind}: {answer.error.told}"
                found.append(f"{where}: expected {self.plain.result(reply)}, got the error {told}")
            else:
                found += differences(self.plain.result(reply), answer.result, where)
        return found + ([f"the server answered {hexed(went)}"] if found else [])

    def unlike(self, requests: Sequence[Request]) -> list[str]:
        """Return how what the SDK sent differs from the bytes of `requests`."""
        return self._unlike(self.take()[0], requests)

    def _unlike(self, came: bytes, requests: Sequence[Request]) -> list[str]:
        expected = b"".join(self.codec.encode(one) for one in requests)
        if came == expected:
            return []
        at = first_difference(expected, came)
        return [f"it sent {hexed(came)}, expected {hexed(expected)}: they differ at byte {at}"]

    def _replies(self, requests: Sequence[Request], went: bytes) -> list[Reply]:
        """Return the replies in what the server sent, pushes left out."""
        reader = self.plain.protocol.link.client(self.codec)
        for one in requests:
            reader.await_reply(one)
        reader.receive_data(went)
        found: list[Reply] = []
        try:
            while (event := reader.next_event()) is not NEED_DATA:
                if isinstance(event, Reply):
                    found.append(event)
        except ProtocolError:
            pass
        return found


def first_difference(one: bytes, other: bytes) -> int:
    """Return the offset of the first byte in which two runs of bytes differ."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(one), len(other)))


def hexed(data: bytes) -> str:
    """Return bytes as hex, long ones cut."""
    if not data:
        return "nothing"
    return data.hex() if len(data) <= LONGEST else f"{data[:LONGEST].hex()}… ({len(data)} bytes)"
