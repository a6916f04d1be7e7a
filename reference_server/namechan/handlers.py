"""Handlers of what clients say, and of what a harness says at the hook."""

from __future__ import annotations

from wireproof.protocols.namechan import Delivery, Persistence, Replay, Sync
from wireproof.protocols.namechan.enums import VERSION
from wireproof.protocols.namechan.replies import Error, Subscribed, Unsubscribed, VersionReply
from wireproof.protocols.namechan.requests import (
    Ack,
    Blank,
    Connect,
    HookCreate,
    HookPublish,
    Publish,
    Subscribe,
    Unsubscribe,
    Version,
)
from wireproof.reference_server.namechan.hook import HookSession
from wireproof.reference_server.namechan.queue import Queue
from wireproof.reference_server.namechan.session import NamechanSession
from wireproof.reference_server.namechan.settings import Settings
from wireproof.reference_server.namechan.state import Answer, Handlers, State

__all__ = ["HookHandlers", "LineHandlers"]


class LineHandlers:
    """The handlers of a server's own port."""

    def __init__(self, state: State) -> None:
        self._state = state

    def handlers(self) -> Handlers:
        """Return request class -> handler."""
        known: Handlers = {
            Version: self.version,
            Connect: self.connect,
            Subscribe: self.subscribe,
            Unsubscribe: self.unsubscribe,
            Ack: self.ack,
            Blank: self.blank,
            Publish: self.publish,
        }
        return {kind: one for kind, one in known.items() if kind in self._state.codec.profile.replies}

    def version(self, request: Version, session: NamechanSession, now: int) -> Answer:
        """Answer with the same version, or with -1, and close (N5)."""
        if request.version == VERSION:
            session.greeted(request.version)
            return VersionReply(request.version)
        session.finish("a version that is not spoken")
        return VersionReply(self._state.rules.unsupported_version)

    def connect(self, request: Connect, session: NamechanSession, now: int) -> Answer:
        """Accept a client without a word (N6)."""
        if session.is_connected:
            return session.fatal("CONNECT: expected once, got another one")
        if request.version != session.version:
            return session.fatal(f"CONNECT: expected version {session.version}, got {request.version}")
        session.is_connected = True
        session.name = request.id
        return None

    def subscribe(self, request: Subscribe, session: NamechanSession, now: int) -> Answer:
        """Subscribe, and send earlier messages where they are asked for."""
        queue = self._state.find(request.topic)
        if queue is None:
            return _error("SUBSCRIBE: unknown topic", request.topic)
        reply = Subscribed(queue.topic, queue.name)
        if session in queue.subscribers:
            return reply
        if len(session.subscriptions) >= self._state.limits.max_subscriptions:
            return _error("SUBSCRIBE: too many subscriptions", request.topic)
        if request.replay != Replay.FROM_CURRENT and not queue.settings.can_be_replayed:
            return _error("SUBSCRIBE: only persistent broadcast queues can be replayed", request.topic)
        self._start(queue, session, request)
        return reply

    def _start(self, queue: Queue, session: NamechanSession, request: Subscribe) -> None:
        start = {Replay.FROM_BEGINNING: 1, Replay.FROM_MESSAGE: request.message}.get(Replay(request.replay))
        subscription = queue.subscribe(session, start)
        if subscription.cursor is not None:
            self._state.later(lambda: queue.feed(subscription))
        if not queue.settings.is_broadcast:
            self._state.later(queue.drain)

    def unsubscribe(self, request: Unsubscribe, session: NamechanSession, now: int) -> Answer:
        """End a subscription (N8)."""
        queue = self._state.queues.get(request.topic)
        if queue is None or session not in queue.subscribers:
            return _error("UNSUBSCRIBE: not subscribed", request.topic)
        queue.unsubscribe(session)
        return Unsubscribed(queue.topic, queue.name)

    def ack(self, request: Ack, session: NamechanSession, now: int) -> Answer:
        """Do nothing: that a line came is enough (N4)."""
        return None

    def blank(self, request: Blank, session: NamechanSession, now: int) -> Answer:
        """Do nothing (N14)."""
        return None

    def publish(self, request: Publish, session: NamechanSession, now: int) -> Answer:
        """Publish; only a failure is answered (N1)."""
        self._state.publish(request.topic, request.body, lambda why: session.refuse("PUBLISH", why))
        return None


class HookHandlers:
    """The handlers of the hook (N21)."""

    def __init__(self, state: State) -> None:
        self._state = state

    def handlers(self) -> Handlers:
        """Return request class -> handler."""
        return {HookCreate: self.hook_create, HookPublish: self.hook_publish, Blank: self.hook_blank}

    def hook_create(self, request: HookCreate, session: HookSession, now: int) -> Answer:
        """Make a queue."""
        settings = Settings(Delivery(request.delivery), Persistence(request.persistence), Sync(request.sync))
        session.outcome()(self._state.create(request.topic, settings))
        return None

    def hook_publish(self, request: HookPublish, session: HookSession, now: int) -> Answer:
        """Publish a message."""
        self._state.publish(request.topic, request.body, session.outcome())
        return None

    def hook_blank(self, request: Blank, session: HookSession, now: int) -> Answer:
        """Do nothing."""
        return None


def _error(what: str, topic: bytes) -> Error:
    return Error(f"{what}: {topic[:100].decode(errors='replace')}".encode())
