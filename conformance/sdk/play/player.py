"""Plays one case against an SDK, sans-IO: a generator of actions that is sent their answers and returns an `Outcome`.

Both sides are judged: the bytes that the SDK sent are those of the requests it was told to make, and what its driver
reports is what the bytes said that came back. The verdict is a function of the case and of the answers.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from conformance.cases import Case
from conformance.outcome import Outcome, Place, Stopped, harness_error
from conformance.sdk.driver_protocol import Answer, Hello
from conformance.sdk.play import actions as act
from conformance.sdk.play.judging import byte_of, shown, told_error
from conformance.sdk.play.script import Piece, segments
from conformance.sdk.play.talk import Asking, Talk, Under
from conformance.symbols import SymbolError, Symbols
from conformance.trace import Trace
from conformance.verdicts import Guilty, Verdict
from protocols import LocalProtocolError

__all__ = ["Player", "Playing"]

Playing = Generator[act.Action, Any, Outcome]
LAST_WORDS = 0.25
"""Seconds that what an SDK sends beside its requests has to come before the case ends."""


class Player:
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
        self.talk = Talk(symbols, hello, case.clauses[0], timeout)
        self.talk.one_at_a_time = one_at_a_time
        self._symbols = symbols
        self._connections: dict[str, Under] = {}
        self._step = 0
        self._given = False

    def play(self) -> Playing:
        """Run every step, see that nothing is left over, and return the outcome. Raises nothing of its own."""
        try:
            for number, spec in enumerate(self._symbols.here(list(self.case.steps))):
                self._step = number
                self.talk.clause = spec.get("clause", self.case.clauses[0])
                self._given = spec.get("given", False)
                yield from self._play(spec)
            self.talk.clause = self.case.clauses[0]
            yield from self._finish(judged=True)
        except Stopped as stop:
            outcome = self._stopped(stop)
            try:
                yield from self._finish(judged=False)
            except Stopped:
                self.talk.stuck = True
            return outcome
        except (SymbolError, LocalProtocolError, LookupError) as error:
            return harness_error(str(error), self.trace, self._step)
        return Outcome(Verdict.PASS, self.trace, observed=", ".join(dict.fromkeys(self.talk.observed)) or None)

    def _play(self, spec: Mapping[str, Any]) -> Asking:
        steps = {
            "ask": self._ask,
            "say": self._say,
            "receive": self._receive,
            "connect": self._connect,
            "leave": self._leave,
            "ended": self._ended,
            "accept": self._accept,
        }
        for verb, step in steps.items():
            if verb in spec:
                yield from step(spec)
                return
        match spec:
            case {"close": name} | {"reset": name}:
                yield act.End(name, reset="reset" in spec)
                yield from self.talk.failing(self._connections[name], spec)
            case {"down": name} | {"up": name}:
                yield act.Listen(name, up="up" in spec)
            case {"wait": seconds}:
                yield act.Pause(self.talk.script.number(seconds, "wait"))
            case _:
                raise SymbolError(f"no such step: {', '.join(spec)}")

    def _ask(self, spec: Mapping[str, Any]) -> Asking:
        name = spec.get("on", "a")
        if name not in self._connections:
            yield from self._connect({"connect": name})
        if self.talk.script.text(spec.get("cut")) != "halves":
            yield from self._ask_once(name, spec)
            return
        pieces = self.talk.script.pieces(spec["answer"])
        whole = b"".join(one.data for one in pieces)
        inner = sorted({one for piece in pieces for one in piece.fields} - {0, len(whole)}) or [len(whole)]
        for at in inner if len(pieces) == 1 else range(1, len(whole)):
            yield from self._ask_once(name, {**spec, "cut": {"at": at}})

    def _ask_once(self, name: str, spec: Mapping[str, Any]) -> Asking:
        connection = self._connections[name]
        requests = self.talk.script.requests(spec["ask"])
        self.talk.able(requests)
        self.talk.together(self._under_way or (len(requests) > 1 and not spec.get("batch")))
        self.talk.at = Place(requests[0].NAME, "", self.talk.at.asked | {one.NAME for one in requests})
        calls = yield from self.talk.told(name, connection, requests, batch=spec.get("batch", False))
        if "refused" in spec:
            yield from self.talk.refused(name, connection, calls)
            return
        expected = b"".join(self.talk.script.codec.encode(one) for one in requests)
        got = yield act.Receive(name, expected, tuple(calls))
        if got.data != expected:
            yield from self.talk.not_sent(connection, spec, expected, got)
            return
        if "answer" in spec:
            yield from self._answer(name, connection, spec, spec["answer"])
        if not spec.get("open"):
            yield from self.talk.failing(connection, spec)

    @property
    def _under_way(self) -> bool:
        """Whether a request waits, on any connection."""
        return any(one.due for one in self._connections.values())

    def _say(self, spec: Mapping[str, Any]) -> Asking:
        name = spec.get("on", "a")
        if name not in self._connections:
            yield from self._connect({"connect": name})
        connection = self._connections[name]
        yield from self._answer(name, connection, spec, spec["say"])
        if not spec.get("open"):
            yield from self.talk.failing(connection, spec)

    def _answer(self, name: str, connection: Under, spec: Mapping[str, Any], said: Any) -> Asking:
        """Write what the case says, then hold what the driver reports against it."""
        pieces = self.talk.script.pieces(said)
        cut = self.talk.script.text(spec.get("cut", "whole"))
        run: list[Piece] = []
        for one in [*pieces, Piece(pause=0.0)]:
            if one.pause is None and not one.end:
                run.append(one)
                continue
            if run:
                yield act.Write(name, segments(run, cut))
                run = []
            if one.end:
                yield act.End(name, reset=one.end == "reset")
            elif one.pause:
                yield act.Pause(one.pause)
        yield from self.talk.judge(name, connection, spec, pieces)

    def _receive(self, spec: Mapping[str, Any]) -> Asking:
        """Expect requests that nobody told the SDK to make now, such as subscriptions that it brings back."""
        name = spec.get("on", "a")
        expected = b"".join(self.talk.script.codec.encode(one) for one in self.talk.script.requests(spec["receive"]))
        got = yield act.Receive(name, expected)
        if got.data != expected:
            raise Stopped(Verdict.FAIL, shown(expected), shown(got.data), byte=byte_of(expected, got.data))
        yield act.Write(name, segments(self.talk.script.pieces(spec["answer"]), "whole"))
        self.talk.observed.append("they come back")

    def _connect(self, spec: Mapping[str, Any]) -> Asking:
        name, again = spec["connect"], spec.get("reconnect", False)
        if again and not self.talk.hello.reconnects:
            raise Stopped(Verdict.UNSUPPORTED, "an SDK that connects again", "hello says reconnects false")
        self.talk.together(self._under_way)
        self._connections[name] = Under()
        got = yield act.Connect(name, again)
        if isinstance(got, act.Died):
            self.talk.crashed(got)
        if isinstance(got, Answer) and got.error is None:
            return
        told = told_error(got) if isinstance(got, Answer) else getattr(got, "told", "no answer in time")
        self.talk.stuck = isinstance(got, act.Silent)
        raise Stopped(Verdict.HANG if self.talk.stuck else Verdict.FAIL, "a connection", told)

    def _leave(self, spec: Mapping[str, Any]) -> Asking:
        """Have the SDK close, and expect that it does: what waits fails, and the connection ends."""
        name = spec["leave"]
        self.talk.together(self._under_way)
        connection = self._connections.pop(name)
        call = yield from self.talk.begin("close", name, {})
        answer = yield from self.talk.reported(call)
        if answer.error is not None:
            raise Stopped(Verdict.FAIL, "the connection closed", told_error(answer))
        yield from self.talk.failing(connection, spec)
        yield from self._ended({"ended": name})

    def _ended(self, spec: Mapping[str, Any]) -> Asking:
        got = yield act.Drain(spec["ended"], self.talk.timeout)
        if got.data:
            raise Stopped(Verdict.FAIL, "nothing more, and the end of the connection", f"it sent {shown(got.data)}")
        if not got.ended:
            raise Stopped(Verdict.FAIL, "the end of the connection", f"it was open {self.talk.timeout:g} s later")

    def _accept(self, spec: Mapping[str, Any]) -> Asking:
        if not (yield act.Accept(spec["accept"])):
            raise Stopped(Verdict.FAIL, "another connection of the SDK", f"none in {self.talk.timeout:g} s")
        self.talk.observed.append("it connects again")

    def _finish(self, *, judged: bool) -> Asking:
        """Close what is open, and see that neither bytes nor events came that nobody asked for."""
        for name, connection in list(self._connections.items()):
            if connection.due:
                yield act.End(name)
            try:
                call = yield from self.talk.begin("close", name, {})
                yield from self.talk.reported(call, min(self.talk.timeout, 1.0))
            except Stopped as stop:
                if judged and stop.verdict is Verdict.CRASH:
                    raise
                return
            if not judged:
                continue
            got = yield act.Drain(name, LAST_WORDS)
            if got.data:
                raise Stopped(Verdict.FAIL, "nothing more to be sent", f"it sent {shown(got.data)}", byte=0)
            events = yield act.Leftovers(name)
            if events and not connection.free:
                raise Stopped(Verdict.FAIL, "no event of a message that was not pushed", f"{events[0].fields}")

    def _stopped(self, stop: Stopped) -> Outcome:
        """Return the outcome, with what crossed up to here and not what closing adds."""
        verdict, guilty = stop.verdict, Guilty.TARGET
        if self._given and verdict in (Verdict.FAIL, Verdict.HANG):
            verdict = Verdict.UNTESTABLE
        if verdict in (Verdict.UNTESTABLE, Verdict.UNSUPPORTED):
            guilty = Guilty.NOBODY
        found = (verdict, Trace(self.trace), guilty, self.talk.clause, self._step, stop.byte, stop.expected, stop.got)
        return Outcome(*found, place=self.talk.at)
