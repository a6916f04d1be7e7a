"""Mutants of how requests come and answers go: segments, order, and what others feel of it."""

from __future__ import annotations

from wireproof.mutants.edits import after, edit, first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant

__all__ = ["MUTANTS"]

PIECES = "ROBUSTNESS-4 ROBUSTNESS-6 TIMEOUT-7"
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("answers-backwards", "More than three answers to one segment come last one first.",
           "ORDER-1 ROBUSTNESS-5 FRAMING-6 BYE-4 ROBUSTNESS-10 STARTTLS-4",
           first("PsrtSession.flush",
                 "if self.client is not None and len(self._out) > 3 and all(len(one) == 1 for one in self._out): "
                 "self._out.reverse()")),
    mutant("pieces-forgotten", "A request that does not come in one segment is forgotten.",
           f"{PIECES} ROBUSTNESS-9 LIMIT-2",
           after("PsrtSession.data_received", "self._work()",
                 "if self.client is not None and not self.closed and self.feed is None: "
                 "self.connection._buffer.drop()")),
    mutant("single-bytes-forgotten", "A byte of a request that comes alone is forgotten.", f"{PIECES}",
           first("PsrtSession.data_received",
                 "if len(data) == 1 and self.client is not None and self.connection is not None and "
                 "self.connection.buffered: return")),
    mutant("greeting-in-one-piece", "A greeting that does not come in one segment is refused.",
           "ROBUSTNESS-4 GREETING-10 GREETING-2 TIMEOUT-4 ROBUSTNESS-9",
           first("PsrtSession.data_received", "if self.connection is None and len(data) < 3: self.end(); return")),
    mutant("login-in-one-piece", "A login that does not come in one segment is forgotten.",
           "ROBUSTNESS-4 LOGIN-15 LOGIN-1",
           after("PsrtSession.data_received", "self._work()",
                 "if self.client is None and not self.is_data and not self.closed and self.connection.received == 3: "
                 "self.connection._buffer.drop()")),
    mutant("bytes-beyond-4k-of-a-login", "Of what comes in one segment with a login the first 4,096 bytes count.",
           "ROBUSTNESS-5 GREETING-8 ROBUSTNESS-10",
           first("PsrtSession.data_received", "data = data if self.client else data[:4096]")),
    mutant("answers-beyond-64-lost", "Of the answers to one segment the first 64 come.",
           "ROBUSTNESS-10 ROBUSTNESS-5 ROBUSTNESS-13", first("PsrtSession.data_received", "self.taken = 0"),
           edit("PsrtSession.answer", "self._out.append(answer)",
                'self.taken += 1; self._out.append(answer if self.taken <= 64 else b"")')),
    mutant("nop-behind-publish-unanswered", "A NOP after a PUBLISH is not answered.", "ROBUSTNESS-10 NOP-2 ORDER-1 NOP-3",
           first("ControlRequests.publish", "session.has_published = True"),
           first("ControlRequests.nop", 'if vars(session).pop("has_published", False): return b""')),
    mutant("part-of-a-publish-published", "What came of a PUBLISH is published when its client goes away.",
           "ROBUSTNESS-7 LIMIT-5 BYE-5",
           first("PsrtSession.connection_lost",
                 "if self.client is not None and self.connection is not None and not self.closed and not "
                 "self.is_data:",
                 "    buffer = self.connection._buffer; rest = bytes(buffer.data[buffer.at : buffer.end]) + "
                 r'bytes(buffer.gathered); topic, found, message = rest[6:].partition(b"\0")',
                 r'    if rest[:1] == b"\1" and found: self.state.publish(topic.decode(errors="replace"), rest[1], '
                 "message); self.state.flush()")),
    mutant("all-wait-for-one", "While a request of one client is not whole nobody is answered.",
           "ROBUSTNESS-9 ROBUSTNESS-8 ROBUSTNESS-4 ROBUSTNESS-5",
           first("PsrtSession.flush",
                 "if self.client is not None and any(one.connection.buffered for one in self.state.sessions if one "
                 "is not self and one.client and one.connection): return")),
    mutant("workers-of-8", "Eight requests that are not whole take all workers: nobody else is answered.", "ROBUSTNESS-9",
           first("PsrtSession.flush",
                 "if sum(1 for one in self.state.sessions if one is not self and one.client and one.connection and "
                 "one.connection.buffered) >= 8: return")),
    mutant("all-wait-for-a-greeting", "While one connection's greeting is not whole nobody is answered.",
           "ROBUSTNESS-9", first("PsrtSession.flush", "if any(one._first for one in self.state.sessions): return")),
    mutant("lists-carried-out-later", "SUBSCRIBE and UNSUBSCRIBE are carried out after what else is in their segment.",
           "ORDER-2 ROBUSTNESS-5", first("state.State.__init__", "self.later = []"),
           first("state.State.flush",
                 "later, self.later = self.later, []; [act(client, mask) for act, client, mask in later]"),
           edit("ControlRequests.subscribe", "subscriptions.add(client, mask)",
                "self._state.later.append((subscriptions.add, client, mask))"),
           edit("ControlRequests.unsubscribe", "self._state.subscriptions.remove(_client(session), mask)",
                "self._state.later.append((self._state.subscriptions.remove, _client(session), mask))")),
    mutant("unsubscribe-drops-messages", "UNSUBSCRIBE drops messages that were published before it.", "ORDER-5 ORDER-2 ROBUSTNESS-5",
           first("ControlRequests.unsubscribe",
                 "if session.client.data is not None and session.client.data.feed is not None: "
                 "session.client.data.feed._waiting.clear()")),
    mutant("subscriptions-of-16", "Beyond 16 subscriptions of all sessions the oldest is forgotten.",
           "ROBUSTNESS-13 SUBSCRIBE-6 MESSAGE-8",
           first("Subscriptions.add", 'order = vars(self).setdefault("order", [])',
                 "if text not in self.of(who): order.append((who, text))",
                 "if len(order) > 16: self.remove(*order.pop(0))")),
    mutant("slow-reader-ends-its-session", "Who reads too slowly loses its control socket, too.",
           "MESSAGE-14 MESSAGE-15",
           edit("PsrtSession.too_slow", "self.end()",
                "client = self.client; self.end(); [one.end() for one in list(self.state.sessions) if one.client is "
                "client]")),
    mutant("slow-reader-burns-its-token", "Who read too slowly gets no other data socket.", "MESSAGE-15",
           edit("PsrtSession.too_slow", "self.end()", "client = self.client; self.end(); client.is_spent = True")),
    mutant("slow-reader-loses-messages", "Messages beyond what waits for a slow reader are left out.", "MESSAGE-13",
           edit("Feed.push", "self._too_slow()", "pass")),
    mutant("slow-reader-gets-no-more", "Who read too slowly once keeps its data socket and gets nothing more on it.",
           "MESSAGE-13", edit("Feed.push", "self._too_slow()", "self.stop()")),
    mutant("slow-queue-stuck", "What waits for a slow reader is not written when it reads again.", "MESSAGE-13 BEACON-2",
           edit("Feed.resume", "self._is_held = False", "return")),
)  # fmt: skip
