"""A server compared with the model of its document: every reply and push, on every connection, at every instant.

`StoreCheck` does each step on the server and applies it to the model; engines only choose steps.
"""

from __future__ import annotations

from wireproof.conformance.model.actions import Action, Answer, Open, Read, Secure, Shut, Sleep, Write
from wireproof.conformance.model.trace import Kind, Trace, TraceEvent
from wireproof.conformance.model.wording import describe
from wireproof.conformance.player.document_model import DocumentJudge
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.invariants.known_ids import note_ids
from wireproof.fuzz.invariants.spelling import spelled
from wireproof.fuzz.live.context import FuzzContext
from wireproof.fuzz.script import Restart, ScriptStep
from wireproof.fuzz.server_transports import Transport
from wireproof.fuzz.store_steps import (
    AdvanceStep,
    ConnectStep,
    DisconnectStep,
    HeldStep,
    PartsStep,
    RequestStep,
    RestartStep,
    Step,
)
from wireproof.protocols import NEED_DATA, EndOfStream, LocalProtocolError, Message, Push, RemoteProtocolError, Request
from wireproof.protocols.connection import Client
from wireproof.reference_server.model import CountingModel, Disagreement, LastingModel, LimitedModel, Window
from wireproof.reference_server.registry import has_server_model

__all__ = ["StoreCheck"]

BY_TARGET = frozenset({Kind.ENDED, Kind.RESET})
WRITTEN_NS, LONGEST = 10**9, 600  # in which a server writes what it may write later; characters of a detail


class StoreCheck:
    """A server and its model. `do` raises `InvariantError`; steps that cannot be done are left out."""

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

    def do(self, step: Step) -> None:
        """Do one step. Raises `InvariantError`."""
        match step:
            case ConnectStep(name, link) if name not in self._lines:
                self.done.append(step)
                self._connect(name, link)
            case DisconnectStep(name, how) if name in self._lines:
                self.done.append(step)
                self._disconnect(name, how)
            case RequestStep(name, requests) if name in self._lines and requests:
                self._ask(step, name, requests)
            case HeldStep(name, asked) if name in self._lines and self._is_stream(name):
                self._wait_held(step, name, asked.ns) if isinstance(asked, AdvanceStep) else self._hold(name, asked)
            case PartsStep(asked, cut, between) if asked.connection in self._lines:
                self._send_parts(step, asked, cut, between)
            case RestartStep(is_killed):
                self._restart(step, is_killed=is_killed)
            case AdvanceStep(ns) if ns >= 0:
                self._advance(step, ns)
        self._settle()

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

    def _perform(self, action: Action) -> Answer:
        if self._carried is not None and isinstance(action, Write):
            self._carried(action.connection, len(action.data))
        answer = self.transport.perform(action)
        self._keep(action, answer)
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
        since = self.transport.now_ns()
        if how == "half" and self._is_stream(name):
            self._perform(Shut(name, "half"))
            if self.model.ends_when_half_closed(name):
                self._await_end(name)
        self._perform(Shut(name, "reset" if how == "reset" else "close"))
        self._forget(name, since)

    def _await_end(self, name: str) -> None:
        """Read until the server has ended a connection. Raises `InvariantError` if it does not."""
        while (answer := self._perform(Read(name, self.transport.patience))).kind is Kind.RECEIVED:
            self._take(name, self._lines[name], answer.data)
        if answer.kind not in BY_TARGET:
            raise InvariantError("a connection that asks no more is ended", f"{name}: {answer.kind}", str(answer.kind))

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

    def _send(self, step: RequestStep, name: str, requests: tuple[Request, ...]) -> bool:
        """Send requests on a stream, as far as they may be sent now; return whether TLS begins after them."""
        written, begins_tls = self._written(name, requests)
        if not written:
            return False
        self.done.append(step)
        since = self.transport.now_ns()
        answer = self._perform(Write(name, b"".join(data for _, data in written)))
        for request, _ in written:
            self.judge.asked(name, request, since)
        if answer.kind is not Kind.SENT:
            self._end(name, str(answer.kind))
            return False
        return begins_tls

    def _await_replies(self, name: str) -> None:
        while name in self._lines and self.judge.unanswered(name) is not None:
            self._read(name, self.transport.patience)

    def _hold(self, name: str, asked: RequestStep) -> None:
        """Send requests while the client of a connection takes nothing: nothing may be written there meanwhile."""
        other = asked.connection
        if other not in self._lines or not self._is_stream(other) or not self.transport.hold(name, is_held=True):
            return
        number = len(self.done)
        begins_tls = False
        if other == name:
            begins_tls = self._send(asked, name, asked.requests)
        else:
            self._ask(asked, other, asked.requests)
        self.done[number:] = [HeldStep(name, asked)]
        if name not in self._lines or not self._is_quiet(name):
            return
        self.transport.hold(name, is_held=False)
        if begins_tls:
            self._secure(name)
        self._await_replies(name)

    def _wait_held(self, step: Step, name: str, ns: int) -> None:  # what waits for the client is not asked for
        if ns >= 0 and self.transport.hold(name, is_held=True):
            self._advance(step, ns)
            if self._is_quiet(name) and self.transport.hold(name, is_held=False):
                self._disconnect(name, "reset")

    def _is_quiet(self, name: str) -> bool:
        """Check that a held session writes nothing; return whether it is still open."""
        answer = self._perform(Read(name, 0.0))
        if answer.kind is Kind.RECEIVED:
            detail = f"{name}: {answer.data[:80].hex()} while its client takes nothing"
            raise InvariantError("a paused session writes nothing", detail, "paused")
        if answer.kind in BY_TARGET:
            self._disconnect(name, "close")
        return name in self._lines

    def _send_parts(self, step: PartsStep, asked: RequestStep, cut: int, between: RequestStep) -> None:
        """Send one request in two parts: the first is not answered, and harms no other connection."""
        name = asked.connection
        written, begins_tls = self._written(name, asked.requests[:1]) if self._is_stream(name) else ([], False)
        if not written:
            return
        ((request, data),) = written
        first = data[: cut % len(data)]
        number = len(self.done)
        since = self.transport.now_ns()
        self._perform(Write(name, first))
        answer = self._perform(Read(name, 0.0))
        if answer.kind in BY_TARGET or not self.model.expects_answers:
            self.judge.asked(name, request, since)  # a server may end as soon as it sees what is wrong
        if answer.kind is Kind.RECEIVED:
            detail = f"{name}: {answer.data[:80].hex()} to {len(first)} of {len(data)} bytes of {request.NAME}"
            raise InvariantError("a request that is not whole is not answered", detail, request.NAME)
        if answer.kind in BY_TARGET:
            self._end(name, str(answer.kind))
        if between.connection != name and between.connection in self._lines:
            self._ask(between, between.connection, between.requests)
            if self.model.expects_answers:
                self._settle()
        self.done[number:] = [step]
        if self.model.expects_answers and name in self._lines:
            self.judge.asked(name, request, self.transport.now_ns())
        if name in self._lines and self._perform(Write(name, data[len(first) :])).kind is not Kind.SENT:
            self._end(name, "reset")
        if name in self._lines and begins_tls:
            self._secure(name)
        self._await_replies(name)

    def _written(self, name: str, requests: tuple[Request, ...]) -> tuple[list[tuple[Request, bytes]], bool]:
        """Return the requests that may be sent now, with their bytes, and whether TLS begins after them.

        Where requests depend on earlier ones, those up to an illegal one or to TLS; elsewhere all or none.
        """
        client, found = self._lines[name], list[tuple[Request, bytes]]()
        try:
            if not self.context.by_state:
                found = [(one, self.context.encode(one)) for one in requests]
                for one in requests:
                    client.await_reply(one)
                return found, False
            for one in requests:
                if self._may_be_misread(name, [asked for asked, _ in found], one):
                    return found, False
                link = self.context.symbols.protocol.link_of(self._links[name])
                found.append((one, spelled(self.context.symbols.codec, link, one, client.send(one), len(self.done))))
                if self._begins_tls(name):
                    return (found, True) if not self._shared else ([], False)
        except LocalProtocolError:
            return found if self.context.by_state else [], False
        return found, False

    def _may_be_misread(self, name: str, before: list[Request], request: Request) -> bool:
        """Say whether what comes of earlier requests, which are not answered unless they fail, could answer this."""
        replies = self.context.symbols.codec.profile.replies
        is_open = (
            self.model.expects_answers and self.context.symbols.protocol.link_of(self._links[name]).answers_in_order
        )
        return is_open and bool(replies[type(request)]) and not all(replies[type(one)] for one in before)

    def _begins_tls(self, name: str) -> bool:
        """Go on inside TLS on our side, if the last request asked for it."""
        if not self.context.symbols.protocol.link_of(self._links[name]).tls:
            return False
        try:
            self._lines[name].start_tls()
        except LocalProtocolError:
            return False
        return True

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
                _check("every datagram is answered as the model says", found)

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
                _check("a connection that must end is ended", found)
        _check("pushes agree with the model", self.judge.unexpected(self.transport.now_ns()))

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
            _check("every push arrives", self.judge.missing(name))
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
            _check("every push arrives", self.judge.missing(name))
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
        _check("answers agree with the model", self.judge.received(name, message, until))


def _check(invariant: str, found: Disagreement | None) -> None:
    if found is not None:
        raise InvariantError(invariant, found.detail, found.shape, found.clause)
