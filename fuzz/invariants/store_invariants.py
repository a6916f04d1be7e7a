"""The steps of a stateful test, done on a server and applied to its model; engines only choose them."""

from __future__ import annotations

from wireproof.conformance.model.actions import Read, Write
from wireproof.conformance.model.trace import Kind
from wireproof.fuzz.invariants.checked_server import BY_TARGET, CheckedServer
from wireproof.fuzz.invariants.invariant_error import InvariantError
from wireproof.fuzz.store_steps import (
    AdvanceStep,
    ConnectStep,
    DisconnectStep,
    EndStep,
    HeldStep,
    PartsStep,
    RequestStep,
    RestartStep,
    Step,
    TogetherStep,
)

__all__ = ["StoreCheck"]


class StoreCheck(CheckedServer):
    """A server and its model. `do` raises `InvariantError`; steps that cannot be done are left out."""

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
            case EndStep(asked) if asked.connection in self._lines and self._is_stream(asked.connection):
                self._ask_and_end(step, asked)
            case TogetherStep(first, second) if first.connection != second.connection:
                self._ask_together(step, first, second)
            case PartsStep(asked, cut, between) if asked.connection in self._lines:
                self._send_parts(step, asked, cut, between)
            case RestartStep(is_killed):
                self._restart(step, is_killed=is_killed)
            case AdvanceStep(ns) if ns >= 0:
                self._advance(step, ns)
        self._settle()

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
        if name not in self._lines or not self._takes_again(name):
            return
        if begins_tls:
            self._secure(name)
        self._await_replies(name)

    def _wait_held(self, step: Step, name: str, ns: int) -> None:  # what waits for the client is not asked for
        if ns >= 0 and self.transport.hold(name, is_held=True):
            self._advance(step, ns)
            if self._takes_again(name):
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

    def _ask_and_end(self, step: EndStep, asked: RequestStep) -> None:
        """Send requests and the end of our side at once, or both while the client takes nothing; all is answered."""
        name, number = asked.connection, len(self.done)
        if step.is_held and not self.transport.hold(name, is_held=True):
            return
        begins_tls = self._send(asked, name, asked.requests, then="end")
        is_sent = len(self.done) > number
        self.done[number:] = [step] * is_sent
        if name not in self._lines or (step.is_held and not self._takes_again(name)):
            return
        if begins_tls:
            self._secure(name)
            self._await_replies(name)
        elif is_sent:
            self._half_closed(name)

    def _takes_again(self, name: str) -> bool:
        """Check that a held session wrote nothing, and let its client take all; return whether it is still open."""
        return self._is_quiet(name) and self.transport.hold(name, is_held=False)

    def _ask_together(self, step: TogetherStep, first: RequestStep, second: RequestStep) -> None:
        """Send requests on two connections; the server has no turn of its loop between them."""
        number, names = len(self.done), (first.connection, second.connection)
        if any(one not in self._lines or not self._is_stream(one) for one in names):
            return
        begins = [self._send(first, names[0], first.requests, then="more")]
        begins.append(names[1] in self._lines and self._send(second, names[1], second.requests))
        self.done[number:] = [step] * (len(self.done) > number)
        for name, begins_tls in zip(names, begins, strict=True):
            if begins_tls and name in self._lines:
                self._secure(name)
            self._await_replies(name)
