"""Faults of pushes: how they are laid out, what is in them, who gets them, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.psrt.server.mutant import ServerMutant, mutant
from wireproof.mutants.psrt.server.patches import (
    Ask,
    changed,
    client_of,
    datagrams,
    field_kind,
    lead,
    pushing,
    with_answer,
    with_handler,
)
from wireproof.protocols.fields import U16, Split
from wireproof.protocols.psrt.replies import PushedMessage
from wireproof.protocols.psrt.requests import Datagram, Publish, Subscribe
from wireproof.reference_server.psrt.client import Client
from wireproof.reference_server.psrt.datagram_requests import DatagramRequests
from wireproof.reference_server.psrt.feed import Feed
from wireproof.reference_server.psrt.session import PsrtSession
from wireproof.reference_server.psrt.state import OK, Answer, Handler, State
from wireproof.reference_server.psrt.subscriptions import Subscriptions
from wireproof.reference_server.psrt.topics import levels, matches, normalised

__all__ = ["MUTANTS", "fed_by"]

USUAL_PRIORITY = 0x7F
HEAD = 6
A_FEW = 10


def fed_by(kind: type[Feed]) -> type[PsrtSession]:
    """Return sessions whose data sockets are told by another class."""
    return type("Session", (PsrtSession,), {"feed_type": kind})


def _counted(more: int) -> type[State]:
    """Push messages whose LEN is so much more."""

    def change(message: PushedMessage, state: State) -> bytes:
        frame = bytearray(state.codec.encode(message))
        size = int.from_bytes(frame[2:HEAD], "little") + more
        frame[2:HEAD] = size.to_bytes(4, "little")
        return bytes(frame)

    return pushing(change)


def _message(change: Callable[[bytes], bytes]) -> type[State]:
    return pushing(lambda message, state: changed(message, message=change(message.message)))


def _priority_late(message: PushedMessage, state: State) -> bytes:
    frame = state.codec.encode(message)
    return frame[:1] + frame[2:HEAD] + frame[1:2] + frame[HEAD:]


class _Delivering(State):
    """Chooses who gets a message."""

    def publish(self, topic: str, priority: int, message: bytes) -> None:
        """See `State`."""
        frame = self.codec.encode(PushedMessage(priority, topic.encode(), message))
        for client in self.chosen(self.subscriptions.match(topic), topic):
            client.deliver(frame)

    def chosen(self, subscribed: list[Client], topic: str) -> list[Client]:
        """Return who gets a message that `subscribed` are to get."""
        return subscribed


class _FirstOnly(_Delivering):
    """Gives a message to the one who subscribed first."""

    def chosen(self, subscribed: list[Client], topic: str) -> list[Client]:
        """See `_Delivering`."""
        return subscribed[:1]


class _InTurns(_Delivering):
    """Gives each message to one of the subscribers, in turns."""

    turn = 0

    def chosen(self, subscribed: list[Client], topic: str) -> list[Client]:
        """See `_Delivering`."""
        self.turn += 1
        return [subscribed[self.turn % len(subscribed)]] if subscribed else []


class _Everybody(_Delivering):
    """Gives each message to everybody."""

    def chosen(self, subscribed: list[Client], topic: str) -> list[Client]:
        """See `_Delivering`."""
        return list(self.clients.values())


class _AllIfAny(_Delivering):
    """Gives a message that anybody wants to everybody who wants any."""

    def chosen(self, subscribed: list[Client], topic: str) -> list[Client]:
        """See `_Delivering`."""
        return [one for one in self.clients.values() if self.subscriptions.count(one)] if subscribed else []


class _Copies(Subscriptions[Client]):
    """Finds a subscriber once for each of its masks that match."""

    def match(self, topic: str) -> list[Client]:
        """See `Subscriptions`."""
        there = tuple(topic.split("/"))
        return [who for who, texts in self._texts.items() for text in sorted(texts) if matches(levels(text), there)]


class _Copied(State):
    """Hands a message over for each mask."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.subscriptions = _Copies(keeps_equal_masks=self.rules.keeps_equal_masks)


class _Twice(Subscriptions[Client]):
    """Keeps a mask as often as it is subscribed."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.times: dict[tuple[Client, str], int] = {}

    def add(self, who: Client, text: str) -> None:
        """See `Subscriptions`."""
        super().add(who, text)
        self.times[who, text] = self.times.get((who, text), 0) + 1

    def remove(self, who: Client, text: str) -> None:
        """See `Subscriptions`."""
        super().remove(who, text)
        self.times.pop((who, text), None)

    def match(self, topic: str) -> list[Client]:
        """See `Subscriptions`."""
        there = tuple(topic.split("/"))
        found = []
        for who in super().match(topic):
            masks = [text for text in self.of(who) if matches(levels(text), there)]
            found += [who] * max(self.times.get((who, text), 1) for text in masks)
        return found


class _TakenTwice(State):
    """Hands a message over for each time that its topic was subscribed."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.subscriptions = _Twice(keeps_equal_masks=self.rules.keeps_equal_masks)


class _Masked(State):
    """Pushes the mask in place of the topic."""

    def publish(self, topic: str, priority: int, message: bytes) -> None:
        """See `State`."""
        there = tuple(topic.split("/"))
        for client in self.subscriptions.match(topic):
            mask = next(text for text in sorted(self.subscriptions.of(client)) if matches(levels(text), there))
            client.deliver(self.codec.encode(PushedMessage(priority, mask.encode(), message)))


class _Retained(State):
    """Keeps the last message of each topic."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.kept: dict[str, bytes] = {}

    def publish(self, topic: str, priority: int, message: bytes) -> None:
        """See `State`."""
        super().publish(topic, priority, message)
        self.kept[topic] = self.codec.encode(PushedMessage(priority, topic.encode(), message))


def _with_retained(answer: Answer, ask: Ask) -> Answer:
    assert isinstance(ask.state, _Retained)
    for topic, frame in ask.state.kept.items():
        if answer == OK and client_of(ask) in ask.state.subscriptions.match(topic):
            client_of(ask).deliver(frame)
    return answer


class _OnControl(State):
    """Pushes to who has no data socket any more on the control socket."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.had: set[Client] = set()
        """Who got a message on a data socket before."""

    def publish(self, topic: str, priority: int, message: bytes) -> None:
        """See `State`."""
        super().publish(topic, priority, message)
        frame = self.codec.encode(PushedMessage(priority, topic.encode(), message))
        for client in self.subscriptions.match(topic):
            if client.data is not None:
                self.had.add(client)
            elif client in self.had:
                for session in self.sessions:
                    if session.client is client:
                        session._write(frame)


class _RawTopic(State):
    """Pushes topics as they were written."""

    raw: bytes | None = None

    def publish(self, topic: str, priority: int, message: bytes) -> None:
        """See `State`."""
        named = self.raw if self.raw is not None else topic.encode()
        frame = self.codec.encode(PushedMessage(priority, named, message))
        for client in self.subscriptions.match(topic):
            client.deliver(frame)


def _raw(correct: Handler, state: State) -> Handler:
    assert isinstance(state, _RawTopic)

    def handle(request: Any, asker: Any, now: int) -> Answer:
        state.raw = request.topic
        try:
            return correct(request, asker, now)
        finally:
            state.raw = None

    return handle


class _NewestFirst(Feed):
    """Writes what waits newest first, where there is more than a little."""

    def flush(self) -> None:
        """See `Feed`."""
        if len(self._waiting) > A_FEW:
            self._waiting.reverse()
        super().flush()


class _Behind(Feed):
    """Writes a message once another one comes."""

    def flush(self) -> None:
        """See `Feed`."""
        kept = self._waiting[-1:]
        self._waiting[-1:] = []
        super().flush()
        self._waiting += kept

    def push(self, frame: bytes) -> None:
        """See `Feed`."""
        super().push(frame)
        if len(self._waiting) > 1 and self not in self._state.touched:
            self._state.touched.append(self)


class _NotPublished(DatagramRequests):
    """Answers datagrams and hands them to nobody."""

    def _publish(self, *given: Any) -> Any:
        publish, self._state.publish = self._state.publish, lambda *message: None  # type: ignore[method-assign]
        try:
            return super()._publish(*given)
        finally:
            self._state.publish = publish  # type: ignore[method-assign]


def _first_message_lost(correct: Handler, state: State) -> Handler:
    """Lose the first message of each topic."""
    seen: set[str] = set()

    def handle(request: Publish, session: PsrtSession, now: int) -> Answer:
        topic = normalised(request.topic.decode(errors="replace"))
        if topic in seen or not request.topic:
            return correct(request, session, now)
        publish, state.publish = state.publish, lambda *message: None  # type: ignore[method-assign]
        try:
            answer = correct(request, session, now)
        finally:
            state.publish = publish  # type: ignore[method-assign]
        if answer == OK:
            seen.add(topic)
        return answer

    return handle


EVERY = ("MESSAGE-4", "MESSAGE-3", "MESSAGE-5", "MESSAGE-12", "MESSAGE-17", "REPL_DATA-3", "SUBSCRIBE-6", "SEALED-17",
         "STARTTLS-5")  # fmt: skip
_LAYOUT: tuple[ServerMutant, ...] = (
    mutant("push-len-without-00", "The LEN of a push does not count the 00 behind the topic.", "MESSAGE-3", *EVERY,
          "MESSAGE-1", state=_counted(-1)),
    mutant("push-len-of-2-bytes", "The LEN of a push has 2 bytes.", "MESSAGE-3", "FRAMING-2", *EVERY,
          "MESSAGE-1", profile=field_kind(PushedMessage, "topic", Split(U16))),
    mutant("push-starts-with-02", "A push begins with 02.", "MESSAGE-1", *EVERY, profile=lead(PushedMessage, 2)),
    mutant("push-priority-behind-len", "The priority of a push stands behind LEN.", "MESSAGE-2", *EVERY,
          "MESSAGE-1", state=pushing(_priority_late)),
)  # fmt: skip
_CONTENT: tuple[ServerMutant, ...] = (
    mutant("push-priority-7f", "Every push has the priority 7F.", "MESSAGE-2", "REPL_DATA-3", "DATAGRAM-24",
          "SEALED-17", "PUBLISH-20", "MESSAGE-4",
          state=pushing(lambda message, state: changed(message, priority=USUAL_PRIORITY))),
    mutant("push-priority-of-7-bits", "The upper bit of a priority is lost.", "MESSAGE-2", "REPL_DATA-3",
          "DATAGRAM-24", "SEALED-17",
          "PUBLISH-20", state=pushing(lambda message, state: changed(message, priority=message.priority & 0x7F))),
    mutant("push-cut-at-128", "A message is cut after 128 bytes.", "MESSAGE-17", "MESSAGE-5", "REPL_DATA-6",
          "MESSAGE-4", "PUBLISH-4", "LIMIT-7", "DATAGRAM-25", state=_message(lambda message: message[:128])),
    mutant("push-cut-at-00", "A push ends before the first 00 of its message.", "MESSAGE-5", "PUBLISH-4",
          "REPL_DATA-6", "DATAGRAM-25", "MESSAGE-17", "SEALED-17", "MESSAGE-4",
          state=_message(lambda message: message.partition(b"\0")[0])),
    mutant("push-of-nothing-left-out", "An empty message is not pushed.", "MESSAGE-5", "PUBLISH-5", "REPL_DATA-6",
          "DATAGRAM-25", "SEALED-17", "MESSAGE-4",
          "MESSAGE-8", state=pushing(lambda message, state: message if message.message else None)),
    mutant("push-of-the-mask", "A push has the mask that was subscribed in place of its topic.", "MESSAGE-6",
          "TOPIC-14", "TOPIC-10", "TOPIC-17", state=_Masked),
    mutant("push-topic-as-written", "A push has the topic as it was written, not normalised.", "MESSAGE-6", "TOPIC-2",
          "TOPIC-3", "DATAGRAM-26", "SEALED-17", "TOPIC-6", state=_RawTopic,
          handlers=with_handler((Publish, Datagram), _raw)),
    mutant("push-topic-with-slash", "A push has a / before its topic.", "MESSAGE-6", "SUBSCRIBE-6", *EVERY,
          "MESSAGE-1", state=pushing(lambda message, state: changed(message, topic=b"/" + message.topic))),
)  # fmt: skip
_WHO: tuple[ServerMutant, ...] = (
    mutant("push-for-each-mask", "A session gets a copy of a message for each of its masks that match.", "MESSAGE-7",
          "SUBSCRIBE-16", "UNSUBSCRIBE-15", "ROBUSTNESS-13", state=_Copied),
    mutant("push-for-each-subscribe", "A session gets a copy for each time that it subscribed to a topic.",
          "SUBSCRIBE-16", "UNSUBSCRIBE-8", "MESSAGE-7", "NOP-3", state=_TakenTwice),
    mutant("push-to-the-first-only", "Only the session that subscribed first gets a message.", "MESSAGE-8",
          "REPL_DATA-3", "ROBUSTNESS-13", "ORDER-4", "SUBSCRIBE-6", "UNSUBSCRIBE-12", "LOGIN-16", "ATTACH-16",
          "MESSAGE-16", state=_FirstOnly),
    mutant("push-in-turns", "Each message goes to one of those who are subscribed, in turns.", "MESSAGE-8",
          "REPL_DATA-3", "ROBUSTNESS-13", "ORDER-3", "SUBSCRIBE-6", "UNSUBSCRIBE-12", "ATTACH-16", "MESSAGE-16",
          "STARTTLS-5", state=_InTurns),
    mutant("push-to-everybody", "Every session gets every message.", "MESSAGE-9", "UNSUBSCRIBE-4", "ATTACH-16",
          "ACL-16", "SUBSCRIBE-18", "SUBSCRIBE-12", "SUBSCRIBE-13", "SUBSCRIBE-19", "MESSAGE-10", "TOPIC-15",
          "TOPIC-11", "TOPIC-23", "TOPIC-19", "TOPIC-20", "TOPIC-21", "TOPIC-5", "TOPIC-24", "UNSUBSCRIBE-8",
          "UNSUBSCRIBE-10", "UNSUBSCRIBE-2", "UNSUBSCRIBE-7", "UNSUBSCRIBE-15", "TOPIC-14", "TOPIC-25", "TOPIC-1",
          "TOPIC-16", "TOPIC-17", "TOPIC-18", "TOPIC-10", "TOPIC-12", "TOPIC-13", "SUBSCRIBE-3", "SUBSCRIBE-7",
          "ROBUSTNESS-12", "ROBUSTNESS-13", "DATAGRAM-6", "DATAGRAM-7", state=_Everybody),
    mutant("push-to-all-who-want-any", "Who is subscribed to anything gets what anybody is subscribed to.",
          "MESSAGE-9", "ATTACH-16", "SUBSCRIBE-18", "UNSUBSCRIBE-12", "UNSUBSCRIBE-11", "UNSUBSCRIBE-4",
          "ROBUSTNESS-13", state=_AllIfAny),
    mutant("push-on-the-control-socket", "Who lost its data socket gets messages on the control socket.", "MESSAGE-11",
          "ATTACH-13", "SUBSCRIBE-17", "PUBLISH_REPL-5", "PUBLISH-18", "ORDER-1", "FRAMING-3", state=_OnControl),
    mutant("push-of-the-last-message", "Who subscribes gets the last message of the topic.", "MESSAGE-10",
          "SUBSCRIBE-12", "SUBSCRIBE-16", "UNSUBSCRIBE-4", "NOP-3", "SUBSCRIBE-19", "ORDER-2", state=_Retained,
          handlers=with_answer(Subscribe, _with_retained)),
    mutant("push-but-the-first", "The first message of each topic is lost.", "SUBSCRIBE-6", "MESSAGE-8", "MESSAGE-4",
          "MESSAGE-5", "ORDER-4", "MESSAGE-1", handlers=with_handler(Publish, _first_message_lost)),
    mutant("push-not-of-datagrams", "What comes by datagram is answered and not pushed.", "MESSAGE-12", "DATAGRAM-7",
          "DATAGRAM-24", "DATAGRAM-25", "DATAGRAM-26", "DATAGRAM-31", "DATAGRAM-5", "SEALED-8", "SEALED-17",
          "DATAGRAM-1", "DATAGRAM-2", handlers=datagrams(_NotPublished)),
)  # fmt: skip
_ORDER: tuple[ServerMutant, ...] = (
    mutant("push-newest-first", "More than ten messages of one segment are pushed newest first.", "ORDER-3",
          "ROBUSTNESS-5",
          "MESSAGE-1", "MESSAGE-4", session=fed_by(_NewestFirst)),
    mutant("push-once-another-comes", "A message is pushed once the next one comes.", "SUBSCRIBE-6", "MESSAGE-8",
          *EVERY, "ORDER-4", "ORDER-5", "MESSAGE-1", session=fed_by(_Behind)),
)  # fmt: skip
MUTANTS = _LAYOUT + _CONTENT + _WHO + _ORDER
