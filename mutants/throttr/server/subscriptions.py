"""Mutants of SUBSCRIBE, UNSUBSCRIBE and CHANNEL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import Ask, changed, with_answer, with_found, with_handler, with_request
from wireproof.protocols.throttr.replies import ChannelReply, Subscriber
from wireproof.protocols.throttr.requests import Channel, Publish, Subscribe, Unsubscribe
from wireproof.reference_server.throttr.channels import Channels, Subscription
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = ["MUTANTS"]

NAMED = (Subscribe, Unsubscribe, Publish, Channel)
SESSION_ID = 32
"""Characters of the channel that is called as a connection is."""


def keeping(channels: type[Channels]) -> type[State]:
    """Return a state whose channels are kept by `channels`."""

    class Kept(State):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.channels = channels()

    return Kept


class _OneSubscriberEach(Channels):
    """The last to subscribe has the channel for itself."""

    def add(self, name: bytes, session: ThrottrSession, since: int) -> None:
        if name != b"*":
            for held in self.of(name):
                self.remove(name, held.session)
        super().add(name, session, since)


class _Outliving(Channels):
    """Subscriptions outlive their connection."""

    def leave(self, session: ThrottrSession) -> None:
        pass


class _Inherited(Channels):
    """The next connection to subscribe to anything gets the subscriptions of the one that went last."""

    left: tuple[bytes, ...] = ()

    def add(self, name: bytes, session: ThrottrSession, since: int) -> None:
        super().add(name, session, since)
        left, self.left = self.left, ()
        for one in left:
            if one not in session.subscriptions:
                super().add(one, session, since)

    def leave(self, session: ThrottrSession) -> None:
        self.left = tuple(one for one in session.subscriptions if one != b"*" and len(one) != SESSION_ID)
        super().leave(session)


def named(change: Callable[[bytes], bytes], kinds: Any = NAMED) -> HandlerPatch:
    """Take `change(name)` for the name of the channel."""
    return with_request(kinds, lambda request, ask: changed(request, channel=change(request.channel)))


def but_accepted(correct: Handler, state: State) -> Handler:
    """Accept, and do nothing."""
    return lambda request, session, now: ACCEPTED


def _refused_if(wrong: Callable[[Any, ThrottrSession], bool]) -> HandlerPatch:
    def make(correct: Handler, state: State) -> Handler:
        return lambda request, session, now: DENIED if wrong(request, session) else correct(request, session, now)

    return with_handler(Subscribe, make)


class _NeverAgain(Channels):
    """Who left a channel cannot come back."""

    def __init__(self) -> None:
        super().__init__()
        self.left: set[tuple[bytes, bytes]] = set()

    def add(self, name: bytes, session: ThrottrSession, since: int) -> None:
        if (name, session.id) not in self.left:
            super().add(name, session, since)

    def remove(self, name: bytes, session: ThrottrSession) -> bool:
        self.left.add((name, session.id))
        return super().remove(name, session)


class _Automatic(Channels):
    """Makes of the automatic subscriptions of a connection what `made` returns; others stay."""

    @staticmethod
    def made(name: bytes) -> bytes | None:
        """Return the name to subscribe to instead, None for none."""
        return name

    def add(self, name: bytes, session: ThrottrSession, since: int) -> None:
        automatic = session.id not in self.known
        if automatic and name != b"*":
            self.known.add(session.id)
        one = self.made(name) if automatic else name
        if one is not None:
            super().add(one, session, since)

    def __init__(self) -> None:
        super().__init__()
        self.known: set[bytes] = set()


class _UpperCase(_Automatic):
    """The id is written in capitals."""

    made = staticmethod(lambda name: name.upper())


class _OnlyStar(_Automatic):
    """Nobody is subscribed to the own id."""

    made = staticmethod(lambda name: name if name == b"*" else None)


class _OnlyId(_Automatic):
    """Nobody is subscribed to `*`."""

    made = staticmethod(lambda name: None if name == b"*" else name)


_NAMES = "SUBSCRIBE-10", "PUSH-5", "PUBLISH-8"
GONE = "PUBLISH-13", "CHANNEL-12", "CHANNEL-13", "CHANNELS-9", "CHANNELS-10", "CHANNELS-13", "INFO-26", "INFO-27"

# fmt: off
SUBSCRIPTIONS_MUTANTS = (
    mutant("subscribe-answers-twice", "SUBSCRIBE is answered with two bytes 01.", "SUBSCRIBE-4",
           handlers=with_answer(Subscribe, lambda answer, ask: answer * 2)),
    mutant("subscribe-answers-the-count", "SUBSCRIBE is answered with the number of subscriptions the channel has.", "SUBSCRIBE-4", "FRAMING-5",
           handlers=with_answer(Subscribe, lambda answer, ask: bytes([len(ask.state.channels.of(ask.request.channel))]))),
    mutant("subscribe-without-effect", "SUBSCRIBE is answered with 01 and subscribes nobody.", "SUBSCRIBE-5", "SUBSCRIBE-6",
           handlers=with_handler(Subscribe, but_accepted)),
    mutant("subscribe-not-again", "SUBSCRIBE to a channel that was left is answered with 01 and subscribes nobody.", "SUBSCRIBE-5",
           state=keeping(_NeverAgain)),
    mutant("subscribe-one-subscriber-each", "SUBSCRIBE ends the channel's other subscriptions.", "SUBSCRIBE-6", "PUSH-4", "UNSUBSCRIBE-6",
           state=keeping(_OneSubscriberEach)),
    mutant("subscribe-at-most-16", "A connection may hold 16 channels and no more.", "SUBSCRIBE-6", "SUBSCRIBE-5",
           handlers=_refused_if(lambda request, session: session.subscribed >= 16)),
    mutant("subscriptions-outlive-connections", "Subscriptions stay when their connection has gone.", "SUBSCRIBE-7", *GONE, "INFO-28",
           "ROBUSTNESS-21", state=keeping(_Outliving)),
    mutant("subscriptions-inherited", "Who subscribes next gets the subscriptions of the connection that went last.", "SUBSCRIBE-7", "PUSH-5",
           "PUBLISH-8", "PUBLISH-13", state=keeping(_Inherited)),
    mutant("channel-names-stripped", "Blanks and line ends at the end of a channel's name are dropped.", *_NAMES, "PUSH-3",
           handlers=named(bytes.rstrip)),
    mutant("channel-names-in-utf-8", "Bytes of a channel's name that are no UTF-8 are dropped.", *_NAMES, "PUSH-3", "SUBSCRIBE-12",
           handlers=named(lambda name: name.decode("utf-8", "ignore").encode())),
    mutant("channel-names-of-graphic-characters", "Bytes of a name that are no graphic characters are dropped.", *_NAMES, "PUSH-3",
           handlers=named(lambda name: bytes(one for one in name if 0x20 < one < 0x7F))),
    mutant("channel-names-without-patterns", "The characters * and / of a channel's name are dropped.", *_NAMES, "PUSH-3",
           handlers=named(lambda name: name if name == b"*" else name.translate(None, b"*/"))),
    mutant("channel-names-of-255-refused", "SUBSCRIBE to a name of 255 bytes is refused.", "SUBSCRIBE-12", "SUBSCRIBE-5",
           handlers=_refused_if(lambda request, session: len(request.channel) == 255)),
    mutant("subscribed-to-star-and-id", "A fresh connection is subscribed to * and to its own id.", "SUBSCRIBE-13", "CHANNELS-14", "INFO-26",
           "PUSH-5", rules={"auto_subscribe": True}),
    mutant("subscribed-to-nothing", "A fresh connection holds no subscription.", "SUBSCRIBE-14", "CHANNELS-15", "CHANNEL-16", "PUBLISH-11", "PUSH-13",
           "PUSH-14", "INFO-27", rules={"auto_subscribe": False}),
    mutant("subscribed-to-star-alone", "A fresh connection is not subscribed to its own id.", "SUBSCRIBE-14", "CHANNELS-15", "PUSH-14", "INFO-27",
           state=keeping(_OnlyStar)),
    mutant("subscribed-to-id-alone", "A fresh connection is not subscribed to *.", "SUBSCRIBE-14", "CHANNELS-15", "CHANNEL-16", "PUBLISH-11",
           "PUSH-13", "INFO-27", state=keeping(_OnlyId)),
    mutant("subscribed-to-id-in-capitals", "A fresh connection is subscribed to its id in capitals.", "SUBSCRIBE-14", "CHANNELS-15", "PUSH-14",
           state=keeping(_UpperCase)),
)
# fmt: on


class _ForEverybody(Channels):
    """Ending a subscription ends those of all others to the channel."""

    def remove(self, name: bytes, session: ThrottrSession) -> bool:
        if not super().remove(name, session):
            return False
        for other in self.of(name) if name != b"*" else ():
            super().remove(name, other.session)
        return True

    def leave(self, session: ThrottrSession) -> None:
        for name in list(session.subscriptions):
            Channels.remove(self, name, session)


def _only_from_the_first(correct: Handler, state: State) -> Handler:
    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        asked = [name for name in session.subscriptions if name != b"*" and len(name) != SESSION_ID]
        if request.channel in asked[1:]:
            return ACCEPTED
        return correct(request, session, now)

    return handle


def _for_another(correct: Handler, state: State) -> Handler:
    def handle(request: Any, session: ThrottrSession, now: int) -> bytes:
        answer = correct(request, session, now)
        if answer == DENIED:
            for held in state.channels.of(request.channel)[:1]:
                state.channels.remove(request.channel, held.session)
        return answer

    return handle


# fmt: off
UNSUBSCRIBE_MUTANTS = (
    mutant("unsubscribe-answers-twice", "UNSUBSCRIBE is answered with two bytes.", "UNSUBSCRIBE-4",
           handlers=with_answer(Unsubscribe, lambda answer, ask: answer * 2)),
    mutant("unsubscribe-status-inverted", "UNSUBSCRIBE is answered with 00 on success.", "UNSUBSCRIBE-4", "UNSUBSCRIBE-5", "FRAMING-5",
           handlers=with_answer(Unsubscribe, lambda answer, ask: bytes([1 - answer[0]]))),
    mutant("unsubscribe-without-effect", "UNSUBSCRIBE is answered with 01 and ends nothing.", "UNSUBSCRIBE-5", *GONE,
           handlers=with_handler(Unsubscribe, but_accepted)),
    mutant("unsubscribe-only-from-the-first", "UNSUBSCRIBE ends only the first subscription the connection made.", "UNSUBSCRIBE-5", *GONE,
           handlers=with_handler(Unsubscribe, _only_from_the_first)),
    mutant("unsubscribe-for-everybody", "UNSUBSCRIBE ends everybody's subscriptions to the channel.", "UNSUBSCRIBE-6", "PUSH-4",
           state=keeping(_ForEverybody)),
    mutant("unsubscribe-for-another", "UNSUBSCRIBE from a channel not held ends the oldest subscription to it.", "UNSUBSCRIBE-6", "PUSH-4",
           handlers=with_handler(Unsubscribe, _for_another)),
)
# fmt: on


Rowed = Callable[[list[Any], Ask], list[Any]]


def _rows(change: Rowed) -> HandlerPatch:
    """Answer other rows."""
    return with_found(
        Channel, lambda reply, ask: changed(reply, subscribers=tuple(change(list(reply.subscribers), ask)))
    )


def _shown(**fields: Callable[[Any, Ask], Any]) -> HandlerPatch:
    """Show other values in every row."""
    return _rows(
        lambda rows, ask: [changed(row, **{name: make(row, ask) for name, make in fields.items()}) for row in rows]
    )


def _row(session: ThrottrSession) -> Subscriber:
    return Subscriber(session.id, session.connected_at, 0, 0)


def _subscribed(session: ThrottrSession) -> bool:
    """Say whether a connection subscribed to anything itself."""
    return any(name != b"*" and len(name) != SESSION_ID for name in session.subscriptions)


class _Remembering(Channels):
    """Keeps the subscriptions that have ended apart."""

    closed, unsubscribed = True, True

    def __init__(self) -> None:
        super().__init__()
        self.ended: dict[bytes, list[Subscription]] = {}

    def remove(self, name: bytes, session: ThrottrSession) -> bool:
        if self.closed if session.closed else self.unsubscribed:
            self.ended.setdefault(name, []).extend(session.subscriptions.get(name, ()))
        return super().remove(name, session)


class _RememberingClosed(_Remembering):
    """Keeps those whose connection is gone."""

    unsubscribed = False


def _with_ended(rows: list[Any], ask: Ask) -> list[Any]:
    channels = ask.state.channels
    ended = channels.ended.get(ask.request.channel, []) if isinstance(channels, _Remembering) else []
    return rows + [_row(one.session) for one in ended]


def _counted(number: int, reply: Any, ask: Ask) -> bytes:
    """Announce another number of rows."""
    answer = ask.state.codec.encode(reply)
    return answer[:1] + number.to_bytes(8, "little") + answer[9:]


def _found_empty(answer: bytes, ask: Ask) -> bytes:
    return ACCEPTED + bytes(8) if answer == DENIED else answer


def _found_asking(answer: bytes, ask: Ask) -> bytes:
    return ask.state.codec.encode(ChannelReply((_row(ask.session),))) if answer == DENIED else answer


# fmt: off
_REQUEST = (
)
_LAYOUT = (
    mutant("channel-count-is-1", "CHANNEL announces 1 subscriber, however many rows follow.", "CHANNEL-5", "CHANNEL-6",
           handlers=with_found(Channel, lambda reply, ask: _counted(1, reply, ask))),
    mutant("channel-count-up-to-8", "CHANNEL announces 8 subscribers at most.", "CHANNEL-5", "CHANNEL-6",
           handlers=with_found(Channel, lambda reply, ask: _counted(min(len(reply.subscribers), 8), reply, ask))),
    mutant("channel-name-follows", "The name of the channel stands behind the rows of CHANNEL.", "CHANNEL-6",
           handlers=with_found(Channel, lambda reply, ask: ask.state.codec.encode(reply) + ask.request.channel)),
)
_FIELDS = (
    mutant("channel-id-of-the-asking", "Every row of CHANNEL shows the id of the connection that asks.", "CHANNEL-7", "CHANNEL-12",
           handlers=_shown(connection_id=lambda row, ask: ask.session.id)),
    mutant("channel-subscribed-at-an-age", "SUBSCRIBED_AT is how long the subscription lasts.", "CHANNEL-8",
           handlers=_shown(subscribed_at=lambda row, ask: ask.state.wall(ask.now) - row.subscribed_at)),
    mutant("channel-read-bytes-from-1", "READ BYTES of CHANNEL begins with 1.", "CHANNEL-10",
           handlers=_shown(read_bytes=lambda row, ask: row.read_bytes + 1)),
)
_LISTED = (
    mutant("channel-with-everybody", "CHANNEL has a row for whoever subscribed to anything.", "CHANNEL-12", "CHANNEL-13", "CHANNEL-16",
           handlers=_rows(lambda rows, ask: [_row(one) for one in ask.state.sessions.values() if _subscribed(one)])),
    mutant("channel-with-those-closed", "CHANNEL still has rows of closed connections.", "CHANNEL-13", "CHANNEL-12", "ROBUSTNESS-21",
           state=keeping(_RememberingClosed), handlers=_rows(_with_ended)),
    mutant("channel-of-nobody-is-the-asking", "CHANNEL shows the asking connection where nobody is subscribed.", "CHANNEL-14", "CHANNEL-12",
           handlers=with_answer(Channel, _found_asking)),
    mutant("channel-of-nobody-is-empty", "CHANNEL answers 01 and no rows where nobody is subscribed.", "CHANNEL-15",
           handlers=with_answer(Channel, _found_empty)),
    mutant("channel-star-without-the-silent", "CHANNEL on * has no row for those who subscribed to nothing themselves.", "CHANNEL-16", "CHANNEL-12",
           handlers=_rows(lambda rows, ask: [row for row in rows if ask.request.channel != b"*" or row.connection_id == ask.session.id])),
)
# fmt: on
CHANNEL_MUTANTS = _REQUEST + _LAYOUT + _FIELDS + _LISTED


MUTANTS = (
    *SUBSCRIPTIONS_MUTANTS,
    *UNSUBSCRIBE_MUTANTS,
    *CHANNEL_MUTANTS,
)
