"""Plays one case, sans-IO: a generator that yields actions, is sent answers, and returns an `Outcome`.

The same player runs against sockets, in simulation, and over a recorded trace, so a verdict is a pure function of the
case and of what crossed the wire. It stops at the first expectation that is not met and says which clause and byte.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.actions import Action, Answer, Open, Read, Shut, Sleep, Write
from conformance.cases import Case
from conformance.delivery import Delivery
from conformance.patterns import Mismatch, describe, first_byte, match
from conformance.symbols import SymbolError, Symbols
from conformance.trace import Kind, Trace, TraceEvent
from conformance.verdicts import Guilty, Verdict
from protocols import NEED_DATA, EndOfStream, LocalProtocolError, Message, RemoteProtocolError, Request

Play = Generator[Action, Answer, "Outcome"]
VERBS = (
    "send", "expect", "observe", "push", "silent", "connect", "close", "half_close", "reset", "closed",
    "wait", "mark", "wait_until", "alive", "repeat",
)  # fmt: skip


NAMING = ("connect", "close", "half_close", "reset", "silent", "closed")
"""The verbs whose value is a connection's name; `{i}` in a name is a variable."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a play showed, before levels are weighed: never lenient or unsupported."""

    verdict: Verdict
    trace: Trace
    guilty: Guilty | None = None
    blamed: str | None = None
    step: int | None = None
    byte: int | None = None
    expected: str | None = None
    got: str | None = None
    observed: str | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """What one step did, told to a scribe: the verb, the connection, the bytes and the messages they are."""

    do: str
    connection: str
    data: bytes = b""
    messages: tuple[Message, ...] = ()
    expect: Any = None
    """The pattern that a received message had to match."""
    seconds: float = 0.0


class Stopped(Exception):  # noqa: N818 - control flow of the player, caught in `play`
    """An expectation was not met: the verdict and why."""

    def __init__(
        self, verdict: Verdict, expected: str, got: str, *, guilty: Guilty = Guilty.TARGET, byte: int | None = None
    ) -> None:
        super().__init__(expected, got)
        self.verdict = verdict
        self.expected = expected
        self.got = got
        self.guilty = guilty
        self.byte = byte


class Line:
    """One named connection: its codec and what was read but not yet expected."""

    def __init__(self, name: str, symbols: Symbols) -> None:
        self.name = name
        self.codec = symbols.protocol.client(symbols.codec)
        self.ended: Kind | None = None


class Player:
    """One play of one case against whatever answers the actions."""

    def __init__(
        self,
        case: Case,
        symbols: Symbols,
        *,
        delivery: Delivery,
        timeout: float = 5.0,
        scribe: Callable[[Note], None] | None = None,
    ) -> None:
        self.case = case
        self._scribe = scribe
        self.symbols = symbols
        self.timeout = timeout
        self.trace = Trace()
        self._delivery = delivery
        self._lines: dict[str, Line] = {}
        self._now = 0.0
        self._marks: dict[str, float] = {}
        self._latest: float | None = None
        self._observed: list[str] = []

    def play(self) -> Play:
        """Run every step; close what is left open; return the outcome."""
        step, clause, given = 0, self.case.clauses[0], False
        try:
            for number, spec in enumerate(self.symbols.here(list(self.case.steps))):
                step, clause, given = number, spec.get("clause", clause), spec.get("given", False)
                yield from self._step(spec)
                clause = self.case.clauses[0]
            yield from self._nothing_left()
        except Stopped as stop:
            yield from self._crash_or_not(stop)
            return self._stopped(stop, step, clause, given)
        except (SymbolError, LocalProtocolError) as error:
            return self._harness(step, str(error))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            return self._harness(step, f"{type(error).__name__}: {error}")
        finally:
            yield from self._close_all()
        return Outcome(Verdict.PASS, self.trace, observed=", ".join(self._observed) or None)

    def _harness(self, step: int, why: str) -> Outcome:
        expected = f"a step that can be played: {VERBS}"
        return Outcome(Verdict.HARNESS_ERROR, self.trace, Guilty.HARNESS, step=step, expected=expected, got=why)

    def _stopped(self, stop: Stopped, step: int, clause: str, given: bool) -> Outcome:
        verdict, guilty = stop.verdict, stop.guilty
        if verdict is Verdict.FAIL and self._latest is not None and self._now > self._latest:
            verdict, guilty = Verdict.UNTESTABLE, Guilty.HARNESS
            stop.got += f" (asked {self._now - self._latest:.3f} s too late to tell)"
        if given and verdict in (Verdict.FAIL, Verdict.HANG):
            verdict, guilty = Verdict.UNTESTABLE, Guilty.NOBODY
        return Outcome(verdict, self.trace, guilty, clause, step, stop.byte, stop.expected, stop.got)

    # ---- the seam: every action goes through here, so that the trace is complete

    def _do(self, action: Action, connection: str = "", data: bytes = b"") -> Generator[Action, Answer, Answer]:
        answer = yield action
        self._now = answer.now
        if connection:
            shown = data if answer.kind is Kind.SENT else answer.data
            self.trace.append(TraceEvent(int(answer.now * 1e6), connection, answer.kind, shown))
        return answer

    def _note(self, do: str, connection: str, **told: Any) -> None:
        if self._scribe is not None:
            self._scribe(Note(do, connection, **told))

    def _line(self, name: str) -> Generator[Action, Answer, Line]:
        if name not in self._lines:
            self._note("connect", name)
            answer = yield from self._do(Open(name), name)
            if answer.kind is not Kind.OPENED:
                raise Stopped(Verdict.CRASH, "a connection", f"{answer.kind}: {answer.data.decode(errors='replace')}")
            self._lines[name] = Line(name, self.symbols)
            self.symbols.saved[f"{name}_port"] = int(answer.data or -1)
        return self._lines[name]

    def _close_all(self) -> Generator[Action, Answer, None]:
        for name in list(self._lines):
            yield from self._do(Shut(name, "close"), name)
        self._lines.clear()

    def _crash_or_not(self, stop: Stopped) -> Generator[Action, Answer, None]:
        """After a lost connection, find out whether the target still serves anybody."""
        if stop.verdict is Verdict.FAIL and any(line.ended for line in self._lines.values()):
            answer = yield from self._do(Open("probe"), "probe")
            if answer.kind is Kind.OPENED:
                yield from self._do(Shut("probe", "close"), "probe")
            else:
                stop.verdict = Verdict.CRASH
                stop.got += "; the target takes no connection any more"

    # ---- steps

    def _step(self, spec: Mapping[str, Any]) -> Generator[Action, Answer, None]:
        on = self.symbols.filled(spec.get("on", "a"))
        for verb in VERBS:
            if verb in spec:
                method: Callable[..., Generator[Action, Answer, None]] = getattr(self, f"_{verb}_step")
                what = self.symbols.filled(spec[verb]) if verb in NAMING else spec[verb]
                yield from method(what, on, spec)

    def _repeat_step(
        self, spec: Mapping[str, Any], on: str, whole: Mapping[str, Any]
    ) -> Generator[Action, Answer, None]:
        for values in self._each(spec["each"]):
            self.symbols.variables.update(values)
            for one in spec["steps"]:
                yield from self._step(one)

    def _each(self, spec: Mapping[str, Any]) -> list[dict[str, int]]:
        ((name, bounds),) = spec.items()
        first, last = (self.symbols.integer(one) for one in bounds)
        return [{name: number} for number in range(first, last + 1)]

    def _items(self, spec: Any) -> list[tuple[dict[str, int], Any]]:
        """Flatten a message, a list of them and `{each: {i: [1, 9]}, of: ...}` into (variables, message)."""
        if isinstance(spec, list):
            return [item for one in spec for item in self._items(one)]
        if isinstance(spec, Mapping) and "each" in spec:
            return [(values, spec["of"]) for values in self._each(spec["each"])]
        if isinstance(spec, Mapping) and "times" in spec:
            return [({}, spec["of"])] * self.symbols.integer(spec["times"])
        return [({}, spec)]

    def _connect_step(self, name: str, on: str, whole: Mapping[str, Any]) -> Generator[Action, Answer, None]:
        yield from self._line(name)

    def _send_step(self, spec: Any, on: str, whole: Mapping[str, Any]) -> Generator[Action, Answer, None]:
        line = yield from self._line(on)
        frames, messages = [], []
        for values, item in self._items(spec):
            self.symbols.variables.update(values)
            data, message = self._frame(item, line)
            frames.append(data)
            messages += [message] if message is not None else []
        yield from self._write(line, frames, messages)

    def _frame(self, item: Any, line: Line) -> tuple[bytes, Message | None]:
        """Return the bytes of a message or `{raw: ...}`; a raw frame may say `as` which request it is answered like."""
        if isinstance(item, Mapping) and "raw" in item:
            data = self.symbols.data(item["raw"] if isinstance(item["raw"], Mapping) else {"hex": item["raw"]})
            if "as" in item:
                request = self.symbols.message(item["as"])
                assert isinstance(request, Request)
                line.codec.await_reply(request)
            return data, None
        message = self.symbols.message(item)
        return line.codec.send(message), message

    def _write(
        self, line: Line, frames: list[bytes], messages: Sequence[Message] = ()
    ) -> Generator[Action, Answer, None]:
        data = b"".join(frames)
        self._note("send", line.name, data=data, messages=tuple(messages))
        answer = yield from self._do(Write(line.name, self._delivery.cut(frames)), line.name, data)
        if answer.kind is not Kind.SENT:
            line.ended = answer.kind

    def _expect_step(self, spec: Any, on: str, whole: Mapping[str, Any]) -> Generator[Action, Answer, None]:
        line = yield from self._line(on)
        for values, item in self._items(spec):
            self.symbols.variables.update(values)
            try:
                message = yield from self._next(line, str(item))
            except Stopped:
                if whole.get("or_closed") and line.ended:
                    return
                raise
            self._received(line, message, item)
            self._check(item, message)

    def _push_step(self, spec: Any, on: str, whole: Mapping[str, Any]) -> Generator[Action, Answer, None]:
        pushes = spec if isinstance(spec, list) else [spec]
        yield from self._expect_step([{"push": one} for one in pushes], on, whole)

    def _received(self, line: Line, message: Message, expect: Any) -> None:
        if self._scribe is not None:
            first, stop = line.codec.span
            data = self.trace.received(line.name)[first:stop]
            self._note("receive", line.name, data=data, messages=(message,), expect=expect)

    def _check(self, spec: Any, message: Message) -> None:
        problem = match(spec, message, self.symbols)
        if problem is not None:
            raise Stopped(Verdict.FAIL, problem.expected, problem.got, byte=self._byte(problem, message))

    def _byte(self, problem: Mismatch, message: Message) -> int:
        layout = self.symbols.codec.layout(type(message))
        return first_byte(layout, message, problem.field) if problem.field else 0

    def _observe_step(
        self, spec: Mapping[str, Any], on: str, whole: Mapping[str, Any]
    ) -> Generator[Action, Answer, None]:
        """Take the next message as it is and note which of the named patterns it is (MAY)."""
        line = yield from self._line(on)
        if "closed" in spec or "silent" in spec:
            label = yield from self._observe_end(spec, line)
        else:
            message = yield from self._next(line, " or ".join(spec))
            self._received(line, message, {"any_of": list(spec.values())})
            named = (name for name, one in spec.items() if match(one, message, self.symbols) is None)
            label = next(named, f"other: {describe(message)}")
        self._observed.append(label)

    def _observe_end(self, spec: Mapping[str, Any], line: Line) -> Generator[Action, Answer, str]:
        """Note whether the target closes, stays silent for `silent` seconds, or answers."""
        seconds = float(self.symbols.number(spec.get("silent", 0.3)))
        event = yield from self._event(line, seconds)
        if event is NEED_DATA:
            return "silent"
        if isinstance(event, EndOfStream):
            return "closed"
        patterns = {name: one for name, one in spec.items() if name not in ("closed", "silent")}
        for name, one in patterns.items():
            if isinstance(event, Message) and match(one, event, self.symbols) is None:
                return name
        return f"other: {describe(event)}"

    def _event(self, line: Line, seconds: float) -> Generator[Action, Answer, Any]:
        """Return the next message, `EndOfStream`, or NEED_DATA when nothing came in `seconds`."""
        deadline = self._now + seconds
        while True:
            try:
                event = line.codec.next_event()
            except RemoteProtocolError as error:
                got = f"{error} (bytes {self.trace.received(line.name)[error.offset or 0 :][:32].hex()}…)"
                raise Stopped(Verdict.FAIL, "a frame of the protocol", got, byte=error.offset) from None
            if event is not NEED_DATA:
                return event
            if line.ended:
                return EndOfStream(0)
            left = deadline - self._now
            if left <= 0:
                return NEED_DATA
            answer = yield from self._do(Read(line.name, left), line.name)
            self._take(line, answer)

    def _take(self, line: Line, answer: Answer) -> None:
        if answer.kind is Kind.RECEIVED:
            line.codec.receive_data(answer.data)
        elif answer.kind is not Kind.SILENT:
            line.ended = answer.kind
            line.codec.receive_data(b"")

    def _next(self, line: Line, wanted: str) -> Generator[Action, Answer, Message]:
        event = yield from self._event(line, self.timeout)
        if isinstance(event, Message):
            return event
        if event is NEED_DATA:
            partial = f" beyond {line.codec.buffered} bytes of an unfinished frame" if line.codec.buffered else ""
            raise Stopped(Verdict.HANG, wanted, f"nothing{partial} in {self.timeout:g} s", byte=line.codec.buffered)
        raise Stopped(Verdict.FAIL, wanted, f"the target closed the connection ({line.ended})", byte=0)

    def _silent_step(self, name: str, on: str, whole: Mapping[str, Any]) -> Generator[Action, Answer, None]:
        """Nothing may have come on the connection: a barrier's reply must be the next message."""
        line = yield from self._line(name)
        barrier = self.symbols.protocol.barrier()
        yield from self._write(line, [line.codec.send(barrier)], [barrier])
        message = yield from self._next(line, f"the reply to {barrier.NAME}")
        self._received(line, message, {"any": barrier.NAME})
        if line.codec.answered is not barrier:
            raise Stopped(Verdict.FAIL, f"nothing before the reply to {barrier.NAME}", describe(message), byte=0)

    def _closed_step(self, spec: Any, on: str, whole: Mapping[str, Any]) -> Generator[Action, Answer, None]:
        line = yield from self._line(spec if isinstance(spec, str) else on)
        event = yield from self._event(line, self.timeout)
        self._note("closed", line.name)
        if isinstance(event, Message):
            raise Stopped(Verdict.FAIL, "the target closes the connection", describe(event), byte=0)
        if event is NEED_DATA:
            raise Stopped(Verdict.HANG, "the target closes the connection", f"still open after {self.timeout:g} s")

    def _alive_step(self, spec: Any, on: str, whole: Mapping[str, Any]) -> Generator[Action, Answer, None]:
        """The target serves a new client."""
        name = f"alive{len(self.trace)}"
        yield from self._silent_step(name, on, whole)

    def _close_step(self, name: str, on: str, whole: Mapping[str, Any]) -> Generator[Action, Answer, None]:
        yield from self._shut(name, "close")

    def _reset_step(self, name: str, on: str, whole: Mapping[str, Any]) -> Generator[Action, Answer, None]:
        yield from self._shut(name, "reset")

    def _shut(self, name: str, how: str) -> Generator[Action, Answer, None]:
        yield from self._line(name)
        self._note(how, name)
        yield from self._do(Shut(name, how), name)
        del self._lines[name]

    def _half_close_step(self, name: str, on: str, whole: Mapping[str, Any]) -> Generator[Action, Answer, None]:
        line = yield from self._line(name)
        line.codec.end_requests()
        self._note("half_close", name)
        yield from self._do(Shut(name, "half"), name)

    def _wait_step(self, seconds: Any, on: str, whole: Mapping[str, Any]) -> Generator[Action, Answer, None]:
        yield from self._sleep(float(self.symbols.number(seconds, "wait")))

    def _sleep(self, seconds: float) -> Generator[Action, Answer, None]:
        self._note("wait", "", seconds=seconds)
        yield from self._do(Sleep(seconds))

    def _mark_step(self, name: str, on: str, whole: Mapping[str, Any]) -> Generator[Action, Answer, None]:
        yield from self._do(Sleep(0.0))
        self._marks[name] = self._now

    def _wait_until_step(
        self, spec: Mapping[str, Any], on: str, whole: Mapping[str, Any]
    ) -> Generator[Action, Answer, None]:
        """Wait until `plus` seconds after a mark; what follows can only be told when asked before `latest`."""
        mark = self._marks[spec["mark"]]
        yield from self._sleep(max(0.0, mark + float(self.symbols.number(spec["plus"])) - self._now))
        self._latest = mark + float(self.symbols.number(spec["latest"])) if "latest" in spec else None

    def _nothing_left(self) -> Generator[Action, Answer, None]:
        """After the last step no connection may hold bytes that nothing asked for."""
        for line in list(self._lines.values()):
            if line.ended is None and not line.codec.pending:
                yield from self._do(Sleep(0.0))
                answer = yield from self._do(Read(line.name, 0.0), line.name)
                self._take(line, answer)
            try:
                event = line.codec.next_event()
            except RemoteProtocolError as error:
                raise Stopped(Verdict.FAIL, "nothing more", str(error), byte=error.offset) from None
            if isinstance(event, Message):
                raise Stopped(Verdict.FAIL, "nothing more", describe(event), byte=line.codec.span[0])
