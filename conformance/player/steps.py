"""The verbs of cases, each a generator over the conversation; docs/writing-cases.md tells what each one means.

A verb is called with its argument and the name of the step's connection. What is not met raises `Stopped`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wireproof.conformance.model.actions import Sleep
from wireproof.conformance.model.intended import Meant
from wireproof.conformance.model.outcome import Stopped
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.model.wording import describe, first_byte
from wireproof.conformance.player.concurrency.concurrent_play import play_concurrently
from wireproof.conformance.player.connection import Line
from wireproof.conformance.player.connections import SETTLED, Asking, Conversation
from wireproof.conformance.player.resource_limits import Budget
from wireproof.conformance.suite.case_traits import patterns
from wireproof.conformance.suite.patterns import match
from wireproof.conformance.suite.symbols import SymbolError
from wireproof.protocols import EndOfStream, LocalProtocolError, Message, Push, RemoteProtocolError, Request

Variables = Mapping[str, int]
BESIDE = frozenset({"on", "clause", "given", "or_closed"})
"""What a step may hold beside its verbs."""


def play_step(talk: Conversation, spec: Any) -> Asking[None]:
    """Carry out one step; a step inside `repeat` has the clause and `given` of the outer one unless it says others."""
    if not isinstance(spec, dict) or not set(spec) & VERBS.keys() or set(spec) - VERBS.keys() - BESIDE:
        raise SymbolError(f"expected a step with {', '.join(VERBS)}; got {spec!r}")
    outer = talk.clause, talk.given
    talk.reply_to = talk.field = ""
    talk.clause, talk.given = spec.get("clause", talk.clause), talk.given or spec.get("given", False)
    on = talk.symbols.filled(spec.get("on", "a"))
    for verb, act in VERBS.items():
        if verb in spec:
            try:
                yield from act(talk, spec[verb], on)
            except Stopped:
                if not spec.get("or_closed") or on not in talk.lines or talk.lines[on].ended is None:
                    raise
                talk.lines[on].may_be_closed = True
    talk.clause, talk.given = outer


def _each(talk: Conversation, spec: Mapping[str, Any]) -> list[Variables]:
    ((name, bounds),) = spec.items()
    first, last = (talk.symbols.integer(one) for one in bounds)
    return [{name: number} for number in range(first, last + 1)]


def _items(talk: Conversation, spec: Any) -> list[tuple[Variables, Any]]:
    """Flatten a message, a list of them, `{each: {i: [1, 9]}, of: M}` and `{times: 3, of: M}`."""
    if isinstance(spec, list):
        return [item for one in spec for item in _items(talk, one)]
    if isinstance(spec, dict) and "each" in spec:
        return [(values, spec["of"]) for values in _each(talk, spec["each"])]
    if isinstance(spec, dict) and "times" in spec:
        return [({}, spec["of"])] * talk.symbols.integer(spec["times"])
    return [({}, spec)]


def _repeat(talk: Conversation, spec: Mapping[str, Any], on: str) -> Asking[None]:
    for values in _each(talk, spec["each"]):
        talk.symbols.variables.update(values)
        for one in spec["steps"]:
            yield from play_step(talk, one)


def _measure(talk: Conversation, spec: Mapping[str, Any], on: str) -> Asking[None]:
    """Play the steps and hold what the target took meanwhile against the limits, in as many rounds as may be needed."""
    budget = Budget(talk, spec)
    after = yield from budget.reading()
    for number in range(1, budget.rounds + 1):
        before = after
        talk.symbols.variables["round"] = number
        for one in spec["steps"]:
            yield from play_step(talk, one)
        after = yield from budget.reading()
        if budget.is_kept(before, after):
            return
    raise budget.exceeded()


def _connect(talk: Conversation, spec: Any, on: str) -> Asking[None]:
    if isinstance(spec, str):
        yield from talk.line(talk.symbols.filled(spec))
    else:
        yield from talk.line(talk.symbols.filled(spec["name"]), talk.symbols.filled(spec["link"]))


def _secure(talk: Conversation, spec: str, on: str) -> Asking[None]:
    """Begin TLS and finish the handshake: what follows on the connection is inside."""
    line = yield from talk.line(talk.symbols.filled(spec))
    if not line.link.tls:
        raise SymbolError(f"secure: what {line.name} speaks cannot go on inside TLS")
    yield from talk.secure(line)


def _send(talk: Conversation, spec: Any, on: str) -> Asking[None]:
    line = yield from talk.line(on)
    meant = talk.opening(line)
    for values, item in _items(talk, spec):
        talk.symbols.variables.update(values)
        if isinstance(item, dict) and "raw" in item:
            meant.append(_raw(talk, item, line))
        else:
            meant.append(_encoded(talk, line, talk.symbols.message(item)))
    yield from talk.write(line, meant)


def _encoded(talk: Conversation, line: Line, message: Message) -> Meant:
    try:
        return Meant(len(talk.trace), line.codec.send(message), message)
    except LocalProtocolError as error:
        if line.ended is None:
            raise
        told = f"the target closed the connection ({line.ended})"
        raise Stopped(Verdict.FAIL, "an open connection", told, byte=0) from error


def _raw(talk: Conversation, item: Mapping[str, Any], line: Line) -> Meant:
    """Return the frame of `{raw: ...}`; it may say `as` which request it is answered like."""
    data = talk.symbols.data(item["raw"] if isinstance(item["raw"], dict) else {"hex": item["raw"]})
    request = talk.symbols.message(item["as"]) if "as" in item else None
    if request is not None and not isinstance(request, Request):
        raise SymbolError(f"as: expected a request, got {request.NAME}")
    line.by_hand |= not _is_one(talk, line, data, request)
    if request is not None:
        line.codec.await_reply(request)
        talk.asked.add(request.NAME)
    else:
        line.framed = False
    return Meant(len(talk.trace), data, like=request)


def _is_one(talk: Conversation, line: Line, data: bytes, request: Request | None) -> bool:
    """Say whether bytes written by hand are, to a server, the one request they stand for."""
    reader = line.link.server(talk.symbols.codec)
    try:
        reader.receive_data(data)
        return type(reader.next_event()) is type(request) and not reader.buffered
    except RemoteProtocolError:
        return False


def _expect(talk: Conversation, spec: Any, on: str) -> Asking[None]:
    line = yield from talk.line(on)
    for values, item in _items(talk, spec):
        talk.symbols.variables.update(values)
        talk.asked.update(_pushes(talk, item))
        message = yield from talk.next(line, item)
        talk.heard(line, message, item)
        problem = match(item, message, talk.symbols)
        if problem is not None:
            talk.field = problem.field
            if isinstance(message, Push):
                talk.reply_to = message.NAME
            byte = first_byte(talk.symbols.codec.layout(type(message)), message, problem.field)
            raise Stopped(Verdict.FAIL, problem.expected, problem.got, byte=byte)
    if not talk.asks_no_more:
        talk.nothing_beyond(line)


def _pushes(talk: Conversation, item: Any) -> set[str]:
    """Return the names of the pushes that a pattern waits for: groups of clauses that the case uses."""
    known = {one.NAME for one in talk.symbols.protocol.profiles[talk.symbols.profile].pushes}
    names = {name for name, _ in patterns(item)}
    return {"PUSH" if name == "push" else name for name in names if name == "push" or name in known}


def _push(talk: Conversation, spec: Any, on: str) -> Asking[None]:
    line = yield from talk.line(on)
    for values, item in _items(talk, spec):
        talk.symbols.variables.update(values)
        yield from _expect(talk, {"push": item}, line.name)


def _observe(talk: Conversation, spec: Mapping[str, Any], on: str) -> Asking[None]:
    """Take what comes as it is and note which of the labels it is: a pattern, `silent`, `closed`, or other."""
    line = yield from talk.line(on)
    patterns = {label: one for label, one in spec.items() if label not in ("closed", "silent")}
    event: Message | EndOfStream | None
    if len(patterns) == len(spec):
        event = yield from talk.next(line, " or ".join(spec))
    else:
        event = yield from talk.event(line, float(talk.symbols.number(spec.get("silent", 0.3), "silent")))
    if event is None and line.codec.buffered:
        got = f"{line.codec.buffered} bytes of an unfinished message"
        raise Stopped(Verdict.HANG, "silence or a whole message", got, byte=line.codec.buffered)
    if isinstance(event, Message):
        talk.heard(line, event, {"any_of": list(patterns.values())})
        named = (label for label, one in patterns.items() if match(one, event, talk.symbols) is None)
        talk.observed.append(next(named, f"other: {describe(event)}"))
    else:
        line.may_be_closed = True
        talk.observed.append("silent" if event is None else "closed")


def _silent(talk: Conversation, spec: str, on: str) -> Asking[None]:
    """Nothing may have come on the connection: a barrier's reply must be the next message."""
    line = yield from talk.line(talk.symbols.filled(spec))
    if line.is_stream:
        yield from _ask(talk, line, _barrier(line))
        return
    other = yield from talk.line(f"beside{len(talk.trace)}", line.link_name)
    yield from _ask(talk, other, _barrier(line))
    yield from talk.shut(other.name, "close")
    event = yield from talk.event(line, SETTLED)
    if isinstance(event, Message):
        raise Stopped(Verdict.FAIL, "no datagram", describe(event), byte=0)


def _barrier(line: Line) -> Request:
    try:
        return line.link.barrier()
    except LookupError as error:
        raise SymbolError(f"silent: {line.name}: {error}") from None


def _ask(talk: Conversation, line: Line, request: Request) -> Asking[None]:
    """Send a request whose reply must be the next message."""
    yield from talk.write(line, [*talk.opening(line), _encoded(talk, line, request)])
    message = yield from talk.next(line, f"the reply to {request.NAME}")
    talk.heard(line, message, "any")
    if line.codec.answered is not request:
        raise Stopped(Verdict.FAIL, f"nothing before the reply to {request.NAME}", describe(message), byte=0)


def _alive(talk: Conversation, spec: Any, on: str) -> Asking[None]:
    """The target serves a new client, which begins as clients of the protocol do."""
    line = yield from talk.line(f"alive{len(talk.trace)}")
    asks_no_more, talk.asks_no_more = talk.asks_no_more, False
    for request in line.link.opening():
        yield from _ask(talk, line, request)
    talk.asks_no_more = asks_no_more
    yield from _silent(talk, line.name, on)


def _closed(talk: Conversation, spec: str | Mapping[str, Any], on: str) -> Asking[None]:
    """The target must end the connection, `within` as many seconds where the case says so."""
    named, seconds = (spec, talk.timeout) if isinstance(spec, str) else (spec["name"], spec["within"])
    seconds = min(talk.timeout, float(talk.symbols.number(seconds, "within")))
    line = yield from talk.line(talk.symbols.filled(named))
    event = yield from talk.event(line, seconds)
    talk.note("closed", line.name)
    line.may_be_closed = True
    if isinstance(event, Message):
        raise Stopped(Verdict.FAIL, "the target closes the connection", describe(event), byte=0)
    if event is None:
        raise Stopped(Verdict.HANG, "the target closes the connection", f"still open after {seconds:g} s")


def _close(talk: Conversation, spec: str, on: str) -> Asking[None]:
    line = yield from talk.line(talk.symbols.filled(spec))
    talk.note("close", line.name)
    yield from talk.shut(line.name, "close")


def _reset(talk: Conversation, spec: str, on: str) -> Asking[None]:
    line = yield from talk.line(talk.symbols.filled(spec))
    talk.note("reset", line.name)
    yield from talk.shut(line.name, "reset")


def _half_close(talk: Conversation, spec: str, on: str) -> Asking[None]:
    line = yield from talk.line(talk.symbols.filled(spec))
    if not line.is_stream:
        raise SymbolError(f"half_close: {line.name} speaks in datagrams, which have no end")
    line.codec.end_requests()
    talk.note("half_close", line.name)
    yield from talk.shut(line.name, "half")


def _wait(talk: Conversation, seconds: Any, on: str) -> Asking[None]:
    yield from talk.sleep(float(talk.symbols.number(seconds, "wait")))


def _mark(talk: Conversation, name: str, on: str) -> Asking[None]:
    yield from talk.do(Sleep(0.0))
    talk.marks[name] = talk.now


def _wait_until(talk: Conversation, spec: Mapping[str, Any], on: str) -> Asking[None]:
    """Wait until `plus` seconds after a mark; a later failure can only be told when seen before `latest`."""
    if spec["mark"] not in talk.marks:
        raise SymbolError(f"no mark {spec['mark']!r}; there is {', '.join(talk.marks) or 'none'}")
    mark = talk.marks[spec["mark"]]
    yield from talk.sleep(max(0.0, mark + float(talk.symbols.number(spec["plus"], "plus")) - talk.now))
    talk.latest = mark + float(talk.symbols.number(spec["latest"], "latest")) if "latest" in spec else None


Verb = Callable[[Conversation, Any, str], Asking[None]]
VERBS: Mapping[str, Verb] = {
    "send": _send,
    "expect": _expect,
    "observe": _observe,
    "push": _push,
    "silent": _silent,
    "connect": _connect,
    "secure": _secure,
    "close": _close,
    "half_close": _half_close,
    "reset": _reset,
    "closed": _closed,
    "wait": _wait,
    "mark": _mark,
    "wait_until": _wait_until,
    "alive": _alive,
    "repeat": _repeat,
    "measure": _measure,
    "concurrent": play_concurrently,
}
"""Name -> verb, in the order in which a step with several of them does them."""
