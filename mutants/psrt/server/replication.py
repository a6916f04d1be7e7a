"""Faults of replication: PUBLISH_REPL and the message behind it."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import (
    Ask,
    changed,
    client_of,
    field_kind,
    lead,
    miscounted,
    order,
    taking,
    with_answer,
    with_handler,
)
from wireproof.protocols.fields import U8, U16, U32, Blob
from wireproof.protocols.psrt.requests import PublishRepl, ReplData
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.psrt.state import (
    DENIED,
    ERROR,
    OK,
    OK_WAITING,
    UNWANTED,
    Answer,
    Handler,
    RefusedError,
    State,
)
from wireproof.reference_server.psrt.topics import normalised

__all__ = ["MUTANTS"]


def _told(where: Answer, tell: Answer) -> Any:
    return with_answer(PublishRepl, lambda answer, ask: tell if answer == where else answer)


def _unwaited(answer: Answer, ask: Ask) -> Answer:
    """Answer E0 where 02 is due, so that no message follows."""
    return UNWANTED if answer == OK_WAITING else answer


def _closes_denied(answer: Answer, ask: Ask) -> Answer:
    if answer == DENIED:
        raise RefusedError("no replicator")
    return answer


def _waits_for_nobody(answer: Answer, ask: Ask) -> Answer:
    """Take the message though nobody is subscribed."""
    if answer == UNWANTED:
        client_of(ask).waiting_for = ask.request.topic.decode(errors="replace")
        return OK_WAITING
    return answer


def _needs_data_socket(answer: Answer, ask: Ask) -> Answer:
    topic = ask.request.topic.decode(errors="replace")
    heard = any(client.data is not None for client in ask.state.subscriptions.match(topic))
    return answer if answer != OK_WAITING or heard else UNWANTED


def _text_only(answer: Answer, ask: Ask) -> Answer:
    """Look for subscriptions to the text of the topic, not for masks."""
    topic = ask.request.topic.decode(errors="replace")
    named = any(topic in ask.state.subscriptions.of(one) for one in ask.state.clients.values())
    return answer if answer != OK_WAITING or named else UNWANTED


def _anybody(correct: Handler, state: State) -> Handler:
    """Let everybody replicate."""

    def handle(request: PublishRepl, session: PsrtSession, now: int) -> Answer:
        topic = request.topic.decode()
        assert session.client is not None
        if not state.subscriptions.match(topic):
            return UNWANTED
        session.client.waiting_for = topic
        return OK_WAITING

    return handle


def _with_rights(correct: Handler, state: State) -> Handler:
    """Let those replicate who may publish."""

    def handle(request: PublishRepl, session: PsrtSession, now: int) -> Answer:
        assert session.client is not None
        if not session.client.rights.may_publish(normalised(request.topic.decode())):
            return DENIED
        return correct(request, session, now)

    return handle


def _with_timestamp(correct: Handler, state: State) -> Handler:
    """Push the timestamp before the message."""

    def handle(request: ReplData, session: PsrtSession, now: int) -> Answer:
        stamp = request.timestamp.to_bytes(8, "little")
        return correct(changed(request, message=stamp + request.message), session, now)

    return handle


def _old_dropped(correct: Handler, state: State) -> Handler:
    """Drop messages that are not newer than the one before."""
    last = [0]

    def handle(request: ReplData, session: PsrtSession, now: int) -> Answer:
        if request.timestamp <= last[0]:
            return OK
        last[0] = request.timestamp
        return correct(request, session, now)

    return handle


def _to_replicator(correct: Handler, state: State) -> Handler:
    """Publish to the topic of the first replication, again and again."""
    first: list[str] = []

    def handle(request: ReplData, session: PsrtSession, now: int) -> Answer:
        assert session.client is not None
        first.append(session.client.waiting_for)
        session.client.waiting_for = first[0]
        return correct(request, session, now)

    return handle


class _EndsBehindData(PsrtSession):
    """Closes the connection once a message was replicated."""

    def take(self, request: Any) -> None:
        """See `PsrtSession`."""
        super().take(request)
        if isinstance(request, ReplData):
            self.finish()


ASKED = ("PUBLISH_REPL-4", "PUBLISH_REPL-1", "PUBLISH_REPL-5", "PUBLISH_REPL-8", "LIMIT-6", "LIMIT-7")
DATA = ("REPL_DATA-1", "REPL_DATA-2", "REPL_DATA-3", "REPL_DATA-4", "REPL_DATA-5", "REPL_DATA-6", "LIMIT-7")
MUTANTS: tuple[ServerMutant, ...] = (
    mutant("replication-starts-with-04", "PUBLISH_REPL starts with byte 04.", "PUBLISH_REPL-1", *ASKED,
          "PUBLISH_REPL-2", "PUBLISH_REPL-3", "FRAMING-5", profile=lead(PublishRepl, 4)),
    mutant("replication-topic-with-00", "A 00 ends the topic of PUBLISH_REPL, beyond its LEN.", "PUBLISH_REPL-1",
          *ASKED, "PUBLISH_REPL-2", "PUBLISH_REPL-3", session=miscounted(PublishRepl, lambda size: size + 1)),
    mutant("replication-len-of-2-bytes", "The LEN of PUBLISH_REPL has 2 bytes.", "PUBLISH_REPL-1", *ASKED,
          "PUBLISH_REPL-2", "PUBLISH_REPL-3", "FRAMING-2", profile=field_kind(PublishRepl, "topic", Blob(U16))),
    mutant("replication-of-anybody", "Everybody may replicate.", "PUBLISH_REPL-2", "ACL-12",
          handlers=with_handler(PublishRepl, _anybody)),
    mutant("replication-denied-closes", "PUBLISH_REPL of who is no replicator closes the connection.",
          "PUBLISH_REPL-2", handlers=with_answer(PublishRepl, _closes_denied)),
    mutant("replication-denied-answered-ff", "PUBLISH_REPL of who is no replicator is answered FF.", "PUBLISH_REPL-2",
          handlers=_told(DENIED, ERROR)),
    mutant("replication-with-rights", "A replicator must have the right to publish, too.", "PUBLISH_REPL-8", *ASKED,
          "PUBLISH_REPL-3", "ACL-13", handlers=with_handler(PublishRepl, _with_rights)),
    mutant("replication-of-nothing", "PUBLISH_REPL is answered E0 though somebody is subscribed.", "PUBLISH_REPL-4",
          *ASKED, handlers=with_answer(PublishRepl, _unwaited)),
    mutant("replication-for-nobody", "PUBLISH_REPL is answered 02 though nobody is subscribed.", "PUBLISH_REPL-3",
          handlers=with_answer(PublishRepl, _waits_for_nobody)),
    mutant("replication-unwanted-answered-ff", "PUBLISH_REPL to a topic without subscriber is answered FF.",
          "PUBLISH_REPL-3", handlers=_told(UNWANTED, ERROR)),
    mutant("replication-unwanted-answered-01", "PUBLISH_REPL to a topic without subscriber is answered 01.",
          "PUBLISH_REPL-3", handlers=_told(UNWANTED, OK)),
    mutant("replication-needs-data-socket", "PUBLISH_REPL is answered E0 where no subscriber has a data socket.",
          "PUBLISH_REPL-5", handlers=with_answer(PublishRepl, _needs_data_socket)),
    mutant("replication-not-by-masks", "PUBLISH_REPL is answered E0 where masks alone match.", "PUBLISH_REPL-4",
          handlers=with_answer(PublishRepl, _text_only)),
    mutant("replicated-unanswered", "A replicated message is not answered, as the document has it.", "REPL_DATA-2",
          "REPL_DATA-5", handlers=with_answer(ReplData, lambda answer, ask: b"")),
    mutant("replicated-answered-02", "A replicated message is answered 02.", "REPL_DATA-2", "FRAMING-4",
          handlers=with_answer(ReplData, lambda answer, ask: b"\2")),
    mutant("replicated-with-timestamp", "The timestamp is pushed before the message.", "REPL_DATA-4", "REPL_DATA-3",
          "REPL_DATA-6", "LIMIT-7", "PUBLISH_REPL-4", "PUBLISH_REPL-8", "REPL_DATA-5",
          handlers=with_handler(ReplData, _with_timestamp)),
    mutant("replicated-once-a-time", "A message that is not newer than the last is dropped.", "REPL_DATA-4",
          "REPL_DATA-3", "REPL_DATA-6", handlers=with_handler(ReplData, _old_dropped)),
    mutant("replicated-timestamp-of-4-bytes", "The timestamp of a replicated message has 4 bytes.", "REPL_DATA-1",
          *DATA, "PUBLISH_REPL-4", "PUBLISH_REPL-8", "PUBLISH_REPL-5", profile=field_kind(ReplData, "timestamp", U32)),
    mutant("replicated-timestamp-first", "The timestamp stands before the priority.", "REPL_DATA-1", *DATA,
          "PUBLISH_REPL-4", "PUBLISH_REPL-8", profile=order(ReplData, "timestamp", "priority", "message")),
    mutant("replicated-len-of-1-byte", "The LEN of a replicated message has 1 byte.", "REPL_DATA-1", *DATA,
          "PUBLISH_REPL-4", "PUBLISH_REPL-8", "PUBLISH_REPL-5", "FRAMING-2",
          profile=field_kind(ReplData, "message", Blob(U8))),
    mutant("replicated-with-priority-7f", "A replicated message is pushed with the priority 7F.", "REPL_DATA-3",
          handlers=taking(ReplData, priority=lambda priority: 0x7F)),
    mutant("replicated-cut-at-00", "A replicated message ends at its first 00.", "REPL_DATA-6",
          handlers=taking(ReplData, message=lambda message: message.partition(b"\0")[0])),
    mutant("replicated-to-the-first-topic", "Every replicated message goes to the topic of the first.", "REPL_DATA-3",
          "PUBLISH_REPL-1", "REPL_DATA-5", handlers=with_handler(ReplData, _to_replicator)),
    mutant("replicated-closes", "The connection is closed once a message was replicated.", "REPL_DATA-5",
          "REPL_DATA-2", session=_EndsBehindData),
    mutant("replicated-not-published", "A replicated message is answered and pushed to nobody.", "REPL_DATA-3",
          "PUBLISH_REPL-4", "REPL_DATA-6", "REPL_DATA-4", "PUBLISH_REPL-8", "REPL_DATA-5", "LIMIT-7",
          handlers=with_handler(ReplData, lambda correct, state: lambda request, session, now: OK)),
)  # fmt: skip
