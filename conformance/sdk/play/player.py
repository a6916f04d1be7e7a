"""Plays one case against an SDK, sans-IO: a generator of actions that is sent their answers and returns an `Outcome`.

Both sides are judged: the bytes that the SDK sent are those of the requests it was told to make, and what its driver
reports is what the bytes said that came back. The verdict is a function of the case and of the answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from conformance.cases import Case
from conformance.outcome import Outcome, Place, Stopped, harness_error
from conformance.sdk.driver_protocol import Answer, Event, Failure, Hello
from conformance.sdk.play import actions as act
from conformance.sdk.play.judging import Refusal, byte_of, event_differs, report_differs, shown, told_error, unlike
from conformance.sdk.play.script import Piece, Script, field_at, segments
from conformance.symbols import SymbolError, Symbols
from conformance.trace import Trace
from conformance.verdicts import Guilty, Verdict
from protocols import LocalProtocolError, Push
from protocols.messages import Request
from protocols.plain import Plain

__all__ = ["Player", "Playing"]

Playing = Generator[act.Action, Any, Outcome]
Asking = Generator[act.Action, Any, None]
LAST_WORDS = 0.25
"""Seconds that what an SDK sends beside its requests has to come before the case ends."""
ANY = tuple(kind for kind in Failure if kind is not Failure.UNSUPPORTED)
REFUSALS = (Failure.TOO_WIDE, Failure.TOO_LONG, Failure.REFUSED, Failure.OTHER)


@dataclass(slots=True)
class _Due:
    """A request that was asked and is not reported yet."""

    request: Request
    call: int
    place: int | None = None
    """Which result of its batch it is."""


@dataclass(slots=True)
class _Connection:
    """What is under way on one connection."""

    due: deque[_Due] = field(default_factory=deque)
    free: bool = False
    """Pushes may be told of more or less often than they came."""


class Player:
    """One play of one case; `trace` is filled by whoever performs the actions."""

    def __init__(self, case: Case, symbols: Symbols, hello: Hello, trace: Trace, *, timeout: float = 5.0) -> None:
        self.case = case
        self.trace = trace
        self._hello = hello
        self._symbols = symbols
        self._script = Script(symbols)
        self._plain = Plain(symbols.protocol, symbols.profile, symbols.variant)
        self._timeout = timeout
        self._connections: dict[str, _Connection] = {}
        self._answers: dict[int, Answer] = {}
        self._calls = 0
        self._step = 0
        self._clause = case.clauses[0]
        self._given = False
        self._at = Place("", "", frozenset())
        self._observed: list[str] = []
        self.stuck = False
        """The driver did not answer: it has to be started again."""

    def play(self) -> Playing:
        """Run every step, see that nothing is left over, and return the outcome. Raises nothing of its own."""
        try:
            for number, spec in enumerate(self._symbols.here(list(self.case.steps))):
                self._step = number
                self._clause = spec.get("clause", self.case.clauses[0])
                self._given = spec.get("given", False)
                yield from self._play(spec)
            self._clause = self.case.clauses[0]
            yield from self._finish(judged=True)
        except Stopped as stop:
            outcome = self._stopped(stop)
            try:
                yield from self._finish(judged=False)
            except Stopped:
                self.stuck = True
            return outcome
        except (SymbolError, LocalProtocolError) as error:
            return harness_error(str(error), self.trace, self._step)
        return Outcome(Verdict.PASS, self.trace, observed=", ".join(dict.fromkeys(self._observed)) or None)

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
                yield from self._failing(self._connections[name], spec)
            case {"down": name} | {"up": name}:
                yield act.Listen(name, up="up" in spec)
            case {"wait": seconds}:
                yield act.Pause(self._script.number(seconds, "wait"))
            case _:
                raise SymbolError(f"no such step: {', '.join(spec)}")

    def _ask(self, spec: Mapping[str, Any]) -> Asking:
        name = spec.get("on", "a")
        if name not in self._connections:
            yield from self._connect({"connect": name})
        if self._script.text(spec.get("cut")) != "halves":
            yield from self._ask_once(name, spec)
            return
        pieces = self._script.pieces(spec["answer"])
        whole = b"".join(one.data for one in pieces)
        inner = sorted({one for piece in pieces for one in piece.fields} - {0, len(whole)}) or [len(whole)]
        for at in inner if len(pieces) == 1 else range(1, len(whole)):
            yield from self._ask_once(name, {**spec, "cut": {"at": at}})

    def _ask_once(self, name: str, spec: Mapping[str, Any]) -> Asking:
        connection = self._connections[name]
        requests = self._script.requests(spec["ask"])
        self._able(requests)
        self._at = Place(requests[0].NAME, "", self._at.asked | {one.NAME for one in requests})
        calls = yield from self._told(name, connection, requests, batch=spec.get("batch", False))
        if "refused" in spec:
            yield from self._refused(name, connection, calls)
            return
        expected = b"".join(self._script.codec.encode(one) for one in requests)
        got = yield act.Receive(name, expected, tuple(calls))
        if got.data != expected:
            yield from self._not_sent(connection, spec, expected, got)
            return
        if "answer" in spec:
            yield from self._answer(name, connection, spec, spec["answer"])
        if not spec.get("open"):
            yield from self._failing(connection, spec)

    def _told(
        self, name: str, connection: _Connection, requests: Sequence[Request], *, batch: bool
    ) -> Generator[act.Action, Any, list[int]]:
        """Have the driver begin; return the calls."""
        done = [{"do": one.NAME.lower(), **self._plain.beside(one)} for one in requests]
        calls = []
        commands: list[dict[str, Any]] = [{"do": "batch", "requests": done}] if batch else done
        for fields in commands:
            self._calls += 1
            calls.append(self._calls)
            died = yield act.Command(self._calls, fields.pop("do"), name, fields)
            if died is not None:
                self._crashed(died)
        for at, request in enumerate(requests):
            connection.due.append(_Due(request, calls[0] if batch else calls[at], at if batch else None))
        return calls

    def _refused(self, name: str, connection: _Connection, calls: Sequence[int]) -> Asking:
        """Expect that the SDK takes none of it, and sends nothing."""
        got = yield act.Receive(name, b"", tuple(calls))
        if got.data:
            raise Stopped(Verdict.FAIL, "a refusal, and nothing sent", f"it sent {shown(got.data)}", byte=0)
        yield from self._all_fail(connection, REFUSALS, "a refusal, and nothing sent")

    def _not_sent(self, connection: _Connection, spec: Mapping[str, Any], expected: bytes, got: act.Got) -> Asking:
        """Say what is wrong with the bytes that came instead; nothing where the SDK may refuse or has failed before."""
        at = byte_of(expected, got.data)
        if got.answered is not None and expected.startswith(got.data):
            answer = yield from self._reported(got.answered)
            self._unable(answer, [one.request for one in connection.due])
            if answer.error is not None and spec.get("or_fails") and not got.data:
                yield from self._all_fail(connection, ANY, "an error")
                return
            told = told_error(answer) if answer.error else f"the result {answer.result}"
            raise Stopped(Verdict.FAIL, shown(expected), f"{shown(got.data)}, then it reports {told}", byte=at)
        if expected.startswith(got.data):
            silent = not got.ended and not got.data
            how = "it closed the connection" if got.ended else "no more in time"
            raise Stopped(
                Verdict.HANG if silent else Verdict.FAIL, shown(expected), f"{shown(got.data)}, then {how}", byte=at
            )
        self._blame(spec, self._field_at(connection, at))
        raise Stopped(Verdict.FAIL, shown(expected), unlike(expected, got.data), byte=at)

    def _field_at(self, connection: _Connection, at: int) -> str:
        """Return the field of the requests in which byte `at` lies."""
        for one in connection.due:
            size = len(self._script.codec.encode(one.request))
            if at < size:
                return field_at(self._script.codec, one.request, at)
            at -= size
        return ""

    def _blame(self, spec: Mapping[str, Any], field: str) -> None:
        """Blame the clause of a field, where the step names one."""
        self._at = Place(self._at.reply_to, field, self._at.asked)
        self._clause = spec.get("blame", {}).get(field, self._clause)

    def _say(self, spec: Mapping[str, Any]) -> Asking:
        name = spec.get("on", "a")
        if name not in self._connections:
            yield from self._connect({"connect": name})
        connection = self._connections[name]
        yield from self._answer(name, connection, spec, spec["say"])
        if not spec.get("open"):
            yield from self._failing(connection, spec)

    def _answer(self, name: str, connection: _Connection, spec: Mapping[str, Any], said: Any) -> Asking:
        """Write what the case says, then hold what the driver reports against it."""
        pieces = self._script.pieces(said)
        cut = self._script.text(spec.get("cut", "whole"))
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
        yield from self._judge(name, connection, spec, pieces)

    def _judge(self, name: str, connection: _Connection, spec: Mapping[str, Any], pieces: Sequence[Piece]) -> Asking:
        for one in pieces:
            if one.message is None or isinstance(one.message, Push):
                continue
            if not connection.due:
                raise SymbolError(f"{one.message.NAME} answers nothing that was asked")
            due = connection.due.popleft()
            self._at = Place(due.request.NAME, "", self._at.asked)
            answer = yield from self._reported(due.call)
            self._hold(spec, due, answer, one)
        pushes = [one.message for one in pieces if isinstance(one.message, Push)]
        if spec.get("events", "told") == "any":
            connection.free = True
            return
        for push in pushes:
            yield from self._event(name, push)

    def _hold(self, spec: Mapping[str, Any], due: _Due, answer: Answer, said: Piece) -> None:
        """Hold a report against the reply that the SDK was sent."""
        expected = self._plain.result(said.message)  # type: ignore[arg-type]
        found = report_differs(expected, answer, due.place)
        if found is None:
            self._observed += ["reported"] * bool(spec.get("or_fails"))
            return
        self._unable(answer, [due.request, said.message])
        if answer.error is not None and spec.get("or_fails"):
            self._observed.append(f"fails: {answer.error.kind}")
            return
        self._blame(spec, found.field)
        raise Stopped(Verdict.FAIL, f"{found.expected} (the server sent {shown(said.data)})", found.got)

    def _event(self, name: str, push: Any) -> Asking:
        event = yield act.NextEvent(name)
        expected = self._plain.beside(push)
        if isinstance(event, act.Died):
            self._crashed(event)
        if isinstance(event, Event):
            found = event_differs(expected, event)
            if found is None:
                return
            raise Stopped(Verdict.FAIL, found.expected, found.got)
        raise Stopped(Verdict.FAIL, f"the event message with {expected}", f"none in {self._timeout:g} s")

    def _failing(self, connection: _Connection, spec: Mapping[str, Any]) -> Asking:
        """Hold what is still due against `fails`; a case must say of each request what becomes of it."""
        if not connection.due:
            return
        if "fails" not in spec:
            raise SymbolError(f"{connection.due[0].request.NAME} is neither answered nor told to fail")
        kinds = ANY if spec["fails"] == "any" else tuple(Failure(one) for one in spec["fails"])
        yield from self._all_fail(connection, kinds, f"an error ({' or '.join(kinds)})")

    def _all_fail(self, connection: _Connection, kinds: Sequence[Failure], expected: str) -> Asking:
        while connection.due:
            due = connection.due.popleft()
            answer = yield from self._reported(due.call)
            if answer.kind is Failure.UNSUPPORTED:
                self._unable(answer, [due.request])
            if answer.error is None:
                raise Stopped(Verdict.FAIL, expected, f"the result {answer.result}")
            if answer.kind not in kinds:
                raise Stopped(Verdict.FAIL, expected, f"the error {told_error(answer)}")
            self._observed.append(f"fails: {answer.kind}")

    def _reported(self, call: int, seconds: float | None = None) -> Generator[act.Action, Any, Answer]:
        """Return the driver's answer to a call; `Stopped` when there is none."""
        if call not in self._answers:
            got = yield act.Report(call, seconds)
            if isinstance(got, act.Silent):
                self.stuck = True
                raise Stopped(Verdict.HANG, "an answer of the driver", f"none in {seconds or self._timeout:g} s")
            if isinstance(got, act.Died):
                self._crashed(got)
            if isinstance(got, act.Nonsense):
                raise Stopped(Verdict.UNTESTABLE, "a line of the driver protocol", got.told)
            self._answers[call] = got
        return self._answers[call]

    def _receive(self, spec: Mapping[str, Any]) -> Asking:
        """Expect requests that nobody told the SDK to make now, such as subscriptions that it brings back."""
        name = spec.get("on", "a")
        expected = b"".join(self._script.codec.encode(one) for one in self._script.requests(spec["receive"]))
        got = yield act.Receive(name, expected)
        if got.data != expected:
            raise Stopped(Verdict.FAIL, shown(expected), shown(got.data), byte=byte_of(expected, got.data))
        yield act.Write(name, segments(self._script.pieces(spec["answer"]), "whole"))
        self._observed.append("they come back")

    def _connect(self, spec: Mapping[str, Any]) -> Asking:
        name, again = spec["connect"], spec.get("reconnect", False)
        if again and not self._hello.reconnects:
            raise Stopped(Verdict.UNSUPPORTED, "an SDK that connects again", "hello says reconnects false")
        self._connections[name] = _Connection()
        got = yield act.Connect(name, again)
        if isinstance(got, act.Died):
            self._crashed(got)
        if isinstance(got, Answer) and got.error is None:
            return
        told = told_error(got) if isinstance(got, Answer) else getattr(got, "told", "no answer in time")
        self.stuck = isinstance(got, act.Silent)
        raise Stopped(Verdict.HANG if self.stuck else Verdict.FAIL, "a connection", told)

    def _leave(self, spec: Mapping[str, Any]) -> Asking:
        """Have the SDK close, and expect that it does: what waits fails, and the connection ends."""
        name = spec["leave"]
        connection = self._connections.pop(name)
        self._calls += 1
        died = yield act.Command(self._calls, "close", name, {})
        if died is not None:
            self._crashed(died)
        call = self._calls
        answer = yield from self._reported(call)
        if answer.error is not None:
            raise Stopped(Verdict.FAIL, "the connection closed", told_error(answer))
        yield from self._failing(connection, spec)
        yield from self._ended({"ended": name})

    def _ended(self, spec: Mapping[str, Any]) -> Asking:
        got = yield act.Drain(spec["ended"], self._timeout)
        if got.data:
            raise Stopped(Verdict.FAIL, "nothing more, and the end of the connection", f"it sent {shown(got.data)}")
        if not got.ended:
            raise Stopped(Verdict.FAIL, "the end of the connection", f"it was open {self._timeout:g} s later")

    def _accept(self, spec: Mapping[str, Any]) -> Asking:
        if not (yield act.Accept(spec["accept"])):
            raise Stopped(Verdict.FAIL, "another connection of the SDK", f"none in {self._timeout:g} s")
        self._observed.append("it connects again")

    def _finish(self, *, judged: bool) -> Asking:
        """Close what is open, and see that neither bytes nor events came that nobody asked for."""
        for name, connection in list(self._connections.items()):
            self._calls += 1
            call = self._calls
            if (yield act.Command(call, "close", name, {})) is not None:
                return
            try:
                yield from self._reported(call, min(self._timeout, 1.0))
            except Stopped:
                return
            if not judged:
                continue
            got = yield act.Drain(name, LAST_WORDS)
            if got.data:
                raise Stopped(Verdict.FAIL, "nothing more to be sent", f"it sent {shown(got.data)}", byte=0)
            events = yield act.Leftovers(name)
            if events and not connection.free:
                raise Stopped(Verdict.FAIL, "no event of a message that was not pushed", f"{events[0].fields}")

    def _able(self, requests: Sequence[Request]) -> None:
        """Stop where the SDK says that it cannot do this."""
        lacking = [one.NAME.lower() for one in requests if one.NAME.lower() not in self._hello.operations]
        if lacking:
            raise Stopped(Verdict.UNSUPPORTED, f"the operation {lacking[0]}", "hello does not name it")
        beyond = Refusal.of(self._script.codec, self._hello, requests)
        if beyond.bytes:
            raise Stopped(Verdict.UNSUPPORTED, "an SDK that takes any bytes", "hello says binary_safe false")

    def _unable(self, answer: Answer, messages: Sequence[Any]) -> None:
        """Stop where an error tells what the SDK said that it cannot do."""
        if answer.error is None:
            return
        beyond = Refusal.of(self._script.codec, self._hello, messages)
        if answer.kind is Failure.UNSUPPORTED or beyond.numbers or beyond.bytes:
            raise Stopped(Verdict.UNSUPPORTED, "an SDK that can do this", told_error(answer))

    def _crashed(self, died: act.Died) -> NoReturn:
        raise Stopped(Verdict.CRASH, "a driver that runs on", died.told)

    def _stopped(self, stop: Stopped) -> Outcome:
        verdict, guilty = stop.verdict, Guilty.TARGET
        if self._given and verdict in (Verdict.FAIL, Verdict.HANG):
            verdict = Verdict.UNTESTABLE
        if verdict in (Verdict.UNTESTABLE, Verdict.UNSUPPORTED):
            guilty = Guilty.NOBODY
        found = (verdict, self.trace, guilty, self._clause, self._step, stop.byte, stop.expected, stop.got)
        return Outcome(*found, place=self._at)
