"""Mutants of pushes: their form, who receives them, how often and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from wireproof.mutants.throttr.server.mutant import HandlerPatch, mutant
from wireproof.mutants.throttr.server.patches import changed, with_handler, with_request
from wireproof.mutants.throttr.server.subscriptions import SESSION_ID, keeping
from wireproof.protocols.frames import FrameContext
from wireproof.protocols.profile import Profile
from wireproof.protocols.throttr import RequestType
from wireproof.protocols.throttr.replies import PushedMessage
from wireproof.protocols.throttr.requests import Publish
from wireproof.reference_server.service import Close, Peer, Write
from wireproof.reference_server.throttr.channels import Channels, Subscription
from wireproof.reference_server.throttr.dispatch import Dispatch
from wireproof.reference_server.throttr.session import ThrottrSession
from wireproof.reference_server.throttr.state import ACCEPTED, DENIED, Handler, State

__all__ = ["MUTANTS"]

Picked = Iterable[Subscription]
Pick = Callable[[tuple[Subscription, ...], Any, ThrottrSession, State], Picked]
"""(the channel's subscriptions, request, publisher, state) -> those to deliver to."""


class _Picky(Channels):
    """Tells other subscriptions than there are, when told to."""

    picked: tuple[Subscription, ...] | None = None

    def of(self, name: bytes) -> tuple[Subscription, ...]:
        return super().of(name) if self.picked is None else self.picked


def _delivering(pick: Pick) -> dict[str, Any]:
    """Deliver to the subscriptions that `pick` returns; the publisher is told what is right."""

    def make(correct: Handler, state: State) -> Handler:
        def handle(request: Publish, session: ThrottrSession, now: int) -> bytes:
            channels = state.channels
            assert isinstance(channels, _Picky)
            right = channels.of(request.channel)
            channels.picked = tuple(pick(right, request, session, state))
            correct(request, session, now)
            channels.picked = None
            delivers = state.rules.deliver_to_publisher
            return ACCEPTED if any(delivers or one.session is not session for one in right) else DENIED

        return handle

    return {"state": keeping(_Picky), "handlers": with_handler(Publish, make)}


def _and_also(wanted: Callable[[bytes, Any], bool]) -> Pick:
    """Deliver also to connections that hold a channel whose name, with the request, is wanted."""

    def pick(right: tuple[Subscription, ...], request: Any, session: ThrottrSession, state: State) -> Picked:
        there = {one.session for one in right} | {session}
        others = (one for one in state.sessions.values() if one not in there)
        return [*right, *(Subscription(one, 0) for one in others if any(wanted(name, request) for name in _held(one)))]

    return pick


def _held(session: ThrottrSession) -> Iterable[bytes]:
    """Return the names of the channels a connection holds, an empty one for none."""
    return session.subscriptions or (b"",)


def _while_not_subscribed(right: Picked, request: Any, session: ThrottrSession, state: State) -> Picked:
    return [one for one in right if one.session is session or request.channel not in session.subscriptions]


def _to_the_owner(right: Picked, request: Any, session: ThrottrSession, state: State) -> Picked:
    return [one for one in right if not _is_id(request.channel) or one.session.id.hex().encode() == request.channel]


def _to_star(wrong: Callable[[list[Subscription]], Picked]) -> Pick:
    return lambda right, request, session, state: wrong(list(right)) if request.channel == b"*" else right


class _Rewriting(ThrottrSession):
    """Is pushed something else."""

    def push(self, frame: bytes, size: int) -> None:
        codec = self._state.codec
        decode = codec.pushes[frame[0]]
        assert decode is not None
        message: Any
        message, _ = decode(frame, 0, len(frame), FrameContext(1 << 62))
        super().push(codec.encode(changed(message, channel=self.renamed(message))), size)

    def renamed(self, message: Any) -> bytes:
        """Return the name to tell."""
        return b""


class _FirstChannel(_Rewriting):
    """Every push tells the name of the first channel the connection subscribed to."""

    def renamed(self, message: Any) -> bytes:
        return next((name for name in self.subscriptions if not _is_automatic(name)), b"*")


def _in_another_form(profile: Profile) -> Profile:
    """Push as an earlier release does."""
    return profile.derive(profile.name, pushes=(PushedMessage,), leads={PushedMessage: b"\x03"})


class _ShortName(_Rewriting):
    """Is told the first 127 bytes of a name."""

    def renamed(self, message: Any) -> bytes:
        return bytes(message.channel[:127])


def _carrying(change: Callable[[bytes], bytes]) -> HandlerPatch:
    """Push `change(payload)`."""
    return with_request(Publish, lambda request, ask: changed(request, payload=change(request.payload)))


def _is_automatic(name: bytes) -> bool:
    return name == b"*" or _is_id(name)


def _is_id(name: bytes) -> bool:
    return len(name) == SESSION_ID


# fmt: off
_FORM = (
    mutant("push-without-channel", "A push is 03, payload size and payload, as in an early release.", "PUSH-2", "PUSH-3", "EVENT-2",
           profile=_in_another_form),
    mutant("push-names-up-to-127", "The channel name in a push is cut at 127 bytes.", "EVENT-2", "PUSH-3", session=_ShortName),
    mutant("push-names-no-channel", "The channel name in a push is empty.", "PUSH-3", session=_Rewriting),
    mutant("push-names-the-first-channel", "A push names the first channel its receiver subscribed to.", "PUSH-3", session=_FirstChannel),
    mutant("push-ends-with-00", "A byte 00 is put behind every payload.", "PUSH-7", "PUBLISH-14", "PUBLISH-3",
           handlers=_carrying(lambda payload: payload[:254] + b"\0")),
)
_WHO = (
    mutant("push-to-nobody", "No message is pushed.", "PUSH-4", "SUBSCRIBE-5", **_delivering(lambda *asked: ())),
    mutant("push-not-to-the-latest", "The latest of several subscribers receives nothing.", "PUSH-4", "SUBSCRIBE-5",
           **_delivering(lambda right, *asked: right[: len(right) - 1 or 1])),
    mutant("push-not-from-a-subscriber", "What a subscribed connection publishes reaches nobody.", "PUSH-4", "PUSH-13", "SUBSCRIBE-5",
           **_delivering(_while_not_subscribed)),
    mutant("push-to-whoever-subscribed", "A message is pushed to everybody who subscribed to anything.", "PUSH-5",
           **_delivering(_and_also(lambda name, request: bool(name) and not _is_automatic(name)))),
    mutant("push-star-at-the-end-is-a-pattern", "Who is subscribed to a name ending in * receives what begins like it.", "PUSH-5", "SUBSCRIBE-10",
           **_delivering(_and_also(lambda name, request: len(name) > 1 and name[-1:] == b"*" and request.channel.startswith(name[:-1])))),
    mutant("push-twice", "Every message is pushed twice.", "PUSH-6", **_delivering(lambda right, *asked: right * 2)),
    mutant("push-to-star-twice", "A message to * is pushed twice.", "PUSH-13", "PUSH-6", **_delivering(_to_star(lambda right: right * 2))),
    mutant("push-to-star-to-three", "A message to * is pushed to three connections at most.", "PUSH-13", "PUSH-4",
           **_delivering(_to_star(lambda right: right[-3:]))),
    mutant("push-of-an-id-to-everybody", "A message to a connection's id is pushed to everybody.", "PUSH-14", "PUSH-5",
           **_delivering(_and_also(lambda name, request: _is_id(request.channel)))),
    mutant("push-of-an-id-to-its-owner", "A message to a connection's id is pushed to nobody else who subscribed to it.", "PUSH-14", "PUSH-4",
           **_delivering(_to_the_owner)),
    mutant("push-star-is-a-pattern", "Who is subscribed to * receives every message.", "PUSH-15", "PUSH-5", "PUSH-14",
           **_delivering(_and_also(lambda name, request: name == b"*"))),
)
# fmt: on
PUSHES_MUTANTS = _FORM + _WHO


LONG = 200
"""Bytes of a long answer."""
LATER_NS = 200_000_000


class _NewestFirst(ThrottrSession):
    """Of the pushes that wait the newest goes first."""

    def flush(self) -> None:
        self._pushes.reverse()
        super().flush()


class _Acknowledging(ThrottrSession):
    """Takes the next byte that comes for an acknowledgement of the pushes before it."""

    _owed = False

    def flush(self) -> None:
        self._owed = self._owed or bool(self._pushes)
        super().flush()

    def data_received(self, data: bytes) -> None:
        if self._owed:
            self._owed, data = False, data[1:]
        if data:
            super().data_received(data)


class _Overtaken(ThrottrSession):
    """Some of an answer goes later, and pushes do not wait for it."""

    def __init__(self, state: State, dispatch: Dispatch, peer: Peer, write: Write, close: Close) -> None:
        super().__init__(state, dispatch, peer, self._part, self._close_later)
        self._out, self._end = write, close
        self._rest: list[bytes] = []
        self._pushing = False

    def at_once(self, answer: bytes) -> int:
        """Return how many bytes of an answer go at once: about half of a long one."""
        return len(answer) // 2 + 1 if len(answer) > LONG else len(answer)

    def flush(self) -> None:
        self._pushing = True
        super().flush()
        self._pushing = False

    def _part(self, data: bytes) -> None:
        size = len(data) if self._pushing else 0 if self._rest else self.at_once(data)
        if size:
            self._out(data[:size])
        if size < len(data):
            if not self._rest:
                self._state.clock.call_at(self._state.clock.monotonic_ns() + LATER_NS, self._send_rest)
            self._rest.append(data[size:])

    def _send_rest(self) -> None:
        rest, self._rest = self._rest, []
        if rest:
            self._out(b"".join(rest))

    def _close_later(self) -> None:
        self._send_rest()
        self._end()


class _BareOvertaken(_Overtaken):
    """Answers to what has no status byte take a while, and pushes do not wait for them."""

    _bare = False

    def data_received(self, data: bytes) -> None:
        self._bare = self._dispatch.is_bare[data[0]]
        super().data_received(data)

    def at_once(self, answer: bytes) -> int:
        return 0 if self._bare else len(answer)


# fmt: off
PUSH_TIMES_MUTANTS = (
    mutant("push-newest-first", "Of several pushes that wait the newest goes first.", "PUSH-10", session=_NewestFirst),
    mutant("push-within-an-answer", "A push may come between the halves of a long answer.", "PUSH-11", session=_Overtaken),
    mutant("push-awaits-an-answer", "The byte that a subscriber sends after a push is taken for its answer.", "PUSH-12", session=_Acknowledging),
    mutant("push-before-a-bare-answer", "A push overtakes the answer of LIST, INFO and the like.", "PUSH-17", "ROBUSTNESS-4", session=_BareOvertaken),
)
# fmt: on


MS = 1_000_000
SLOW_NS = 500 * MS


class _Slow(ThrottrSession):
    """Forgets a request that is not whole after half a second."""

    _since = 0

    def data_received(self, data: bytes) -> None:
        now = self._state.clock.monotonic_ns()
        if not self._tail:
            self._since = now
        elif now - self._since > SLOW_NS:
            self._tail.clear()
        super().data_received(data)


class _ChannelLater(ThrottrSession):
    """Answers a CHANNEL that comes alone 5 ms later, and not at all once the client has ended its side."""

    def __init__(self, state: Any, dispatch: Any, peer: Any, write: Any, close: Any) -> None:
        super().__init__(state, dispatch, peer, self._written, close)
        self._out = write
        self._due: list[bytes] = []
        self._waits_for_channel = False

    def data_received(self, data: bytes) -> None:
        self._send()
        self._waits_for_channel = (
            data[0] == RequestType.CHANNEL and len(data) == 2 + data[1:2][0] if data[1:] else False
        )
        super().data_received(data)
        self._waits_for_channel = False

    def _written(self, data: bytes) -> None:
        if self._waits_for_channel:
            self._due.append(data)
            self._state.clock.call_at(self._state.clock.monotonic_ns() + 5 * MS, self._send)
        else:
            self._send()
            self._out(data)

    def _send(self) -> None:
        due, self._due = self._due, []
        if due and not self.closed:
            self._out(b"".join(due))

    def eof_received(self) -> None:
        self._due.clear()
        super().eof_received()


# fmt: off
DELIVERIES_MUTANTS = (
    mutant("slow-requests-forgotten", "A request that takes more than half a second to come is forgotten.", "ROBUSTNESS-6", session=_Slow),
    mutant("channel-unanswered-at-half-close", "CHANNEL is not answered when the client ends its side right behind it.", "ROBUSTNESS-9",
           session=_ChannelLater),
)
# fmt: on


MUTANTS = (
    *PUSHES_MUTANTS,
    *PUSH_TIMES_MUTANTS,
    *DELIVERIES_MUTANTS,
)
