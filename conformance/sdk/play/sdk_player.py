"""Plays one case against an SDK, sans-IO: a generator of actions that is sent their answers and returns an `Outcome`.

Both sides are judged: the bytes that the SDK sent are those of the requests it was asked to make, and what its driver
reports equals the bytes that came back. The verdict is a function of the case and of the answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar, assert_never

from msgspec.structs import replace

from wireproof.conformance.model.outcome import FailurePlace, Outcome, Stopped, harness_error
from wireproof.conformance.model.trace import Trace
from wireproof.conformance.model.verdict import Guilty, Verdict
from wireproof.conformance.sdk.driver_protocol import Hello
from wireproof.conformance.sdk.play import play_actions as act
from wireproof.conformance.sdk.play.in_flight import addressed
from wireproof.conformance.sdk.play.operations import ActionGenerator, SdkOperations
from wireproof.conformance.sdk.play.sdk_connections import SdkConnections
from wireproof.conformance.sdk.shown_bytes import shown
from wireproof.conformance.suite.cases import Case
from wireproof.conformance.suite.sdk_steps import (
    AcceptStep,
    Answering,
    AnySdkStep,
    AskStep,
    CloseStep,
    ConnectedStep,
    CutAt,
    DownStep,
    DropStep,
    EndedStep,
    LeaveStep,
    OnlyStep,
    OpenConnectionStep,
    PingsStep,
    ReceiveStep,
    ResetStep,
    SayStep,
    ScriptedItem,
    SecureStep,
    UpStep,
    WaitStep,
)
from wireproof.conformance.suite.symbols import SymbolError, Symbols
from wireproof.conformance.verdict.sdk_causes import BEGAN, INTERLEAVED, MISREAD
from wireproof.conformance.verdict.sdk_streams import SWAPPED
from wireproof.protocols import LocalProtocolError

__all__ = ["Playing", "SdkPlayer"]

Playing = act.Playing[Outcome]
Answered = TypeVar("Answered", AskStep, SayStep)
CLOSED_IN, CLOSED_UNJUDGED = 1.0, 0.25
"""Seconds that a driver has to close what is left open at the end, of a case that has failed in the second place."""
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
        self.closes = True
        """Whether the driver is asked to close what is left open at the end."""
        self.closing = False
        """Every step was right, and what is left open is being closed."""

    def play(self) -> Playing:
        """Run every step, see that nothing is left over, and return the outcome. Raises nothing of its own."""
        try:
            self.operations.abilities.has(self.case.needs)
            for number, step in enumerate(self._symbols.here(self.case.script)):
                self._step = number
                self.operations.clause = step.clause or self.case.clauses[0]
                self._given = step.given
                self._be_patient(step)
                yield from self._play(step)
            self.operations.clause = self.case.clauses[0]
            self.operations.patience = None
            self.closing = True
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

    def _be_patient(self, step: AnySdkStep) -> None:
        operations = self.operations
        operations.patience = (
            None if step.within is None else max(operations.timeout, operations.script.number(step.within, "within"))
        )

    def _play(self, step: AnySdkStep) -> ActionGenerator:
        match step:
            case AskStep():
                for asked in self._halved(step, step.answer or ()):
                    yield from self._ask(asked)
            case SayStep():
                for item in self._halved(step, step.say):
                    yield from self._say(item)
            case WaitStep():
                yield act.LetTimePass(self.operations.script.number(step.wait, "wait"))
            case DownStep():
                yield act.Listen(step.down, up=False)
            case UpStep():
                yield act.Listen(step.up, up=True)
            case OpenConnectionStep() | ConnectedStep() | SecureStep() | ReceiveStep() | AcceptStep():
                yield from self.connections.begin(step)
            case PingsStep() | OnlyStep() | DropStep() | LeaveStep() | EndedStep() | CloseStep() | ResetStep():
                yield from self.connections.keep(step)
            case _:
                assert_never(step)

    def _halved(self, step: Answered, written: tuple[ScriptedItem, ...]) -> Iterator[Answered]:
        """Yield the step once for each place at which what is written is cut in two, or as it is."""
        if self.operations.script.cut(step.cut) != "halves":
            yield step
            return
        pieces = self.operations.script.pieces(written)
        whole = b"".join(one.data for one in pieces)
        inner = sorted({one for piece in pieces for one in piece.fields} - {0, len(whole)}) or [len(whole)]
        for at in inner if len(pieces) == 1 else range(1, len(whole)):
            yield replace(step, cut=CutAt(at))

    def _ask(self, step: AskStep) -> ActionGenerator:
        operations, requests = self.operations, self.operations.script.requests(step.ask)
        line = self.connections.line_of(step.on, requests)
        yield from self.connections.needed(line)
        held = self.connections.of(line)
        in_flight = held.in_flight(line)
        operations.abilities.asks(requests)
        operations.together(self.connections.under_way or (len(requests) > 1 and not step.batch))
        operations.at = FailurePlace(requests[0].NAME, "", operations.at.asked | {one.NAME for one in requests})
        calls = yield from operations.command(held.name, in_flight, requests, step)
        if step.refused:
            yield from operations.refused(line, in_flight, calls)
            return
        expected = operations.equivalence.written(requests, sealed=step.sealed)
        alike = operations.equivalence.alike(requests, step.ignore, step.among)
        got = yield from act.asked(act.Receive(line, expected, tuple(calls), alike))
        if self.connections.is_away:
            self.connections.is_away = False
            if (yield from operations.noticed_a_loss(in_flight, got)):
                yield from self._ask(step)
                return
        if got.data != expected and not got.alike:
            yield from operations.not_sent(in_flight, step, requests, got)
            return
        operations.fresh(step, got.messages)
        operations.sent(in_flight, step, requests, got.messages)
        yield from self._answered(line, step)

    def _answered(self, line: str, step: AskStep) -> ActionGenerator:
        """Answer what was asked, and look at what becomes of it."""
        in_flight = self.connections.of(line).in_flight(line)
        if step.interim is not None:
            yield from self.connections.write(line, self.operations.script.pieces(step.interim), "whole")
            yield from self.connections.receive(ReceiveStep(step.then or (), on=line))
        if step.answer is not None:
            yield from self._answer(line, step, step.answer)
        if step.unanswered:
            yield from self.operations.unanswered(in_flight)
        if not step.open:
            yield from self.operations.failing(in_flight, step.fails)

    def _say(self, step: SayStep) -> ActionGenerator:
        yield from self.connections.needed(step.on)
        yield from self._answer(step.on, step, step.say)
        if not step.open:
            yield from self.operations.failing(self.connections.of(step.on).in_flight(step.on), step.fails)

    def _answer(self, line: str, step: Answering, written: tuple[ScriptedItem, ...]) -> ActionGenerator:
        """Write what the case says, then compare what the driver reports with it."""
        held = self.connections.of(line)
        script, due = self.operations.script, held.in_flight(line).due
        pieces = addressed(self.operations.spoken.sdk, script, due, script.pieces(written))
        yield from self.connections.write(line, pieces, step.cut)
        yield from self.operations.judge(held, held.in_flight(line), step, pieces)

    def _finish(self, *, judged: bool) -> ActionGenerator:
        """Close what is open, and see that neither bytes nor events came that nobody asked for."""
        for name, held in list(self.connections.held.items()):
            if held.is_due:
                yield act.End(name, whole=True)
            if self.closes and not (yield from self._closed(name, judged=judged)):
                return
            if not judged:
                continue
            for link in self.operations.spoken.client_links:
                yield from self._nothing_more(self.operations.line(name, link))
            events = yield from act.asked(act.Leftovers(name))
            if events and not held.free:
                raise Stopped(Verdict.FAIL, "no event of a message that was not pushed", f"{events[0].fields}")

    def _closed(self, name: str, *, judged: bool) -> act.Playing[bool]:
        """Have the driver close a connection; say whether it answered. Raises `Stopped` if it died and is judged."""
        try:
            call = yield from self.operations.begin("close", name, {})
            most = CLOSED_IN if judged else CLOSED_UNJUDGED
            yield from self.operations.reported(call, min(self.operations.timeout, most))
        except Stopped as stop:
            if judged and stop.verdict is Verdict.CRASH:
                raise
            return False
        return True

    def _nothing_more(self, line: str) -> ActionGenerator:
        got = yield from act.asked(act.Drain(line, LAST_WORDS))
        if got.data:
            self.operations.began_again(got.messages)
            raise Stopped(Verdict.FAIL, "nothing more to be sent", f"it sent {shown(got.data)}", byte=0)

    def _stopped(self, stop: Stopped) -> Outcome:
        """Return the outcome, with what crossed up to here and not what closing adds."""
        verdict, guilty = stop.verdict, Guilty.TARGET
        if self._given and not self.operations.began and verdict in (Verdict.FAIL, Verdict.HANG):
            verdict = Verdict.UNTESTABLE
        elif verdict in (Verdict.UNTESTABLE, Verdict.UNSUPPORTED):
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
        found_so = {
            MISREAD: self.operations.misread,
            SWAPPED: self.operations.swapped,
            INTERLEAVED: self.operations.interleaved,
            BEGAN: self.operations.began,
        }
        extra = {name: True for name, holds in found_so.items() if holds}
        return Outcome(*found, place=self.operations.at, extra=extra)
