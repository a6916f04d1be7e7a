"""A server compared with the model of its document: every reply and push, on every connection, at every instant.

`StoreCheck` does each step on the server and applies it to the model; engines only choose steps.
"""

from __future__ import annotations

from wireproof.conformance.model.actions import Action, Answer, Open, Read, Shut, Sleep, Write
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.model.wording import describe
from wireproof.conformance.player.document_model import DocumentJudge
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.server_transports import Transport
from wireproof.fuzz.store_steps import AdvanceStep, ConnectStep, DisconnectStep, RequestStep, Step
from wireproof.protocols import NEED_DATA, EndOfStream, LocalProtocolError, Message, Push, RemoteProtocolError, Request
from wireproof.protocols.connection import Client
from wireproof.protocols.fields import Raw
from wireproof.reference_server.model import Disagreement, Window

__all__ = ["StoreCheck"]

BY_TARGET = frozenset({Kind.ENDED, Kind.RESET})
LONGEST = 600
"""Most characters of the detail of a violation."""


class StoreCheck:
    """A server and its model. `do` raises `InvariantError`; steps that cannot be done are left out."""

    def __init__(self, context: FuzzContext, transport: Transport, *, tolerance_ns: int, shared: bool) -> None:
        self.context, self.transport = context, transport
        self.judge = DocumentJudge(
            context.name, profile=context.profile, variant=context.variant, tolerance_ns=tolerance_ns, shared=shared
        )
        self.model = self.judge.model
        self.known_ids: dict[int, list[bytes]] = {}
        """Size in bytes -> ids of that size in replies to the greeting; requests may name them."""
        self.done: list[Step] = []
        self.script: list[Action] = []
        self.trace = Trace()
        self._lines: dict[str, Client] = {}
        self._began = transport.now_ns()

    @property
    def connections(self) -> list[str]:
        """The open connections, oldest first."""
        return list(self._lines)

    @property
    def elapsed_ns(self) -> int:
        """Nanoseconds since the beginning."""
        return self.transport.now_ns() - self._began

    def do(self, step: Step) -> None:
        """Do one step. Raises `InvariantError`."""
        match step:
            case ConnectStep(name) if name not in self._lines:
                self.done.append(step)
                self._connect(name)
            case DisconnectStep(name, how) if name in self._lines:
                self.done.append(step)
                self._disconnect(name, how)
            case RequestStep(name, requests) if name in self._lines and requests:
                self._ask(step, name, requests)
            case AdvanceStep(ns) if ns >= 0:
                self.done.append(step)
                self.transport.advance(ns)
                self._keep(Sleep(ns / 1e9), Answer(Kind.WAITED, 0.0))
        self._settle()

    def _perform(self, action: Action) -> Answer:
        answer = self.transport.perform(action)
        self._keep(action, answer)
        return answer

    def _keep(self, action: Action, answer: Answer) -> None:
        if not (isinstance(action, Read) and answer.kind is Kind.SILENT):
            at_us = (self.transport.now_ns() - self._began) // 1000
            data = action.data if isinstance(action, Write) and answer.kind is Kind.SENT else answer.data
            self.trace.append(TraceEvent(at_us, getattr(action, "connection", ""), answer.kind, data))
        if not isinstance(action, Read):
            self.script.append(action)
        elif answer.kind is Kind.RECEIVED:
            self.script.append(Read(action.connection, max(action.timeout, self.transport.patience)))

    def _connect(self, name: str) -> None:
        since = self.transport.now_ns()
        answer = self._perform(Open(name))
        if answer.kind is not Kind.OPENED:
            raise InvariantError(
                "others are served", f"{name} cannot connect: {answer.data.decode(errors='replace')}", "open"
            )
        self._lines[name] = self.context.symbols.protocol.link.client(self.context.symbols.codec)
        port = int(answer.data) if answer.data else None
        self.judge.connected(name, port, Window(since, self.transport.now_ns()))

    def _disconnect(self, name: str, how: str) -> None:
        since = self.transport.now_ns()
        if how == "half":
            self._perform(Shut(name, "half"))
            answer = self._perform(Read(name, self.transport.patience))
            if answer.kind not in BY_TARGET:
                raise InvariantError(
                    "a connection that asks no more is ended", f"{name}: {answer.kind}", str(answer.kind)
                )
        self._perform(Shut(name, "reset" if how == "reset" else "close"))
        del self._lines[name]
        self.judge.closed(name, Window(since, self.transport.now_ns()))

    def _ask(self, step: RequestStep, name: str, requests: tuple[Request, ...]) -> None:
        client = self._lines[name]
        try:
            data = b"".join(map(self.context.encode, requests))
        except LocalProtocolError:
            return
        self.done.append(step)
        since = self.transport.now_ns()
        answer = self._perform(Write(name, data))
        if answer.kind is not Kind.SENT:
            raise InvariantError("valid requests end no connection", f"{name}: {answer.kind}", str(answer.kind))
        for request in requests:
            client.await_reply(request)
            self.judge.asked(name, request, since)
        while self.judge.unanswered(name) is not None:
            self._read(name, self.transport.patience)

    def _settle(self) -> None:
        """Wait for the pushes that are due and check that no others come."""
        for name in self._lines:
            while self.judge.due(name) is not None:
                before = len(self.trace)
                self._read(name, self.transport.patience, due=True)
                assert len(self.trace) > before
        for name in self._lines:
            self._read(name, 0.0)
        now = self.transport.now_ns()
        _check("pushes agree with the model", self.judge.unexpected(now))

    def _read(self, name: str, timeout: float, *, due: bool = False) -> None:
        """Read what comes; with `due`, a push must come. Raises `InvariantError` if it does not."""
        request = self.judge.unanswered(name)
        answer = self._perform(Read(name, timeout))
        if answer.kind is Kind.RECEIVED:
            self._take(name, self._lines[name], answer.data)
        elif answer.kind in BY_TARGET:
            what = request.NAME if request is not None else "nothing"
            raise InvariantError(
                "valid requests end no connection", f"{name}, with {what} unanswered: {answer.kind}", what
            )
        elif due:
            _check("every push arrives", self.judge.missing(name))
        elif request is not None:
            raise InvariantError("every request is answered", f"{name}: {describe(request)}"[:LONGEST], request.NAME)

    def _take(self, name: str, client: Client, data: bytes) -> None:
        client.receive_data(data)
        until = self.transport.now_ns()
        try:
            while (event := client.next_event()) is not NEED_DATA:
                if isinstance(event, Message) and not isinstance(event, EndOfStream):
                    if self.judge.unanswered(name) in self.model.greeting() and not isinstance(event, Push):
                        self._note_ids(event)
                    _check("answers agree with the model", self.judge.heard(name, event, until))
        except RemoteProtocolError as error:
            detail = f"{name}: {error.message} in {data[:80].hex()}"
            raise InvariantError("replies are well formed", detail, str(error.code), error.clause) from None

    def _note_ids(self, reply: Message) -> None:
        for name, kind in self.context.symbols.codec.layout(type(reply)).fields:
            if isinstance(kind, Raw) and (value := getattr(reply, name)) not in self.known_ids.setdefault(
                kind.size, []
            ):
                self.known_ids[kind.size].append(value)


def _check(invariant: str, found: Disagreement | None) -> None:
    if found is not None:
        raise InvariantError(invariant, found.detail, found.shape, found.clause)
