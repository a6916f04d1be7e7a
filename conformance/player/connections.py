"""The connections of one play, sans-IO: every action goes through here, so that the trace is complete.

Methods are generators that yield actions and are sent answers. Time is what the answers say, in whole microseconds,
so that the trace alone gives the same verdict again.
"""

# Strategy
#
# Why generators. A step yields actions (open, write, read, sleep) and is sent answers; it never touches a socket or a
# clock. The same code so runs over sockets, in simulation and from a recorded trace. `do` is the only place where an
# action is performed, so no byte crosses without an event in the trace. Times are rounded to microseconds when they
# come in, because that is how the trace keeps them: a replay then decides every deadline as the play did.
#
# Reading. `event` asks the codec for a message first and reads only when there is none, so one segment with many
# replies costs one read. It returns at the deadline, at the end of the stream, or with the first message that is the
# case's own; answers to no-op requests, which a segmentation adds, are dropped on the way. What the codec refuses is
# kept as a `Refusal`, since the monitor must see whether it refuses the same.
#
# Writing. A case says messages, the segmentation says pieces. Frames are noted as intended before the first piece is
# written, so that a write that fails halfway still has an account. A failed write is no verdict: what the target sent
# before it closed the connection decides, and it is found by the next read.

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, TypeVar
from zlib import crc32

import msgspec

from wireproof.conformance.model.actions import Action, Answer, Look, Open, Read, Secure, Shut, Sleep, Write
from wireproof.conformance.model.intended import IntendedByConnection, IntendedFrame, Refusal
from wireproof.conformance.model.outcome import StepEvent, Stopped
from wireproof.conformance.model.targets import DIRECTLY, Way
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.model.wording import describe, wording
from wireproof.conformance.player.byte_allowance import MOST, ByteAllowance
from wireproof.conformance.player.connection import CaseConnection
from wireproof.conformance.player.document_model import DocumentJudge
from wireproof.conformance.player.given_answers import COMES_AGAIN, Exchange
from wireproof.conformance.suite.case_traits import message_patterns, names_in
from wireproof.conformance.suite.clauses import clause_about
from wireproof.conformance.suite.pattern_types import Pattern
from wireproof.conformance.suite.segmentation import Carrier, Segmentation
from wireproof.conformance.suite.steps import NOTHING
from wireproof.conformance.suite.symbols import SymbolError, Symbols
from wireproof.conformance.suite.values import MessageItem
from wireproof.conformance.suite.written import as_written
from wireproof.protocols import NEED_DATA, EndOfStream, ErrorCode, Message, Push, RemoteProtocolError, Reply
from wireproof.reference_server.model import Window

Result = TypeVar("Result")
ActionGenerator = Generator[Action, Answer, Result]


class CaseConnections:
    """What the steps of one case say on their connections, and what came of it."""

    def __init__(
        self,
        symbols: Symbols,
        *,
        segmentation: Segmentation,
        timeout: float,
        on_step: Callable[[StepEvent], None] | None,
        most: int = MOST,
        way: Way = DIRECTLY,
    ) -> None:
        """`most`: how many bytes the target may send on all connections together."""
        self.symbols = symbols
        self.way = way
        self.timeout = timeout
        self.trace = Trace()
        self.intended: IntendedByConnection = {}
        self.lines: dict[str, CaseConnection] = {}
        self.now = 0.0
        self.marks: dict[str, float] = {}
        self.latest: float | None = None
        """The instant after which a failure blames nobody."""
        self.observed: list[str] = []
        self.extra: dict[str, str] = {}
        """What the record keeps beside all else, as texts."""
        self.clause = ""
        self.blame: Mapping[str, str] = {}
        """Field -> the clause that is blamed instead, where it is the one that differs; `NOTHING` where none comes."""
        self.given = False
        self.asleep = False
        """The case lets time pass at the moment."""
        self.asked: set[str] = set()
        """Names of the requests sent, and PUSH where a push was expected."""
        self.sent: dict[int, tuple[MessageItem, ...]] = {}
        """Id of what a step sends -> that, once however often it is repeated."""
        self.reply_to = self.field = ""
        """The request whose reply is being judged, and the field that differs."""
        self.carrier = Carrier(segmentation, crc32(symbols.case.encode()))
        self.asks_no_more = False
        """What is written now is the last request: the delivery may end our side after it."""
        self.judge: DocumentJudge | None = None
        """The model that judges replies, in a case that leaves that to the document."""
        self.ended_early: list[CaseConnection] = []
        """Those whose side the delivery ended with the last request."""
        self._links: set[str] = set()
        """Those that a connection has had."""
        self._allowance = ByteAllowance(most, self.extra)
        self._on_step = on_step

    def do(self, action: Action, connection: str = "", data: bytes = b"") -> ActionGenerator[Answer]:
        """Perform one action and keep what came of it; `data` is what a write sends."""
        answer = yield action
        self._keep(action, answer, connection, data)
        return answer

    def _keep(self, action: Action, answer: Answer, connection: str, data: bytes = b"") -> None:
        at_us = round(answer.now * 1e6)
        self.now = at_us / 1e6
        shown = data if answer.kind is Kind.SENT else answer.data
        link = action.link if isinstance(action, Open) else ""
        self.trace.append(TraceEvent(at_us, connection, answer.kind, shown, link))

    def groups(self) -> frozenset[str]:
        """Return the groups of clauses that the case has used: `asked`, and what was inside the messages sent."""
        return frozenset(self.asked.union(*map(names_in, self.sent.values())))

    @property
    def now_ns(self) -> int:
        """The instant of the trace, in ns since the case began."""
        return round(self.now * 1e9)

    @property
    def instant(self) -> Window:
        """The same as a window without length."""
        return Window(self.now_ns, self.now_ns)

    def note(self, do: str, connection: str, **detail: Any) -> None:
        """Report a step to `on_step`, if there is one."""
        if self._on_step is not None:
            self._on_step(StepEvent(do, connection, **detail))

    def line(
        self, name: str, link: str | None = None, *, unread: bool = False, listener: str = ""
    ) -> ActionGenerator[CaseConnection]:
        """Return the connection of that name, opened at its first use; `link` says what is spoken there.

        `unread`: only what the case reads is read; `listener`: where it goes to, if not to that of its link.
        Raises `Stopped` if it cannot be opened, `SymbolError` if it has another link.
        """
        if name not in self.lines:
            link_name = self._link_name(link or "")
            made = CaseConnection(name, self.symbols, link_name, first=link_name not in self._links)
            made.unread = unread
            self._links.add(link_name)
            self.note("connect", name, link=made.link_name)
            answer = yield from self.do(made.opening(unread=unread, listener=listener), name)
            if answer.kind is not Kind.OPENED:
                began = any(event.kind is Kind.SENT for event in self.trace)
                verdict = Verdict.CRASH if began else Verdict.UNTESTABLE
                raise Stopped(verdict, "a connection", f"{answer.kind}: {answer.data.decode(errors='replace')}")
            self.lines[name] = made
            self.intended[len(self.trace) - 1] = made.intended
            self.symbols.saved[f"{name}_port"] = int(answer.data or -1)
            if self.judge is not None:
                port = int(answer.data) if answer.data and self.way.direct else None
                self.judge.connected(name, port, self.instant, made.link_name)
        line = self.lines[name]
        if link is not None and self._link_name(link) != line.link_name:
            raise SymbolError(f"connection {name} is open already and speaks {line.link_name or 'the usual link'}")
        return line

    def _link_name(self, name: str) -> str:
        """Return the name as the trace has it: nothing for the default link."""
        return "" if self.symbols.link(name) is self.symbols.protocol.link else name

    def secure(self, line: CaseConnection) -> ActionGenerator[None]:
        """Go on inside TLS. Raises `Stopped` if the handshake fails."""
        self.note("secure", line.name)
        answer = yield from self.do(Secure(line.name, self.timeout), line.name)
        if answer.kind is not Kind.SECURED:
            is_hung, detail = answer.kind is Kind.SILENT, answer.data.decode(errors="replace") or "no end of it"
            verdict, line.ended = (Verdict.HANG, Kind.RESET) if is_hung else (Verdict.FAIL, answer.kind)
            raise Stopped(verdict, "a TLS handshake", f"{detail} ({answer.kind})")
        line.codec.start_tls()
        line.boundary_reader.start_tls()

    def sleep(self, seconds: float) -> ActionGenerator[None]:
        """Let time pass."""
        self.note("wait", "", seconds=seconds)
        self.asleep = True
        yield from self.do(Sleep(seconds))
        self.asleep = False

    def shut(self, name: str, how: str) -> ActionGenerator[None]:
        """End a connection: `half`, `close` or `reset`."""
        line = yield from self.line(name)
        yield from self.do(Shut(name, how), name)
        if how == "half":
            line.half_closed = True
        else:
            del self.lines[name]
            if self.judge is not None:
                self.judge.closed(name, self.instant)

    def write(self, line: CaseConnection, frames: list[IntendedFrame]) -> ActionGenerator[None]:
        """Send frames as the segmentation says. Raises `Stopped` if the target does not read."""
        if not line.is_stream:
            yield from self._datagrams(line, frames)
            return
        if self.carrier.segmentation.joins:
            with line.needed_open():
                frames = self._joined(line, frames)
        messages = tuple(one.message for one in frames if one.message is not None)
        data = b"".join(one.data for one in frames)
        self.note("send", line.name, data=data, messages=messages)
        line.intended.frames += frames
        self.asked.update(one.NAME for one in messages)
        whole, ends = line.unsegmented(frames), self.asks_no_more and self.carrier.segmentation.half_closes
        sizes = [len(one.data) for one in frames]
        for piece, apart in self.carrier.pieces(data, lambda: line.boundary_reader.read(data).boundaries, whole, sizes):
            answer = yield from self.do(Write(line.name, piece, apart, ends), line.name, piece)
            if answer.kind is not Kind.SENT:
                line.intended.lost.append(len(self.trace) - 1)
                break
        if answer.kind is Kind.SILENT:
            raise Stopped(Verdict.HANG, "the target reads what it is sent", f"it read nothing in {self.timeout:g} s")
        if ends:
            with line.needed_open():
                line.codec.end_requests()
            yield from self.shut(line.name, "half")
            self.carrier.changes += 1
            self.ended_early.append(line)

    def _joined(self, line: CaseConnection, frames: list[IntendedFrame]) -> list[IntendedFrame]:
        """Return the frames of a write with the request that the delivery puts after them, if any."""
        whole = line.boundary_reader.read(b"".join(one.data for one in frames)).whole
        following = line.noops.following(len(self.trace), whole=whole)
        self.carrier.changes += bool(following)
        for one in following if self.judge is not None else ():
            self.judge.beside(line.name, one.message)  # type: ignore[union-attr]
        line.boundary_reader.read(b"".join(one.data for one in following))
        return frames + following

    def _datagrams(self, line: CaseConnection, frames: list[IntendedFrame]) -> ActionGenerator[None]:
        """Send each frame as a datagram of its own, whatever the delivery."""
        for one in frames:
            messages = () if one.message is None else (one.message,)
            self.note("send", line.name, data=one.data, messages=messages)
            line.intended.frames.append(msgspec.structs.replace(one, event=len(self.trace)))
            self.asked.update(message.NAME for message in messages)
            answer = yield from self.do(Write(line.name, one.data), line.name, one.data)
            if answer.kind is not Kind.SENT:
                line.intended.lost.append(len(self.trace) - 1)
                line.ended = answer.kind
                return

    def noops_before(self, line: CaseConnection) -> list[IntendedFrame]:
        """Return what a write begins with: the request that the delivery puts before the case's own, if any."""
        joins = self.carrier.segmentation.joins and line.is_stream and line.ended is None and not line.half_closed
        with line.needed_open():
            return line.noops.before(len(self.trace)) if joins else []

    def event(
        self, line: CaseConnection, seconds: float, enough: Callable[[], bool] = lambda: False
    ) -> ActionGenerator[Message | EndOfStream | None]:
        """Return the next message, `EndOfStream`, or None: no whole message came in `seconds`, or `enough` is so."""
        deadline = round((self.now + seconds) * 1e6) / 1e6
        while (event := self._own(line)) is None and line.ended is None and self.now < deadline and not enough():
            answer = yield from self.do(Read(line.name, deadline - self.now), line.name)
            if answer.kind is Kind.RECEIVED:
                self._take(line, answer.data)
            elif answer.kind is not Kind.SILENT:
                line.ended = answer.kind
                line.codec.receive_data(b"")
        return event or (EndOfStream(0) if line.ended else None)

    def look(self, line: CaseConnection) -> ActionGenerator[None]:
        """Take what has come on a connection, without waiting; whether it has ended is for the next `event`."""
        looking = Look(line.name)
        answer = yield looking
        if answer.kind is Kind.RECEIVED:
            self._keep(looking, answer, line.name)
            self._take(line, answer.data)

    def _take(self, line: CaseConnection, data: bytes) -> None:
        self._allowance.take(data)
        line.received += data
        line.codec.receive_data(data)

    def _own(self, line: CaseConnection) -> Message | EndOfStream | None:
        """Return the next message that does not answer a no-op request, and no push that may come at any time."""
        event = self._decoded(line)
        while line.noops.drops(event) or line.passes(event):
            event = self._decoded(line)
        return event

    def _decoded(self, line: CaseConnection) -> Message | EndOfStream | None:
        try:
            event = line.codec.next_event()
        except RemoteProtocolError as error:
            if line.may_be_cut_off(error):
                return None
            start = line.codec.span[1]
            got = f"{error} (the message begins {describe(bytes(line.received[start : start + 32]))})"
            if error.code is ErrorCode.UNEXPECTED_MESSAGE and error.clause is None and self.comes_again(line, start):
                got = f"{COMES_AGAIN}; {got}"
            byte = None if error.offset is None else error.offset - start
            line.intended.refused = Refusal(len(self.trace) - 1, self.trace[-1].at_us, start + (byte or 0), error.code)
            raise Stopped(Verdict.FAIL, "a message of the protocol", got, byte=byte) from None
        if isinstance(event, Message):
            line.intended.received.append((line.codec.span, event))
            if not self.carrier.segmentation.plain and not isinstance(event, Push):
                line.boundary_reader.answered(event)
        return None if event is NEED_DATA else event

    def next(self, line: CaseConnection, wanted: Pattern | str) -> ActionGenerator[Message]:
        """Return the next message, which must come within the timeout; `wanted` is the pattern or words for it.

        Raises `Stopped` if it does not come or cannot be read.
        """
        asked = line.noops.first_of(line.codec.pending)
        self.reply_to, self.field = asked.NAME if asked else "", ""
        with line.awaiting(() if isinstance(wanted, str) else message_patterns(wanted)):
            seconds, in_words = self.way.deadline(self.reply_to, self.timeout)
            event = yield from self.event(line, seconds)
        if event is not None and not isinstance(event, EndOfStream):
            if isinstance(event, Reply) and line.codec.answered is not None:
                first, stop = line.codec.span
                line.answers.add(bytes(line.received[first:stop]), Exchange(self.clause, self.given, self.reply_to))
            return event
        expected = wording(as_written(wanted))
        self.clause = self.clause if line.codec.buffered else self.blame.get(NOTHING, self.clause)
        if event is None:
            partial = f" beyond {line.codec.buffered} bytes of an unfinished message" if line.codec.buffered else ""
            raise Stopped(Verdict.HANG, expected, f"nothing{partial} in {in_words}", byte=line.codec.buffered)
        raise Stopped(Verdict.FAIL, expected, f"the target closed the connection ({line.ended})", byte=0)

    def comes_again(self, line: CaseConnection, first: int) -> bool:
        """Say whether what came from byte `first` on begins as an answer of before: its exchange is blamed then."""
        found = line.answers.again(bytes(line.received[first:]))
        if found is not None:
            self.given, self.reply_to, self.field = found.given, found.request, ""
            self.clause = clause_about(self.symbols.protocol.name, self.symbols.profile, found.request, found.clause)
        return found is not None

    def received(self, line: CaseConnection, message: Message, expect: Pattern) -> None:
        """Report to `on_step` which message came and what it had to be."""
        if self._on_step is not None:
            first, stop = line.codec.span
            data = bytes(line.received[first:stop])
            self.note("receive", line.name, data=data, messages=(message,), expect=expect)

    def close_all(self) -> ActionGenerator[None]:
        """Close what is still open."""
        for name in list(self.lines):
            yield from self.do(Shut(name, "close"), name)
        self.lines.clear()

    def gone(self) -> ActionGenerator[bool]:
        """Say whether the target, after it ended a connection, takes no other."""
        if not any(line.ended for line in self.lines.values()):
            return False
        answer = yield from self.do(Open("probe"), "probe")
        if answer.kind is Kind.OPENED:
            yield from self.do(Shut("probe", "close"), "probe")
        return answer.kind is not Kind.OPENED
