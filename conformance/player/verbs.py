"""Carries out the verbs of steps, each a generator over the conversation (docs/writing-cases.md has their meaning).

What is not met raises `Stopped`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from wireproof.conformance.model.actions import Sleep
from wireproof.conformance.model.outcome import Stopped
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.model.wording import describe, first_byte
from wireproof.conformance.player.concurrency.concurrent_play import play_concurrently
from wireproof.conformance.player.connection import CaseConnection
from wireproof.conformance.player.connections import ActionGenerator, CaseConnections
from wireproof.conformance.player.modelled import allowed
from wireproof.conformance.player.resource_limits import Budget
from wireproof.conformance.player.sending import Variables, encoded, for_each, send
from wireproof.conformance.player.surplus import SETTLED, nothing_again, nothing_beyond, nothing_since
from wireproof.conformance.suite.case_traits import message_patterns
from wireproof.conformance.suite.pattern_types import (
    AnyOf,
    MessagePattern,
    Pattern,
    PatternEach,
    PatternItem,
    PatternTimes,
)
from wireproof.conformance.suite.patterns import match
from wireproof.conformance.suite.steps import (
    AnyStep,
    Close,
    ClosedWithin,
    Concurrent,
    Connect,
    ConnectTo,
    Expect,
    ExpectAlive,
    ExpectClosed,
    ExpectPush,
    ExpectSilence,
    HalfClose,
    Instant,
    Loop,
    Mark,
    Measure,
    Measured,
    Observe,
    Repeat,
    Reset,
    Send,
    StartTls,
    Step,
    Verb,
    Wait,
    WaitUntil,
)
from wireproof.conformance.suite.symbols import SymbolError
from wireproof.protocols import EndOfStream, Message, Push, Request

OnConnection = Connect | StartTls | ExpectSilence | ExpectAlive | ExpectClosed | Close | Reset | HalfClose
ANY = MessagePattern("any", {}, is_name=True)
AHEAD = 2
"""Round trips by which is asked earlier what must be seen before an instant."""
SILENCE = 0.3
"""Seconds without anything after which a connection that may be silent is."""


def play_step(talk: CaseConnections, step: AnyStep) -> ActionGenerator[None]:
    """Carry out one step; a step inside `repeat` has the clause and `given` of the outer one unless it says others.

    Raises `Stopped` for what is not met, and `SymbolError` for what the case cannot mean here.
    """
    if not isinstance(step, Step):
        raise SymbolError("a choice of steps that was not made")
    if step.when and step.when not in talk.observed[-1:]:
        return
    outer = talk.clause, talk.blame, talk.given, talk.timeout
    talk.reply_to = talk.field = ""
    talk.clause, talk.blame, talk.given = step.clause or talk.clause, step.blame, talk.given or step.given
    if step.within is not None:
        seconds = float(talk.symbols.number(step.within, "within"))
        talk.timeout = min(talk.timeout, seconds + 2 * talk.way.round_trip)
    on = talk.symbols.filled(step.on)
    line = (yield from talk.line(on)) if step.or_closed else None
    if line is not None:
        line.may_be_closed = True
    for verb in step.verbs:
        try:
            yield from _carried_out(talk, verb, on, is_exact=step.exact)
        except Stopped:
            if line is None or line.ended is None:
                raise
    if line is not None:
        line.may_be_closed = line.ended is not None
    talk.clause, talk.blame, talk.given, talk.timeout = outer


def _carried_out(talk: CaseConnections, verb: Verb, on: str, *, is_exact: bool) -> ActionGenerator[None]:
    match verb:
        case Send(items):
            return send(talk, items, on)
        case Expect(patterns):
            return _expect(talk, patterns, on, is_exact=is_exact)
        case ExpectPush(patterns):
            return _expect_one_by_one(talk, patterns, on)
        case Observe():
            return _observe(talk, verb, on)
        case Repeat(loop):
            return _repeat(talk, loop)
        case Measure(measured):
            return _measure(talk, measured)
        case Concurrent(mix):
            return play_concurrently(talk, mix)
        case Wait() | Mark() | WaitUntil():
            return _about_time(talk, verb)
    return _about_connections(talk, verb)


def _about_time(talk: CaseConnections, verb: Wait | Mark | WaitUntil) -> ActionGenerator[None]:
    match verb:
        case Wait(seconds):
            return _wait(talk, float(talk.symbols.number(seconds, "wait")))
        case Mark(name):
            return _mark(talk, name)
        case WaitUntil(instant):
            return _wait_until(talk, instant)


def _about_connections(talk: CaseConnections, verb: OnConnection) -> ActionGenerator[None]:
    match verb:
        case Connect(where):
            return _connect(talk, where)
        case StartTls(name):
            return _secure(talk, name)
        case ExpectSilence(name):
            return _silent(talk, name)
        case ExpectAlive():
            return _alive(talk)
        case ExpectClosed(where):
            return _closed(talk, where)
        case Close(name) | Reset(name):
            return _end(talk, name, "close" if isinstance(verb, Close) else "reset")
        case HalfClose(name):
            return _half_close(talk, name)


def _patterns(talk: CaseConnections, items: Iterable[PatternItem]) -> Iterator[tuple[Variables, Pattern]]:
    """Yield each pattern with the variables that it is repeated with."""
    for one in items:
        match one:
            case PatternEach(each, of):
                yield from ((values, of) for values in for_each(talk, each))
            case PatternTimes(times, of):
                yield from [({}, of)] * talk.symbols.integer(times)
            case _:
                yield {}, one


def _repeat(talk: CaseConnections, loop: Loop) -> ActionGenerator[None]:
    for values in for_each(talk, loop.each):
        talk.symbols.variables.update(values)
        for one in loop.steps:
            yield from play_step(talk, one)


def _measure(talk: CaseConnections, measured: Measured) -> ActionGenerator[None]:
    """Play the steps and compare what the target took meanwhile with the limits, in as many rounds as may be needed."""
    budget = Budget(talk, measured)
    if measured.spare_descriptors is not None:
        yield from budget.limited(measured.spare_descriptors)
        yield from _measured(talk, measured, budget)
        yield from budget.limited(None)
    else:
        yield from _measured(talk, measured, budget)


def _measured(talk: CaseConnections, measured: Measured, budget: Budget) -> ActionGenerator[None]:
    is_kept = False
    after = yield from budget.reading()
    for number in range(1, budget.rounds + 1):
        before = after
        talk.symbols.variables["round"] = number
        for one in measured.steps:
            yield from play_step(talk, one)
        after = yield from budget.reading()
        is_kept |= budget.is_kept(before, after)
        if is_kept and not measured.every_round:
            return
    if not is_kept:
        raise budget.exceeded()


def _connect(talk: CaseConnections, where: str | ConnectTo) -> ActionGenerator[None]:
    if isinstance(where, str):
        yield from talk.line(talk.symbols.filled(where))
    else:
        name, link = talk.symbols.filled(where.name), talk.symbols.filled(where.link)
        yield from talk.line(name, link, unread=where.unread, listener=where.listener)


def _secure(talk: CaseConnections, name: str) -> ActionGenerator[None]:
    """Begin TLS and finish the handshake: what follows on the connection is inside."""
    line = yield from talk.line(talk.symbols.filled(name))
    if not line.link.tls:
        raise SymbolError(f"secure: what {line.name} speaks cannot go on inside TLS")
    yield from talk.secure(line)


def _expect(
    talk: CaseConnections, patterns: Iterable[PatternItem], on: str, *, is_exact: bool = False
) -> ActionGenerator[None]:
    line = yield from talk.line(on)
    for values, item in _patterns(talk, patterns):
        talk.symbols.variables.update(values)
        talk.asked.update(_pushes(talk, item))
        message = yield from talk.next(line, item)
        talk.received(line, message, item)
        if talk.judge is not None:
            allowed(talk, talk.judge.received(line.name, message, talk.now_ns))
            while isinstance(message, Push):
                message = yield from talk.next(line, item)
                allowed(talk, talk.judge.received(line.name, message, talk.now_ns))
        problem = match(item, message, talk.symbols)
        if problem is not None:
            talk.field = problem.field
            talk.clause = talk.blame.get(problem.field, talk.clause)
            if isinstance(message, Push):
                talk.reply_to = message.NAME
            nothing_again(talk, line, message, problem.expected)
            byte = first_byte(talk.symbols.codec.layout(type(message)), message, problem.field)
            raise Stopped(Verdict.FAIL, problem.expected, problem.got, byte=byte)
        if is_exact:
            _check_bytes(talk, line, message)
    line.exchange = talk.clause, talk.given
    if not talk.asks_no_more:
        nothing_beyond(talk, line)


def _check_bytes(talk: CaseConnections, line: CaseConnection, message: Message) -> None:
    """Raise `Stopped` for a message whose bytes are others than the encoder writes, though they mean the same."""
    first, stop = line.codec.span
    came, wanted = bytes(line.received[first:stop]), talk.symbols.codec.encode(message)
    if came != wanted:
        at = next((place for place, pair in enumerate(zip(came, wanted, strict=False)) if pair[0] != pair[1]), 0)
        raise Stopped(Verdict.FAIL, f"the bytes {describe(wanted)}", describe(came), byte=at)


def _pushes(talk: CaseConnections, item: Pattern) -> set[str]:
    """Return the names of the pushes that a pattern waits for: groups of clauses that the case uses."""
    known = {one.NAME for one in talk.symbols.protocol.profiles[talk.symbols.profile].pushes}
    names = {one.name for one in message_patterns(item)}
    return {"PUSH" if name == "push" else name for name in names if name == "push" or name in known}


def _expect_one_by_one(talk: CaseConnections, patterns: Iterable[PatternItem], on: str) -> ActionGenerator[None]:
    """Expect pushes, each for itself: whatever else came with one may be the next."""
    line = yield from talk.line(on)
    for values, item in _patterns(talk, patterns):
        talk.symbols.variables.update(values)
        yield from _expect(talk, (item,), line.name)


def _observe(talk: CaseConnections, spec: Observe, on: str) -> ActionGenerator[None]:
    """Take what comes as it is and note which of the labels it is: a pattern, `silent`, `closed`, or other."""
    line = yield from talk.line(on)
    event: Message | EndOfStream | None
    if spec.silent is None and not spec.closed:
        event = yield from talk.next(line, " or ".join(spec.labels))
    else:
        seconds = SILENCE if spec.silent is None else float(talk.symbols.number(spec.silent, "silent"))
        with line.awaiting(one for pattern in spec.labels.values() for one in message_patterns(pattern)):
            event = yield from talk.event(line, seconds + talk.way.round_trip)
    if event is None and line.codec.buffered:
        got = f"{line.codec.buffered} bytes of an unfinished message"
        raise Stopped(Verdict.HANG, "silence or a whole message", got, byte=line.codec.buffered)
    if isinstance(event, Message):
        talk.received(line, event, AnyOf(tuple(spec.labels.values())))
        named = (label for label, one in spec.labels.items() if match(one, event, talk.symbols) is None)
        talk.observed.append(next(named, f"other: {describe(event)}"))
    else:
        line.may_be_closed = True
        talk.observed.append("silent" if event is None else "closed")


def _silent(talk: CaseConnections, name: str) -> ActionGenerator[None]:
    """Nothing may have come on the connection: the reply to the sync request must be the next message."""
    line = yield from talk.line(talk.symbols.filled(name))
    if line.is_stream:
        yield from _ask(talk, line, _sync_request(line))
        return
    other = yield from talk.line(f"beside{len(talk.trace)}", line.link_name)
    yield from _ask(talk, other, _sync_request(line))
    yield from talk.shut(other.name, "close")
    event = yield from talk.event(line, SETTLED + talk.way.round_trip)
    if isinstance(event, Message):
        raise Stopped(Verdict.FAIL, "no datagram", describe(event), byte=0)
    while talk.judge is not None and talk.judge.unanswered(line.name) is not None:
        allowed(talk, talk.judge.unanswered_datagram(line.name, talk.now_ns))


def _sync_request(line: CaseConnection) -> Request:
    try:
        return line.link.sync_request()
    except LookupError as error:
        raise SymbolError(f"silent: {line.name}: {error}") from None


def _ask(talk: CaseConnections, line: CaseConnection, request: Request) -> ActionGenerator[None]:
    """Send a request whose reply must be the next message."""
    yield from talk.write(line, [*talk.noops_before(line), encoded(talk, line, request)])
    if any(one is request for one in line.codec.pending):
        yield from _answer_of(talk, line, request)


def _answer_of(talk: CaseConnections, line: CaseConnection, request: Request) -> ActionGenerator[None]:
    message = yield from talk.next(line, f"the reply to {request.NAME}")
    talk.received(line, message, ANY)
    if line.codec.answered is not request:
        wanted = f"nothing before the reply to {request.NAME}"
        nothing_again(talk, line, message, wanted)
        raise Stopped(Verdict.FAIL, wanted, describe(message), byte=0)


def _alive(talk: CaseConnections) -> ActionGenerator[None]:
    """The target serves a new client, which begins as clients of the protocol do."""
    line = yield from talk.line(f"alive{len(talk.trace)}")
    asks_no_more, talk.asks_no_more = talk.asks_no_more, False
    handshake = line.link.handshake()
    if line.link.pipelined_handshake:
        yield from talk.write(line, [encoded(talk, line, request) for request in handshake])
        for request in handshake:
            yield from _answer_of(talk, line, request)
    else:
        for request in handshake:
            yield from _ask(talk, line, request)
    talk.asks_no_more = asks_no_more
    yield from _silent(talk, line.name)


def _closed(talk: CaseConnections, where: str | ClosedWithin) -> ActionGenerator[None]:
    """The target must end the connection, `within` as many seconds where the case says so."""
    named, within = (where, talk.timeout) if isinstance(where, str) else (where.name, where.within)
    seconds = min(talk.timeout, float(talk.symbols.number(within, "within"))) + 2 * talk.way.round_trip
    line = yield from talk.line(talk.symbols.filled(named))
    event = yield from talk.event(line, seconds)
    talk.note("closed", line.name)
    line.may_be_closed = True
    if isinstance(event, Message):
        raise Stopped(Verdict.FAIL, "the target closes the connection", describe(event), byte=0)
    if event is None:
        raise Stopped(Verdict.HANG, "the target closes the connection", f"still open after {seconds:g} s")


def _end(talk: CaseConnections, name: str, how: Literal["close", "reset"]) -> ActionGenerator[None]:
    line = yield from talk.line(talk.symbols.filled(name))
    talk.note(how, line.name)
    yield from talk.shut(line.name, how)


def _half_close(talk: CaseConnections, name: str) -> ActionGenerator[None]:
    line = yield from talk.line(talk.symbols.filled(name))
    if not line.is_stream:
        raise SymbolError(f"half_close: {line.name} speaks in datagrams, which have no end")
    with line.needed_open():
        line.codec.end_requests()
    talk.note("half_close", line.name)
    yield from talk.shut(line.name, "half")


def _mark(talk: CaseConnections, name: str) -> ActionGenerator[None]:
    yield from talk.do(Sleep(0.0))
    talk.marks[name] = talk.now


def _wait(talk: CaseConnections, seconds: float) -> ActionGenerator[None]:
    yield from talk.sleep(seconds)
    yield from nothing_since(talk)


def _wait_until(talk: CaseConnections, instant: Instant) -> ActionGenerator[None]:
    """Wait until `plus` seconds after a mark; a later failure is certain only if seen before `latest`.

    What is asked then is answered a round trip later, and what the mark is about began up to another one before it:
    where something must be seen before `latest`, it is asked so much earlier, and is certain so much less long.
    """
    if instant.mark not in talk.marks:
        raise SymbolError(f"no mark {instant.mark!r}; there is {', '.join(talk.marks) or 'none'}")
    mark, number = talk.marks[instant.mark], talk.symbols.number
    at, ahead = mark + float(number(instant.plus, "plus")), AHEAD * talk.way.round_trip
    if instant.latest is None:
        talk.latest = None
    else:
        at, talk.latest = at - ahead, mark + float(number(instant.latest, "latest")) - talk.way.round_trip
    yield from _wait(talk, max(0.0, at - talk.now))
