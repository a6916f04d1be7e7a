"""A server agrees with the model of its document: every answer, every push, on every connection, at every instant.

`StoreCheck` does each step to the server and tells the model; engines only choose steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from wireproof.conformance.model.actions import Action, Answer, Open, Read, Shut, Sleep, Write
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.model.wording import describe
from wireproof.fuzz.invariants.invariant_error import Violation
from wireproof.fuzz.live.context import Ground
from wireproof.fuzz.store_steps import Advance, Ask, Connect, Disconnect, Step
from wireproof.fuzz.server_transports import Place
from wireproof.protocols import NEED_DATA, EndOfStream, LocalProtocolError, Message, Push, RemoteProtocolError, Request
from wireproof.protocols.connection import Client
from wireproof.protocols.fields import Raw
from wireproof.reference_server.model import Disagreement, Window
from wireproof.reference_server.registry import server_model_of

__all__ = ["StoreCheck"]

BY_TARGET = frozenset({Kind.ENDED, Kind.RESET})
LONGEST = 600
"""Characters of what a violation tells."""


@dataclass
class _Line:
    """One open connection."""

    client: Client
    asked: list[tuple[Request, int]] = field(default_factory=list)
    """Requests without a reply, with the instants they were sent at."""


class StoreCheck:
    """A server and the model of it, side by side; `do` raises `Violation`. Steps that cannot be done are left out."""

    def __init__(self, ground: Ground, place: Place, *, tolerance_ns: int, shared: bool) -> None:
        self.ground, self.place = ground, place
        self.model = server_model_of(
            ground.name, profile=ground.profile, variant=ground.variant, tolerance_ns=tolerance_ns, shared=shared
        )
        self.heard: dict[int, list[bytes]] = {}
        """Size -> the runs of so many bytes that greetings were answered with: ids, which requests may name."""
        self.done: list[Step] = []
        self.script: list[Action] = []
        self.trace = Trace()
        self._lines: dict[str, _Line] = {}
        self._began = place.now_ns()

    @property
    def connections(self) -> list[str]:
        """The open connections, oldest first."""
        return list(self._lines)

    @property
    def elapsed_ns(self) -> int:
        """The time since it began."""
        return self.place.now_ns() - self._began

    def do(self, step: Step) -> None:
        """Do one step."""
        match step:
            case Connect(name) if name not in self._lines:
                self.done.append(step)
                self._connect(name)
            case Disconnect(name, how) if name in self._lines:
                self.done.append(step)
                self._disconnect(name, how)
            case Ask(name, requests) if name in self._lines and requests:
                self._ask(step, name, requests)
            case Advance(ns) if ns >= 0:
                self.done.append(step)
                self.place.advance(ns)
                self._keep(Sleep(ns / 1e9), Answer(Kind.WAITED, 0.0))
        self._settle()

    def _perform(self, action: Action) -> Answer:
        answer = self.place.perform(action)
        self._keep(action, answer)
        return answer

    def _keep(self, action: Action, answer: Answer) -> None:
        if not (isinstance(action, Read) and answer.kind is Kind.SILENT):
            at_us = (self.place.now_ns() - self._began) // 1000
            data = action.data if isinstance(action, Write) and answer.kind is Kind.SENT else answer.data
            self.trace.append(TraceEvent(at_us, getattr(action, "connection", ""), answer.kind, data))
        if not isinstance(action, Read):
            self.script.append(action)
        elif answer.kind is Kind.RECEIVED:
            self.script.append(Read(action.connection, max(action.timeout, self.place.patience)))

    def _connect(self, name: str) -> None:
        since = self.place.now_ns()
        answer = self._perform(Open(name))
        if answer.kind is not Kind.OPENED:
            raise Violation(
                "others are served", f"{name} cannot connect: {answer.data.decode(errors='replace')}", "open"
            )
        self._lines[name] = _Line(self.ground.symbols.protocol.link.client(self.ground.symbols.codec))
        port = int(answer.data) if answer.data else None
        self.model.connect(name, Window(since, self.place.now_ns()), port)

    def _disconnect(self, name: str, how: str) -> None:
        since = self.place.now_ns()
        if how == "half":
            self._perform(Shut(name, "half"))
            answer = self._perform(Read(name, self.place.patience))
            if answer.kind not in BY_TARGET:
                raise Violation("a connection that asks no more is ended", f"{name}: {answer.kind}", str(answer.kind))
        self._perform(Shut(name, "reset" if how == "reset" else "close"))
        del self._lines[name]
        self.model.disconnect(name, Window(since, self.place.now_ns()))

    def _ask(self, step: Ask, name: str, requests: tuple[Request, ...]) -> None:
        line = self._lines[name]
        try:
            data = b"".join(map(self.ground.encode, requests))
        except LocalProtocolError:
            return
        self.done.append(step)
        since = self.place.now_ns()
        answer = self._perform(Write(name, data))
        if answer.kind is not Kind.SENT:
            raise Violation("valid requests end no connection", f"{name}: {answer.kind}", str(answer.kind))
        for request in requests:
            line.client.await_reply(request)
            line.asked.append((request, since))
            self.model.sent(name, request)
        while line.asked:
            self._read(name, self.place.patience)

    def _settle(self) -> None:
        """Wait for the pushes that are due, and see that there are no others."""
        for name in self._lines:
            while (owed := self.model.owed(name)) is not None:
                before = len(self.trace)
                self._read(name, self.place.patience, due=owed)
                assert len(self.trace) > before
        for name in self._lines:
            self._read(name, 0.0)
        now = self.place.now_ns()
        self._judge("pushes agree with the model", self.model.unexpected(Window(now, now)))

    def _read(self, name: str, timeout: float, due: str = "") -> None:
        """Take what comes; `due`: a push that is owed. Nothing at all is a violation where something is due."""
        line = self._lines[name]
        answer = self._perform(Read(name, timeout))
        if answer.kind is Kind.RECEIVED:
            self._take(name, line, answer.data)
        elif answer.kind in BY_TARGET:
            what = line.asked[0][0].NAME if line.asked else "nothing"
            raise Violation("valid requests end no connection", f"{name}, with {what} unanswered: {answer.kind}", what)
        elif due:
            raise Violation("every push arrives", f"{due} does not come", "push missing", self.model.push_clause)
        elif line.asked:
            request = line.asked[0][0]
            raise Violation("every request is answered", f"{name}: {describe(request)}"[:LONGEST], request.NAME)

    def _take(self, name: str, line: _Line, data: bytes) -> None:
        line.client.receive_data(data)
        until = self.place.now_ns()
        try:
            while (event := line.client.next_event()) is not NEED_DATA:
                if isinstance(event, Push):
                    self.model.pushed(name, event)
                elif isinstance(event, Message) and not isinstance(event, EndOfStream):
                    self._answered(name, line, event, until)
        except RemoteProtocolError as error:
            told = f"{name}: {error.message} in {data[:80].hex()}"
            raise Violation("replies are well formed", told, str(error.code), error.clause) from None

    def _answered(self, name: str, line: _Line, reply: Message, until: int) -> None:
        request, since = line.asked.pop(0)
        if request in self.model.greeting():
            self._listen(reply)
        found = self.model.answered(name, request, reply, Window(since, until))
        self._judge("answers agree with the model", found, f"{name}: {describe(request)} -> {describe(reply)}")

    def _listen(self, reply: Message) -> None:
        for name, kind in self.ground.symbols.codec.layout(type(reply)).fields:
            if isinstance(kind, Raw) and (told := getattr(reply, name)) not in self.heard.setdefault(kind.size, []):
                self.heard[kind.size].append(told)

    def _judge(self, invariant: str, found: Disagreement | None, told: str = "") -> None:
        if found is not None:
            said = f"{found.told}: {told}" if told else found.told
            raise Violation(invariant, said[:LONGEST], found.shape, found.clause)
