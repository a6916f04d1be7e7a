"""Mutants that were planted as faults of another author, and that no case had found (docs/proving-the-suite.md)."""

from __future__ import annotations

from wireproof.mutants.edits import edit, first
from wireproof.mutants.namechan.server.mutant import ServerMutant, mutant

__all__ = ["MUTANTS"]

REFUSED = 'self.answer(Error(f"{what}: {why}".encode()))'

MUTANTS: tuple[ServerMutant, ...] = (
    mutant("seam-from-a-message-doubles", "What is published during a replay from a message comes live, too.", "REPLAY-5",
           edit("Queue.out", "if one.cursor is None and number >= one.start:", "if (one.cursor is None or one.start > 1) and number >= one.start:"),
           profiles=("1+publish",)),
    mutant("again-is-last", "Who subscribes again goes to the end of the turns.", "ROUND_ROBIN-2 SUBSCRIBE-5",
           edit("LineHandlers.subscribe", "if session in queue.subscribers:",
                "if session in queue.subscribers: queue.subscribers[session] = queue.subscribers.pop(session)", "if session in queue.subscribers:")),
    mutant("half-lines-are-heard", "Bytes that are no line keep a client connected.", "PING-3",
           first("NamechanSession.data_received", "self._last_input = self.state.clock.monotonic_ns()")),
    mutant("names-trimmed", "Spaces around a name do not count.", "LINE-16",
           edit("state.State.find", "return self.queues.get(name)", "return self.queues.get(name) or self.queues.get(name.strip())")),
    mutant("publish-errors-first", "The Error of a Publish comes before the answers to what was asked before.", "PUBLISH-2",
           edit("NamechanSession.refuse", REFUSED, f"self._out.insert(0, self.connection.send{REFUSED.removeprefix('self.answer')}); self.state.touched.append(self)"),
           profiles=("1+publish",)),
    mutant("bodies-up-to-60000", "A body is cut at 60000 bytes.", "MESSAGE-2",
           edit("Queue._frame", "Message(number, self.topic, body)", "Message(number, self.topic, body[:60000])")),
    mutant("kept-ever", "The limit of a transient queue counts what it ever kept.", "ROUND_ROBIN-5",
           edit("Queue.is_full", "return len(self.kept) >= self._state.max_kept", "self.ever = vars(self).get('ever', 0) + 1", "return self.ever > self._state.max_kept")),
    mutant("create-empties", "To create a queue again drops what it keeps.", "HOOK-1",
           edit("state.State.create", 'return "" if there.settings == settings else "it is there with other settings"',
                "there.kept.clear()", 'return "" if there.settings == settings else "it is there with other settings"')),
    mutant("bars-open-comments", "Two bars in a block comment open another one.", "LINE-9",
           edit("SexpReader._block", "_BLOCK.finditer(", "__import__('re').compile(rb'#[|]|[|]#|[|][|](?!#)').finditer("),
           edit("SexpReader._block", 'if mark[0] == b"#|" else', 'if mark[0] in (b"#|", b"||") else')),
    mutant("any-zone", "Any two numbers are a zone.", "ACK-4", first("_zone", "return UTC")),
    mutant("again-wants-other-messages", "To subscribe again changes from which message on messages are wanted.", "SUBSCRIBE-5",
           edit("LineHandlers.subscribe", "if session in queue.subscribers:", "if session in queue.subscribers: queue.subscribers[session].start = request.message",
                "if session in queue.subscribers:")),
    mutant("limit-of-all-lines", "The limit of a line is that of all lines of a connection.", "LIMIT-2 LIMIT-1 LIMIT-3",
           first("NamechanSession.data_received", "self.taken = vars(self).get('taken', 0) + len(data)",
                 "if self.taken > 65536 and self.state.options['max_line'] == 65536 and self.name != b'' and self.is_connected: return self.end()")),
)  # fmt: skip
