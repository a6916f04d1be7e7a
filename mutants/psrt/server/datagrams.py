"""Faults of datagrams in clear: what is read, what is published, what is answered."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from wireproof.mutants.psrt.server.mutant import HandlerPatch, ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import (
    Ask,
    changed,
    datagrams,
    encoded,
    field_kind,
    instead_of_closing,
    order,
    taking,
    with_answer,
)
from wireproof.protocols.errors import MalformedFrameError
from wireproof.protocols.fields import U8
from wireproof.protocols.psrt import Codec, ResponseCode
from wireproof.protocols.psrt.enums import DatagramOperation
from wireproof.protocols.psrt.replies import DatagramReply
from wireproof.protocols.psrt.requests import Content, Datagram, Sealed
from wireproof.reference_server.psrt.datagram_requests import DatagramRequests, Sender
from wireproof.reference_server.psrt.rights import ALL, Rights
from wireproof.reference_server.psrt.state import Answer, RefusedError, State
from wireproof.reference_server.psrt.topics import normalised

__all__ = ["MUTANTS", "reading"]

BOTH = (Datagram, Sealed)
Change = Callable[[bytes], bytes]


@cache
def _codec(kind: type[Codec], profile: Any, variant: Any) -> Codec:
    return kind(profile, variant)


def reading(change: Change) -> type[State]:
    """Return a server that reads `change(datagram)` in place of each datagram."""

    class Reading(Codec):
        """Reads otherwise."""

        def decode_datagram(self, data: bytes) -> Datagram | Sealed:
            """See `Codec`."""
            return super().decode_datagram(change(data))

    class Read(State):
        """Has that codec."""

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.codec = _codec(Reading, self.codec.profile, self.codec.variant)

    return Read


def _replaced(at: int, right: bytes) -> Change:
    """Take any bytes at `at` for the right ones."""
    return lambda data: data[:at] + right + data[at + len(right) :] if len(data) >= at + len(right) else data


def _reserved_is_plain(data: bytes) -> bytes:
    return data[:4] + b"\0" + data[5:] if data[4:5] == b"\1" else data


def _data_header(data: bytes) -> bytes:
    return b"\xee\xaa" + data[2:] if data[:2] == b"\xee\xab" else data


def _cut(data: bytes) -> bytes:
    return data[:64]


def _told(where: ResponseCode, tell: ResponseCode | None) -> HandlerPatch:
    """Answer another code, or nothing."""

    def change(answer: Answer, ask: Ask) -> Answer:
        if isinstance(answer, DatagramReply) and answer.code == where:
            return b"" if tell is None else changed(answer, code=tell)
        return answer

    return with_answer(BOTH, change)


def _laid_out(change: Callable[[bytes], bytes]) -> HandlerPatch:
    """Answer `change(bytes)`."""
    return with_answer(BOTH, lambda answer, ask: change(encoded(answer, ask)) if answer else answer)


def _malformed_told(code: ResponseCode) -> type[State]:
    """Return a server that answers datagrams that it cannot read."""

    class Answering(Codec):
        """Takes what cannot be read for a datagram without a topic."""

        def decode_datagram(self, data: bytes) -> Datagram | Sealed:
            """See `Codec`."""
            try:
                return super().decode_datagram(data)
            except MalformedFrameError as error:
                if hasattr(error, "op"):
                    raise
                return Datagram(1, 0, b"", b"", DatagramOperation.PUBLISH, 1, b"", b"")

    class Answers(State):
        """Has that codec."""

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.codec = _codec(Answering, self.codec.profile, self.codec.variant)

    return Answers


def _reply(code: ResponseCode) -> Callable[[Ask], Answer]:
    return lambda ask: DatagramReply(1, code)


class _AlwaysAnswers(DatagramRequests):
    """Answers PUBLISH_NO_ACK, too."""

    def _answered(self, content: Content, code: ResponseCode) -> Answer:
        return DatagramReply(1, code)


class _AnswersErrors(DatagramRequests):
    """Answers PUBLISH_NO_ACK where it went wrong."""

    def _answered(self, content: Content, code: ResponseCode) -> Answer:
        return super()._answered(content, code) if code == ResponseCode.OK else DatagramReply(1, code)


class _NoAckDropped(DatagramRequests):
    """Drops PUBLISH_NO_ACK."""

    def _publish(self, content: Content, rights: Rights | None, sender: Sender) -> ResponseCode:
        return super()._publish(content, rights if content.op == DatagramOperation.PUBLISH else None, sender)


class _Wanted(DatagramRequests):
    """Answers only where somebody gets the message."""

    unwanted: ResponseCode | None = None

    def plain(self, request: Datagram, sender: Sender, now: int) -> Answer:
        """See `DatagramRequests`."""
        topic = normalised(request.topic.decode(errors="replace"))
        answer = super().plain(request, sender, now)
        is_taken = isinstance(answer, DatagramReply) and answer.code == ResponseCode.OK
        if is_taken and not self._state.subscriptions.match(topic):
            return b"" if self.unwanted is None else DatagramReply(1, self.unwanted)
        return answer


class _UnwantedIsTold(_Wanted):
    """Answers E0 where nobody gets the message."""

    unwanted = ResponseCode.NOT_REQUIRED


class _AllRights(DatagramRequests):
    """Looks at no rights."""

    def _publish(self, content: Content, rights: Rights | None, sender: Sender) -> ResponseCode:
        return super()._publish(content, None if rights is None else ALL, sender)


class _NoPassword(DatagramRequests):
    """Looks at no password."""

    def _publish(self, content: Content, rights: Rights | None, sender: Sender) -> ResponseCode:
        return super()._publish(content, ALL if rights is None else rights, sender)


class _PublishesAll(DatagramRequests):
    """Publishes what it answers with an error, too."""

    def _publish(self, content: Content, rights: Rights | None, sender: Sender) -> ResponseCode:
        code = super()._publish(content, rights, sender)
        if code != ResponseCode.OK:
            topic = normalised(content.topic.decode(errors="replace"))
            self._state.publish(topic, content.priority, content.message)
            self._state.flush()
        return code


class _AnyTopic(DatagramRequests):
    """Publishes to any topic, as it is written."""

    def _publish(self, content: Content, rights: Rights | None, sender: Sender) -> ResponseCode:
        if rights is None:
            return ResponseCode.ERR_ACCESS
        try:
            topic = content.topic.decode()
        except UnicodeDecodeError:
            return ResponseCode.ERROR
        if not rights.may_publish(self.name(topic)):
            return ResponseCode.ERR_ACCESS
        if self.is_bad(self.name(topic)):
            return ResponseCode.ERROR
        self._state.publish(self.name(topic), content.priority, content.message)
        self._state.flush()
        return ResponseCode.OK

    def name(self, topic: str) -> str:
        """Return the topic published to."""
        return normalised(topic)

    def is_bad(self, topic: str) -> bool:
        """Say whether it is answered FF."""
        return topic.count("/") > self._state.max_depth


class _AnyDepth(_AnyTopic):
    """Publishes to topics of any depth."""

    def is_bad(self, topic: str) -> bool:
        """See `_AnyTopic`."""
        return "+" in topic or "#" in topic


class _AsWritten(_AnyDepth):
    """Does not make topics alike."""

    def name(self, topic: str) -> str:
        """See `_AnyTopic`."""
        return topic

    def is_bad(self, topic: str) -> bool:
        """See `_AnyTopic`."""
        return super().is_bad(topic) or topic.count("/") > self._state.max_depth


class _Late(DatagramRequests):
    """Publishes each datagram when the next one comes."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.kept: list[tuple[str, int, bytes]] = []

    def _publish(self, content: Content, rights: Rights | None, sender: Sender) -> ResponseCode:
        right = self._state.publish
        due, self.kept = self.kept, []
        self._state.publish = lambda *message: self.kept.append(message)  # type: ignore[method-assign]
        try:
            code = super()._publish(content, rights, sender)
        finally:
            self._state.publish = right  # type: ignore[method-assign]
        for message in due:
            right(*message)
        self._state.flush()
        return code


class _Stuck(DatagramRequests):
    """Answers nothing more to one whose datagram was refused."""

    def __init__(self, state: State) -> None:
        super().__init__(state)
        self.stuck: set[int] = set()

    def plain(self, request: Datagram, sender: Sender, now: int) -> Answer:
        """See `DatagramRequests`."""
        if sender.peer.port in self.stuck:
            raise RefusedError("stuck")
        try:
            return super().plain(request, sender, now)
        except RefusedError:
            self.stuck.add(sender.peer.port)
            raise


def _replacing(data: bytes) -> bytes:
    return data.decode(errors="ignore").encode()


OKS = ("DATAGRAM-5", "DATAGRAM-2", "DATAGRAM-1", "DATAGRAM-24", "DATAGRAM-25", "DATAGRAM-26", "DATAGRAM-29",
       "DATAGRAM-30", "DATAGRAM-31", "DATAGRAM-3", "SEALED-7", "SEALED-2", "SEALED-3", "SEALED-6", "SEALED-17",
       "SEALED-1", "SEALED-5", "SEALED-4")  # fmt: skip
FFS = ("DATAGRAM-10", "DATAGRAM-11", "DATAGRAM-12", "DATAGRAM-13", "SEALED-15")
FES = ("DATAGRAM-8", "DATAGRAM-9", "ACL-17", "ACL-11", "SEALED-14", "ACL-3", "ACL-12", "ACL-13")
ANSWERED = (*OKS, *FFS, *FES)
SILENCES = ("DATAGRAM-14", "DATAGRAM-15", "DATAGRAM-16", "DATAGRAM-17", "DATAGRAM-18", "DATAGRAM-20", "DATAGRAM-21",
            "DATAGRAM-22", "SEALED-12", "SEALED-9", "SEALED-10", "SEALED-11", "SEALED-13", "SEALED-18", "SEALED-19",
            "SEALED-20")  # fmt: skip
_ANSWERS: tuple[ServerMutant, ...] = (
    mutant("datagram-reply-of-6-bytes", "A 00 ends the answer to a datagram.", "DATAGRAM-4", *ANSWERED,
          handlers=_laid_out(lambda reply: reply + b"\0")),
    mutant("datagram-reply-of-1-byte", "A datagram is answered with its code alone.", "DATAGRAM-4", *ANSWERED,
          handlers=_laid_out(lambda reply: reply[-1:])),
    mutant("datagram-reply-of-4-bytes", "The answer to a datagram has a version of one byte.", "DATAGRAM-4",
          *ANSWERED, handlers=_laid_out(lambda reply: reply[:3] + reply[4:])),
    mutant("datagram-reply-code-first", "The code of the answer to a datagram stands before the version.",
          "DATAGRAM-4", *ANSWERED, profile=order(DatagramReply, "code", "version")),
    mutant("datagram-reply-version-first", "The version stands before the header of the answer to a datagram.",
          "DATAGRAM-4", *ANSWERED, handlers=_laid_out(lambda reply: reply[2:4] + reply[:2] + reply[4:])),
    mutant("datagram-no-ack-answered", "PUBLISH_NO_ACK is answered.", "DATAGRAM-6", "SEALED-8",
          handlers=datagrams(_AlwaysAnswers)),
    mutant("datagram-no-ack-errors-answered", "PUBLISH_NO_ACK is answered where it is refused.", "DATAGRAM-6",
          "SEALED-8", handlers=datagrams(_AnswersErrors)),
    mutant("datagram-unanswered", "No datagram is answered.", *ANSWERED, "DATAGRAM-4",
          handlers=_laid_out(lambda reply: b"")),
    mutant("datagram-unwanted-unanswered", "A datagram that nobody gets is not answered.", "DATAGRAM-5", *OKS,
          handlers=datagrams(_Wanted)),
    mutant("datagram-unwanted-answered-e0", "A datagram that nobody gets is answered E0.", "DATAGRAM-5", *OKS,
          "FRAMING-4", handlers=datagrams(_UnwantedIsTold)),
    mutant("datagram-denied-unanswered", "A datagram without the right to publish is not answered.", *FES,
          handlers=_told(ResponseCode.ERR_ACCESS, None)),
    mutant("datagram-denied-answered-ff", "A datagram without the right to publish is answered FF.", *FES,
          handlers=_told(ResponseCode.ERR_ACCESS, ResponseCode.ERROR)),
    mutant("datagram-denied-answered-01", "A datagram without the right to publish is answered 01 and dropped.", *FES,
          handlers=_told(ResponseCode.ERR_ACCESS, ResponseCode.OK)),
    mutant("datagram-errors-unanswered", "A datagram to a bad topic is not answered.", *FFS,
          handlers=_told(ResponseCode.ERROR, None)),
    mutant("datagram-errors-answered-fe", "A datagram to a bad topic is answered FE.", *FFS,
          handlers=_told(ResponseCode.ERROR, ResponseCode.ERR_ACCESS)),
    mutant("datagram-malformed-answered-ff", "A datagram that cannot be read is answered FF.", *SILENCES,
          "DATAGRAM-29", state=_malformed_told(ResponseCode.ERROR),
          handlers=instead_of_closing(BOTH, _reply(ResponseCode.ERROR))),
    mutant("datagram-refused-answered-ff", "A datagram that can be read and not be carried out is answered FF.",
          "DATAGRAM-21", "DATAGRAM-22", "DATAGRAM-18", "SEALED-9", "SEALED-10", "SEALED-11", "SEALED-13", "SEALED-19",
          "SEALED-20", "SEALED-12", "SEALED-18", "DATAGRAM-6",
          "DATAGRAM-29", handlers=instead_of_closing(BOTH, _reply(ResponseCode.ERROR))),
    mutant("datagram-refused-answered-fe", "A datagram that can be read and not be carried out is answered FE.",
          "DATAGRAM-21", "DATAGRAM-22", "DATAGRAM-18", "SEALED-9", "SEALED-10", "SEALED-11", "SEALED-13", "SEALED-19",
          "SEALED-20", "SEALED-12", "SEALED-18", "DATAGRAM-6",
          "DATAGRAM-29", handlers=instead_of_closing(BOTH, _reply(ResponseCode.ERR_ACCESS))),
)  # fmt: skip
_READ: tuple[ServerMutant, ...] = (
    mutant("datagram-any-version", "The version of a datagram is not looked at.", "DATAGRAM-16",
          state=reading(_replaced(2, b"\1\0"))),
    mutant("datagram-version-of-1-byte", "The version of a datagram has 1 byte.", "DATAGRAM-1", "DATAGRAM-2", *OKS,
          profile=field_kind(Datagram, "version", U8)),
    mutant("datagram-low-byte-of-version", "The upper byte of a datagram's version is not looked at.", "DATAGRAM-16",
          state=reading(_replaced(3, b"\0"))),
    mutant("datagram-any-header", "The header of a datagram is not looked at.", "DATAGRAM-15",
          state=reading(_replaced(0, b"\xee\xaa"))),
    mutant("datagram-data-header", "A datagram may begin with EE AB.", "DATAGRAM-15", state=reading(_data_header)),
    mutant("datagram-cipher-01-is-plain", "Byte 4 of a datagram may be 01, too.", "DATAGRAM-17",
          state=reading(_reserved_is_plain)),
    mutant("datagram-any-cipher-is-plain", "Byte 4 of a datagram is not looked at.", "DATAGRAM-17", "SEALED-2",
          "SEALED-3", *OKS, "SEALED-8", state=reading(_replaced(4, b"\0"))),
    mutant("datagram-cut-at-64", "A datagram is cut after 64 bytes.", "DATAGRAM-25", "DATAGRAM-28",
          "SEALED-17", state=reading(_cut)),
    mutant("datagram-op-behind-priority", "The priority of a datagram stands before its OP.", "DATAGRAM-1",
          "DATAGRAM-3", *ANSWERED, "DATAGRAM-7", "DATAGRAM-6",
          profile=order(Datagram, "version", "encryption", "login", "password", "priority", "op", "topic", "message")),
    mutant("datagram-login-replaced", "Bytes of a datagram's login that are no UTF-8 are left out.", "DATAGRAM-18",
          handlers=taking(Datagram, login=_replacing)),
    mutant("datagram-empty-topic-published", "A datagram to the empty topic is answered 01.", "DATAGRAM-22",
          handlers=taking(Datagram, topic=lambda topic: topic or b"/")),
    mutant("datagram-any-op", "An OP that there is not is PUBLISH.", "DATAGRAM-21", "SEALED-13",
          handlers=taking(Datagram, op=lambda op: op if op in list(DatagramOperation) else 1)),
    mutant("datagram-message-ends-at-00", "The message of a datagram ends at its first 00.", "DATAGRAM-25",
          handlers=taking(Datagram, message=lambda message: message.partition(b"\0")[0])),
    mutant("datagram-priority-7f", "A datagram is published with the priority 7F.", "DATAGRAM-24",
          handlers=taking(Datagram, priority=lambda priority: 0x7F)),
    mutant("datagram-without-00-published", "A datagram without 00 behind its topic is published with no message.",
          "DATAGRAM-13", "SEALED-15", state=reading(
              lambda data: data if data[4:5] != b"\0" or data.count(0, 5) != 2 else data + b"\0")),
    mutant("datagram-login-without-password", "A datagram that ends within login or password is anonymous.",
          "DATAGRAM-20", state=reading(
              lambda data: b"\xee\xaa\1\0\0\0\0\1\x7ft\0" if data[:5] == b"\xee\xaa\1\0\0" and data.count(0, 5) < 2
              else data)),
    mutant("datagram-short-one-answered", "A datagram of fewer than 5 bytes is answered.", "DATAGRAM-14",
          state=reading(lambda data: b"\xee\xaa\1\0\0\0\0\1\x7ft\0" if len(data) < 5 else data)),
)  # fmt: skip
_PUBLISHED: tuple[ServerMutant, ...] = (
    mutant("datagram-no-ack-dropped", "PUBLISH_NO_ACK is not published.", "DATAGRAM-7", "SEALED-8", "DATAGRAM-31",
          "DATAGRAM-6", handlers=datagrams(_NoAckDropped)),
    mutant("datagram-of-any-rights", "The rights of a datagram's login are not looked at.", "DATAGRAM-9", "ACL-17",
          "SEALED-14", "ACL-3", "ACL-12", "ACL-13", handlers=datagrams(_AllRights)),
    mutant("datagram-of-any-password", "A datagram of an unknown login, or with a wrong password, is published.",
          "DATAGRAM-8", "ACL-11", "ACL-17", handlers=datagrams(_NoPassword)),
    mutant("datagram-published-all-the-same", "A datagram that is answered FE or FF is published all the same.",
          "DATAGRAM-8", "DATAGRAM-9", "DATAGRAM-10", "DATAGRAM-11", "SEALED-14", "SEALED-15", "DATAGRAM-12",
          "ACL-17", "MESSAGE-9", handlers=datagrams(_PublishesAll)),
    mutant("datagram-to-a-mask", "A datagram to a mask is published.", "DATAGRAM-10", "SEALED-15",
          handlers=datagrams(_AnyTopic)),
    mutant("datagram-of-any-depth", "A datagram to a topic that is too deep is published.", "DATAGRAM-11",
          "SEALED-15", "TOPIC-9", handlers=datagrams(_AnyDepth)),
    mutant("datagram-not-normalised", "The topic of a datagram is taken as it is written.", "DATAGRAM-26",
          "SEALED-17", "DATAGRAM-11", "DATAGRAM-5", "SEALED-14", "ACL-17", handlers=datagrams(_AsWritten)),
    mutant("datagram-one-behind", "A datagram is published when the next one comes.", "DATAGRAM-5", "MESSAGE-12",
          "DATAGRAM-7", *OKS, "SEALED-8", handlers=datagrams(_Late)),
    mutant("datagram-refused-is-the-last", "Once a datagram was refused its sender is answered no more.", "DATAGRAM-29",
          "ROBUSTNESS-2", handlers=datagrams(_Stuck)),
)  # fmt: skip
MUTANTS = _ANSWERS + _READ + _PUBLISHED
