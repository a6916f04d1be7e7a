"""The connections of one play: how they begin, what comes on them unasked, how they end. Sans-IO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wireproof.conformance.model.outcome import Stopped
from wireproof.conformance.model.verdict import Verdict
from wireproof.conformance.sdk.driver_protocol import DriverAnswer
from wireproof.conformance.sdk.play import play_actions as act
from wireproof.conformance.sdk.play.operation_check import byte_of, error_text, shown
from wireproof.conformance.sdk.play.operations import ActionGenerator, SdkConnection, SdkOperations
from wireproof.conformance.sdk.play.reply_script import ReplyPiece, segments
from wireproof.conformance.suite.symbols import SymbolError

__all__ = ["SdkConnections", "root"]


def root(line: str) -> str:
    """Return the connection that a line belongs to: `a` of `a.data`."""
    return line.partition(".")[0]


class SdkConnections:
    """What is open, and the steps that are about it."""

    def __init__(self, operations: SdkOperations) -> None:
        self.operations = operations
        self.held: dict[str, SdkConnection] = {}

    @property
    def under_way(self) -> bool:
        """Whether a request waits, on any connection."""
        return any(one.is_due for one in self.held.values())

    def of(self, line: str) -> SdkConnection:
        """Return the connection of a line; `SymbolError` when there is none."""
        if root(line) not in self.held:
            raise SymbolError(f"there is no connection {root(line)}; there is {', '.join(self.held) or 'none'}")
        return self.held[root(line)]

    def needed(self, line: str) -> ActionGenerator:
        """Connect unless that was done."""
        if root(line) not in self.held:
            yield from self.connect({"connect": root(line)})

    def connect(self, spec: Mapping[str, Any]) -> ActionGenerator:
        """Have the SDK connect, and wait until it says that it is unless the case opens it by hand.

        Raises `Stopped` if the SDK cannot connect again.
        """
        given = spec["connect"] if isinstance(spec["connect"], dict) else {"name": spec["connect"]}
        own = {key: value for key, value in given.items() if key not in ("name", "by_hand")}
        name, again = given["name"], spec.get("reconnect", False)
        if again and not self.operations.hello.reconnects:
            raise Stopped(Verdict.UNSUPPORTED, "an SDK that connects again", "hello says reconnects false")
        self.operations.together(self.under_way)
        held = self.held[name] = SdkConnection(name)
        by_hand = given.get("by_hand", False)
        call = self.operations.number_of_call() if by_hand else 0
        got = yield act.OpenConnection(name, again, call, by_hand, self.operations.connect_fields(own))
        if by_hand and got is None:
            held.connect_call = call
        else:
            self._hold(got)

    def connected(self, spec: Mapping[str, Any]) -> ActionGenerator:
        """Hold the report of a connection that was opened by hand: that it is, or with `fails` that it is not.

        Raises `Stopped` if the report differs, `SymbolError` if it was not opened by hand.
        """
        held = self.of(spec["connected"])
        if held.connect_call is None:
            raise SymbolError(f"{held.name} was not connected by hand")
        call, held.connect_call = held.connect_call, None
        answer = yield from self.operations.reported(call)
        if "fails" not in spec:
            self._hold(answer)
            return
        kinds = self.operations.kinds(spec)
        if answer.kind not in kinds:
            got = error_text(answer) or "the connection"
            raise Stopped(Verdict.FAIL, f"an error ({' or '.join(kinds)}) and no connection", got)
        self.operations.observed.append(f"fails: {answer.kind}")

    def _hold(self, got: Any) -> None:
        if isinstance(got, act.Died):
            self.operations.crashed(got)
        if isinstance(got, DriverAnswer) and got.error is None:
            return
        detail = error_text(got) if isinstance(got, DriverAnswer) else getattr(got, "detail", "no answer in time")
        self.operations.stuck = isinstance(got, act.Silent)
        raise Stopped(Verdict.HANG if self.operations.stuck else Verdict.FAIL, "a connection", detail)

    def secure(self, spec: Mapping[str, Any]) -> ActionGenerator:
        """Take the handshake of TLS; with `fails` the SDK must break it off.

        Raises `Stopped` if the handshake ends otherwise.
        """
        failed = yield act.AcceptTls(spec["secure"])
        if "fails" in spec:
            if not failed:
                raise Stopped(Verdict.FAIL, "a handshake of TLS that the SDK breaks off", "it was done")
            return
        if failed:
            raise Stopped(Verdict.FAIL, "a handshake of TLS", failed, byte=0)
        if "answer" in spec:
            yield from self.write(
                spec["secure"], self.operations.script.pieces(spec["answer"]), spec.get("cut", "whole")
            )

    def receive(self, spec: Mapping[str, Any]) -> ActionGenerator:
        """Expect requests that nobody told the SDK to make now, such as subscriptions that it brings back.

        Raises `Stopped` if they do not come.
        """
        requests = self.operations.script.requests(spec["receive"])
        line = self.line_of(spec.get("on", "a"), requests)
        connect_call = self.of(line).connect_call
        calls = () if connect_call is None else (connect_call,)
        expected = b"".join(self.operations.script.codec.encode(one) for one in requests)
        got = yield act.Receive(line, expected, calls, self.operations.equivalence.alike(requests, spec))
        if got.data != expected and not got.alike:
            detail = shown(got.data)
            if got.answered is not None and connect_call is not None:
                answer = yield from self.operations.reported(connect_call)
                detail += f", then it reports {error_text(answer) or 'that it is connected'}"
            raise Stopped(Verdict.FAIL, shown(expected), detail, byte=byte_of(expected, got.data))
        if "answer" in spec:
            yield from self.write(line, self.operations.script.pieces(spec["answer"]), spec.get("cut", "whole"))
        if connect_call is None:
            self.operations.observed.append("they come back")

    def line_of(self, line: str, requests: Sequence[Any]) -> str:
        """Return the line that requests belong on, for a line or the name of a connection.

        Raises `SymbolError` for requests of several links.
        """
        links = {self.operations.spoken.link_for(type(one)) for one in requests}
        if len(links) != 1:
            raise SymbolError("expected requests of one link")
        (link,) = links
        return f"{root(line)}.{link}" if link else root(line)

    def write(self, line: str, pieces: Sequence[ReplyPiece], cut: Any) -> ActionGenerator:
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

    def leave(self, spec: Mapping[str, Any]) -> ActionGenerator:
        """Have the SDK close, and expect that it does: what waits fails, and the connection ends.

        Raises `Stopped` if it does not.
        """
        name = spec["leave"]
        self.operations.together(self.under_way)
        held = self.held.pop(name)
        call = yield from self.operations.begin("close", name, {})
        answer = yield from self.operations.reported(call)
        if answer.error is not None:
            raise Stopped(Verdict.FAIL, "the connection closed", error_text(answer))
        for one in held.lines.values():
            yield from self.operations.failing(one, spec)
        yield from self._gone(name)

    def ended(self, spec: Mapping[str, Any]) -> ActionGenerator:
        """Expect that the SDK ends a connection, and with `fails` that what waits on its lines ends so."""
        yield from self._gone(spec["ended"])
        if "fails" in spec:
            for one in self.of(spec["ended"]).lines.values():
                yield from self.operations.failing(one, spec)

    def _gone(self, line: str) -> ActionGenerator:
        seconds = self.operations.patience or self.operations.timeout
        got = yield act.Drain(line, seconds, parting=True)
        if got.data:
            raise Stopped(Verdict.FAIL, "nothing more, and the end of the connection", f"it sent {shown(got.data)}")
        if not got.ended:
            raise Stopped(Verdict.FAIL, "the end of the connection", f"it was open {seconds:g} s later")

    def end(self, line: str, spec: Mapping[str, Any]) -> ActionGenerator:
        """End a line from our side; with `fails` what waits on any line of its connection ends so."""
        yield act.End(line, reset="reset" in spec)
        held = self.of(line)
        for one in held.lines.values() if "fails" in spec else [held.in_flight(line)]:
            yield from self.operations.failing(one, spec)

    def drop(self, spec: Mapping[str, Any]) -> ActionGenerator:
        """Leave aside what came on a line: nothing can be said about it."""
        yield act.Drain(spec["drop"], 0)

    def accept(self, spec: Mapping[str, Any]) -> ActionGenerator:
        """Expect that the SDK connects once more. Raises `Stopped` if it does not."""
        if not (yield act.Accept(spec["accept"])):
            raise Stopped(Verdict.FAIL, "another connection of the SDK", f"none in {self.operations.timeout:g} s")
        self.operations.observed.append("it connects again")

    def pings(self, spec: Mapping[str, Any]) -> ActionGenerator:
        """Expect what keeps a line alive, `times` in turn, each `within` so many seconds of the one before.

        Raises `Stopped` if one is late.
        """
        asked = spec["pings"]
        line, seconds = asked["on"], self.operations.script.number(asked["within"], "within")
        holds = asked.get("held", False)
        self.operations.together(holds)
        yield from self.needed(line)
        for number in range(int(self.operations.script.number(asked.get("times", 1), "times"))):
            if not (yield act.Ping(line, seconds, holds)):
                raise Stopped(
                    Verdict.FAIL, f"a ping within {seconds:g} s of the last", f"none, after {number} that came"
                )

    def only(self, spec: Mapping[str, Any]) -> ActionGenerator:
        """Expect that no more than one connection was made for a line. Raises `Stopped` if there were more."""
        count = yield act.CountConnections(spec["only"])
        if count > 1:
            raise Stopped(Verdict.FAIL, "one connection", f"{count} of them")
