"""Legal servers that look unlike the reference: no MUST or SHOULD case may fail one of them."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.edits import Edit, after, before, edit, first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant

__all__ = ["CONFORMING"]


def legal(name: str, description: str, *edits: Edit, **patches: Any) -> ServerMutant:
    """Return a variant."""
    return mutant(f"legal-{name}", description, "", *edits, **patches)


CONFORMING: tuple[ServerMutant, ...] = (
    legal("attach-refused-by-closing", "A data socket that is refused is closed without a byte.",
           edit("DataRequests.attach", "return ERROR", 'return b""')),
    legal("attach-time-zero-refused", "TIMEOUT_SEC 0 is refused.",
           first("DataRequests.attach", 'if request.timeout == 0: session.finish(); return b""')),
    legal("pushes-in-two-pieces", "A push is written in two pieces.",
           edit("Feed.flush", "self._write(data)",
                r'stop = data.find(b"\0", 6) + 1; self._write(data[:stop]); data[stop:] and self._write(data[stop:])')),
    legal("answers-byte-by-byte", "Answers after the login are written byte by byte.",
           edit("PsrtSession.flush", "self._write(data)",
                "[self._write(data[at : at + 1]) for at in range(len(data))] if self.client is not None else "
                "self._write(data)")),
    legal("pushes-before-answers", "A push is written before the answer to its PUBLISH.",
           first("PsrtSession.flush", "self.state.flush()")),
    legal("pushes-late", "Pushes are written 20 ms later.",
           edit("Feed.__init__", 'state.options["data_queue"]', "1 << 20"),
           first("Feed.flush",
                 'if self._waiting and not vars(self).get("is_due"): '
                 "self._state.clock.call_at(self._state.clock.monotonic_ns() + 20_000_000, lambda: (setattr(self, "
                 '"is_due", True), self.flush(), setattr(self, "is_due", False))); return')),
    legal("queue-fills-in-a-burst", "Pushes are written 1 ms later, so what comes at once fills the queue of a client that reads.",
           first("Feed.flush",
                 'if self._waiting and not vars(self).get("is_due"): '
                 "self._state.clock.call_at(self._state.clock.monotonic_ns() + 1_000_000, lambda: (setattr(self, "
                 '"is_due", True), self.flush(), setattr(self, "is_due", False))); return')),
    legal("beacons-a-little-more-often", "Beacons come each 0.4 times TIMEOUT_SEC.",
           edit("Feed.interval", "HALF_SECOND_NS", "HALF_SECOND_NS * 4 // 5")),
    legal("closes-a-little-later", "A silent connection is closed 0.2 s after the timeout.",
           edit("PsrtSession.expect", "self.state.timeout_ns", "self.state.timeout_ns + 200_000_000")),
    legal("replication-normalises", "The topic of PUBLISH_REPL is normalised.",
           edit("ControlRequests.publish_repl", 'text(request.topic, "topic")',
                'normalised(text(request.topic, "topic"))')),
    legal("replication-refuses-masks", "PUBLISH_REPL to a mask is answered FF.",
           before("ControlRequests.publish_repl", "if not self._state.subscriptions.match(topic):",
                  "if is_mask(topic): return ERROR")),
    legal("sealed-replay-dropped", "A sealed datagram that came before is dropped.",
           first("DatagramRequests.sealed", 'seen = vars(self).setdefault("seen", set())',
                 'if (request.nonce, request.sealed) in seen: raise RefusedError("a replay")'),
           after("DatagramRequests.sealed", "checked(content, self._state)",
                 "seen.add((request.nonce, request.sealed))")),
    legal("datagram-priority-00-dropped", "A datagram of priority 00 is dropped.",
           first("DatagramRequests.plain", 'if request.priority == 0: raise RefusedError("priority 00")')),
    legal("datagram-too-long-dropped", "A datagram that is too long is dropped without an answer.",
           first("DatagramRequests._publish",
                 'if sender.size > self._state.options["udp_frame_size"]: raise RefusedError("too long")')),
    legal("datagram-password-no-utf-8", "A datagram's password that is no UTF-8 is a wrong one: FE.",
           edit("DatagramRequests.plain", 'text(request.password, "password")',
                'request.password.decode(errors="replace")')),
    legal("idle-counts-for-requests", "The rest of a request must come within the timeout of the one before.",
           rules={"idle_counts_for_operation": True}),
    legal("ends-seen-late", "A client that closes is seen to have gone 30 ms later; until then messages are pushed to it.",
           edit("PsrtSession.connection_lost", "self.state.forget(client)",
                "self.state.forget(client) if self._finishing else self.state.clock.call_at("
                "self.state.clock.monotonic_ns() + 30_000_000, lambda: self.state.forget(client))")),
    legal("tokens-begin-alike", "All tokens begin with the same 4 bytes.",
           edit("state.State.new_token", "return fresh", 'return b"psrt" + fresh[4:]')),
)  # fmt: skip
