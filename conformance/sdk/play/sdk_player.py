"""Plays one case against an SDK, sans-IO: a generator of actions that is sent their answers and returns an `Outcome`.

Both sides are judged: the bytes that the SDK sent are those of the requests it was told to make, and what its driver
reports is what the bytes said that came back. The verdict is a function of the case and of the answers.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Any

from wireproof.conformance.model.outcome import Outcome, Place, Stopped, harness_error
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.sdk.driver_protocol import Hello
from wireproof.conformance.sdk.play import play_actions as act
from wireproof.conformance.sdk.play.operation_check import shown
from wireproof.conformance.sdk.play.operations import ActionGenerator, SdkOperations
from wireproof.conformance.sdk.play.sdk_connections import SdkConnections
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.symbols import SymbolError, Symbols
from wireproof.conformance.suite.written import as_written
from wireproof.protocols import LocalProtocolError

__all__ = ["Playing", "SdkPlayer"]

Playing = Generator[act.Action, Any, Outcome]
LAST_WORDS = 0.25
"""Seconds that what an SDK sends beside its requests has to come before the case ends."""


class SdkPlayer:
    """One play of one case; `trace` is filled by whoever performs the actions."""

    def __init__(
        self,
        case: Case,
        symbols: Symbols,
        hello: Hello,
        trace: Trace,
        *,
        timeout: float = 5.0,
        one_at_a_time: bool = False,
    ) -> None:
        self.case = case
        self.trace = trace
        self.operations = SdkOperations(symbols, hello, case.clauses[0], timeout)
        self.operations.one_at_a_time = one_at_a_time
        self._symbols = symbols
        self.connections = SdkConnections(self.operations)
        self._step = 0
        self._given = False

    def play(self) -> Playing:
        """Run every step, see that nothing is left over, and return the outcome. Raises nothing of its own."""
        try:
            self.operations.has(self.case.needs)
            for number, step in enumerate(self._symbols.here(self.case.script)):
                spec: Mapping[str, Any] = as_written(step)  # type: ignore[assignment]
                self._step = number
                self.operations.clause = spec.get("clause", self.case.clauses[0])
                self._given = spec.get("given", False)
                self._be_patient(spec)
                yield from self._play(spec)
            self.operations.clause = self.case.clauses[0]
            self.operations.patience = None
            yield from self._finish(judged=True)
        except Stopped as stop:
            outcome = self._stopped(stop)
            try:
                yield from self._finish(judged=False)
            except Stopped:
                self.operations.stuck = True
            return outcome
        except (SymbolError, LocalProtocolError, LookupError) as error:
            return harness_error(str(error), self.trace, self._step)
        return Outcome(Verdict.PASS, self.trace, observed=", ".join(dict.fromkeys(self.operations.observed)) or None)

    def _be_patient(self, spec: Mapping[str, Any]) -> None:
        operations = self.operations
        operations.patience = (
            max(operations.timeout, operations.script.number(spec["within"], "within")) if "within" in spec else None
        )

    def _play(self, spec: Mapping[str, Any]) -> ActionGenerator:
        lines = self.connections
        steps = {
            "ask": self._ask,
            "say": self._say,
            "receive": lines.receive,
            "connect": lines.connect,
            "connected": lines.connected,
            "secure": lines.secure,
            "leave": lines.leave,
            "ended": lines.ended,
            "accept": lines.accept,
            "pings": lines.pings,
            "only": lines.only,
            "drop": lines.drop,
        }
        for verb, step in steps.items():
            if verb in spec:
                yield from step(spec)
                return
        match spec:
            case {"close": name} | {"reset": name}:
                yield from lines.end(name, spec)
            case {"down": name} | {"up": name}:
                yield act.Listen(name, up="up" in spec)
            case {"wait": seconds}:
                yield act.LetTimePass(self.operations.script.number(seconds, "wait"))
            case _:
                raise SymbolError(f"no such step: {', '.join(spec)}")

    def _ask(self, spec: Mapping[str, Any]) -> ActionGenerator:
        for one in self._halved(spec, spec.get("answer", [])):
            yield from self._ask_once(one)

    def _say(self, spec: Mapping[str, Any]) -> ActionGenerator:
        for one in self._halved(spec, spec["say"]):
            yield from self._say_once(one)

    def _halved(self, spec: Mapping[str, Any], reported: Any) -> Iterator[Mapping[str, Any]]:
        """Yield the step once for each place at which what is written is cut in two, or as it is."""
        if self.operations.script.text(spec.get("cut")) != "halves":
            yield spec
            return
        pieces = self.operations.script.pieces(reported)
        whole = b"".join(one.data for one in pieces)
        inner = sorted({one for piece in pieces for one in piece.fields} - {0, len(whole)}) or [len(whole)]
        for at in inner if len(pieces) == 1 else range(1, len(whole)):
            yield {**spec, "cut": {"at": at}}

    def _ask_once(self, spec: Mapping[str, Any]) -> ActionGenerator:
        operations, requests = self.operations, self.operations.script.requests(spec["ask"])
        line = self.connections.line_of(spec.get("on", "a"), requests)
        yield from self.connections.needed(line)
        held = self.connections.of(line)
        in_flight = held.in_flight(line)
        operations.able(requests)
        operations.together(self.connections.under_way or (len(requests) > 1 and not spec.get("batch")))
        operations.at = Place(requests[0].NAME, "", operations.at.asked | {one.NAME for one in requests})
        calls = yield from operations.command(held.name, in_flight, requests, spec)
        if "refused" in spec:
            yield from operations.refused(line, in_flight, calls)
            return
        expected = operations.equivalence.written(requests, spec)
        got = yield act.Receive(line, expected, tuple(calls), operations.equivalence.alike(requests, spec))
        if got.data != expected and not got.alike:
            yield from operations.not_sent(in_flight, spec, expected, got)
            return
        operations.fresh(spec, got.messages)
        yield from self._answered(line, spec)

    def _answered(self, line: str, spec: Mapping[str, Any]) -> ActionGenerator:
        """Answer what was asked, and hold what becomes of it."""
        in_flight = self.connections.of(line).in_flight(line)
        if "interim" in spec:
            yield from self.connections.write(line, self.operations.script.pieces(spec["interim"]), "whole")
            yield from self.connections.receive({"receive": spec["then"], "on": line})
        if "answer" in spec:
            yield from self._answer(line, spec, spec["answer"])
        if spec.get("unanswered"):
            yield from self.operations.unanswered(in_flight)
        if not spec.get("open"):
            yield from self.operations.failing(in_flight, spec)

    def _say_once(self, spec: Mapping[str, Any]) -> ActionGenerator:
        line = spec.get("on", "a")
        yield from self.connections.needed(line)
        yield from self._answer(line, spec, spec["say"])
        if not spec.get("open"):
            yield from self.operations.failing(self.connections.of(line).in_flight(line), spec)

    def _answer(self, line: str, spec: Mapping[str, Any], reported: Any) -> ActionGenerator:
        """Write what the case says, then hold what the driver reports against it."""
        held, pieces = self.connections.of(line), self.operations.script.pieces(reported)
        yield from self.connections.write(line, pieces, spec.get("cut", "whole"))
        yield from self.operations.judge(held, held.in_flight(line), spec, pieces)

    def _finish(self, *, judged: bool) -> ActionGenerator:
        """Close what is open, and see that neither bytes nor events came that nobody asked for."""
        for name, held in list(self.connections.held.items()):
            if held.is_due:
                yield act.End(name, whole=True)
            try:
                call = yield from self.operations.begin("close", name, {})
                yield from self.operations.reported(call, min(self.operations.timeout, 1.0))
            except Stopped as stop:
                if judged and stop.verdict is Verdict.CRASH:
                    raise
                return
            if not judged:
                continue
            for link in self.operations.spoken.links:
                yield from self._nothing_more(self.operations.line(name, link))
            events = yield act.Leftovers(name)
            if events and not held.free:
                raise Stopped(Verdict.FAIL, "no event of a message that was not pushed", f"{events[0].fields}")

    def _nothing_more(self, line: str) -> ActionGenerator:
        got = yield act.Drain(line, LAST_WORDS)
        if got.data:
            raise Stopped(Verdict.FAIL, "nothing more to be sent", f"it sent {shown(got.data)}", byte=0)

    def _stopped(self, stop: Stopped) -> Outcome:
        """Return the outcome, with what crossed up to here and not what closing adds."""
        verdict, guilty = stop.verdict, Guilty.TARGET
        if self._given and verdict in (Verdict.FAIL, Verdict.HANG):
            verdict = Verdict.UNTESTABLE
        if verdict in (Verdict.UNTESTABLE, Verdict.UNSUPPORTED):
            guilty = Guilty.NOBODY
        found = (
            verdict,
            Trace(self.trace),
            guilty,
            self.operations.clause,
            self._step,
            stop.byte,
            stop.expected,
            stop.got,
        )
        return Outcome(*found, place=self.operations.at)
