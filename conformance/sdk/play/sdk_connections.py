"""The connections of one play: how they begin, what comes on them unasked, how they end. Sans-IO."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from wireproof.conformance.model.outcome import Stopped
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.sdk.driver_protocol import DriverAnswer, FailureKind
from wireproof.conformance.sdk.play import play_actions as act
from wireproof.conformance.sdk.play.in_flight import SdkConnection
from wireproof.conformance.sdk.play.operation_check import error_text
from wireproof.conformance.sdk.play.operations import ActionGenerator, SdkOperations
from wireproof.conformance.sdk.play.reply_script import ReplyPiece, segments
from wireproof.conformance.sdk.shown_bytes import first_difference, shown
from wireproof.conformance.suite.sdk_steps import (
    AcceptStep,
    CloseStep,
    ConnectedStep,
    Connection,
    Cut,
    DropStep,
    EndedStep,
    Fails,
    LeaveStep,
    OnlyStep,
    OpenConnectionStep,
    PingsStep,
    ReceiveStep,
    ResetStep,
    SecureStep,
)
from wireproof.conformance.suite.symbols import SymbolError
from wireproof.protocols import Message
from wireproof.protocols.messages import Request

__all__ = ["SdkConnections", "root"]


BeginningStep = OpenConnectionStep | ConnectedStep | SecureStep | ReceiveStep | AcceptStep
LaterStep = PingsStep | OnlyStep | DropStep | LeaveStep | EndedStep | CloseStep | ResetStep


NOTICED = 0.05
"""Seconds in which an SDK notices that a connection was lost."""


def root(line: str) -> str:
    """Return the connection that a line belongs to: `a` of `a.data`."""
    return line.partition(".")[0]


class SdkConnections:
    """What is open, and the steps that are about it."""

    def __init__(self, operations: SdkOperations) -> None:
        self.operations = operations
        self.held: dict[str, SdkConnection] = {}
        self.is_away = False
        """Whether a connection was lost that the SDK makes again with its next request."""

    @property
    def under_way(self) -> bool:
        """Whether a request waits, on any connection."""
        return any(one.is_due for one in self.held.values())

    def of(self, line: str) -> SdkConnection:
        """Return the connection of a line; `SymbolError` when there is none."""
        if root(line) not in self.held:
            raise SymbolError(f"there is no connection {root(line)}; there is {', '.join(self.held) or 'none'}")
        return self.held[root(line)]

    def begin(self, step: BeginningStep) -> ActionGenerator:
        """Play a step about how a connection begins. Raises `Stopped` where something is not as it should be."""
        match step:
            case OpenConnectionStep():
                yield from self.connect(step)
            case ConnectedStep():
                yield from self.connected(step)
            case SecureStep():
                yield from self.secure(step)
            case ReceiveStep():
                yield from self.receive(step)
            case AcceptStep():
                yield from self.accept(step)
            case _:
                assert_never(step)

    def keep(self, step: LaterStep) -> ActionGenerator:
        """Play a step about a connection that is there. Raises `Stopped` where something is not as it should be."""
        match step:
            case PingsStep():
                yield from self.pings(step)
            case OnlyStep():
                yield from self.only(step)
            case DropStep():
                yield from self.drop(step)
            case LeaveStep():
                yield from self.leave(step)
            case EndedStep():
                yield from self.ended(step)
            case CloseStep():
                yield from self.end(step.close, step.fails, reset=False)
            case ResetStep():
                yield from self.end(step.reset, step.fails, reset=True)
            case _:
                assert_never(step)

    def needed(self, line: str) -> ActionGenerator:
        """Connect unless that was done."""
        if root(line) not in self.held:
            yield from self.connect(OpenConnectionStep(root(line)))

    def connect(self, step: OpenConnectionStep) -> ActionGenerator:
        """Have the SDK connect, and wait until it says that it is unless the case opens it by hand.

        Raises `Stopped` if the SDK cannot connect again.
        """
        given = step.connect if isinstance(step.connect, Connection) else Connection(step.connect)
        name, by_hand, own = given.name, given.by_hand, self.operations.connect_fields(given.fields)
        self.operations.begun = set() if by_hand else set(self.operations.spoken.sdk.once)
        if step.reconnect and not self.operations.hello.reconnects:
            raise Stopped(Verdict.UNSUPPORTED, "an SDK that connects again", "hello says reconnects false")
        self.operations.together(self.under_way)
        held = self.held[name] = SdkConnection(name)
        call = self.operations.number_of_call() if by_hand else 0
        got = yield from act.asked(act.OpenConnection(name, step.reconnect, call, by_hand, own))
        if by_hand and got is None:
            held.connect_call = call
        else:
            self._hold(got)

    def connected(self, step: ConnectedStep) -> ActionGenerator:
        """Expect the report of a connection that was opened by hand: that it is, or with `fails` that it is not.

        Raises `Stopped` if the report differs, `SymbolError` if it was not opened by hand.
        """
        held = self.of(step.connected)
        if held.connect_call is None:
            raise SymbolError(f"{held.name} was not connected by hand")
        call, held.connect_call = held.connect_call, None
        answer = yield from self.operations.reported(call)
        if step.fails is None:
            self._hold(answer)
            return
        kinds = self.operations.kinds(step.fails)
        if answer.kind not in kinds:
            got = error_text(answer) or "the connection"
            raise Stopped(Verdict.FAIL, f"an error ({' or '.join(kinds)}) and no connection", got)
        self.operations.observed.append(f"fails: {answer.kind}")

    def _hold(self, got: act.Reported | None) -> None:
        if isinstance(got, act.Died):
            self.operations.crashed(got)
        if isinstance(got, DriverAnswer) and got.error is None:
            return
        detail = error_text(got) if isinstance(got, DriverAnswer) else getattr(got, "detail", "no answer in time")
        self.operations.stuck = isinstance(got, act.Silent)
        raise Stopped(Verdict.HANG if self.operations.stuck else Verdict.FAIL, "a connection", detail)

    def secure(self, step: SecureStep) -> ActionGenerator:
        """Take the handshake of TLS; with `fails` the SDK must break it off.

        Raises `Stopped` if the handshake ends otherwise.
        """
        failed = yield from act.asked(act.AcceptTls(step.secure))
        if step.fails is not None:
            if not failed:
                raise Stopped(Verdict.FAIL, "a handshake of TLS that the SDK breaks off", "it was done")
            return
        if failed:
            raise Stopped(Verdict.FAIL, "a handshake of TLS", failed, byte=0)
        if step.answer is not None:
            yield from self.write(step.secure, self.operations.script.pieces(step.answer), step.cut)

    def receive(self, step: ReceiveStep) -> ActionGenerator:
        """Expect requests that nobody asked the SDK to make now, such as subscriptions that it brings back.

        Raises `Stopped` if they do not come.
        """
        if self.is_away:
            detail = "hello says reconnects_lazily"
            raise Stopped(Verdict.UNSUPPORTED, "an SDK that connects again before it is asked for something", detail)
        if step.any_order:
            yield from self._receive_each(step)
            return
        requests = self.operations.script.requests(step.receive)
        line = self.line_of(step.on, requests)
        connect_call = self.of(line).connect_call
        calls = () if connect_call is None else (connect_call,)
        expected = b"".join(self.operations.script.codec.encode(one) for one in requests)
        got = yield from act.asked(
            act.Receive(line, expected, calls, self.operations.equivalence.alike(requests, step.ignore))
        )
        if got.data != expected and not got.alike:
            at = first_difference(expected, got.data)
            detail = shown(got.data, at)
            self.operations.began_again(got.messages, requests)
            self.operations.sent_otherwise(step, requests, got, at, ended=expected.startswith(got.data))
            if got.answered is not None and connect_call is not None:
                answer = yield from self.operations.reported(connect_call)
                detail += f", then it reports {error_text(answer) or 'that it is connected'}"
            raise Stopped(Verdict.FAIL, shown(expected, at), detail, byte=at)
        self.operations.came(step, requests, got.messages)
        if step.answer is not None:
            yield from self.write(line, self.operations.script.pieces(step.answer), step.cut)
        if connect_call is None:
            self.operations.observed.append("they come back")

    def _receive_each(self, step: ReceiveStep) -> ActionGenerator:
        """Expect requests in any order, each of which gets the answer when it comes; `Stopped` where another comes."""
        requests = self.operations.script.requests(step.receive)
        line, equivalence = self.line_of(step.on, requests), self.operations.equivalence
        left = every = equivalence.apart(requests)
        while left:
            expected = left

            def alike(messages: Sequence[Message], expected: Sequence[Message] = expected) -> bool | None:
                return None if not messages else equivalence.without(expected, messages) is not None

            got = yield from act.asked(act.Receive(line, b"", (), alike, is_part=True))
            if step.if_any and not got.data and left == every:
                raise Stopped(Verdict.UNSUPPORTED, "an SDK that asks again on a new connection", "it sent nothing")
            rest = equivalence.without(left, got.messages) if got.alike else None
            if rest is None:
                wanted = self.operations.script.codec.encode(left[0])
                at = first_difference(wanted, got.data)
                first = [one for one in left if isinstance(one, Request)]
                self.operations.sent_otherwise(step, first, got, at, ended=wanted.startswith(got.data))
                raise Stopped(Verdict.FAIL, shown(wanted, at), shown(got.data, at), byte=at)
            left = rest
            for _ in got.messages:
                yield from self.write(line, self.operations.script.pieces(step.answer or ()), step.cut)
        self.operations.observed.append("they come back")

    def line_of(self, line: str, requests: Sequence[Request]) -> str:
        """Return the line that requests belong on, for a line or the name of a connection.

        Raises `SymbolError` for requests of several links.
        """
        links = {self.operations.spoken.link_for(type(one)) for one in requests}
        if len(links) != 1:
            raise SymbolError("expected requests of one link")
        (link,) = links
        return f"{root(line)}.{link}" if link else root(line)

    def write(self, line: str, pieces: Sequence[ReplyPiece], cut: Cut) -> ActionGenerator:
        """Write on a line, pushes on the one that is theirs."""
        link = self.operations.spoken.push_link
        pushing = f"{root(line)}.{link}" if link else root(line)
        run: list[ReplyPiece] = []
        at = line
        for one in [*pieces, ReplyPiece(pause=0.0)]:
            mine = pushing if one.is_pushed else line
            goes_on = one.pause is None and not one.end
            if run and (not goes_on or mine != at):
                yield act.SendBytes(
                    at, segments(run, "apart" if self._in_datagrams(at) else self.operations.script.cut(cut))
                )
                run = []
            at = mine
            if goes_on:
                run.append(one)
            elif one.end:
                yield act.End(line, reset=one.end == "reset")
            elif one.pause:
                yield act.LetTimePass(one.pause)

    def _in_datagrams(self, line: str) -> bool:
        return self.operations.spoken.link_of(line.partition(".")[2]).transport == "datagram"

    def leave(self, step: LeaveStep) -> ActionGenerator:
        """Have the SDK close, and expect that it does: what waits fails, and the connection ends.

        Raises `Stopped` if it does not; of an SDK that closes nothing nothing is known.
        """
        name = step.leave
        self.operations.together(self.under_way)
        held = self.held.pop(name)
        call = yield from self.operations.begin("close", name, {})
        answer = yield from self.operations.reported(call)
        if answer.error is not None:
            unable = answer.kind is FailureKind.UNSUPPORTED
            raise Stopped(Verdict.UNSUPPORTED if unable else Verdict.FAIL, "the connection closed", error_text(answer))
        for one in held.lines.values():
            yield from self.operations.failing(one, step.fails)
        yield from self._gone(name)

    def ended(self, step: EndedStep) -> ActionGenerator:
        """Expect that the SDK ends a connection, and with `fails` that what waits on its lines ends so."""
        yield from self._gone(step.ended)
        if step.fails is not None:
            for one in self.of(step.ended).lines.values():
                yield from self.operations.failing(one, step.fails)

    def _gone(self, line: str) -> ActionGenerator:
        seconds = self.operations.patience or self.operations.timeout
        got = yield from act.asked(act.Drain(line, seconds, parting=True))
        if got.data:
            self.operations.began_again(got.messages)
            raise Stopped(Verdict.FAIL, "nothing more, and the end of the connection", f"it sent {shown(got.data)}")
        if not got.ended:
            raise Stopped(Verdict.FAIL, "the end of the connection", f"it was open {seconds:g} s later")

    def end(self, line: str, fails: Fails | None, *, reset: bool) -> ActionGenerator:
        """End a line from our side; with `fails` what waits on any line of its connection ends so."""
        yield act.End(line, reset=reset)
        held = self.of(line)
        for one in held.lines.values() if fails is not None else [held.in_flight(line)]:
            yield from self.operations.failing(one, fails)

    def drop(self, step: DropStep) -> ActionGenerator:
        """Leave aside what came on a line: it is not judged."""
        yield act.Drain(step.drop, 0)

    def accept(self, step: AcceptStep) -> ActionGenerator:
        """Expect that the SDK connects once more. Raises `Stopped` if it does not.

        One that does so with its next request is expected to when it is asked for something.
        """
        if self.operations.hello.reconnects_lazily:
            self.is_away = True
            yield act.LetTimePass(NOTICED)
            return
        if not (yield from act.asked(act.Accept(step.accept))):
            detail = f"none in {self.operations.timeout:g} s; hello does not say reconnects_lazily"
            raise Stopped(Verdict.FAIL, "another connection of the SDK", detail)
        self.operations.observed.append("it connects again")

    def pings(self, step: PingsStep) -> ActionGenerator:
        """Expect what keeps a line alive, `times` in turn, each `within` so many seconds of the one before.

        Raises `Stopped` if one is late.
        """
        line, holds = step.pings.on, step.pings.held
        seconds = self.operations.script.number(step.pings.within, "within")
        self.operations.together(holds)
        yield from self.needed(line)
        for number in range(step.pings.times):
            if not (yield from act.asked(act.Ping(line, seconds, holds))):
                raise Stopped(
                    Verdict.FAIL, f"a ping within {seconds:g} s of the last", f"none, after {number} that came"
                )

    def only(self, step: OnlyStep) -> ActionGenerator:
        """Expect that no more than one connection was made for a line. Raises `Stopped` if there were more."""
        count = yield from act.asked(act.CountConnections(step.only))
        if count > 1:
            raise Stopped(Verdict.FAIL, "one connection", f"{count} of them")
