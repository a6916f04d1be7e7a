"""Faults of PUBLISH: how it is read, what is refused and how, and who is answered what."""

from __future__ import annotations

from typing import Any

from wireproof.mutants.psrt.server.mutant import HandlerPatch, ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import (
    Ask,
    changed,
    client_of,
    decoding,
    field_kind,
    instead_of_closing,
    lead,
    miscounted,
    order,
    taking,
    with_answer,
    with_handler,
    with_request,
)
from wireproof.mutants.psrt.server.steps import denied, masked, publishing, too_deep
from wireproof.protocols.errors import ErrorCode, MalformedFrameError
from wireproof.protocols.fields import U16, Split
from wireproof.protocols.messages import Message
from wireproof.protocols.psrt.requests import Publish
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.psrt.state import DENIED, ERROR, OK, Answer, Handler, RefusedError, State
from wireproof.reference_server.psrt.topics import ONE, REST, normalised

__all__ = ["MUTANTS"]

HEAD, LEN_AT, OPCODE = 6, 2, 1


def _unreadable(connection: Any, error: MalformedFrameError, data: bytes) -> tuple[Message, int] | None:
    """Take a whole PUBLISH without 00 for one without a topic."""
    if connection.state != "open" or data[0] != OPCODE or error.code is ErrorCode.FRAME_TOO_LARGE:
        return None
    return Publish(0, b"", b""), HEAD + int.from_bytes(data[LEN_AT:HEAD], "little")


def _split_last(request: Publish, ask: Ask) -> Publish:
    topic, _, message = (request.topic + b"\0" + request.message).rpartition(b"\0")
    return changed(request, topic=topic.replace(b"\0", b"/"), message=message)


def _odd_level(topic: str, ask: Ask) -> Answer | None:
    """Refuse what has a wildcard for a level, and nothing else."""
    if {ONE, REST} & set(topic.split("/")):
        raise RefusedError("mask")
    return None


def _masked_told(topic: str, ask: Ask) -> Answer | None:
    return ERROR if ONE in topic or REST in topic else None


def _told(where: Answer, tell: Answer) -> HandlerPatch:
    return with_answer(Publish, lambda answer, ask: tell if answer == where else answer)


def _closing(where: Answer) -> HandlerPatch:
    def change(answer: Answer, ask: Ask) -> Answer:
        if answer == where:
            raise RefusedError("bad topic")
        return answer

    return with_answer(Publish, change)


def _not_to_oneself(correct: Handler, state: State) -> Handler:
    def handle(request: Publish, session: PsrtSession, now: int) -> Answer:
        own = session.client
        assert own is not None
        data, own.data = own.data, None
        try:
            return correct(request, session, now)
        finally:
            own.data = data

    return handle


def _needs_data_socket(answer: Answer, ask: Ask) -> Answer:
    return answer if client_of(ask).data else ERROR


def _no_zero_priority(answer: Answer, ask: Ask) -> Answer:
    return ERROR if ask.request.priority == 0 else answer


def _replaced(topic: bytes) -> bytes:
    return topic.decode(errors="replace").encode()


def _reached(ask: Ask) -> list[Any]:
    return ask.state.subscriptions.match(normalised(ask.request.topic.decode()))


def _unless_masked(ask: Ask, answer: Answer) -> Answer:
    if ask.request.topic:
        raise RefusedError("mask")
    return answer


_FRAME: tuple[ServerMutant, ...] = (
    mutant("publish-starts-with-04", "PUBLISH starts with byte 04.", "PUBLISH-1", "PUBLISH-6", "PUBLISH-7", "FRAMING-5",
          profile=lead(Publish, 4)),
    mutant("publish-len-without-00", "The LEN of PUBLISH does not count the 00 behind the topic.", "PUBLISH-3",
          "PUBLISH-13", "LIMIT-4", "PUBLISH-6", "ATTACH-15", "STARTTLS-4",
          session=miscounted(Publish, lambda size: size + 1)),
    mutant("publish-len-of-2-bytes", "The LEN of PUBLISH has 2 bytes.", "PUBLISH-3", "FRAMING-2",
          "PUBLISH-6", profile=field_kind(Publish, "topic", Split(U16))),
    mutant("publish-priority-behind-len", "The priority of PUBLISH stands behind LEN.", "PUBLISH-2", "PUBLISH-3",
          "LIMIT-5", "PUBLISH-6", "PUBLISH-13", "ATTACH-15", "STARTTLS-4",
          profile=order(Publish, "topic", "priority", "message")),
    mutant("publish-split-at-the-last-00", "The message of PUBLISH begins behind the last 00.", "PUBLISH-4",
          "MESSAGE-5", handlers=with_request(Publish, _split_last)),
    mutant("publish-message-ends-at-00", "The message of PUBLISH ends at its first 00.", "PUBLISH-4", "MESSAGE-5",
          "MESSAGE-17", handlers=taking(Publish, message=lambda message: message.partition(b"\0")[0])),
    mutant("publish-message-stripped", "Spaces and line ends around a message are taken away.", "MESSAGE-5",
          "PUBLISH-4", "MESSAGE-4", handlers=taking(Publish, message=bytes.strip)),
    mutant("publish-message-of-text", "A message that is no UTF-8 is made UTF-8.", "MESSAGE-5", "PUBLISH-4",
          handlers=taking(Publish, message=_replaced)),
)  # fmt: skip
_CLOSED: tuple[ServerMutant, ...] = (
    mutant("publish-without-00-answered-ff", "PUBLISH without 00 is answered FF, and the session goes on.",
          "PUBLISH-11", "PUBLISH-13", "PUBLISH-12", "FRAMING-9", "ATTACH-15", "STARTTLS-4",
          session=decoding(_unreadable),
          handlers=instead_of_closing(Publish, lambda ask: _unless_masked(ask, ERROR))),
    mutant("publish-without-00-answered-ok", "PUBLISH without 00 is answered 01.", "PUBLISH-11", "PUBLISH-13",
          "PUBLISH-12", "ATTACH-15", "STARTTLS-4", session=decoding(_unreadable),
          handlers=instead_of_closing(Publish, lambda ask: _unless_masked(ask, OK))),
    mutant("publish-refused-with-ff", "What PUBLISH may not say is answered FF, and the session goes on.",
          "PUBLISH-12", "PUBLISH-14", "PUBLISH-15", "PUBLISH-17", "FRAMING-9",
          handlers=instead_of_closing(Publish, lambda ask: ERROR)),
    mutant("publish-refused-with-fe", "What PUBLISH may not say is answered FE, and the session goes on.",
          "PUBLISH-15", "PUBLISH-12", "PUBLISH-14", "PUBLISH-17", "FRAMING-9",
          handlers=instead_of_closing(Publish, lambda ask: DENIED)),
    mutant("publish-empty-topic-taken", "PUBLISH to the empty topic is carried out.", "PUBLISH-12",
          handlers=taking(Publish, topic=lambda topic: topic or b"/")),
    mutant("publish-no-utf-8-taken", "Bytes of a topic that are no UTF-8 are replaced.", "PUBLISH-14",
          handlers=taking(Publish, topic=_replaced)),
    mutant("publish-wildcards-taken", "PUBLISH to a mask is carried out.", "PUBLISH-15", "PUBLISH-17",
          handlers=publishing(tests=(too_deep, denied))),
    mutant("publish-wildcards-in-levels-taken", "PUBLISH refuses + and # as whole levels only.", "PUBLISH-15",
          handlers=publishing(tests=(too_deep, _odd_level, denied))),
    mutant("publish-wildcards-answered-ff", "PUBLISH to a mask is answered FF, and the session goes on.", "PUBLISH-15",
          "PUBLISH-17", "FRAMING-9", handlers=publishing(tests=(too_deep, _masked_told, denied))),
    mutant("publish-wildcards-first", "PUBLISH looks for + and # before it looks at the depth.", "PUBLISH-16",
          handlers=publishing(tests=(masked, too_deep, denied))),
    mutant("publish-rights-before-wildcards", "PUBLISH looks at the rights before it looks for + and #.", "PUBLISH-17",
          "PUBLISH-15", handlers=publishing(tests=(too_deep, denied, masked))),
    mutant("publish-rights-before-depth", "PUBLISH looks at the rights before it looks at the depth.", "PUBLISH-9",
          "TOPIC-9", "PUBLISH-16", "PUBLISH-17", handlers=publishing(tests=(denied, too_deep, masked))),
)  # fmt: skip
_ANSWERED: tuple[ServerMutant, ...] = (
    mutant("publish-denied-closes", "PUBLISH without the right to closes the connection.", "PUBLISH-8", "PUBLISH-10",
          "ACL-2", "ACL-3", "ACL-4", "ACL-5", "ACL-6", "ACL-12", "ACL-13", "ACCOUNT-3", "TIMEOUT-11",
          handlers=_closing(DENIED)),
    mutant("publish-denied-published", "PUBLISH without the right to is answered FE and reaches the subscribers.",
          "PUBLISH-8", "ACL-2", handlers=publishing(reaches=lambda answer: answer == DENIED)),
    mutant("publish-denied-answered-ok", "PUBLISH without the right to is answered 01 and dropped.", "PUBLISH-8",
          "ACL-2", "ACL-3", "ACL-4", "ACL-5", "ACL-6", "ACL-12", "ACL-13", "ACCOUNT-3", "PUBLISH_REPL-8",
          handlers=_told(DENIED, OK)),
    mutant("publish-denied-answered-ff", "PUBLISH without the right to is answered FF.", "PUBLISH-8", "ACL-2", "ACL-3",
          "ACL-4", "ACL-5", "ACL-6", "ACL-12", "ACL-13", "ACCOUNT-3", "PUBLISH-10", "PUBLISH_REPL-8", "TIMEOUT-11",
          handlers=_told(DENIED, ERROR)),
    mutant("publish-too-deep-closes", "PUBLISH to a topic that is too deep closes the connection.", "PUBLISH-9",
          "PUBLISH-10", "PUBLISH-16", "TOPIC-9", "TOPIC-7", "TIMEOUT-11", handlers=_closing(ERROR)),
    mutant("publish-too-deep-published", "PUBLISH to a topic that is too deep is answered FF and reaches subscribers.",
          "PUBLISH-9", handlers=publishing(reaches=lambda answer: answer == ERROR)),
    mutant("publish-nobody-answered-ff", "PUBLISH that nobody is subscribed to is answered FF.", "PUBLISH-7",
          "PUBLISH-6", "PUBLISH-19", "PUBLISH-20", "PUBLISH-5", "LIMIT-4", "TOPIC-6", "TOPIC-8", "ACL-2",
          "PUBLISH-10", handlers=with_answer(
              Publish, lambda answer, ask: ERROR if answer == OK and not _reached(ask) else answer)),
    mutant("publish-unanswered", "PUBLISH that is accepted is not answered.", "PUBLISH-6", "PUBLISH-7", "PUBLISH-5",
          "PUBLISH-20", "ORDER-1", handlers=_told(OK, b"")),
    mutant("publish-not-to-oneself", "A publisher does not get its own messages.", "PUBLISH-18", "SUBSCRIBE-6",
          "MESSAGE-8", "ORDER-2", "ORDER-3", "ORDER-5", handlers=with_handler(Publish, _not_to_oneself)),
    mutant("publish-needs-data-socket", "PUBLISH without a data socket is answered FF.", "PUBLISH-19",
          "PUBLISH-6", "PUBLISH-7", handlers=with_answer(Publish, _needs_data_socket)),
    mutant("publish-priority-00-refused", "PUBLISH with priority 00 is answered FF.", "PUBLISH-20", "MESSAGE-2",
          handlers=with_answer(Publish, _no_zero_priority)),
    mutant("publish-answered-twice", "PUBLISH is answered 01 01.", "PUBLISH-6", "ROBUSTNESS-10",
          handlers=_told(OK, b"\1\1")),
)  # fmt: skip
MUTANTS = _FRAME + _CLOSED + _ANSWERED
