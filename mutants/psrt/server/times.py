"""Mutants of time: the server timeout on control sockets, and beacons on data sockets."""

from __future__ import annotations

from wireproof.mutants.edits import after, before, edit, first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import lead
from wireproof.protocols.psrt.replies import Beacon

__all__ = ["MUTANTS"]

ALIVE = "TIMEOUT-3 TIMEOUT-2 TIMEOUT-9 TIMEOUT-11 NOP-3"
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("timeout-halved", "Connections are closed after half the server timeout.",
           f"TIMEOUT-2 {ALIVE} ATTACH-9 BEACON-2 STARTTLS-13 TIMEOUT-4 TIMEOUT-5 TIMEOUT-6",
           edit("PsrtSession.expect", "self.state.timeout_ns", "self.state.timeout_ns // 2")),
    mutant("timeout-not-of-greetings", "A connection that greets nobody stays open.", "TIMEOUT-4",
           first("PsrtSession.expect", "if self.connection is None: self._deadline.clear(); return")),
    mutant("timeout-not-of-logins", "A connection that was greeted and does not log in stays open.",
           "TIMEOUT-5 STARTTLS-8",
           first("PsrtSession.expect",
                 "if self.connection is not None and self.client is None and not self.is_data: "
                 "self._deadline.clear(); return")),
    mutant("timeout-not-of-tokens", "A data socket that shows no token stays open.", "TIMEOUT-6 STARTTLS-8",
           first("PsrtSession.expect", "if self.is_data: self._deadline.clear(); return")),
    mutant("timeout-not-of-sessions", "A session that is silent stays open.",
           "TIMEOUT-1 TIMEOUT-7 TIMEOUT-10 ATTACH-6 STARTTLS-13",
           first("PsrtSession.expect",
                 "if self.client is not None and not self.is_data: self._deadline.clear(); return")),
    mutant("timeout-begun-anew-by-nop", "Only NOP begins the timeout anew.", "TIMEOUT-3 TIMEOUT-11 TIMEOUT-2",
           edit("PsrtSession.take", "self._begun = False\n        self.expect()", "self._begun = False",
                'if self.client is None or self.feed is not None or request.NAME == "NOP": self.expect()')),
    mutant("timeout-not-begun-anew-by-errors", "A request answered FE or FF does not begin the timeout anew.",
           "TIMEOUT-11 TIMEOUT-3",
           edit("PsrtSession.take", "self._begun = False\n        self.expect()", "self._begun = False",
                'if self.client is None or self.feed is not None or getattr(answer, "code", 1) < 0xFE: self.expect()')),
    mutant("timeout-begun-anew-by-each-byte", "Each byte begins the timeout anew.",
           "TIMEOUT-7 TIMEOUT-4 TIMEOUT-5 TIMEOUT-6",
           after("PsrtSession.data_received", "self._work()", "self.closed or self.expect()"),
           before("PsrtSession.data_received", "if len(self._first) <", "self.expect()")),
    mutant("timeout-told", "FF is sent before a connection is closed for its silence.",
           "TIMEOUT-1 TIMEOUT-4 TIMEOUT-5 TIMEOUT-6 TIMEOUT-7 STARTTLS-8 STARTTLS-13 FRAMING-9 ATTACH-6",
           first("PsrtSession.too_late", r'self._write(b"\xff")')),
    mutant("timeout-of-data-sockets", "A data socket that sends nothing is closed after the server timeout.",
           "TIMEOUT-9 BEACON-2 BEACON-3 BEACON-7", edit("PsrtSession.expect", "if self.feed is None:", "if True:")),
    mutant("beacon-too-often", "A beacon is sent each tenth of TIMEOUT_SEC.", "BEACON-4 BEACON-3 BEACON-2",
           edit("Feed.interval", "HALF_SECOND_NS", "HALF_SECOND_NS // 5")),
    mutant("beacon-by-tick", "A beacon is left out where a message came since the last tick.", "BEACON-3",
           rules={"beacon_by_silence": False}, profiles=("1",)),
    mutant("beacon-of-2-bytes", "A beacon is 00 01.", "BEACON-1 BEACON-2 BEACON-3 BEACON-4 STARTTLS-13 BEACON-7",
           profile=lead(Beacon, 0, 1)),
    mutant("beacon-wants-an-answer", "A data socket whose client does not answer a beacon is closed.",
           "BEACON-7 BEACON-2 TIMEOUT-9 BEACON-3 BEACON-4",
           edit("Feed.wake", "self._write(self._beacon)",
                'if vars(self).get("is_unanswered"): self._too_slow(); return',
                "self.is_unanswered = True; self._write(self._beacon)"),
           first("PsrtSession.data_received", "if self.feed is not None: self.feed.is_unanswered = False")),
    mutant("beacon-until-a-message", "No beacons are sent once a message came.", "BEACON-2 BEACON-3",
           after("Feed.flush", "self._write(data)", "self._timer.cancel()")),
    mutant("beacon-time-of-the-last", "TIMEOUT_SEC of the data socket that came last holds for all.", "BEACON-2 BEACON-4",
           after("Feed.__init__", "self.interval_ns = self.interval(timeout_s)", "state.interval_ns = self.interval_ns"),
           first("Feed.wake", "self.interval_ns = self._state.interval_ns")),
    mutant("beacon-time-of-the-first", "TIMEOUT_SEC of the first data socket of a session holds for those after it.",
           "BEACON-4 BEACON-2",
           edit("PsrtSession.attach", "request.timeout",
                'vars(self.state).setdefault("times", {}).setdefault(client.token, request.timeout)'), profiles=("1",)),
    mutant("beacon-within-a-push", "A beacon stands within a push.",
           "BEACON-5 MESSAGE-4 MESSAGE-6 MESSAGE-3 SUBSCRIBE-6 STARTTLS-13",
           first("Feed.push",
                 'if len(frame) > 6 and not hasattr(self, "is_torn"): self.is_torn = True; frame = frame[:6] + '
                 r'b"\0" + frame[6:]')),
)  # fmt: skip
