"""A server compared with the model of its document: every reply and push, on every connection, at every instant."""

from __future__ import annotations

from wireproof.conformance.model.actions import Action, Answer, Open, Read, Secure, Shut, Sleep, Write
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.model.wording import describe
from wireproof.conformance.player.document_model import DocumentJudge
from wireproof.fuzz.invariants.invariant_error import InvariantError, agree
from wireproof.fuzz.invariants.known_ids import note_ids
from wireproof.fuzz.invariants.written_requests import RequestWriter, Written
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.script import Restart, ScriptStep
from wireproof.fuzz.server_transports import Then, Transport
from wireproof.fuzz.store_steps import (
    RequestStep,
    Step,
)
from wireproof.protocols import NEED_DATA, EndOfStream, LocalProtocolError, Message, Push, RemoteProtocolError, Request
from wireproof.protocols.connection import Client
from wireproof.reference_server.model import CountingModel, LastingModel, LimitedModel, Window
from wireproof.reference_server.registry import has_server_model

__all__ = ["BY_TARGET", "CheckedServer"]

BY_TARGET = frozenset({Kind.ENDED, Kind.RESET})
WRITTEN_NS, LONGEST = 10**9, 600  # in which a server writes what it may write later; characters of a detail


class CheckedServer:
    """A server and its model, each action on both. Methods raise `InvariantError`."""

    def __init__(self, context: FuzzContext, transport: Transport, *, tolerance_ns: int, shared: bool) -> None:
        self.context, self.transport, self._shared = context, transport, shared
        self.judge = DocumentJudge(
            context.name,
            profile=context.profile,
            variant=context.variant,
            tolerance_ns=tolerance_ns,
            shared=shared or not has_server_model(context.name, profile=context.profile, variant=context.variant),
            options=transport.options,
        )
        self.model = self.judge.model
        self.known_ids: dict[int, list[bytes]] = {}
        """Size in bytes -> ids of that size in replies to the greeting; requests may name them."""
        self.done, self.script, self.trace = list[Step](), list[ScriptStep](), Trace()
        self._lines, self._began = dict[str, Client](), transport.now_ns()
        self._links: dict[str, str] = {}
        """Connection -> the name of its link; "" is the default link."""
        if isinstance(self.model, LimitedModel) and transport.most_subscriptions is not None:
            self.model.limited(transport.most_subscriptions)
        self._writer = RequestWriter(context, self.model, is_shared=shared)
        self._carried = self.model.carried if isinstance(self.model, CountingModel) else None

    @property
    def connections(self) -> list[str]:
        """The open connections, oldest first."""
        return list(self._lines)

    def link_of(self, name: str) -> str:
        """Return the name of the link of an open connection."""
        return self._links[name]

    def client_of(self, name: str) -> Client:
        """Return our side of an open connection."""
        return self._lines[name]

    @property
    def elapsed_ns(self) -> int:
        """Nanoseconds since the beginning."""
        return self.transport.now_ns() - self._began

    def _advance(self, step: Step, ns: int) -> None:
        self.done.append(step)
        self.transport.advance(ns)
        self._keep(Sleep(ns / 1e9), Answer(Kind.WAITED, 0.0))

    def _restart(self, step: Step, *, is_killed: bool) -> None:
        """Start the server again once it has written all, or, killed, at once where all must be kept by then.

        What may be lost before is for `wireproof durability` to say.
        """
        is_kept = isinstance(self.model, LastingModel) and self.model.must_be_kept()
        if not (is_killed and is_kept):
            self.transport.advance(WRITTEN_NS)
            self._settle()
        if isinstance(self.model, LastingModel) and self.transport.restart(is_killed=is_killed):
            self.done.append(step)
            self.script.append(Restart(is_killed))
            for name in self.connections:
                self.trace.append(TraceEvent(self.elapsed_ns // 1000, name, Kind.CLOSED))
                self._forget(name, self.transport.now_ns())
            self.model.restarted(Window(self.transport.now_ns(), self.transport.now_ns()))

    def _perform(self, action: Action, *, then: Then = "") -> Answer:
        """Perform an action; `then`: see `Transport.perform`."""
        if self._carried is not None and isinstance(action, Write):
            self._carried(action.connection, len(action.data))
        answer = self.transport.perform(action, then=then)
        self._keep(action, answer)
        if then == "end" and isinstance(action, Write):
            self._keep(Shut(action.connection, "half"), Answer(Kind.HALF_CLOSED, 0.0))
        return answer

    def _keep(self, action: Action, answer: Answer) -> None:
        if not (isinstance(action, Read) and answer.kind is Kind.SILENT):
            data = action.data if isinstance(action, Write) and answer.kind is Kind.SENT else answer.data
            self.trace.append(TraceEvent(self.elapsed_ns // 1000, getattr(action, "connection", ""), answer.kind, data))
        if not isinstance(action, Read):
            self.script.append(action)
        elif answer.kind is Kind.RECEIVED:
            self.script.append(Read(action.connection, max(action.timeout, self.transport.patience)))

    def _connect(self, name: str, link: str) -> None:
        since = self.transport.now_ns()
        kind = self.context.symbols.protocol.link_of(link)
        answer = self._perform(Open(name, link, kind.transport, listener=kind.listener))
        if answer.kind is not Kind.OPENED:
            raise InvariantError(
                "others are served", f"{name} cannot connect: {answer.data.decode(errors='replace')}", "open"
            )
        self._lines[name], self._links[name] = kind.client(self.context.symbols.codec), link
        port = int(answer.data) if answer.data else None
        self.judge.connected(name, port, Window(since, self.transport.now_ns()), link)

    def _disconnect(self, name: str, how: str) -> None:
        if how == "half" and self._is_stream(name):
            self._perform(Shut(name, "half"))
            self._half_closed(name)
            return
        since = self.transport.now_ns()
        self._perform(Shut(name, "reset" if how == "reset" else "close"))
        self._forget(name, since)

    def _half_closed(self, name: str) -> None:
        """Take what comes after our side has ended, and the end; then close."""
        since = self.transport.now_ns()
        self.model.half_closed(name)
        self._await_replies(name)
        if name in self._lines and self.model.ends_when_half_closed(name):
            self._await_end(name)
        if name in self._lines:
            self._perform(Shut(name, "close"))
            self._forget(name, since)

    def _await_end(self, name: str) -> None:
        """Read until the server has ended a connection. Raises `InvariantError` if it does not, or owes something."""
        while (answer := self._perform(Read(name, self.transport.patience))).kind is Kind.RECEIVED:
            self._take(name, self._lines[name], answer.data)
        if answer.kind not in BY_TARGET:
            raise InvariantError("a connection that asks no more is ended", f"{name}: {answer.kind}", str(answer.kind))
        if self.judge.unanswered(name) is not None or self.judge.due(name) is not None:
            self._end(name, str(answer.kind))

    def _forget(self, name: str, since: int) -> None:
        del self._lines[name], self._links[name]
        self.judge.closed(name, Window(since, self.transport.now_ns()))

    def _is_stream(self, name: str) -> bool:
        return self.context.symbols.protocol.link_of(self._links[name]).transport == "stream"

    def _ask(self, step: RequestStep, name: str, requests: tuple[Request, ...]) -> None:
        if not self._is_stream(name):
            self._send_datagrams(step, name, requests)
            return
        if self._send(step, name, requests):
            self._secure(name)
        self._await_replies(name)

    def _secure(self, name: str) -> None:
        answer = self._perform(Secure(name, self.transport.patience))
        if answer.kind is not Kind.SECURED:
            self._end(name, str(answer.kind))

    def _send(self, step: RequestStep, name: str, requests: tuple[Request, ...], *, then: Then = "") -> bool:
        """Send requests on a stream, as far as they may be sent now; return whether TLS begins after them.

        `then`: see `Transport.perform`; our side does not end where TLS begins.
        """
        written, begins_tls = self._written(name, requests)
        if not written:
            return False
        self.done.append(step)
        since = self.transport.now_ns()
        if begins_tls and then == "end":
            then = ""
        answer = self._perform(Write(name, b"".join(data for _, data in written)), then=then)
        for request, _ in written:
            self.judge.asked(name, request, since)
        if answer.kind is not Kind.SENT:
            self._end(name, str(answer.kind))
            return False
        return begins_tls

    def _await_replies(self, name: str) -> None:
        while name in self._lines and self.judge.unanswered(name) is not None:
            self._read(name, self.transport.patience)

    def _written(self, name: str, requests: tuple[Request, ...]) -> tuple[Written, bool]:
        return self._writer.written(self._lines[name], self._links[name], requests, len(self.done))

    def _send_datagrams(self, step: RequestStep, name: str, requests: tuple[Request, ...]) -> None:
        self.done.append(step)
        for request in requests:
            since = self.transport.now_ns()
            try:
                data = self._lines[name].send(request)
            except LocalProtocolError:
                continue
            self._perform(Write(name, data))
            self.judge.asked(name, request, since)
            if self._read(name, 0.0, overdue=False) is not Kind.RECEIVED:
                found = self.judge.unanswered_datagram(name, self.transport.now_ns())
                agree("every datagram is answered as the model says", found)

    def _settle(self) -> None:
        """Wait for the pushes that are due and check that no others come, and that what must end has ended."""
        self.judge.passed(self.transport.now_ns())
        for name in self.connections:
            while name in self._lines and self.judge.due(name) is not None:
                before = len(self.trace)
                self._read(name, self.transport.patience, due=True)
                assert len(self.trace) > before
        for name in self.connections:
            while name in self._lines and self._read(name, 0.0) is Kind.RECEIVED:
                pass
            if name in self._lines and self.judge.must_end(name, self.transport.now_ns()) is not None:
                self._read(name, self.transport.patience)
            if name in self._lines:
                found = self.judge.must_end(name, self.transport.now_ns())
                agree("a connection that must end is ended", found)
        agree("pushes agree with the model", self.judge.unexpected(self.transport.now_ns()))

    def _read(self, name: str, timeout: float, *, due: bool = False, overdue: bool = True) -> Kind:
        """Read what comes and return its kind; with `due`, a push must come, with `overdue` a reply that is pending.

        Raises `InvariantError`.
        """
        request = self.judge.unanswered(name)
        answer = self._perform(Read(name, timeout))
        if answer.kind is Kind.RECEIVED:
            self._take(name, self._lines[name], answer.data)
        elif answer.kind in BY_TARGET:
            self._end(name, str(answer.kind))
        elif due:
            agree("every push arrives", self.judge.missing(name))
        elif request is not None and overdue:
            raise InvariantError("every request is answered", f"{name}: {describe(request)}"[:LONGEST], request.NAME)
        return answer.kind

    def _end(self, name: str, how: str) -> None:
        """Take that the server ended a connection. Raises `InvariantError` if it may not."""
        since = self.transport.now_ns()
        found = self.judge.ended(name, since)
        if found is not None:
            detail = f"{found.detail}: {how}"
            raise InvariantError("valid requests end no connection", detail, found.shape, found.clause)
        if self.judge.due(name) is not None:
            agree("every push arrives", self.judge.missing(name))
        self._perform(Shut(name, "close"))
        self._forget(name, since)

    def _take(self, name: str, client: Client, data: bytes) -> None:
        client.receive_data(data)
        until = self.transport.now_ns()
        try:
            while (event := client.next_event()) is not NEED_DATA:
                if isinstance(event, Message) and not isinstance(event, EndOfStream):
                    self._receive(name, event, until)
        except RemoteProtocolError as error:
            detail = f"{name}: {error.message} in {data[:80].hex()}"
            raise InvariantError("replies are well formed", detail, str(error.code), error.clause) from None

    def _receive(self, name: str, message: Message, until: int) -> None:
        request = self.judge.unanswered(name)
        if not (isinstance(message, Push) or self.model.expects_answers):
            if request is None:
                raise InvariantError("a reply answers a request", f"{name}: {describe(message)}"[:LONGEST], "surplus")
            if type(request) in {type(one) for one in self.model.greeting(self._links[name])}:
                note_ids(self.known_ids, self.context.symbols.codec.layout(type(message)), message)
        agree("answers agree with the model", self.judge.received(name, message, until))
