"""Mutants of data sockets: the token, what it opens, and what becomes of it."""

from __future__ import annotations

from wireproof.mutants.edits import after, before, edit, first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import order, with_answer
from wireproof.protocols.psrt.requests import Attach
from wireproof.reference_server.psrt.state import ERROR, OK

__all__ = ["MUTANTS"]

REUSED = "ATTACH-9 ATTACH-10 ATTACH-11 ATTACH-13"
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("attach-unanswered", "A token that is taken is not answered.",
           "ATTACH-2 STARTTLS-5 ATTACH-1 DATA_GREETING-5",
           handlers=with_answer(Attach, lambda answer, ask: b"" if answer == OK else answer)),
    mutant("attach-time-first", "TIMEOUT_SEC stands before the token.", "ATTACH-1 ATTACH-2 DATA_GREETING-5",
           profile=order(Attach, "timeout", "token")),
    mutant("attach-compares-31-bytes", "The last byte of a token is not compared.", "ATTACH-5 ATTACH-3",
           edit("DataRequests.attach", "self._state.clients.get(request.token)",
                "next((one for one in self._state.clients.values() if one.token[:31] == request.token[:31]), None)")),
    mutant("attach-compares-to-a-zero", "Tokens are compared up to their first byte 00.", "ATTACH-5 ATTACH-3",
           edit("DataRequests.attach", "self._state.clients.get(request.token)",
                r"next((one for one in self._state.clients.values() if one.token.partition(b'\0')[0] == "
                r"request.token.partition(b'\0')[0]), None)")),
    mutant("attach-answered-late", "A token is answered a moment later, after what was published meanwhile.", "ATTACH-2",
           edit("DataRequests.attach", "return OK",
                r"self._state.clock.call_at(now + 1_000_000, lambda: session._write(b'\1'))", 'return b""')),
    mutant("attach-refused-burns-the-token", "Once another data socket was refused the token opens no new one.",
           "ATTACH-9 ATTACH-8",
           before("DataRequests.attach", "session.finish()", "if client is not None: client.is_spent = True"),
           edit("PsrtSession.connection_lost", "self._ended and", "client.is_spent or self._ended and"), profiles=("1",)),
    mutant("attach-refused-with-fe", "A data socket that is refused is answered FE.",
           "ATTACH-3 ATTACH-5 ATTACH-6 ATTACH-7 ATTACH-8 BYE-7 ATTACH-19 ATTACH-4 ROBUSTNESS-12",
           handlers=with_answer(Attach, lambda answer, ask: b"\xfe" if answer == ERROR else answer)),
    mutant("attach-takes-over", "Another data socket takes over; the first stays open and gets nothing.",
           "ATTACH-7 ATTACH-8",
           before("DataRequests.attach", "if client is None or",
                  "if client is not None and client.data is not None: client.data.client = None; client.data = None")),
    mutant("attach-closes-both", "Another data socket is refused, and the first is closed.", "ATTACH-8 ATTACH-19",
           after("DataRequests.attach", "session.finish()",
                 "client is None or client.data is None or client.data.end()")),
    mutant("attach-wrong-ends-sessions", "A wrong token ends the sessions that have no data socket.",
           "ATTACH-19 ROBUSTNESS-8 ATTACH-5 ATTACH-3",
           after("DataRequests.attach", "session.finish()",
                 "[one.end() for one in list(self._state.sessions) if client is None and one.client is not None and "
                 "not one.is_data and one.client.data is None]")),
    mutant("attach-time-below-255", "TIMEOUT_SEC 255 is refused.", "ATTACH-17",
           first("DataRequests.attach", 'if request.timeout == 255: session.finish(); return b""')),
    mutant("attach-not-anonymous", "The token of an anonymous session opens no data socket.", "ATTACH-20 ATTACH-2",
           edit("DataRequests.attach", "client is None or", "client is None or not client.login or")),
    mutant("data-socket-burns-its-token", "The token of a data socket that ended is refused.", f"{REUSED}",
           edit("PsrtSession.connection_lost", "self._ended and not self.state.rules.end_frees_token", "True"),
           profiles=("1",)),
    mutant("data-socket-ends-subscriptions", "The subscriptions of a session end with its data socket.",
           "ATTACH-11 ATTACH-9 SUBSCRIBE-6 ATTACH-13",
           after("PsrtSession.connection_lost", "self.feed.stop()", "self.state.subscriptions.leave(client)"),
           profiles=("1",)),
    mutant("data-socket-ends-its-session", "The session ends with its data socket.", f"ATTACH-12 {REUSED}",
           after("PsrtSession.connection_lost", "client.data = None",
                 "[one.end() for one in list(self.state.sessions) if one.client is client]")),
    mutant("data-socket-reads-on", "What comes on a data socket after the token closes it.", "ATTACH-14",
           first("PsrtSession.data_received", "if self.feed is not None: self.end()")),
    mutant("messages-kept-for-a-data-socket", "What is published without a data socket is kept for it.",
           "ATTACH-13 PUBLISH-18",
           first("state.State.publish",
                 'for one in self.subscriptions.match(topic): one.data or vars(self).setdefault("kept", '
                 "{}).setdefault(one, []).append(self.codec.encode(PushedMessage(priority, topic.encode(), message)))"),
           before("PsrtSession.attach", "if self._waits:",
                  '[client.deliver(frame) for frame in vars(self.state).get("kept", {}).pop(client, ())]')),
    mutant("data-socket-ends-on-bye-only", "Only BYE, or an error, closes the data socket of a session.",
           "ATTACH-15 TIMEOUT-10",
           first("PsrtSession.connection_lost",
                 "if self.client is not None and self.feed is None and not (self.closed or self._finishing): "
                 "self.client.data = None")),
    mutant("half-closed-control-stays", "A control socket that its client half-closes stays open.",
           "ATTACH-15 ATTACH-6 ROBUSTNESS-7",
           first("PsrtSession.eof_received", "if self.client is not None and not self.is_data: return")),
    mutant("token-outlives-its-data-socket", "The token of a session that ended with a data socket open is taken again.",
           "ATTACH-6 BYE-7 ROBUSTNESS-12",
           after("state.State.forget", "self.subscriptions.leave(client)",
                 "if client.data is not None: self.clients[client.token] = client"), profiles=("1",)),
    mutant("token-of-the-newest-session", "The tokens of an account open the data socket of its newest session.",
           "ATTACH-16 LOGIN-16 ATTACH-2 ATTACH-7",
           after("DataRequests.attach", "client = self._state.clients.get(request.token)",
                 "if client is not None and client.login:",
                 "    client = [one for one in self._state.clients.values() if one.login == client.login][-1]")),
    mutant("tokens-of-64-sessions", "The token of the oldest session is forgotten when there are more than 64.",
           "ATTACH-2 ROBUSTNESS-13 LOGIN-16",
           after("ControlRequests.login", "session.client = self._state.clients[client.token] = client",
                 "if len(self._state.clients) > 64: self._state.clients.pop(next(iter(self._state.clients)))")),
    mutant("data-socket-half-closed-stays", "A data socket whose client ended its side keeps its token.",
           "ATTACH-9", first("PsrtSession.eof_received", "if self.feed is not None: return"), profiles=("1",)),
)  # fmt: skip
