"""Mutants of replication: PUBLISH_REPL and the message after it."""

from __future__ import annotations

from wireproof.mutants.edits import around, edit, first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import counted, field_kind, saying, taking, with_answer
from wireproof.protocols.fields import U8, Blob
from wireproof.protocols.psrt.requests import PublishRepl, ReplData
from wireproof.reference_server.psrt.state import ERROR, UNWANTED

__all__ = ["MUTANTS"]

ASKED = "PUBLISH_REPL-4 PUBLISH_REPL-1 PUBLISH_REPL-5 PUBLISH_REPL-8 LIMIT-6 LIMIT-7"
DATA = "REPL_DATA-1 REPL_DATA-2 REPL_DATA-3 REPL_DATA-4 REPL_DATA-5 REPL_DATA-6 LIMIT-7"
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("replication-topic-with-00", "A 00 ends the topic of PUBLISH_REPL, beyond its LEN.",
           f"PUBLISH_REPL-1 {ASKED} PUBLISH_REPL-2 PUBLISH_REPL-3", counted("LEN + 1", "PUBLISH_REPL")),
    mutant("replication-of-anybody", "Everybody may replicate.", "PUBLISH_REPL-2 ACL-12",
           edit("ControlRequests.publish_repl", "if not client.rights.replicator:", "if False:")),
    mutant("replication-with-rights", "A replicator must have the right to publish, too.",
           f"PUBLISH_REPL-8 {ASKED} PUBLISH_REPL-3 ACL-13",
           edit("ControlRequests.publish_repl", "if not client.rights.replicator:",
                "if not (client.rights.replicator and client.rights.may_publish(normalised(topic))):")),
    mutant("replication-unwanted-answered-ff", "PUBLISH_REPL to a topic without subscriber is answered FF.",
           "PUBLISH_REPL-3",
           handlers=with_answer(PublishRepl, lambda answer, ask: ERROR if answer == UNWANTED else answer)),
    mutant("replication-needs-data-socket", "PUBLISH_REPL is answered E0 where no subscriber has a data socket.",
           "PUBLISH_REPL-5",
           edit("ControlRequests.publish_repl", "if not self._state.subscriptions.match(topic):",
                "if not any(one.data for one in self._state.subscriptions.match(topic)):")),
    mutant("replication-not-by-masks", "PUBLISH_REPL is answered E0 where masks alone match.", "PUBLISH_REPL-4",
           edit("ControlRequests.publish_repl", "if not self._state.subscriptions.match(topic):",
                "if not any(topic in self._state.subscriptions.of(one) for one in self._state.clients.values()):")),
    mutant("replicated-unanswered", "A replicated message is not answered, as the document has it.",
           "REPL_DATA-2 REPL_DATA-5", handlers=saying(ReplData, b"")),
    mutant("replicated-once-a-time", "A message that is not newer than the last is dropped.",
           "REPL_DATA-4 REPL_DATA-3 REPL_DATA-6",
           first("ControlRequests.repl_data", 'if request.timestamp <= vars(self).get("last", 0): return OK',
                 "self.last = request.timestamp")),
    mutant("replicated-len-of-1-byte", "The LEN of a replicated message has 1 byte.",
           f"REPL_DATA-1 {DATA} PUBLISH_REPL-4 PUBLISH_REPL-8 PUBLISH_REPL-5 FRAMING-2",
           profile=field_kind(ReplData, "message", Blob(U8))),
    mutant("replicated-with-priority-7f", "A replicated message is pushed with the priority 7F.", "REPL_DATA-3",
           handlers=taking(ReplData, priority=lambda priority: 0x7F)),
    mutant("replicated-cut-at-00", "A replicated message ends at its first 00.", "REPL_DATA-6",
           handlers=taking(ReplData, message=lambda message: message.partition(b"\0")[0])),
    mutant("replicated-to-the-first-topic", "Every replicated message goes to the topic of the first.",
           "REPL_DATA-3 PUBLISH_REPL-1 REPL_DATA-5",
           edit("ControlRequests.repl_data", "_client(session).waiting_for",
                'vars(self).setdefault("first", _client(session).waiting_for)')),
    mutant("replications-of-8", "What a session replicates goes into a queue of 8 that is never emptied.",
           "REPL_DATA-2 REPL_DATA-3 ROBUSTNESS-10",
           around("ControlRequests.repl_data", 'session.replicated = vars(session).get("replicated", 0) + 1',
                  'return b"" if session.replicated > 8 else self.correct_repl_data(request, session, now)')),
    mutant("replicated-closes", "The connection is closed once a message was replicated.", "REPL_DATA-5 REPL_DATA-2 PUBLISH_REPL-5",
           first("ControlRequests.repl_data", "session.finish()")),
    mutant("replication-remembers-the-unwanted", "What was answered E0 once is, whoever subscribes later.",
           "PUBLISH_REPL-4 PUBLISH_REPL-3 PUBLISH_REPL-5",
           edit("ControlRequests.publish_repl", "if not self._state.subscriptions.match(topic):",
                'if vars(session).setdefault("unwanted", {}).setdefault(topic, not '
                "self._state.subscriptions.match(topic)):")),
    mutant("replicated-refused-once-unwanted", "A message whose last subscriber left after 02 is answered FF.",
           "REPL_DATA-2", first("ControlRequests.repl_data",
                                "if not self._state.subscriptions.match(_client(session).waiting_for): return ERROR")),
    mutant("replicated-to-topics-alone", "A replicated message reaches who subscribed to its topic, and no mask.",
           "REPL_DATA-3 PUBLISH_REPL-4",
           first("ControlRequests.repl_data", "masks = self._state.subscriptions",
                 "masks.match = lambda topic: list(masks._topics.get(topic, ()))"),
           edit("ControlRequests.repl_data", "return OK", "del masks.match", "return OK")),
)  # fmt: skip
