"""Faults in SUBSCRIBE: who is subscribed to what, and under which names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import (
    changed,
    with_answer,
    with_handler,
    with_request,
)
from wireproof.protocols.throttr.requests import Channel, Publish, Subscribe, Unsubscribe
from wireproof.reference_server.throttr.channels import Channels
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = ["GONE", "MUTANTS", "SESSION_ID", "but_accepted", "keeping", "named"]

NAMED = (Subscribe, Unsubscribe, Publish, Channel)
SESSION_ID = 32
"""Characters of the channel that is called as a connection is."""


def keeping(channels: type[Channels]) -> type[State]:
    """Return a state whose channels are kept by `channels`."""

    class Kept(State):
        """See `keeping`."""

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.channels = channels()

    return Kept


class _OneSubscriberEach(Channels):
    """The last to subscribe has the channel for itself."""

    def add(self, name: bytes, session: ThrottrSession, since: int) -> None:
        """See `Channels`."""
        if name != b"*":
            for held in self.of(name):
                self.remove(name, held.session)
        super().add(name, session, since)


class _Outliving(Channels):
    """Subscriptions outlive their connection."""

    def leave(self, session: ThrottrSession) -> None:
        """See `Channels`."""


class _Inherited(Channels):
    """The next connection to subscribe to anything gets the subscriptions of the one that went last."""

    left: tuple[bytes, ...] = ()

    def add(self, name: bytes, session: ThrottrSession, since: int) -> None:
        """See `Channels`."""
        super().add(name, session, since)
        left, self.left = self.left, ()
        for one in left:
            if one not in session.subscriptions:
                super().add(one, session, since)

    def leave(self, session: ThrottrSession) -> None:
        """See `Channels`."""
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
        """See `Channels`."""
        if (name, session.id) not in self.left:
            super().add(name, session, since)

    def remove(self, name: bytes, session: ThrottrSession) -> bool:
        """See `Channels`."""
        self.left.add((name, session.id))
        return super().remove(name, session)


class _Automatic(Channels):
    """Makes of the automatic subscriptions of a connection what `made` returns; others stay."""

    @staticmethod
    def made(name: bytes) -> bytes | None:
        """Return the name to subscribe to instead, None for none."""
        return name

    def add(self, name: bytes, session: ThrottrSession, since: int) -> None:
        """See `Channels`."""
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
MUTANTS = (
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
)  # fmt: skip
# fmt: on
