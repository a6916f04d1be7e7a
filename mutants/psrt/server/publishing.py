"""Mutants of PUBLISH: how it is read, what is refused and how, and who is answered what."""

from __future__ import annotations

from wireproof.mutants.edits import before, edit, first
from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import client_of, field_kind, order, refusing, taking, with_answer
from wireproof.protocols.fields import U16, Split
from wireproof.protocols.psrt.requests import Publish
from wireproof.reference_server.psrt.state import DENIED, ERROR, OK

__all__ = ["MUTANTS"]

MUTANTS: tuple[ServerMutant, ...] = (
    mutant("publish-len-of-2-bytes", "The LEN of PUBLISH has 2 bytes.", "PUBLISH-3 FRAMING-2 PUBLISH-6",
           profile=field_kind(Publish, "topic", Split(U16))),
    mutant("publish-priority-behind-len", "The priority of PUBLISH stands after LEN.",
           "PUBLISH-2 PUBLISH-3 LIMIT-5 PUBLISH-6 PUBLISH-13 ATTACH-15 STARTTLS-4",
           profile=order(Publish, "topic", "priority", "message")),
    mutant("publish-split-at-the-last-00", "The message of PUBLISH begins after the last 00.", "PUBLISH-4 MESSAGE-5",
           first("ControlRequests.publish",
                 r'head, _, rest = (request.topic + b"\0" + request.message).rpartition(b"\0"); request = '
                 r'Publish(request.priority, head.replace(b"\0", b"/"), rest)')),
    mutant("publish-message-stripped", "Spaces and line ends around a message are taken away.",
           "MESSAGE-5 PUBLISH-4 MESSAGE-4", handlers=taking(Publish, message=bytes.strip)),
    mutant("publish-message-in-characters", "A message of text is cut to as many bytes as it has characters.",
           "MESSAGE-5 PUBLISH-5", handlers=taking(Publish, message=lambda text: text[: len(text.decode(errors="replace"))])),
    mutant("publish-message-of-text", "A message that is no UTF-8 is made UTF-8.", "MESSAGE-5 PUBLISH-4",
           handlers=taking(Publish, message=lambda message: message.decode(errors="replace").encode())),
    mutant("publish-without-00-answered-ok", "PUBLISH without 00 is answered 01.",
           "PUBLISH-11 PUBLISH-13 PUBLISH-12 ATTACH-15 STARTTLS-4",
           first("PsrtServer._decode_next",
                 "if self.requests is CONTROL and self.state is State.OPEN and data[at] == 1 and end - at >= 6 + "
                 r'(size := int.from_bytes(data[at + 2 : at + 6], "little")) and b"\0" not in data[at + 6 : at + 6 + '
                 'size]: from wireproof.protocols.psrt.requests import Publish; return Publish(0, b"", b""), at + 6 '
                 "+ size"),
           edit("ControlRequests.publish", 'raise RefusedError("expected a topic, got none")', "return OK")),
    mutant("publish-empty-topic-taken", "PUBLISH to the empty topic is carried out.", "PUBLISH-12",
           handlers=taking(Publish, topic=lambda topic: topic or b"/")),
    mutant("publish-no-utf-8-taken", "Bytes of a topic that are no UTF-8 are replaced.", "PUBLISH-14",
           handlers=taking(Publish, topic=lambda topic: topic.decode(errors="replace").encode())),
    mutant("publish-wildcards-taken", "PUBLISH to a mask is carried out.", "PUBLISH-15 PUBLISH-17",
           edit("ControlRequests.publish", "if is_mask(topic):", "if False:")),
    mutant("publish-wildcards-in-levels-taken", "PUBLISH refuses + and # as whole levels only.", "PUBLISH-15",
           edit("ControlRequests.publish", "if is_mask(topic):", 'if {"+", "#"} & set(topic.split("/")):')),
    mutant("publish-wildcards-first", "PUBLISH looks for + and # before it looks at the depth.", "PUBLISH-16",
           before("ControlRequests.publish", "if depth(topic) >", "if is_mask(topic):",
                  '    raise RefusedError("mask")')),
    mutant("publish-rights-before-wildcards", "PUBLISH looks at the rights before it looks for + and #.",
           "PUBLISH-17 PUBLISH-15",
           before("ControlRequests.publish", "if is_mask(topic):",
                  "if not _client(session).rights.may_publish(topic):", "    return DENIED")),
    mutant("publish-denied-closes", "PUBLISH without the right to closes the connection.",
           "PUBLISH-8 PUBLISH-10 ACL-2 ACL-3 ACL-4 ACL-5 ACL-6 ACL-12 ACL-13 ACCOUNT-3 TIMEOUT-11",
           handlers=refusing(Publish, DENIED)),
    mutant("publish-denied-published", "PUBLISH without the right to is answered FE and reaches the subscribers.",
           "PUBLISH-8 ACL-2 PUBLISH_REPL-8",
           before("ControlRequests.publish", "return DENIED",
                  "self._state.publish(topic, request.priority, request.message)")),
    mutant("publish-too-deep-closes", "PUBLISH to a topic that is too deep closes the connection.",
           "PUBLISH-9 PUBLISH-10 PUBLISH-16 TOPIC-9 TOPIC-7 TIMEOUT-11", handlers=refusing(Publish, ERROR)),
    mutant("publish-too-deep-published", "PUBLISH to a topic that is too deep is answered FF and reaches subscribers.",
           "PUBLISH-9",
           before("ControlRequests.publish", "return ERROR",
                  "self._state.publish(topic, request.priority, request.message)")),
    mutant("publish-nobody-answered-ff", "PUBLISH that nobody is subscribed to is answered FF.",
           "PUBLISH-7 PUBLISH-6 PUBLISH-19 PUBLISH-20 PUBLISH-5 LIMIT-4 TOPIC-6 TOPIC-8 ACL-2 PUBLISH-10",
           edit("ControlRequests.publish", "return OK",
                "return OK if self._state.subscriptions.match(topic) else ERROR")),
    mutant("publish-unanswered", "PUBLISH that is accepted is not answered.",
           "PUBLISH-6 PUBLISH-7 PUBLISH-5 PUBLISH-20 ORDER-1",
           handlers=with_answer(Publish, lambda answer, ask: b"" if answer == OK else answer)),
    mutant("publish-not-to-oneself", "A publisher does not get its own messages.",
           "PUBLISH-18 SUBSCRIBE-6 MESSAGE-8 ORDER-2 ORDER-3 ORDER-5",
           edit("ControlRequests.publish", "self._state.publish(topic, request.priority, request.message)",
                "own = _client(session); data, own.data = own.data, None; self._state.publish(topic, "
                "request.priority, request.message); own.data = data")),
    mutant("publish-needs-data-socket", "PUBLISH without a data socket is answered FF.",
           "PUBLISH-19 PUBLISH-6 PUBLISH-7",
           handlers=with_answer(Publish, lambda answer, ask: answer if client_of(ask).data else ERROR)),
    mutant("publish-priority-00-refused", "PUBLISH with priority 00 is answered FF.", "PUBLISH-20 MESSAGE-2",
           handlers=with_answer(Publish, lambda answer, ask: answer if ask.request.priority else ERROR)),
    mutant("publish-answered-for-each-reader", "PUBLISH is answered once for each session that it reaches.",
           "PUBLISH-6 ROBUSTNESS-10 MESSAGE-4",
           edit("ControlRequests.publish", "return OK",
                'return bytes([1]) * max(1, len(self._state.subscriptions.match(topic)))')),
    mutant("publish-answered-twice", "PUBLISH is answered 01 01.", "PUBLISH-6 ROBUSTNESS-10 MESSAGE-4",
           handlers=with_answer(Publish, lambda answer, ask: b"\1\1" if answer == OK else answer)),
)  # fmt: skip
