"""A script as the steps of a case: what it sends, and what the reference server answers. A request that the script
sends in pieces is sent whole, because cases are played in every segmentation anyway. Bytes that are no request are sent
unchanged, and nothing more is expected on their connection. All pending replies are awaited before another connection
is used, so no step depends on which connection a server reads first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from wireproof.conformance.model.actions import Action, Answer, Open, Read, Secure, Shut, Sleep, Write
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.live.simulated_plays import new_server, simulated
from wireproof.fuzz.promotion.naming import Naming
from wireproof.fuzz.script import Script, ScriptStep
from wireproof.protocols import Message, ProtocolError, Push, Request, Role
from wireproof.protocols.connection import Client
from wireproof.protocols.dissect import Frame

__all__ = ["StepsError", "steps_of"]

VERBS = {"half": "half_close", "close": "close", "reset": "reset"}
LONGEST_WAIT = 2.5
"""Longest wait of a case in seconds."""
PATIENCE = 1.0
DEFAULT = "a"
"""The connection of a step that names none."""


class StepsError(ValueError):
    """Raised for a script that no case can express; the message says why."""


@dataclass
class _CaseConnection:
    """One connection, from its opening to its end."""

    called: str
    client: Client
    requests: list[tuple[int, Request]] = field(default_factory=list)
    """(offset of its end in the stream, request) for each whole request."""
    foreign_at: int = 0
    """The offset of the first byte that belongs to no request."""
    written: int = 0
    framed: bool = True
    half: bool = False
    ended: bool = False


Stream = tuple[list[tuple[int, Request]], int]
"""The whole requests at the beginning of a stream with their ends, and where anything else begins."""


def _streams(script: Script, context: FuzzContext) -> list[Stream]:
    """Return the stream of each connection in order of opening, decoded with replies where that matters."""
    if context.by_state:
        return [_requests_of(one.request_frames) for one in simulated(context, script).lines]
    found: list[bytearray] = []
    now: dict[str, bytearray] = {}
    for step in script:
        if isinstance(step, Open):
            now[step.connection] = bytearray()
            found.append(now[step.connection])
        elif isinstance(step, Write) and step.connection in now:
            now[step.connection] += step.data
    return [_read(context, bytes(one)) for one in found]


class _CaseWriter:
    """Plays a script on the reference server and writes the steps of a case."""

    def __init__(self, context: FuzzContext, script: Script) -> None:
        self._context = context
        self._script = script
        self._names = Naming(context)
        self._server = new_server(context)
        self._substitution = context.substitution(script)
        self._streams = iter(_streams(script, context))
        self._opened: dict[str, int] = {}
        self._lines: dict[str, _CaseConnection] = {}
        self._sends: list[object] = []
        self.steps: list[dict[str, object]] = []

    def write(self) -> list[dict[str, object]]:
        """Return the steps; the last one checks that others are served."""
        for at, step in enumerate(self._script):
            self._do(step)
            following = self._script[at + 1] if at + 1 < len(self._script) else None
            if not (isinstance(step, Write) and isinstance(following, Write) and _same(step, following)):
                self._flush(step)
        self.steps.append({"alive": True})
        return self.steps

    def _do(self, step: ScriptStep) -> None:
        match step:
            case Open(name):
                self._open(name, step)
            case Write(name, data) if name in self._lines and not self._lines[name].half:
                self._write(name, data)
            case Secure():
                raise StepsError("the script switches to TLS: write its case by hand")
            case Shut(name, how) if name in self._lines:
                self._shut(name, how)
            case Sleep(seconds) if seconds > 0:
                self._server.perform(step)
                self.steps.append({"wait": min(seconds, LONGEST_WAIT)})

    def _open(self, name: str, step: Open) -> None:
        if name in self._lines:
            return
        number = self._opened[name] = self._opened.get(name, 0) + 1
        symbols = self._context.symbols
        called = name if number == 1 else f"{name}-{number}"
        line = _CaseConnection(called, symbols.protocol.link_of(step.link).client(symbols.codec))
        line.requests, line.foreign_at = next(self._streams, ([], 0))
        self._lines[name] = line
        self._perform(step)
        self.steps.append({"connect": {"name": called, "link": step.link} if step.link else called})

    def _perform(self, action: Action) -> Answer:
        answer = self._server.perform(action)
        if self._substitution is not None:
            data = action.data if isinstance(action, Write) else answer.data
            link = action.link if isinstance(action, Open) else ""
            self._substitution.see(TraceEvent(0, getattr(action, "connection", ""), answer.kind, data, link))
        return answer

    def _write(self, name: str, data: bytes) -> None:
        line = self._lines[name]
        data = data if self._substitution is None else self._substitution.substituted(data)
        first, last = line.written, line.written + len(data)
        line.written = last
        for stop, request in line.requests:
            if first < stop <= last and line.framed:
                line.client.await_reply(request)
                self._sends.append(self._names.request(request))
        if last > line.foreign_at:
            line.framed = False
            self._sends.append({"raw": data[max(0, line.foreign_at - first) :].hex()})
        self._perform(Write(name, data))

    def _shut(self, name: str, how: str) -> None:
        line = self._lines[name]
        self._perform(Shut(name, how))
        self.steps.append({VERBS[how]: line.called})
        if how == "half":
            line.half = True
        else:
            del self._lines[name]

    def _flush(self, step: ScriptStep) -> None:
        """Write a step of what was sent and of all replies."""
        name = getattr(step, "connection", "")
        mine = {name} if self._sends else set()
        if self._sends:
            line = self._lines[name]
            sent, self._sends = self._sends, []
            self._step(line, {"send": _runs(sent)}, self._replies(name))
        for other in [one for one in self._lines if one not in mine]:
            if replies := self._replies(other):
                self._step(self._lines[other], {}, replies)

    def _step(self, line: _CaseConnection, does: dict[str, object], replies: list[object]) -> None:
        where = {"on": line.called} if line.called != DEFAULT else {}
        self.steps.append({**does, **where, **({"expect": _runs(replies)} if replies else {})})

    def _replies(self, name: str) -> list[object]:
        line, found = self._lines[name], list[object]()
        while not line.ended:
            due = bool(line.client.pending) and line.framed
            answer = self._perform(Read(name, PATIENCE if due else 0.0))
            line.ended = answer.kind in (Kind.ENDED, Kind.RESET)
            if answer.kind is not Kind.RECEIVED:
                break
            line.client.receive_data(answer.data)
            found += self._messages(line)
        return found

    def _messages(self, line: _CaseConnection) -> Iterator[object]:
        try:
            while isinstance(event := line.client.next_event(), Message):
                if isinstance(event, Push):
                    yield from self._expected_push(event)
                else:
                    yield self._names.reply(event, line.called)
        except ProtocolError:
            line.framed = False
        if line.client.ambiguous_at is not None:
            raise StepsError("the replies are ambiguous: a push and a bare reply share one connection")

    def _expected_push(self, push: Push) -> Iterator[object]:
        """Yield the pattern of a push; nothing for a push without fields, which a clock triggers."""
        fields = dict(self._names.fields(push))
        if not self._context.by_state:
            yield {"push": fields}
        elif push.__struct_fields__:
            yield {push.NAME: fields}


def _read(context: FuzzContext, stream: bytes) -> Stream:
    return _requests_of(context.dissection().feed(Role.CLIENT, stream))


def _requests_of(frames: Iterable[Frame]) -> Stream:
    found = [(frame.span[1], frame.message) for frame in frames if isinstance(frame.message, Request)]
    return found, found[-1][0] if found else 0


def _same(one: Write, other: Write) -> bool:
    return one.connection == other.connection


def _runs(items: Iterable[object]) -> object:
    """Return the items with repetitions as `{times, of}`; a single item as itself."""
    runs = [(item, len(list(run))) for item, run in groupby(items)]
    found = [{"times": times, "of": item} if times > 1 else item for item, times in runs]
    return found[0] if len(found) == 1 else found


def steps_of(script: Script, context: FuzzContext) -> list[dict[str, object]]:
    """Return the steps of a case that does what `script` does and expects what the reference answers. Raises
    `StepsError`.
    """
    steps = _CaseWriter(context, script).write()
    if not any("send" in step for step in steps):
        raise StepsError("the script sends nothing")
    return steps
