"""The model of the whole server: follows connections, queues and time, and says what every connection must get.

Written from the document and its errata; it shares no code with the handlers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wireproof.protocols.messages import Message, Request
from wireproof.protocols.namechan.enums import UNSUPPORTED, VERSION, Delivery, Persistence, Replay
from wireproof.protocols.namechan.replies import Error, Outcome, Ping, Subscribed, Unsubscribed, VersionReply
from wireproof.protocols.namechan.replies import Message as Delivered
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
from wireproof.protocols.profile import Profile
from wireproof.reference_server.model import Disagreement, Window
from wireproof.reference_server.namechan.options import OPTIONS
from wireproof.reference_server.namechan.oracle.lines import ModelLine
from wireproof.reference_server.namechan.oracle.queues import Membership, ModelQueue
from wireproof.reference_server.options import chosen

__all__ = ["DocumentModel"]

SECOND = 1_000_000_000
SILENT = 2
"""Ping intervals without a line after which a client is dropped (N4)."""
OF_KINDS = {Subscribed: "NCH-SUBSCRIBE-4", Unsubscribed: "NCH-UNSUBSCRIBE-2", Ping: "NCH-PING-2"}
"""Answers that are due by their kind, with an id that is wrong, and what comes by itself -> the clause of that."""
HOOK = "hook"
OK, FAILED = b"ok", b"error"
Handler = Callable[[ModelLine, Any], None]


class DocumentModel:
    """The model of a whole server (`wireproof.reference_server.model.ServerModel`).

    Times are compared within `tolerance_ns`. With `shared` others may use the server, whose settings are unknown:
    then nothing is expected of pings and silence.
    """

    expects_answers = True
    settles_by_request = True
    settings_of_cases = frozenset({"max_kept"})

    def __init__(
        self,
        profile: Profile,
        variant: str,
        *,
        tolerance_ns: int,
        shared: bool,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """`options` are those of the server. Raises ValueError for bad ones, and for those that it does not follow."""
        given = chosen("namechan", OPTIONS, options or {})
        if given["auto_create"] or given["queue"] or given["data"]:
            raise ValueError("the model of a namechan server begins without queues, and makes none by itself")
        self._tolerance, self._is_timed = tolerance_ns, not shared
        self._interval = round(given["ping_interval"] * SECOND)
        self._patience = round(given["handshake_timeout"] * SECOND)
        is_bounded = not shared or "max_kept" in (options or {})
        self._max_kept: int | None = given["max_kept"] if is_bounded else None
        self._publishes = Publish in profile.replies
        self._lines: dict[str, ModelLine] = {}
        self._queues: dict[bytes, ModelQueue] = {}
        self._most_subscriptions: int | None = None
        self._now = 0
        self._is_lost = False
        """What follows cannot be known any more."""
        self._handlers: dict[type[Request], Handler] = {
            Subscribe: self._subscribe,
            Unsubscribe: self._unsubscribe,
            Publish: self._publish,
            Ack: self._nothing,
            Blank: self._nothing,
            HookCreate: self._create,
            HookPublish: self._publish_at_hook,
        }

    def greeting(self, link: str = "") -> tuple[Request, ...]:
        """Return the first requests of a connection."""
        return () if link == HOOK else (Version(), Connect(id=b"c"))

    def limited(self, subscriptions: int) -> None:
        """Report how many subscriptions a connection may have."""
        self._most_subscriptions = subscriptions

    def connect(self, connection: str, at: Window, port: int | None, link: str = "") -> None:
        """Report a new connection."""
        self.passed(at)
        self._lines[connection] = ModelLine(connection, link == HOOK, at.until)

    def disconnect(self, connection: str, at: Window) -> None:
        """Report that either side ended a connection."""
        self.passed(at)
        self._gone(self._lines.pop(connection))

    def must_be_kept(self) -> bool:
        """Return whether all that was settled must be on disk: no queue is Async, none has a turn to be written."""
        return all(one.must_be_kept for one in self._queues.values() if one.is_persistent)

    def restarted(self, at: Window) -> None:
        """Report that the server has ended, once all was written, and was started again on what it kept."""
        self._now = at.until
        for line in self._lines.values():
            self._gone(line)
        self._lines.clear()
        self._queues = {name: one for name, one in self._queues.items() if one.is_persistent}
        for one in self._queues.values():
            one.restarted()

    def kept_shown_by(self) -> tuple[Request, ...]:
        """Return what replays every queue, or takes what waits in it."""
        kept = [one for one in self._queues.values() if one.is_persistent]
        how = {True: Replay.FROM_BEGINNING, False: Replay.FROM_CURRENT}
        return tuple(Subscribe(one.name, how[one.is_broadcast]) for one in kept)

    def added_to_kept(self, link: str) -> tuple[Request, ...]:
        """Return a new message for each queue: its id is none that was given before."""
        made: type[HookPublish | Publish] = HookPublish if link == HOOK else Publish
        may_publish = link == HOOK or self._publishes
        return tuple(made(one.name, b"added") for one in self._queues.values() if may_publish and one.is_persistent)

    def _gone(self, line: ModelLine) -> None:
        for one in line.memberships:
            if not one.is_over:
                one.queue.leave(one)
        line.memberships.clear()

    def sent(self, connection: str, request: Request) -> None:
        """Report a request when it is written: what it causes is expected from now on."""
        line = self._lines[connection]
        if line.ending or self._is_lost:
            return
        line.last_input, line.may_end = self._now, False
        if line.is_hook or line.stage == "open":
            if isinstance(request, Connect):
                self._end(line, "it connected twice", "NCH-CONNECT-4")
            else:
                self._handlers[type(request)](line, request)
        elif isinstance(request, Version):
            self._version(line, request)
        elif isinstance(request, Connect):
            line.stage = "open"
            if request.version != VERSION:
                self._end(line, "its Connect has another version", "NCH-CONNECT-3")
        elif not isinstance(request, Blank):
            self._end(line, "its first line is no Connect", "NCH-CONNECT-2")

    def _version(self, line: ModelLine, request: Version) -> None:
        if request.version == VERSION:
            line.stage, line.greeted = "greeted", self._now
            line.expect(VersionReply, "NCH-VERSION-1", version=VERSION)
            return
        line.expect(VersionReply, "NCH-VERSION-2", version=UNSUPPORTED)
        line.ending, line.clause = "its version is not spoken", "NCH-VERSION-3"

    def _end(self, line: ModelLine, why: str, clause: str) -> None:
        """Expect an Error and the end."""
        line.expect(Error, clause)
        self._gone(line)
        line.ending, line.clause = why, clause

    def _nothing(self, line: ModelLine, request: Request) -> None:
        """Ack and Blank: that a line came is all (N4, N14)."""

    def _subscribe(self, line: ModelLine, request: Subscribe) -> None:
        queue, member = self._queues.get(request.topic), line.member(request.topic)
        if queue is None or (member is None and line.has_as_many(self._most_subscriptions)):
            line.expect(Error, "NCH-SUBSCRIBE-3")
            return
        if member is None:
            can_be_replayed = queue.is_broadcast and queue.is_persistent
            if request.replay != Replay.FROM_CURRENT and not can_be_replayed:
                line.expect(Error, "NCH-REPLAY-3")
                return
            start = {Replay.FROM_BEGINNING: 1, Replay.FROM_MESSAGE: request.message}.get(Replay(request.replay))
            member = queue.join(line.name, start)
            line.memberships.append(member)
        line.expect(Subscribed, queue.clause_of(request), member, id=None, topic=queue.name)

    def _unsubscribe(self, line: ModelLine, request: Unsubscribe) -> None:
        member = line.member(request.topic)
        if member is None:
            line.expect(Error, "NCH-UNSUBSCRIBE-3")
            return
        member.queue.leave(member)
        line.expect(Unsubscribed, "NCH-UNSUBSCRIBE-1", member, id=None, topic=request.topic)

    def _create(self, line: ModelLine, request: HookCreate) -> None:
        is_persistent = request.persistence == Persistence.PERSISTENT
        settings = (request.delivery, request.persistence, request.sync if is_persistent else 0)
        is_broadcast = request.delivery == Delivery.BROADCAST
        queue = self._queues.setdefault(request.topic, ModelQueue(request.topic, settings, is_broadcast, is_persistent))
        is_ok = queue.settings == settings
        self._outcome(line, "NCH-HOOK-1" if is_ok else "NCH-HOOK-2", is_ok=is_ok)

    def _publish_at_hook(self, line: ModelLine, request: HookPublish) -> None:
        is_ok = self._published(request.topic, request.body)
        is_full = not is_ok and request.topic in self._queues
        self._outcome(line, "NCH-ROUND_ROBIN-5" if is_full else "NCH-HOOK-3", is_ok=is_ok)

    def _outcome(self, line: ModelLine, clause: str, *, is_ok: bool) -> None:
        line.expect(Outcome, clause, text=OK if is_ok else None)
        line.answers[-1].fields["is_ok"] = is_ok

    def _publish(self, line: ModelLine, request: Publish) -> None:
        if not self._publishes:
            self._end(line, "Publish is no request", "NCH-PUBLISH-3")
        elif not self._published(request.topic, request.body):
            line.expect(Error, "NCH-PUBLISH-2")

    def _published(self, topic: bytes, body: bytes) -> bool:
        """Follow a message; return whether it is accepted."""
        queue = self._queues.get(topic)
        if queue is None:
            return False
        if not (queue.is_broadcast or queue.is_persistent or queue.members):
            if self._max_kept is None:
                self._is_lost |= len(queue.waiting) > 0
            elif len(queue.waiting) >= self._max_kept:
                self._is_lost |= queue.has_changed
                return False
        queue.publish(body)
        return True

    def passed(self, at: Window) -> None:
        """Report that time has passed: silent clients are dropped, and those that did not begin."""
        self._now = at.until
        for line in self._lines.values() if self._is_timed else ():
            if line.is_hook or line.ending:
                continue
            is_new = line.stage == "new"
            ends = line.opened + self._patience if is_new else line.last_input + SILENT * self._interval
            if self._now > ends + self._tolerance:
                if line.may_end:
                    line.answers.clear()
                if is_new:
                    line.ending, line.clause = "it did not begin in time", "NCH-VERSION-5"
                else:
                    self._end(line, "nothing was heard of it for two intervals", "NCH-PING-3")
            elif self._now >= ends - self._tolerance and not line.may_end:
                line.may_end = True
                if not is_new:
                    line.expect(Error, "NCH-PING-3")
                    line.answers[-1].is_certain = False

    def answered(self, connection: str, request: Request, reply: Message | None, at: Window) -> Disagreement | None:
        """Judge nothing: replies are reported as pushes are."""
        return None

    def pushed(self, connection: str, push: Message) -> None:
        """Report a message."""
        line = self._lines[connection]
        if self._is_lost:
            return
        if isinstance(push, Ping):
            is_right = line.pinged(push)
        elif isinstance(push, Delivered):
            is_right = self._delivered(line, push)
        else:
            is_right = self._replied(line, push)
        if not is_right:
            line.surplus.append(push)

    def _delivered(self, line: ModelLine, message: Delivered) -> bool:
        known = (one for one in line.memberships if one.queue.topic == message.topic)
        return any(one.takes(message.id, message.body) for one in known)

    def _replied(self, line: ModelLine, reply: Message) -> bool:
        if isinstance(reply, Outcome):
            return self._hook_answered(line, reply)
        found = line.answered(reply)
        if found is None or not isinstance(reply, Subscribed | Unsubscribed):
            return found is not None
        assert found.member is not None
        return self._identified(found.member, reply.id)

    def _hook_answered(self, line: ModelLine, outcome: Outcome) -> bool:
        if not line.is_hook or not line.answers:
            return False
        is_right = outcome.text == OK if line.answers[0].fields["is_ok"] else outcome.text.startswith(FAILED)
        if is_right:
            line.answers.popleft()
        return is_right

    def _identified(self, member: Membership, topic: int) -> bool:
        """Say whether a topic id is that of the queue, and of no other one (N11)."""
        if member.queue.topic is None:
            member.queue.topic = topic
            return sum(one.topic == topic for one in self._queues.values()) == 1
        return member.queue.topic == topic

    def _due(self, connection: str) -> tuple[str, str] | None:
        """Return what must come first of all that must still come, and its clause."""
        line = self._lines[connection]
        if self._is_lost or line.surplus:
            return None
        found = next(line.due(), None)
        return found or self._due_ping(line) or line.due_turn()

    def _due_ping(self, line: ModelLine) -> tuple[str, str] | None:
        if not self._is_timed or line.is_hook or line.stage == "new" or line.ending or line.may_end:
            return None
        due = max(self._now - line.greeted - self._tolerance, 0) // self._interval
        return ("a Ping", "NCH-PING-1") if line.pings < due else None

    def due_message(self, connection: str) -> str | None:
        """Return a description of the first message that must still arrive; None if there is none."""
        found = self._due(connection)
        return None if found is None else found[0][:400]

    def due_clause(self, connection: str) -> str:
        """Return the clause of the first message that must still arrive."""
        found = self._due(connection)
        return "NCH-MESSAGE-4" if found is None else found[1]

    def unexpected(self, at: Window) -> Disagreement | None:
        """Judge what came: return a message that nothing explains, or one that came to nobody."""
        if self._is_lost:
            return None
        for line in self._lines.values():
            if line.surplus:
                message = line.surplus[0]
                due = line.due_instead_of(message)
                wanted = f"; expected {due[:200]}" if due else ""
                clause = self._broken_clause(line, message)
                return Disagreement(f"{line.name} gets {message!r}{wanted}", f"surplus {message.NAME}", clause)
        for line in self._lines.values():
            line.errors.clear()
        wrong = [found for one in self._queues.values() if (found := one.unsettled()) is not None]
        for detail, clause in wrong:
            return Disagreement(detail, clause, clause)
        return None

    def _broken_clause(self, line: ModelLine, message: Message) -> str:
        """Return the clause that a message breaks which nothing explains: one of its own kind, where another is due."""
        answer = next((one for one in line.answers if one.is_certain), None)
        own = OF_KINDS.get(type(message))
        if own is not None and (answer is None or answer.kind not in (type(message), Error)):
            return own
        if isinstance(message, Delivered):
            if message.topic not in {one.topic for one in self._queues.values()}:
                return "NCH-MESSAGE-3"
            member = next((one for one in line.memberships if one.queue.topic == message.topic), None)
            return "NCH-SUBSCRIBE-6" if member is None else member.broken_by(message.id, message.body)
        found = next(line.due(), None)
        return found[1] if found else "NCH-MESSAGE-5"

    def ended(self, connection: str, request: Request | None, at: Window) -> Disagreement | None:
        """Judge that the server ended a connection."""
        self.passed(at)
        line = self._lines[connection]
        if self._is_lost or line.ending or line.may_end:
            return None
        return Disagreement(f"{connection} is ended", "ended", "NCH-ROBUSTNESS-1")

    def must_end(self, connection: str, at: Window) -> Disagreement | None:
        """Return what is wrong with a connection that is still open; None if nothing is."""
        line = self._lines[connection]
        if not line.ending or self._is_lost:
            return None
        return Disagreement(f"{connection} is open although {line.ending}", f"open, {line.ending}", line.clause)

    def ends_when_half_closed(self, connection: str) -> bool:
        """Return that the server ends a connection whose client has ended its side."""
        return True

    def half_closed(self, connection: str) -> None:
        """Expect answers, and messages no longer for certain."""
        self._lines[connection].leave()

    def instants(self) -> list[int]:
        """Return the instants, in ns and ascending, beside which something is due."""
        found = set()
        for line in self._lines.values():
            if line.is_hook or line.ending:
                continue
            if line.stage == "new":
                found.add(line.opened + self._patience)
            else:
                found |= {line.last_input + SILENT * self._interval, line.greeted + (line.pings + 1) * self._interval}
        return sorted(one for one in found if one > self._now)
