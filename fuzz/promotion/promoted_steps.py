"""A script as the steps of a case: what it sends, and what the reference server answers to it.

Where a script cuts a request in pieces the case sends it whole: cases are played under every cut anyway. Bytes that
are no requests are sent as they are, and nothing more is asked of their connection. All that is due is waited for
before anything happens elsewhere, so that no step depends on which of two connections a server reads first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from wireproof.conformance.model.actions import Action, Answer, Open, Read, Shut, Sleep, Write
from wireproof.conformance.model.trace import Kind, TraceEvent
from wireproof.fuzz.live.context import Ground
from wireproof.fuzz.live.simulated import new_server, simulated
from wireproof.fuzz.promotion.naming import Naming
from wireproof.fuzz.script import Script
from wireproof.protocols import Message, ProtocolError, Push, Request, Role
from wireproof.protocols.connection import Client
from wireproof.protocols.dissect import Frame

__all__ = ["StepsError", "steps_of"]

VERBS = {"half": "half_close", "close": "close", "reset": "reset"}
LONGEST_WAIT = 2.5
"""Seconds; cases wait no longer on sockets."""
PATIENCE = 1.0
DEFAULT = "a"
"""The connection of a step that names none."""


class StepsError(ValueError):
    """Raised for a script that no case can say; it names the reason."""


@dataclass
class _Line:
    """One connection, from its opening to its end."""

    called: str
    client: Client
    requests: list[tuple[int, Request]] = field(default_factory=list)
    """The offset behind each whole request of the stream, and the request."""
    foreign_at: int = 0
    """Where what is no request begins."""
    written: int = 0
    framed: bool = True
    half: bool = False
    ended: bool = False


Stream = tuple[list[tuple[int, Request]], int]
"""The whole requests at the beginning of a stream with their ends, and where anything else begins."""


def _streams(script: Script, ground: Ground) -> list[Stream]:
    """Return how what each connection sends is read, by order of opening; by what is answered where that matters."""
    if ground.by_state:
        return [_requests_of(one.request_frames) for one in simulated(ground, script).lines]
    found: list[bytearray] = []
    now: dict[str, bytearray] = {}
    for step in script:
        if isinstance(step, Open):
            now[step.connection] = bytearray()
            found.append(now[step.connection])
        elif isinstance(step, Write) and step.connection in now:
            now[step.connection] += step.data
    return [_read(ground, bytes(one)) for one in found]


class _Writer:
    """Plays a script on the reference server and writes down the steps."""

    def __init__(self, ground: Ground, script: Script) -> None:
        self._ground = ground
        self._script = script
        self._names = Naming(ground)
        self._server = new_server(ground)
        self._filling = ground.filling(script)
        self._streams = iter(_streams(script, ground))
        self._opened: dict[str, int] = {}
        self._lines: dict[str, _Line] = {}
        self._sends: list[Any] = []
        self.steps: list[dict[str, Any]] = []

    def write(self) -> list[dict[str, Any]]:
        """Return the steps, the last of which asks whether others are served."""
        for at, step in enumerate(self._script):
            self._do(step)
            following = self._script[at + 1] if at + 1 < len(self._script) else None
            if not (isinstance(step, Write) and isinstance(following, Write) and _same(step, following)):
                self._flush(step)
        self.steps.append({"alive": True})
        return self.steps

    def _do(self, step: Action) -> None:
        match step:
            case Open(name):
                self._open(name, step)
            case Write(name, data) if name in self._lines and not self._lines[name].half:
                self._write(name, data)
            case Shut(name, how) if name in self._lines:
                self._shut(name, how)
            case Sleep(seconds) if seconds > 0:
                self._server.perform(step)
                self.steps.append({"wait": min(seconds, LONGEST_WAIT)})

    def _open(self, name: str, step: Open) -> None:
        if name in self._lines:
            return
        number = self._opened[name] = self._opened.get(name, 0) + 1
        symbols = self._ground.symbols
        called = name if number == 1 else f"{name}-{number}"
        line = _Line(called, symbols.protocol.link_of(step.link).client(symbols.codec))
        line.requests, line.foreign_at = next(self._streams, ([], 0))
        self._lines[name] = line
        self._perform(step)
        self.steps.append({"connect": {"name": called, "link": step.link} if step.link else called})

    def _perform(self, action: Action) -> Answer:
        answer = self._server.perform(action)
        if self._filling is not None:
            data = action.data if isinstance(action, Write) else answer.data
            link = action.link if isinstance(action, Open) else ""
            self._filling.see(TraceEvent(0, getattr(action, "connection", ""), answer.kind, data, link))
        return answer

    def _write(self, name: str, data: bytes) -> None:
        line = self._lines[name]
        data = data if self._filling is None else self._filling.filled(data)
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

    def _flush(self, step: Action) -> None:
        """Write down what was sent and all that came of it."""
        name = getattr(step, "connection", "")
        mine = {name} if self._sends else set()
        if self._sends:
            line = self._lines[name]
            sent, self._sends = self._sends, []
            self._step(line, {"send": _runs(sent)}, self._heard(name))
        for other in [one for one in self._lines if one not in mine]:
            if heard := self._heard(other):
                self._step(self._lines[other], {}, heard)

    def _step(self, line: _Line, does: dict[str, Any], heard: list[Any]) -> None:
        where = {"on": line.called} if line.called != DEFAULT else {}
        self.steps.append({**does, **where, **({"expect": _runs(heard)} if heard else {})})

    def _heard(self, name: str) -> list[Any]:
        line, found = self._lines[name], list[Any]()
        while not line.ended:
            due = bool(line.client.pending) and line.framed
            answer = self._perform(Read(name, PATIENCE if due else 0.0))
            line.ended = answer.kind in (Kind.ENDED, Kind.RESET)
            if answer.kind is not Kind.RECEIVED:
                break
            line.client.receive_data(answer.data)
            found += self._messages(line)
        return found

    def _messages(self, line: _Line) -> Iterator[Any]:
        try:
            while isinstance(event := line.client.next_event(), Message):
                if isinstance(event, Push):
                    yield from self._pushed(event)
                else:
                    yield self._names.reply(event, line.called)
        except ProtocolError:
            line.framed = False
        if line.client.ambiguous_at is not None:
            raise StepsError("what comes can be read in two ways: a push and a bare reply may stand on one connection")

    def _pushed(self, push: Push) -> Iterator[Any]:
        """Yield what is expected of a push; nothing of one that holds nothing: it comes by the clock."""
        fields = dict(self._names.fields(push))
        if not self._ground.by_state:
            yield {"push": fields}
        elif push.__struct_fields__:
            yield {push.NAME: fields}


def _read(ground: Ground, stream: bytes) -> Stream:
    return _requests_of(ground.dissection().feed(Role.CLIENT, stream))


def _requests_of(frames: Iterable[Frame]) -> Stream:
    found = [(frame.span[1], frame.message) for frame in frames if isinstance(frame.message, Request)]
    return found, found[-1][0] if found else 0


def _same(one: Write, other: Write) -> bool:
    return one.connection == other.connection


def _runs(items: Iterable[Any]) -> Any:
    """Return the items, those that repeat as one that says how often; one alone as it is."""
    runs = [(item, len(list(run))) for item, run in groupby(items)]
    found = [{"times": times, "of": item} if times > 1 else item for item, times in runs]
    return found[0] if len(found) == 1 else found


def steps_of(script: Script, ground: Ground) -> list[dict[str, Any]]:
    """Return the steps of a case that does what a script does and expects what the reference answers; `StepsError`."""
    steps = _Writer(ground, script).write()
    if not any("send" in step for step in steps):
        raise StepsError("the script sends nothing")
    return steps
