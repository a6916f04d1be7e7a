"""Mutants of NOP, BYE, the numbers and codes of all requests, and of what closes a connection."""

from __future__ import annotations

from wireproof.mutants.edits import after, edit, first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import counted, saying, with_answer
from wireproof.protocols.psrt.requests import Bye, Subscribe, Unsubscribe

__all__ = ["MUTANTS"]

REFUSALS = (
    "PUBLISH-11 PUBLISH-12 PUBLISH-13 PUBLISH-14 PUBLISH-15 PUBLISH-17 SUBSCRIBE-15 UNSUBSCRIBE-13 "
    "LIMIT-2 LIMIT-3 LIMIT-5 LIMIT-6 LIMIT-7"
)
OPENINGS = (
    "GREETING-5 GREETING-6 DATA_GREETING-4 LOGIN-6 LOGIN-7 LOGIN-8 LOGIN-9 LOGIN-10 LOGIN-11 LOGIN-12 "
    "LOGIN-13 LOGIN-15 LOGIN-17 LOGIN-19 ACL-11 ACCOUNT-1 ACCOUNT-2"
)
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("nop-unanswered", "NOP is not answered.", "NOP-2 NOP-1 TIMEOUT-2 TIMEOUT-3 ORDER-1 ROBUSTNESS-10",
           edit("ControlRequests.nop", "return OK", 'return b""')),
    mutant("unsubscribe-answered-again-later", "The answer to UNSUBSCRIBE comes again 60 ms later.", "ROBUSTNESS-10",
           first("ControlRequests.unsubscribe",
                 r"again = lambda: session.closed or session._write(b'\1')",
                 "self._state.clock.call_at(now + 60_000_000, again)")),
    mutant("nop-closes-data-socket", "NOP closes the data socket of the session.", "NOP-3 ATTACH-11 ATTACH-8",
           first("ControlRequests.nop", "if session.client.data is not None: session.client.data.end()")),
    mutant("bye-without-answer", "BYE is answered by closing alone.", "BYE-3 GREETING-8", handlers=saying(Bye, b"")),
    mutant("bye-stays-open", "BYE is answered 01, and the connection stays open.",
           "BYE-2 BYE-6 BYE-7 GREETING-8 BYE-5 ATTACH-15", edit("ControlRequests.bye", "session.finish()", "pass")),
    mutant("bye-ignored", "BYE is not answered, and the connection stays open.",
           "BYE-2 BYE-3 BYE-6 BYE-7 GREETING-8 BYE-1 BYE-5 BYE-4 ATTACH-15 ROBUSTNESS-8",
           first("ControlRequests.bye", 'return b""')),
    mutant("bye-ends-others", "BYE ends all other sessions, too.", "BYE-8 ROBUSTNESS-8 ATTACH-2 ATTACH-3 MESSAGE-8",
           first("ControlRequests.bye", "for one in list(self._state.sessions): one is session or one.end()")),
    mutant("bye-drops-answers", "What was asked in one segment with BYE is not answered.",
           "BYE-4 GREETING-8 FRAMING-6 ORDER-1 ROBUSTNESS-5", first("ControlRequests.bye", "session._out.clear()")),
    mutant("bye-is-not-the-end", "What came in one segment with BYE is carried out and answered.", "BYE-5",
           edit("PsrtServer._accept", "self._asked(cast(Request, message))",
                "self._pending.append(message) if isinstance(message, Bye) else self._asked(message)"),
           after("PsrtSession.take", "self.answer(request, answer)",
                 'if request.NAME == "BYE": self._finishing, self.is_over = False, True'),
           first("PsrtSession.flush", 'self._finishing = self._finishing or hasattr(self, "is_over")')),
    mutant("session-survives-its-socket", "Token, subscriptions and data socket outlive the control socket.",
           "BYE-6 BYE-7 ATTACH-15 ATTACH-6 TIMEOUT-10 SUBSCRIBE-19 ROBUSTNESS-12 PUBLISH_REPL-3 ATTACH-3 ATTACH-2",
           first("state.State.forget", "return")),
    mutant("token-outlives-its-session", "The token of a session that ended opens a data socket.",
           "BYE-7 ATTACH-6 ROBUSTNESS-12",
           edit("state.State.forget", "self.clients.pop(client.token, None)", "self.clients.get(client.token)")),
    mutant("error-closes-everybody", "An error of one client closes all connections.",
           "ROBUSTNESS-8 LIMIT-8 ROBUSTNESS-2 ROBUSTNESS-7 LOGIN-19 FRAMING-6",
           first("PsrtSession.refuse", "[one.end() for one in list(self.state.sessions) if one is not self]")),
    mutant("lengths-big-endian", "LEN stands high byte first, in requests after the login and in pushes.",
           "FRAMING-1 SUBSCRIBE-2 SUBSCRIBE-5 UNSUBSCRIBE-2 UNSUBSCRIBE-3 PUBLISH-3 PUBLISH-6 MESSAGE-1 "
           "MESSAGE-3 PUBLISH_REPL-1 PUBLISH_REPL-2 PUBLISH_REPL-3 REPL_DATA-1 LIMIT-2 LIMIT-3 LIMIT-5 "
           "MESSAGE-12 DATAGRAM-7 SEALED-8 SEALED-17 UNSUBSCRIBE-5",
           edit("state.State.publish", "client.deliver(frame)",
                "client.deliver(frame[:2] + frame[5:1:-1] + frame[6:])"),
           counted("int.from_bytes(LEN.to_bytes(4, 'big'), 'little')", "PUBLISH", "SUBSCRIBE", "UNSUBSCRIBE", "PUBLISH_REPL", "REPL_DATA")),
    mutant("subscribe-and-unsubscribe-swapped", "02 unsubscribes and 03 subscribes.",
           "SUBSCRIBE-1 UNSUBSCRIBE-1 SUBSCRIBE-6 UNSUBSCRIBE-4 UNSUBSCRIBE-5 ACL-14 SUBSCRIBE-9 SUBSCRIBE-11 "
           "SUBSCRIBE-13 SUBSCRIBE-14 PUBLISH_REPL-4 MESSAGE-8",
           profile=lambda profile: profile.derive(profile.name, leads={Subscribe: b"\3", Unsubscribe: b"\2"})),
    mutant("error-told-before-closing", "FF is sent before a connection is closed for an error.",
           f"FRAMING-9 FRAMING-5 PUBLISH_REPL-9 {REFUSALS} {OPENINGS} STARTTLS-4",
           first("PsrtSession.refuse", r'self._out.append(b"\xff")')),
    mutant("error-drops-answers", "Where an error closes a connection, what was asked before is not answered.",
           "FRAMING-6 ROBUSTNESS-5 GREETING-8", first("PsrtSession.refuse", "self._out.clear()")),
    mutant("unknown-request-answered-ff", "A byte that begins no request is answered FF, and the session goes on.",
           "FRAMING-5 FRAMING-9 ATTACH-15 ATTACH-6 STARTTLS-4",
           first("PsrtServer._decode_next",
                 "if self.requests is CONTROL and self.state is State.OPEN and data[at] not in "
                 "self.codec.operations: from wireproof.protocols.psrt.requests import Nop; self.is_odd = True; "
                 "return Nop(), at + 1"),
           edit("PsrtSession.take", "self.answer(request, answer)",
                r'self.answer(request, b"\xff" if vars(self.connection).pop("is_odd", False) else answer)')),
    mutant("subscribe-to-nothing-answered-e0", "SUBSCRIBE with LEN 0 is answered E0.", "FRAMING-4 SUBSCRIBE-8",
           handlers=with_answer(Subscribe, lambda answer, ask: answer if ask.request.topics else b"\xe0")),
)  # fmt: skip
