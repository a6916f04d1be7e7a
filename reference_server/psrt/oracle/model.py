"""The model of the whole server: follows connections and time, and judges replies, pushes and ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wireproof.protocols.messages import Message, Request
from wireproof.protocols.profile import Profile
from wireproof.protocols.psrt.replies import Beacon, PushedMessage, Token
from wireproof.protocols.psrt.requests import Attach, Datagram, DataGreeting, Greeting, Login, Sealed
from wireproof.reference_server.model import Disagreement, Window
from wireproof.reference_server.options import chosen
from wireproof.reference_server.psrt.options import OPTIONS
from wireproof.reference_server.psrt.oracle.accounts import account_book
from wireproof.reference_server.psrt.oracle.datagrams import Datagrams
from wireproof.reference_server.psrt.oracle.lines import BEACON, Allowed, Line
from wireproof.reference_server.psrt.oracle.requests import ANY_TOKEN, Requests

__all__ = ["DocumentModel"]

CONTROL, DATA, DATAGRAM = "control", "data", "datagram"
USUAL_TIMEOUT = 3
"""TIMEOUT_SEC of a greeting's token."""


class DocumentModel:
    """The model of a whole server (`wireproof.reference_server.model.ServerModel`).

    Times are compared within `tolerance_ns`; with a tolerance, beacons are not judged. With `shared`, others may use
    the server, and what the document only recommends is not required.
    """

    expects_answers = False
    settles_by_request = False
    settings_of_cases = frozenset({one.name for one in OPTIONS})

    def __init__(
        self,
        profile: Profile,
        variant: str,
        *,
        tolerance_ns: int,
        shared: bool,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """`options` are those of the server. Raises ValueError for bad ones, `OSError` for files that are missing."""
        chosen_options = chosen("psrt", OPTIONS, options or {})
        self._timeout = round(chosen_options["timeout"] * 1e9)
        self._tolerance, self._shared = tolerance_ns, shared
        self._is_released = profile.name != "1"
        accounts = account_book(chosen_options)
        self._requests = Requests(chosen_options, accounts, self._is_released, is_strict=not shared)
        self._datagrams = Datagrams(self._requests)
        self._lines: dict[str, Line] = {}
        self._tokens: set[bytes] = set()
        """All tokens that were ever given."""

    def greeting(self, link: str = "") -> tuple[Request, ...]:
        """Return the first requests on a link; on a data socket with the token of the newest client without one."""
        if link == DATA:
            free = [token for token, client in self._requests.clients.items() if client.data is None]
            return (DataGreeting(0), Attach(free[-1] if free else bytes(32), USUAL_TIMEOUT))
        return () if link == DATAGRAM else (Greeting(0), Login(b"", b""))

    def shares(self, is_ours: Callable[[bytes], bool]) -> None:
        """Report which names nobody else has used: nothing outlives the connections of a client, so all are free."""

    def forgets(self, request: Request | None) -> bool:
        """Report an answer or a push that is known to be wrong; return False: the rest cannot be judged."""
        return False

    def connect(self, connection: str, at: Window, port: int | None, link: str = "") -> None:
        """Report a new connection."""
        self.passed(at)
        self._lines[connection] = Line(connection, link or CONTROL, at)

    def disconnect(self, connection: str, at: Window) -> None:
        """Report that the client ended a connection, or both sides did."""
        self.passed(at)
        line = self._lines.pop(connection)
        client = line.client
        if client is not None and line is client.control:
            self._requests.close_client(client)
        elif client is not None and client.data is line:
            client.data, client.may_be_spent = None, self._is_released

    def sent(self, connection: str, request: Request) -> None:
        """Report a request when it is written; nothing follows before it is answered."""

    def passed(self, at: Window) -> None:
        """Report that time has passed: beacons become due, and silent control sockets end."""
        self._requests.now = at.until
        for line in self._lines.values():
            if line.link != DATAGRAM and not line.interval and not line.ending and self._is_late(line, at):
                self._beacons_of(line)
                line.ending = "it asked for nothing in time"
                if line.client is not None:
                    self._requests.close_client(line.client)
        for line in self._lines.values():
            self._expect_beacons(line, at.until)

    def _is_late(self, line: Line, at: Window) -> bool:
        return bool(at.since >= line.last_input.until + self._timeout + self._tolerance)

    def _beacons_of(self, line: Line) -> None:
        """Expect the beacons up to the instant at which a control socket ends for its silence."""
        data = line.client.data if line.client is not None else None
        if data is not None:
            end = line.last_input.until + self._timeout
            self._expect_beacons(data, end - 1)
            self._expect_beacons(data, end, is_certain=False)

    def _expect_beacons(self, line: Line, until: int, *, is_certain: bool = True) -> None:
        if self._tolerance or not line.interval or line.ending:
            return
        while (due := self._next_beacon(line)) <= until:
            line.expect(BEACON, due, is_certain=is_certain)
            line.spoken = due

    def _next_beacon(self, line: Line) -> int:
        """Return when the next beacon is due: after the silence, or on a tick of the released server (P17)."""
        silent = line.spoken + line.interval
        if not self._is_released:
            return silent
        return line.attached + -(-(silent - line.attached) // line.interval) * line.interval

    def answered(self, connection: str, request: Request, reply: Message | None, at: Window) -> Disagreement | None:
        """Judge the reply to the oldest pending request of a connection; None for a datagram that got none."""
        line = self._lines[connection]
        self.passed(at)
        allowed = self._allowed(line, request)
        one = next((one for one in allowed if self._is_like(one.reply, reply)), None)
        if one is None:
            wanted = " or ".join(repr(one.reply) if one.reply is not None else "no reply" for one in allowed)
            shape = f"{request.NAME} {getattr(allowed[0].reply, 'code', '')} {getattr(reply, 'code', '')}"
            clause = self._requests.clause_of_answer(request, reply, allowed[0].clause)
            return Disagreement(f"expected {wanted}", shape, clause)
        one.effect()
        if isinstance(reply, Token):
            self._tokens.add(reply.token)
            assert line.client is not None
            line.client.token = reply.token
            self._requests.clients[reply.token] = line.client
        line.last_input = at
        return None

    def _allowed(self, line: Line, request: Request) -> list[Allowed]:
        if isinstance(request, Datagram | Sealed):
            return self._datagrams.allowed(request)
        return self._requests.allowed(line, request)

    def _is_like(self, allowed: Message | None, reply: Message | None) -> bool:
        if allowed is ANY_TOKEN:
            return isinstance(reply, Token) and reply.token not in self._tokens
        return allowed == reply

    def pushed(self, connection: str, push: Message) -> None:
        """Report a push."""
        if not (isinstance(push, Beacon) and self._tolerance):
            self._lines[connection].came(push)

    def due_message(self, connection: str) -> str | None:
        """Return a description of the first push that must still arrive; None if there is none."""
        certain = (one.push for one in self._lines[connection].due if one.is_certain)
        return next((f"{push!r}"[:200] for push in certain), None)

    def due_clause(self, connection: str) -> str:
        """Return the clause of the push that must come first, and of how it differs from one that came."""
        return self._lines[connection].missed()

    def unexpected(self, at: Window) -> Disagreement | None:
        """Judge the pushes once every request is answered: return one that nobody published to its connection."""
        for line in self._lines.values():
            if line.surplus:
                push = line.surplus[0]
                clause = "PSRT-BEACON-4"
                if isinstance(push, PushedMessage):
                    clause = self._requests.clause_against(line.client, push)
                return Disagreement(f"{line.name} gets {push!r}", f"push {push.NAME}", clause)
        return None

    def ended(self, connection: str, request: Request | None, at: Window) -> Disagreement | None:
        """Judge that the server ended a connection on which `request` was the oldest one without a reply."""
        self.passed(at)
        line = self._lines[connection]
        if line.ending or (request is not None and self._may_close(line, request)):
            return None
        if at.until >= line.last_input.since + self._timeout - self._tolerance and not line.interval:
            return None
        client = line.client
        control = client.control if client is not None and client.data is line and self._tolerance else None
        if control is not None and at.until >= control.last_input.since + self._timeout - self._tolerance:
            return None
        what = request.NAME if request is not None else "nothing"
        return Disagreement(f"{connection} is ended with {what} unanswered", f"ended {what}", "PSRT-ROBUSTNESS-10")

    def _may_close(self, line: Line, request: Request) -> bool:
        return any(one.reply is None for one in self._allowed(line, request))

    def must_end(self, connection: str, at: Window) -> Disagreement | None:
        """Return what is wrong with a connection that is still open; None if nothing is."""
        self.passed(at)
        line = self._lines[connection]
        if not line.ending:
            return None
        clause = "PSRT-ATTACH-15" if line.link == DATA else "PSRT-TIMEOUT-1"
        return Disagreement(f"{connection} is open although {line.ending}", f"open, {line.ending}", clause)

    def ends_when_half_closed(self, connection: str) -> bool:
        """Return whether the server must end a connection whose client has ended its side (P16)."""
        return not (self._is_released and self._lines[connection].interval)

    def half_closed(self, connection: str) -> None:
        """Note nothing: messages come with what causes them."""

    def instants(self) -> list[int]:
        """Return the instants, in ns and ascending, at which connections end or beacons are due."""
        found = {
            line.last_input.until + self._timeout
            for line in self._lines.values()
            if line.link != DATAGRAM and not line.interval
        }
        found |= {self._next_beacon(line) for line in self._lines.values() if line.interval}
        return sorted(found)
